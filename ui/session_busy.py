"""The session's part about loading and measuring, which hold the run up, and the way back from both.

Knows: what to come back to, and what a new pair or measurement changes. Does not know how anything looks. The rest of
the session is in `session`.
"""

from __future__ import annotations

from typing import Any

from simulator.exactness.sequence import Sequences
from simulator.jobs import compare_job, load_job, sweep_job
from simulator.loading import Pair, Progress
from simulator.measure import Sweep
from simulator.runner import Job
from ui.next_run import fitted, obstacle, suiting
from ui.states import BUSY, CAN_RUN, State


class Busy:
    """What `Session` is made of where it loads and measures; of no use without it."""

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

    def _keep_sweep(self) -> str | None:
        """Keep a complete measurement; return why there is none otherwise."""
        if self.sweep is self._behind[1] or self.sweep is None or self.sweep.done < 1:
            return self.tr("Nothing was measured: no token can follow this prompt. Choose a shorter one.")
        self._behind = self._behind[0], self.sweep
        return None

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
