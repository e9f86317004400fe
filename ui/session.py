"""The state of the window: pair, configuration, run, measurement. The only emitter of change signals.

Knows: what is loaded and running, and what may be done now. Does not know how anything looks.
Every display tick drains the runner and moves the playback; views are told and never ask around.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.jobs import load_job, run_job, sweep_job
from simulator.loading import Pair, Progress
from simulator.measure import Sweep
from simulator.records import RoundTrace, Run, RunConfig, RunFinished, RunStarted, StopReason
from simulator.runner import Control, Job, JobEvent, Runner
from ui.playback import Playback

TICK_MS = 16


class State(Enum):
    """What the session is doing."""

    EMPTY = auto()  # no pair
    LOADING = auto()
    READY = auto()  # pair loaded, no run
    RUNNING = auto()  # a run that can go on
    FINISHED = auto()
    MEASURING = auto()


ALLOWED: dict[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.LOADING}),
    State.LOADING: frozenset({State.EMPTY, State.READY, State.LOADING, State.RUNNING, State.FINISHED}),
    State.READY: frozenset({State.LOADING, State.RUNNING, State.MEASURING}),
    State.RUNNING: frozenset({State.READY, State.FINISHED, State.MEASURING, State.LOADING}),
    State.FINISHED: frozenset({State.READY, State.MEASURING, State.LOADING}),
    State.MEASURING: frozenset({State.READY, State.RUNNING, State.FINISHED, State.LOADING}),
}


class Session(QObject):
    """Owns configuration, run state, trace and cursor; everything the pages show comes from its signals."""

    state_changed = Signal()
    pair_changed = Signal()
    config_changed = Signal()
    run_cleared = Signal()
    run_started = Signal()
    rounds_added = Signal(list)
    cursor_changed = Signal()
    playing_changed = Signal()
    run_finished = Signal()
    sweep_changed = Signal()
    progress_changed = Signal(object)  # Progress or None
    problem = Signal(str, str)  # a sentence, and details or ""

    def __init__(self, runner: Runner | None = None, clock: Callable[[], float] = time.monotonic,
                 parent: QObject | None = None) -> None:  # fmt: skip
        super().__init__(parent)
        self.runner, self._clock = runner or Runner(), clock
        self.state = State.EMPTY
        self.pair: Pair | None = None
        self.config = RunConfig()
        self.prompt = ""
        self.rounds: list[RoundTrace] = []
        self.started: RunStarted | None = None
        self.finished: RunFinished | None = None
        self.sweep: Sweep | None = None
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
        }
        self._behind: State | None = None  # the state to return to after loading or measuring
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self.tick)
        self._timer.start()

    # --- what the person does ---

    def load(self, target: str, draft: str | None, **options: Any) -> None:
        """Load a pair in the background; the old one stays until the new one is complete."""
        if self.state is not State.LOADING:
            self._behind = self._settled()
        self._submit(load_job(target, draft, **options))
        self.progress_changed.emit(Progress(self.tr("Starting ..."), 0.0))
        self._enter(State.LOADING)

    def cancel(self) -> None:
        """Stop loading or measuring and return to where things were."""
        if self.state in (State.LOADING, State.MEASURING):
            self._drop_job()
            self.progress_changed.emit(None)
            self._enter(self._behind or State.EMPTY)

    def configure(self, **changes: Any) -> None:
        """Change settings of the next run; a run in progress is put away. Raise `UserError` for a wrong value."""
        prompt = changes.pop("prompt", self.prompt)
        config = replace(self.config, **changes)
        if (config, prompt) == (self.config, self.prompt):
            return
        self.config, self.prompt = config, prompt
        self.reset()
        self.config_changed.emit()

    def reset(self) -> None:
        """Put the run away: the next step starts at the prompt."""
        if self.state in (State.EMPTY, State.LOADING):
            self._clear_run()
            return
        self._drop_job()
        self._clear_run()
        self._enter(State.READY)

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
        """End the run where it is; what was computed stays."""
        if self.state is State.RUNNING:
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

    def measure(self) -> None:
        """Sweep k = 0..8 against plain decoding on this pair, prompt and sampling; the run waits meanwhile."""
        if self.state not in (State.READY, State.RUNNING, State.FINISHED) or self.pair is None:
            return
        self.playback.play(False)
        self._behind = self.state
        self._submit(sweep_job(self.pair, self.prompt, self.config))
        self.progress_changed.emit(Progress(self.tr("Warming up ..."), 0.0))
        self._enter(State.MEASURING)

    def close(self) -> bool:
        """Stop everything and wait for the inference thread; return whether it ended in time."""
        self._timer.stop()
        return self.runner.close()

    @property
    def run(self) -> Run | None:
        """Return the run so far as one record, None before its first event."""
        if self.started is None:
            return None
        stop = self.finished.stop if self.finished else StopReason.STOPPED
        notices = self.finished.notices if self.finished else ()
        return Run(self.started.config, self.started.prompt, tuple(self.rounds), self.started.prefill_ms, stop, notices)

    # --- the display tick ---

    def tick(self) -> None:
        """Apply what the inference thread has left, move the playback, permit further rounds."""
        self._added: list[RoundTrace] = []
        for event in self.runner.take():
            if event.job == self._job:
                self._apply(event)
        self._flush()
        was_playing = self.playback.playing
        self.playback.tick(self._clock())
        if was_playing and self.state is State.FINISHED and self.playback.at_end:
            self.playback.play(False)
        if was_playing != self.playback.playing:
            self.playing_changed.emit()
        self._permit()

    def _apply(self, event: JobEvent) -> None:
        for kind, take in self._takers.items():
            if isinstance(event.value, kind):
                take(event.value)
        if event.done:
            self._job_ended(event)

    def _take_start(self, started: RunStarted) -> None:
        if self.started is None:  # a resumed run starts only once
            self.started = started
            self.run_started.emit()

    def _take_finish(self, finished: RunFinished) -> None:
        self._flush()
        self._finish(finished)

    def _take_pair(self, pair: Pair) -> None:
        self.pair = pair
        self._clear_run()
        self.sweep = None
        self.config = replace(self.config, end_tokens=pair.end_tokens)
        self._enter(State.READY)
        self.pair_changed.emit()

    def _take_sweep(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.progress_changed.emit(Progress(self.tr("Measuring k = 0 to 8 against plain decoding ..."), sweep.done))
        self.sweep_changed.emit()

    def _job_ended(self, event: JobEvent) -> None:
        """Settle the state after a job ended, well or not."""
        self._control = None
        self.progress_changed.emit(None)
        if self.state in (State.LOADING, State.MEASURING):
            self._enter(self._behind or State.EMPTY)
        if event.error:
            self.playback.play(False)
            self.playing_changed.emit()
            self.problem.emit(event.error, event.details or "")

    def _flush(self) -> None:
        """Add the rounds that arrived in this tick, as one change."""
        added, self._added = self._added, []
        if added:
            self.rounds += added
            self._received += len(added)
            self.rounds_added.emit(added)
            self.playback.added()

    def _permit(self) -> None:
        if self.state is State.RUNNING and self._control is not None:
            self._control.allow_up_to(self._received + self.playback.wanted)

    # --- moving between states ---

    def _advance(self, move: Callable[[], None], start: bool = True) -> None:
        """Make a playback move, starting or resuming the run where it needs more rounds."""
        if self.state in (State.EMPTY, State.LOADING, State.MEASURING):
            return
        was_playing = self.playback.playing
        move()
        if self.playback.playing != was_playing:
            self.playing_changed.emit()
        if start and self.playback.wanted and self.state is not State.FINISHED and self._control is None:
            self._start_run()

    def _start_run(self) -> None:
        assert self.pair is not None
        self._received = 0
        self._submit(run_job(self.pair, self.prompt, self.config, tuple(self.rounds)))
        self._enter(State.RUNNING)

    def _finish(self, finished: RunFinished) -> None:
        self.finished = finished
        self._enter(State.FINISHED)
        self.run_finished.emit()

    def _clear_run(self) -> None:
        self.rounds.clear()
        self.started = self.finished = None
        self.playback.reset()
        self.run_cleared.emit()

    def _settled(self) -> State:
        """Return the state to come back to: what it is now, or was before a measurement."""
        return (self._behind or State.EMPTY) if self.state is State.MEASURING else self.state

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
