"""Puts runs that have ended in brief, one after the other; long ones on a thread of its own.

Knows: the order in which they ended, and that each is counted once. Does not know: who shows them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QObject, Signal

from simulator.grids.brief import Brief, brief_of
from simulator.records import Run
from simulator.runner import Control, Job
from simulator.text.prompts import Prompt
from simulator.text.texts import Texts
from ui.asker import Asker

AT_ONCE = 500  # rounds that are counted within a few milliseconds
PAINTED_S, LOOK_S = 0.5, 0.02  # until a window has painted what it was told, and between two looks at a wish to stop


class RunCounter(QObject):
    """Counts every run that it is given, whatever comes meanwhile."""

    counted = Signal(object)  # Brief
    failed = Signal(str, str)  # a sentence, and details or ""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Job] = deque()
        self._asker = Asker(self)
        self._asker.answered.connect(self._tell)
        self._asker.ended.connect(self._go_on)

    @property
    def busy(self) -> bool:
        """Return whether a run is being counted."""
        return self._asker.busy

    def count(self, run: Run, models: str, prompt: Prompt, texts: Texts) -> None:
        """Count a run, which must not change any more; those given before it are told first."""
        if not self.busy and len(run.rounds) <= AT_ONCE:
            self.counted.emit(brief_of(run, models, prompt, 0, texts))
            return

        def job(control: Control) -> Iterator[Brief]:
            let_paint(control.checkpoint)
            yield brief_of(run, models, prompt, 0, texts)

        self._waiting.append(job)
        if not self.busy:
            self._begin()

    def close(self, timeout: float) -> bool:
        """Stop, and wait for the thread to end, at most `timeout` seconds; return whether it ended."""
        self._waiting.clear()
        return self._asker.close(timeout)

    def _begin(self) -> None:
        self._asker.ask(self._waiting.popleft())

    def _tell(self, found: list[Any]) -> None:
        for brief in found:
            self.counted.emit(brief)

    def _go_on(self, error: str, details: str) -> None:
        if self._waiting:
            self._begin()
        if error:
            self.failed.emit(error, details)


def let_paint(checkpoint: Callable[[], object]) -> None:
    """Wait before long work beside a window that has much to paint: Python runs one thread at a time."""
    limit = time.monotonic() + PAINTED_S
    while time.monotonic() < limit:
        checkpoint()
        time.sleep(LOOK_S)
