"""What a session can be doing, and which way leads from there."""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """What the session is doing."""

    EMPTY = auto()  # no pair
    LOADING = auto()
    READY = auto()  # pair loaded, no run
    RUNNING = auto()  # a run that can go on
    FINISHED = auto()
    MEASURING = auto()


BUSY = frozenset({State.LOADING, State.MEASURING})  # with a way back
CAN_RUN = frozenset({State.READY, State.RUNNING, State.FINISHED})
ALLOWED: dict[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.LOADING}),
    State.LOADING: frozenset({State.EMPTY, *CAN_RUN}),
    State.READY: frozenset({State.RUNNING, *BUSY}),
    State.RUNNING: frozenset({State.READY, State.FINISHED, *BUSY}),
    State.FINISHED: frozenset({State.READY, *BUSY}),
    State.MEASURING: frozenset({State.LOADING, *CAN_RUN}),
}
