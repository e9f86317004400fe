"""A piece of work with a file: on a thread of its own, with progress to show and a way to end it.

Knows: how far the work is, by a meter that the worker sets and a timer reads. Does not know what is read or written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.loading import Progress
from simulator.runner import Control
from ui.asker import Asker

TICK_MS = 100
PATIENCE = 3  # ticks before progress is shown: what is done by then would only flicker


class Meter:
    """How far the worker is; being told more is also where it ends when nobody wants it any more."""

    def __init__(self, text: str, control: Control) -> None:
        self.text, self._control = text, control
        self.share: float | None = None

    def __call__(self, share: float | None) -> None:
        """Take the share that is done, None where nobody knows; raise `Stopped` when asked to stop."""
        self._control.checkpoint()
        self.share = share


Work = Callable[[Meter], Iterator[Any]]


class FileWork(QObject):
    """Does one thing at a time; what is begun ends what was going on."""

    found = Signal(object)  # what the work yields
    ended = Signal(str, str)  # "" or why it failed in a sentence, and details or ""
    progress = Signal(object)  # Progress, or None once there is none to show

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asker = Asker(self)
        self._asker.answered.connect(self._tell)
        self._asker.ended.connect(self._end)
        self._meter: Meter | None = None
        self._ticks = 0
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def busy(self) -> bool:
        """Return whether something is going on."""
        return self._asker.busy

    def begin(self, text: str, work: Work) -> None:
        """Begin with the work, which is called `text` while it goes on."""

        def job(control: Control) -> Iterator[Any]:
            self._meter = meter = Meter(text, control)
            return work(meter)

        self._meter, self._ticks = None, 0
        self._asker.ask(job)
        self._timer.start()

    def cancel(self) -> None:
        """Stop, without waiting for the thread to notice."""
        self._asker.drop()
        self.quiet()

    def quiet(self) -> None:
        """Show no more progress, whatever is still going on."""
        self._timer.stop()
        self.progress.emit(None)

    def close(self, timeout: float, patience: float = 0.0) -> bool:
        """Let the work end within `patience` seconds, stop it, and wait for the thread; return whether it ended."""
        self._timer.stop()
        limit = time.monotonic() + patience
        while self._asker.busy and time.monotonic() < limit:
            time.sleep(0.005)
            self._asker.poll()
        return self._asker.close(timeout)

    def _tick(self) -> None:
        self._ticks += 1
        meter = self._meter
        if self._ticks >= PATIENCE and meter is not None:
            self.progress.emit(Progress(meter.text, meter.share))

    def _tell(self, found: list[Any]) -> None:
        for each in found:
            self.found.emit(each)

    def _end(self, error: str, details: str) -> None:
        self.quiet()
        self.ended.emit(error, details)
