"""Opens grid files and writes tables of runs, on a thread of its own.

Knows: that reading thousands of runs takes seconds, for which the window does not wait. Does not know: pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.brief import Brief
from simulator.grid_file import GridFile, open_grid
from simulator.grid_table import write_table
from simulator.runner import Control, Runner

POLL_MS = 50


class GridFiles(QObject):
    """Does one thing at a time and tells how it ended; what is asked meanwhile waits its turn with the caller."""

    opened = Signal(object)  # GridFile
    written = Signal(str)  # the path
    failed = Signal(str, str)  # a sentence, and details or ""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner: Runner | None = None
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._poll)

    @property
    def busy(self) -> bool:
        """Return whether something is going on."""
        return self._timer.isActive()

    def open(self, path: Path) -> None:
        """Begin to read a grid's file."""
        self._submit(lambda: open_grid(path))

    def write(self, path: Path, runs: Sequence[Brief], by: str, meta: dict[str, Any]) -> None:
        """Begin to write the table of these runs."""

        def write() -> Path:
            write_table(path, runs, by, meta)
            return path

        self._submit(write)

    def close(self, timeout: float) -> bool:
        """Wait for what is going on, at most `timeout` seconds; return whether it ended."""
        self._timer.stop()
        return self._runner is None or self._runner.close(timeout)

    def _submit(self, work: Callable[[], Any]) -> None:
        assert not self.busy

        def job(control: Control) -> Iterator[Any]:
            yield work()

        self._runner = self._runner or Runner()
        self._runner.submit(job)
        self._timer.start()

    def _poll(self) -> None:
        assert self._runner is not None
        for event in self._runner.take():
            if event.done:
                self._timer.stop()
            if isinstance(event.value, GridFile):
                self.opened.emit(event.value)
            elif event.value is not None:
                self.written.emit(str(event.value))
            if event.error:
                self.failed.emit(event.error, event.details or "")
