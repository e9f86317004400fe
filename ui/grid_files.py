"""Opens grid files and writes tables of runs, on a thread of its own.

Knows: that reading thousands of runs takes seconds, for which the window does not wait. Does not know: pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from simulator.grids.brief import Brief
from simulator.grids.file import GridFile, open_grid
from simulator.grids.table import write_table
from simulator.runner import Control
from ui.asker import Asker


class GridFiles(QObject):
    """Does one thing at a time and tells how it ended; what is asked meanwhile waits its turn with the caller."""

    opened = Signal(object)  # GridFile
    written = Signal(str)  # the path
    failed = Signal(str, str)  # a sentence, and details or ""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asker, self._result = Asker(self), None
        self._asker.answered.connect(self._keep)
        self._asker.ended.connect(self._tell)

    @property
    def busy(self) -> bool:
        """Return whether something is going on."""
        return self._asker.busy

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
        return self._asker.close(timeout)

    def _submit(self, work: Callable[[], Any]) -> None:
        assert not self.busy

        def job(control: Control) -> Iterator[Any]:
            yield work()

        self._asker.ask(job)

    def _keep(self, results: list[Any]) -> None:
        [self._result] = results

    def _tell(self, error: str, details: str) -> None:
        result, self._result = self._result, None
        if error:
            self.failed.emit(error, details)
        elif isinstance(result, GridFile):
            self.opened.emit(result)
        else:
            self.written.emit(str(result))
