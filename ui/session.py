"""The state of the window: pair, configuration, run, measurement. The only emitter of change signals.

Knows: what is loaded and running, and what may be done now. Does not know how anything looks.
Every display tick drains the runner and moves the playback; views are told and never ask around.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.engine import checked_config
from simulator.exactness.sequence import Sequences
from simulator.jobs import compare_job, load_job, run_job, sweep_job
from simulator.loading import Pair, Progress
from simulator.measure import Sweep
from simulator.records import RoundTrace, Run, RunConfig, RunFinished, RunStarted, StopReason
from simulator.runner import Control, Job, JobEvent, Runner
from simulator.store import RoundStore
from simulator.text.prompts import Prompt, as_prompt
from ui.file_run import FileRun
from ui.next_run import conditions, fitted, obstacle, suiting
from ui.playback import Playback
from ui.states import ALLOWED, BUSY, CAN_RUN, State

__all__ = ["Session", "State"]

TICK_MS = 16
CLOSE_S = 3.0  # how long closing waits for a pass, or a part of a load, to end


class Session(FileRun):
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

    def load(self, target: str, draft: str | None, **options: Any) -> None:
        """Load a pair in the background; the old one stays until the new one is complete."""
        self._suspend()
        self._submit(load_job(target, draft, **options))
        self.progress_changed.emit(Progress(self.tr("Starting ..."), 0.0))
        self._enter(State.LOADING)

    def cancel(self) -> None:
        """Stop loading or measuring and return to where things were."""
        if self.state in BUSY:
            self._drop_job()
            self._come_back()

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

    def measure(self) -> None:
        """Sweep k = 0..8 against plain decoding on this pair, prompt and sampling; the run waits meanwhile."""
        if self.state not in CAN_RUN or self.pair is None or self.obstacle:
            return
        self._measure(sweep_job(self.pair, self.prompt, self.config), sweeping=True)

    def compare(self, tokens: int) -> None:
        """Compare whole texts with plain decoding, many seeds or (tokens = 0) greedily; the run waits meanwhile."""
        if self.pair is not None and not self.obstacle:
            self.ask(compare_job(self.pair, self.prompt, self.config, tokens))

    def ask(self, job: Job, quiet: bool = False) -> None:
        """Let the inference thread answer a page's question; the run waits, what the job yields is `answered`.

        quiet: no progress is shown until the job tells some, for what takes a moment only.
        """
        if self.state in CAN_RUN:
            self._measure(job, sweeping=False, quiet=quiet)

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

    @property
    def can_move(self) -> bool:
        """Return whether rounds can be shown; those of a file can also be while models load."""
        if self.opened is not None:
            return self.state is not State.MEASURING
        return self.state in CAN_RUN and self.obstacle is None

    # --- the display tick ---

    def tick(self) -> None:
        """Apply what the inference thread has left, move the playback, permit further rounds."""
        for event in self.runner.take():
            if event.job == self._job:
                self._apply(event)
        self._flush()
        self._move(self._tick_playback)
        self._permit()

    def _tick_playback(self) -> None:
        self.playback.tick(self._clock())
        if self.state not in (State.READY, State.RUNNING) and self.playback.at_end:
            self.playback.play(False)

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

    def _take_pair(self, pair: Pair) -> None:
        self._job, self._control = 0, None  # the end of the load must not end what begins now
        self.progress_changed.emit(None)
        self.prompt = suiting(self.prompt, self.pair, pair)
        self.pair = pair
        self.obstacle = obstacle(pair, self.prompt)
        if self.opened is None:
            self._clear_run()
        self._set_sweep(None)
        self.config = fitted(self.config, pair)
        self.pair_changed.emit()
        self.config_changed.emit()
        self._behind = State.READY, None
        if self.opened is not None:
            self._settle_opened()
            self.opened_changed.emit()
        self._enter(self._behind[0])

    def _take_sweep(self, sweep: Sweep) -> None:
        self.progress_changed.emit(Progress(self.tr("Measuring k = 0 to 8 against plain decoding ..."), sweep.done))
        self._set_sweep(sweep)

    def _take_sequences(self, sequences: Sequences) -> None:
        text = self.tr("Comparing texts: {n} of {all} seeds ...").format(n=sequences.seeds, all=sequences.wanted)
        self.progress_changed.emit(Progress(text, sequences.seeds / sequences.wanted))
        self.answered.emit(sequences)

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

    def _keep_sweep(self) -> str | None:
        """Keep a complete measurement; return why there is none otherwise."""
        if self.sweep is self._behind[1] or self.sweep is None or self.sweep.done < 1:
            return self.tr("Nothing was measured: no token can follow this prompt. Choose a shorter one.")
        self._behind = self._behind[0], self.sweep
        return None

    def _flush(self) -> None:
        """Add the rounds that arrived in this tick, as one change."""
        added, self._added = self._added, []
        if added:
            self.rounds += added
            self._received += len(added)
            self.rounds_added.emit(added)
            self.playback.added()

    def _permit(self) -> None:
        if self.state is State.RUNNING and self._control is None and self.playback.playing and self.playback.wanted:
            self._start_run()  # playing has come to the end of what was there
        if self.state is State.RUNNING and self._control is not None:
            self._control.allow_up_to(self._received + self.playback.wanted)

    # --- moving between states ---

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

    def _set_sweep(self, sweep: Sweep | None) -> None:
        if sweep is not self.sweep:
            self.sweep = sweep
            self.sweep_changed.emit()

    def _suspend(self) -> None:
        """Hold the run, and remember what to come back to; loading while measuring comes back to before both."""
        self._move(lambda: self.playback.play(False))
        if self.state in BUSY:
            self._set_sweep(self._behind[1])
        else:
            self._behind = self.state, self.sweep

    def _come_back(self) -> None:
        """Go back to what loading or measuring held up."""
        self.progress_changed.emit(None)
        self._set_sweep(self._behind[1])
        self._enter(self._behind[0])

    def _measure(self, job: Job, sweeping: bool, quiet: bool = False) -> None:
        self._suspend()
        self._sweeping = sweeping
        self._submit(job)
        if not quiet:
            self.progress_changed.emit(Progress(self.tr("Warming up ..."), 0.0))
        self._enter(State.MEASURING)

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
