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
    State.EMPTY: frozenset({State.LOADING, State.FINISHED}),  # a run out of a file needs no pair
    State.LOADING: frozenset({State.EMPTY, *CAN_RUN}),
    State.READY: frozenset({State.RUNNING, State.FINISHED, *BUSY}),
    State.RUNNING: frozenset({State.READY, State.FINISHED, *BUSY}),
    State.FINISHED: frozenset({State.EMPTY, State.READY, State.RUNNING, *BUSY}),
    State.MEASURING: frozenset({State.LOADING, *CAN_RUN}),
}
