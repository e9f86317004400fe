"""The session's part about moving through the run: steps, rounds, playing, and asking for more.

Knows: which moves there are, and what a move at the end of the computed rounds asks for. Does not know how anything
looks. The rest of the session is in `session`.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.jobs import run_job
from simulator.records import RunFinished, StopReason
from ui.states import BUSY, CAN_RUN, State


class Moves:
    """What `Session` is made of where its run is stepped, played and stopped; of no use without it."""

    def step(self) -> None:
        """Show one more phase."""
        self._advance(self.playback.step)

    def next_round(self) -> None:
        """Show the rest of this round or the whole next one."""
        self._advance(self.playback.next_round)

    def play(self, playing: bool) -> None:
        """Start or pause playing; at the end of a finished run there is nothing to play."""
        playing = playing and not (self.state is State.FINISHED and self.playback.at_end)
        self._advance(lambda: self.playback.play(playing))

    def stop(self) -> None:
        """End the run where it is, and hold; what was computed stays. Before its first round it never was."""
        self._move(lambda: self.playback.play(False))
        if self.state is not State.RUNNING:
            return
        if not self.rounds:
            self.reset()
            return
        self._drop_job()
        self._finish(RunFinished(StopReason.STOPPED))

    def back(self) -> None:
        """Take one phase back."""
        self._advance(self.playback.back, start=False)

    def seek(self, index: int, position: int | None = None) -> None:
        """Go to a round (and position) that has been computed."""
        self._advance(lambda: self.playback.seek(index, position), start=False)

    def choose(self, position: int) -> None:
        """Look at another position of this round."""
        self.playback.choose(position)

    def set_speed(self, rounds_per_second: float) -> None:
        """Set how fast playing shows rounds; 0 = as computed."""
        self.playback.speed = rounds_per_second

    @property
    def can_move(self) -> bool:
        """Return whether rounds can be shown; those of a file can also be while models load."""
        if self.opened is not None:
            return self.state is not State.MEASURING
        return self.state in CAN_RUN and self.obstacle is None

    @property
    def can(self) -> dict[str, bool]:
        """Return for each of the transport's buttons, and for measuring, whether there is something for it to do."""
        more = self.can_move and not (self.state not in (State.READY, State.RUNNING) and self.playback.at_end)
        return {
            "step": more, "round": more, "play": more, "back": self.playback.cursor.round >= 0 and self.can_move,
            "stop": self.state is State.RUNNING or self.state in BUSY or self.playback.playing,
            "measure": self.state in CAN_RUN and self.pair is not None and self.obstacle is None and not self.foreign,
        }  # fmt: skip

    def _tick_playback(self) -> None:
        self.playback.tick(self._clock())
        if self.state not in (State.READY, State.RUNNING) and self.playback.at_end:
            self.playback.play(False)

    def _permit(self) -> None:
        if self.state is State.RUNNING and self._control is None and self.playback.playing and self.playback.wanted:
            self._start_run()  # playing has come to the end of what was there
        if self.state is State.RUNNING and self._control is not None:
            self._control.allow_up_to(self._received + self.playback.wanted)

    def _move(self, move: Callable[[], None]) -> None:
        """Make a playback move; tell if it began or ended playing."""
        was_playing = self.playback.playing
        move()
        if self.playback.playing != was_playing:
            self.playing_changed.emit()

    def _advance(self, move: Callable[[], None], start: bool = True) -> None:
        """Make a move of the person's, starting or resuming the run where it needs more rounds."""
        if not self.can_move and (start or self.state not in CAN_RUN):
            return
        self._move(move)
        if start and self.playback.wanted and self.state in (State.READY, State.RUNNING) and self._control is None:
            self._start_run()

    def _start_run(self) -> None:
        assert self.pair is not None
        self._received = 0
        begun = self.started  # what was begun goes on with what it began with
        prompt, config = (begun.prompt, begun.config) if begun is not None else (self.prompt, self.config)
        self._submit(run_job(self.pair, prompt, config, self.rounds[:]))
        self._enter(State.RUNNING)
