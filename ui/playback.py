"""The cursor: which round and how much of it is shown. Computing and showing have separate clocks.

Knows: phases, back and forth, playing at a chosen speed. Does not know Qt widgets, threads or models;
it says how many more rounds it wants (`wanted`) and whoever computes them calls `added`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simulator.records import RoundTrace
from ui.widgets.reveal import Reveal, phases

AS_COMPUTED = 0.0  # the speed that shows every round the moment it is there
LEAD = 8  # rounds computed ahead of the cursor while playing
PHASED_UP_TO = 2.0  # rounds per second; faster than this, phases would only flicker


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the run. `round` is -1 before the first round; `position` is the chosen one, 1 .. k + 1."""

    round: int = -1
    phase: int = 0  # index into `phases(round)`
    position: int = 1


class Playback:
    """Moves the cursor through the rounds there are, and asks for more at the end."""

    def __init__(self, rounds: Sequence[RoundTrace], moved: Callable[[], None]) -> None:
        self._rounds, self._moved = rounds, moved
        self.speed = 1.0  # rounds per second, or AS_COMPUTED
        self.reset()

    def reset(self) -> None:
        """Go back to before the first round, paused."""
        self.cursor = Cursor()
        self.playing = False
        self._due: float | None = None  # when the next automatic move is due; None = not scheduled
        self._awaiting: str | None = None  # "step" or "round": what to do when the next round arrives

    @property
    def round(self) -> RoundTrace | None:
        """Return the round under the cursor."""
        return self._rounds[self.cursor.round] if self.cursor.round >= 0 else None

    @property
    def reveal(self) -> Reveal:
        """Return how much of the round under the cursor is shown."""
        return phases(self.round)[self.cursor.phase] if self.round is not None else Reveal()

    @property
    def complete_rounds(self) -> int:
        """Return how many rounds are shown to their end, from the first on."""
        return self.cursor.round + 1 if self._complete() else self.cursor.round

    @property
    def wanted(self) -> int:
        """Return how many more rounds should be computed now."""
        if self.playing:
            return max(0, LEAD - (len(self._rounds) - 1 - self.cursor.round))
        return 1 if self._awaiting and self.cursor.round == len(self._rounds) - 1 else 0

    def step(self) -> None:
        """Show one more phase, of the next round where this one is complete."""
        self.playing = False
        if not self._next_phase():
            self._enter_next("step")

    def next_round(self) -> None:
        """Show the rest of this round, or all of the next one where this one is complete."""
        self.playing = False
        if self.round is not None and not self._complete():
            self._show(self.cursor.round, len(phases(self.round)) - 1)
        else:
            self._enter_next("round")

    def back(self) -> None:
        """Take one phase back; from the first phase go to the round before, complete."""
        self.playing, self._awaiting = False, None
        if self.cursor.phase > 0:
            self._show(self.cursor.round, self.cursor.phase - 1)
        elif self.cursor.round > 0:
            self.seek(self.cursor.round - 1)

    def seek(self, index: int, position: int | None = None) -> None:
        """Show round `index` completely, at its deciding position unless one is named; out of range does nothing."""
        self._awaiting = None
        if 0 <= index < len(self._rounds):
            self._show(index, len(phases(self._rounds[index])) - 1, position)

    def choose(self, position: int) -> None:
        """Look at another position of the round on screen."""
        if self.round is not None:
            self._place(Cursor(self.cursor.round, self.cursor.phase, position))

    def play(self, playing: bool) -> None:
        """Start or stop moving by itself."""
        self.playing, self._due, self._awaiting = playing, None, None

    def added(self) -> None:
        """Take notice of new rounds: carry out the step that waited for them."""
        waiting, self._awaiting = self._awaiting, None
        if waiting:
            self._enter_next(waiting)

    def tick(self, now: float) -> None:
        """Move if a move is due; `now` in seconds."""
        if not self.playing or (self._due is not None and now < self._due):
            return
        if self.speed == AS_COMPUTED:
            if self.cursor.round < len(self._rounds) - 1:
                self.seek(len(self._rounds) - 1)
            return
        if self._advance():
            late = self._due is None or now - self._due > self._interval()
            self._due = (now if late else self._due) + self._interval()

    def _advance(self) -> bool:
        if self.speed <= PHASED_UP_TO:
            if self._next_phase():
                return True
            if self.cursor.round + 1 < len(self._rounds):
                self._show(self.cursor.round + 1, 0)
                return True
            return False
        if self.cursor.round + 1 < len(self._rounds):
            self.seek(self.cursor.round + 1)
            return True
        return False

    def _interval(self) -> float:
        steps = len(phases(self.round)) if self.round is not None and self.speed <= PHASED_UP_TO else 1
        return 1 / self.speed / steps

    def _enter_next(self, how: str) -> None:
        """Go into the next round, or remember to when it has been computed."""
        index = self.cursor.round + 1
        if index >= len(self._rounds):
            self._awaiting = how
        elif how == "round":
            self._show(index, len(phases(self._rounds[index])) - 1)
        else:
            self._show(index, 0)

    def _next_phase(self) -> bool:
        if self.round is None or self._complete():
            return False
        self._show(self.cursor.round, self.cursor.phase + 1)
        return True

    def _complete(self) -> bool:
        return self.round is None or self.cursor.phase == len(phases(self.round)) - 1

    @property
    def at_end(self) -> bool:
        """Return whether everything there is has been shown."""
        return self.cursor.round == len(self._rounds) - 1 and self._complete()

    def _show(self, index: int, phase: int, position: int | None = None) -> None:
        trace = self._rounds[index]
        self._place(Cursor(index, phase, position or telling_position(trace, phases(trace)[phase])))

    def _place(self, cursor: Cursor) -> None:
        if cursor != self.cursor:
            self.cursor = cursor
            self._moved()


def telling_position(trace: RoundTrace, reveal: Reveal) -> int:
    """Return the position that the newest phase is about: the one judged last, or the one that gave the extra token."""
    last = trace.positions[-1].position if trace.positions else 1
    if reveal.emitted:
        return next((p.position for p in trace.positions if p.extra is not None), max(1, trace.tested))
    return min(max(1, reveal.judged), last)
