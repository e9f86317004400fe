"""The session's part about a run out of a file: it is shown like one of the session's own, and never taken for one.

Knows: when such a run goes on and when it is over, and what was there before it. Does not know how files are read, or
how anything looks. The rest of the session is in `session`.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from simulator.errors import UserError
from simulator.loading import Pair
from simulator.measure import Sweep
from simulator.opened import Opened
from simulator.records import RunConfig, RunFinished, RunStarted
from simulator.text.prompts import Prompt
from simulator.text.texts import NO_TEXTS, Texts
from ui.next_run import fitted, suiting, without_template
from ui.states import State


class FileRun(QObject):
    """What `Session` is made of where files are concerned; of no use without it."""

    opened_changed = Signal()  # another file's run is on screen, or none, or another pair is there for it

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.opened: Opened | None = None  # the run on screen is this file's
        self._before: tuple[RunConfig, Prompt, Pair | None, Sweep | None] | None = None  # the file was opened

    def show(self, opened: Opened) -> None:
        """Put the run away and show a file's run, with its settings; raise `UserError` while something is measured."""
        if self.state is State.MEASURING:
            raise UserError(self.tr("Something is being measured: wait until that is done, or cancel it, and open "
                                    "the file again."))  # fmt: skip
        before = self._before or (self.config, self.prompt, self.pair, self.sweep)
        if self.state is not State.LOADING:
            self._drop_job()
        self._clear_run()
        self.opened, self._before = opened, before
        run, prompt = opened.run, without_template(opened.prompt or self.prompt, self.pair)
        self._take_settings(fitted(opened.settings or self.config, self.pair), prompt)
        self.started = RunStarted(run.config, run.prompt, run.prefill_ms)
        self.opened_changed.emit()
        self.run_started.emit()  # before there are rounds, whose text would be laid out twice
        self.rounds.adopt(opened.rounds[opened.index])
        self._settle_opened()
        self.rounds_added.emit(self.rounds[:])
        self.playback.seek(0)

    def close_file(self) -> None:
        """Put the file's run away, and go back to the settings and measured points from before it was opened."""
        if self._before is None:
            return
        config, prompt, pair, sweep = self._before
        self.reset()
        other = self.pair is not None and self.pair is not pair
        self._take_settings(fitted(config, self.pair), suiting(prompt, pair, self.pair) if other else prompt)
        if not other:
            self._behind = self._behind[0], sweep
            self._set_sweep(sweep)

    @property
    def texts(self) -> Texts:
        """Return what the tokens of the run on screen look like."""
        if self.opened is not None:
            return self.opened.texts(self.pair)
        return self.pair.texts if self.pair is not None else NO_TEXTS

    @property
    def foreign(self) -> bool:
        """Return whether other models than the loaded ones made the run on screen."""
        return self.opened is not None and not self.opened.is_of(self.pair)

    @property
    def run_sweep(self) -> Sweep | None:
        """Return the measured points, where they are of the models that made the run on screen."""
        return None if self.foreign else self.sweep

    def _settle_opened(self) -> None:
        """Let a file's run go on where this pair made it and it was stopped; otherwise it is over."""
        ended = len(self.rounds) > 0 and self.rounds[-1].stop is not None
        goes_on = self.opened.goes_on(self.pair) and not ended
        if goes_on:
            self.finished = None
        elif self.finished is None:
            self.finished = RunFinished(self.opened.run.stop, self.opened.run.notices)
        state = State.RUNNING if goes_on else State.FINISHED
        if self.state is State.LOADING:
            self._behind = state, self._behind[1]
        else:
            self._enter(state)

    def _forget_file(self) -> bool:
        """Have no file's run; return whether there was one."""
        had, self.opened, self._before = self.opened is not None, None, None
        return had
