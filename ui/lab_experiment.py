"""The experiment that is running: draws on a thread of its own, polled by a timer; no Qt signal crosses a thread.

Knows: when to draw, stop, go on, and when the test may speak. Does not know how anything looks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from simulator.exactness.lab import Check, Noise, Tally, check, empty_tally, experiment, noise
from simulator.runner import Control, Job, Runner
from simulator.verify import token_rule
from ui.lab_model import Setup

TICK_MS = 16
REPORTS = 2  # taken a tick at most, so that a quick million can be watched for a second


class Experiment(QObject):
    """Draws by one setup until told otherwise; the tally grows from press to press."""

    changed = Signal()  # new draws, or none any more
    finished = Signal()  # the wanted draws are made, or stopped: the test has spoken
    failed = Signal(str)  # a sentence

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner: Runner | None = None
        self._job, self._control = 0, None
        self._seed = 0
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self.poll)
        self.setup: Setup | None = None
        self.tally: Tally | None = None
        self.before: Tally | None = None  # the tally when the last button was pressed
        self.check: Check | None = None
        self.noise: Noise | None = None
        self.wanted = 0

    @property
    def running(self) -> bool:
        """Return whether draws are being made."""
        return self._control is not None

    def reset(self, setup: Setup | None) -> None:
        """Forget all draws and look at another setup, with other random numbers from now on."""
        self._drop()
        self._seed += 1
        self._rng = np.random.default_rng(self._seed)
        self.setup, self.check, self.noise, self.before = setup, None, None, None
        self.tally = empty_tally(len(setup.pair.ids)) if setup is not None else None
        self.changed.emit()

    def start(self, draws: int) -> None:
        """Make so many more draws; does nothing while others are being made."""
        if self.setup is None or self.running:
            return
        self._runner = self._runner or Runner()
        self.check, self.noise = None, None  # of fewer draws
        self.before, self.wanted = self.tally, self.tally.draws + draws
        self._job, self._control = self._runner.submit(draw_job(self.setup, draws, self._rng, self.tally))
        self._timer.start()
        self.changed.emit()

    def stop(self) -> None:
        """Make no more draws; those made stay and are tested."""
        if self.running:
            self._drop()
            self._conclude()

    def close(self) -> bool:
        """Stop and end the thread; return whether it ended in time."""
        self._drop()
        runner, self._runner = self._runner, None
        return runner is None or runner.close()

    def poll(self) -> None:
        """Take over what the thread has left, a few reports at a time."""
        events = self._runner.take(REPORTS) if self._runner is not None else []
        mine = [event for event in events if event.job == self._job]
        tallies = [event.value for event in mine if event.value is not None]
        if tallies:
            self.tally = tallies[-1]
            self.changed.emit()
        for event in mine:
            if event.done:
                self._drop()
                self._conclude()
                if event.error:
                    self.failed.emit(event.error)

    def _conclude(self) -> None:
        n, p = self.tally.draws, self.setup.pair.p
        self.check = check(self.tally.emitted, p) if n else None
        self.noise = noise(p, n) if n else None
        self.changed.emit()
        self.finished.emit()

    def _drop(self) -> None:
        if self._control is not None:
            self._control.stop()
        self._job, self._control = 0, None
        self._timer.stop()


def draw_job(setup: Setup, draws: int, rng: np.random.Generator, tally: Tally) -> Job:
    """Return the job that makes the draws; it may be stopped between any two reports."""

    def job(control: Control) -> Iterator[Tally]:
        rule = token_rule(setup.rule, setup.parameter)
        for report in experiment(rule, setup.pair.p, setup.pair.q, setup.draft(), draws, rng, tally):
            control.checkpoint()
            yield report

    return job
