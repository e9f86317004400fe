"""Opens trace files, in the background: first the run to show, then every run of the file in brief for the table.

Knows: that a file may take seconds to read and its runs as long to count. Does not know: what is shown of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from simulator.grids.brief import Brief
from simulator.opened import Opened, opened
from simulator.trace.file import open_trace
from ui.file_work import FileWork, Meter
from ui.run_counter import AT_ONCE, let_paint


class TraceFiles(QObject):
    """Reads one file at a time; the one asked for last wins."""

    opened = Signal(object)  # Opened
    listed = Signal(object, object)  # the file's path, and a `Brief`
    failed = Signal(str, str)  # a sentence, and details or ""
    progress = Signal(object)  # Progress or None

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = Path()
        self._work = FileWork(self)
        self._work.found.connect(self._take)
        self._work.ended.connect(lambda error, details: self.failed.emit(error, details) if error else None)
        self._work.progress.connect(self.progress)

    def open(self, path: Path) -> None:
        """Begin to read a file; another that is still being read is given up."""
        self._path = path
        self._work.begin(self.tr("Reading {path} ...").format(path=path), lambda meter: _read(path, meter))

    def cancel(self) -> None:
        """Give up the file that is being read."""
        self._work.cancel()

    def close(self, timeout: float) -> bool:
        """Stop, and wait for the thread to end, at most `timeout` seconds; return whether it ended."""
        return self._work.close(timeout)

    def _take(self, found: Opened | Brief) -> None:
        if isinstance(found, Opened):
            self._work.quiet()
            self.opened.emit(found)
        else:
            self.listed.emit(self._path, found)


def _read(path: Path, meter: Meter) -> Iterator[Any]:
    first = opened(path, open_trace(path, meter))
    meter(None)
    yield first
    if sum(len(run.rounds) for run in first.trace.runs) > AT_ONCE:
        let_paint(lambda: meter(None))
    for i in range(len(first.trace.runs)):
        meter(None)
        yield replace(first, index=i).brief()
