"""The state of the window: pair, configuration, run, measurement. The only emitter of change signals.

Knows: what is loaded and running, and what may be done now. Does not know how anything looks.
Every display tick drains the runner and moves the playback; views are told and never ask around.
Its parts: moving through the run (`session_moves`), loading and measuring (`session_busy`), a file's run (`file_run`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.engine import checked_config
from simulator.exactness.sequence import Sequences
from simulator.loading import Pair, Progress
from simulator.measure import Sweep
from simulator.records import RoundTrace, Run, RunConfig, RunFinished, RunStarted, StopReason
from simulator.runner import Control, Job, JobEvent, Runner
from simulator.text.prompts import Prompt, as_prompt
from simulator.trace.store import RoundStore
from ui.file_run import FileRun
from ui.next_run import conditions, obstacle
from ui.playback import Playback
from ui.session_busy import Busy
from ui.session_moves import Moves
from ui.states import ALLOWED, BUSY, State

TICK_MS = 16
CLOSE_S = 3.0  # how long closing waits for a pass, or a part of a load, to end


class Session(Moves, Busy, FileRun):
    """Owns configuration, run state, trace and cursor; everything the pages show comes from its signals."""

    state_changed = Signal()
    pair_changed = Signal()
    config_changed = Signal()
    run_cleared = Signal()
    run_started = Signal()
    rounds_added = Signal(object)  # a list of rounds, or `store.Rounds`
    cursor_changed = Signal()
    playing_changed = Signal()
    run_finished = Signal()
    sweep_changed = Signal()
    answered = Signal(object)  # what a page's question yields: an answer, perhaps as it grows
    progress_changed = Signal(object)  # Progress or None
    problem = Signal(str, str)  # a sentence, and details or ""

    def __init__(self, runner: Runner | None = None, clock: Callable[[], float] = time.monotonic,
                 parent: QObject | None = None) -> None:  # fmt: skip
        super().__init__(parent)
        self.runner, self._clock = runner or Runner(), clock
        self.state = State.EMPTY
        self.pair: Pair | None = None
        self.config = RunConfig()
        self.prompt = Prompt()
        self.rounds = RoundStore()  # in columns; a slice is what there was at that moment
        self.started: RunStarted | None = None
        self.finished: RunFinished | None = None
        self.sweep: Sweep | None = None
        self.obstacle: str | None = None  # why no run can begin with this pair and prompt, in a sentence
        self.playback = Playback(self.rounds, self.cursor_changed.emit)
        self._job = 0
        self._control: Control | None = None
        self._added: list[RoundTrace] = []
        self._received = 0  # rounds that the current run job has delivered
        self._takers: dict[type, Callable[[Any], None]] = {
            RunStarted: self._take_start,
            RoundTrace: lambda trace: self._added.append(trace),
            RunFinished: self._take_finish,
            Progress: self.progress_changed.emit,
            Pair: self._take_pair,
            Sweep: self._take_sweep,
            Sequences: self._take_sequences,
        }
        self._sweeping = False  # whether what is measured is a sweep
        self._behind: tuple[State, Sweep | None] = State.EMPTY, None  # what loading and measuring come back to
        self._ended: bool | None = None  # whether the inference thread ended in time; None before closing
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self.tick)
        self._timer.start()

    # --- what the person does ---

    def configure(self, **changes: Any) -> None:
        """Change settings of the next run; a run in progress is put away. Raise `UserError` for a wrong value."""
        prompt = as_prompt(changes.pop("prompt", self.prompt))
        config = checked_config(replace(self.config, **changes))
        if (config, prompt) == (self.config, self.prompt):
            return
        self.reset()
        self._take_settings(config, prompt)

    def reset(self) -> None:
        """Put the run away: the next step starts at the prompt."""
        self._clear_run()
        home = State.READY if self.pair is not None else State.EMPTY
        if self.state is State.LOADING:
            self._behind = home, self._behind[1]
            return
        self._drop_job()
        if self.state is State.MEASURING:
            self._come_back()
        self._enter(home)

    def close(self) -> bool:
        """Stop everything and wait for the inference thread; return whether it ended in time."""
        if self._ended is None:
            self._timer.stop()
            self._ended = self.runner.close(CLOSE_S)
        return self._ended

    @property
    def run(self) -> Run | None:
        """Return the run so far as one record, None before its first event."""
        if self.started is None:
            return None
        stop = self.finished.stop if self.finished else StopReason.STOPPED
        notices = self.finished.notices if self.finished else ()
        return Run(self.started.config, self.started.prompt, self.rounds[:], self.started.prefill_ms, stop, notices)

    # --- the display tick ---

    def tick(self) -> None:
        """Apply what the inference thread has left, move the playback, permit further rounds."""
        for event in self.runner.take():
            if event.job == self._job:
                self._apply(event)
        self._flush()
        self._move(self._tick_playback)
        self._permit()

    def _apply(self, event: JobEvent) -> None:
        if event.value is not None:
            self._takers.get(type(event.value), self.answered.emit)(event.value)
        if event.done:
            self._job_ended(event)

    def _take_start(self, started: RunStarted) -> None:
        if self.started is None:  # a resumed run starts only once
            self.started = started
            self.run_started.emit()

    def _take_finish(self, finished: RunFinished) -> None:
        self._flush()
        self._finish(finished)

    def _job_ended(self, event: JobEvent) -> None:
        """Settle the state after a job ended, well or not."""
        self._control = None
        error = event.error
        if self.state is State.MEASURING and self._sweeping and not error:
            error = self._keep_sweep()
        if self.state in BUSY:
            self._come_back()
        if error:
            self._move(lambda: self.playback.play(False))
            if self.state is State.RUNNING and not self.rounds:
                self.reset()  # there is nothing to go on from
            self.problem.emit(error, event.details or "")

    def _flush(self) -> None:
        """Add the rounds that arrived in this tick, as one change."""
        added, self._added = self._added, []
        if added:
            self.rounds += added
            self._received += len(added)
            self.rounds_added.emit(added)
            self.playback.added()

    # --- moving between states ---

    def _finish(self, finished: RunFinished) -> None:
        self.finished = finished
        self._enter(State.FINISHED)
        self.run_finished.emit()

    def _clear_run(self) -> None:
        self.rounds.clear()
        self._added.clear()
        self.started = self.finished = None
        had_file = self._forget_file()
        self._move(self.playback.reset)
        self.run_cleared.emit()
        if had_file:
            self.opened_changed.emit()

    def _take_settings(self, config: RunConfig, prompt: Prompt) -> None:
        """Have other settings; measured points that do not hold for them are dropped."""
        other_figures = conditions(config, prompt) != conditions(self.config, self.prompt)
        self.config, self.prompt = config, prompt
        self.obstacle = obstacle(self.pair, prompt)
        if other_figures:
            self._behind = self._behind[0], None
            self._set_sweep(None)
        self.config_changed.emit()

    def _submit(self, job: Job) -> None:
        self._job, self._control = self.runner.submit(job)

    def _drop_job(self) -> None:
        """Stop the current job and ignore whatever it still says."""
        if self._control is not None:
            self._control.stop()
        self._job, self._control = 0, None

    def _enter(self, state: State) -> None:
        if state is not self.state:
            assert state in ALLOWED[self.state], (self.state, state)
            self.state = state
            self.state_changed.emit()
