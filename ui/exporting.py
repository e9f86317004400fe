"""Write the run on screen to files, in the background; the window's side of `simulator.export`.

Hashing the weights for the metadata takes seconds to minutes for large models, so the window does not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.commands import metadata
from simulator.errors import UserError
from simulator.export import check_writable, write_csv
from simulator.loading import Pair
from simulator.prompts import Prompt
from simulator.records import Run
from simulator.runner import Control, Job, Runner
from ui.session import Session

POLL_MS = 50


def export_job(path: Path, run: Run, pair: Pair, prompt: Prompt) -> Job:
    """Write the run as CSV with its metadata beside it: yields the path."""

    def job(control: Control) -> Iterator[Path]:
        write_csv(path, [run], pair.texts, metadata(pair, [prompt], run.config, sys.argv))
        yield path

    return job


class Exporter(QObject):
    """Writes one run at a time on a thread of its own and tells how it ended."""

    written = Signal(str)  # the path
    failed = Signal(str, str)  # a sentence, and details or ""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner: Runner | None = None
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._poll)

    @property
    def busy(self) -> bool:
        """Return whether an export is going on."""
        return self._timer.isActive()

    def export(self, path: Path, session: Session) -> None:
        """Begin to write the session's run; raise `UserError` when there is none or the place cannot be written."""
        run, pair = session.run, session.pair
        if run is None or not run.rounds or pair is None:
            raise UserError(self.tr("There is no run to export yet: step at least once."))
        if self.busy:
            raise UserError(self.tr("The last export is still being written: wait until it is done."))
        check_writable(path)
        self._runner = self._runner or Runner()
        self._runner.submit(export_job(path, run, pair, session.prompt))
        self._timer.start()

    def close(self, timeout: float) -> bool:
        """Wait for an export that is going on, at most `timeout` seconds; return whether it ended."""
        self._timer.stop()
        return self._runner is None or self._runner.close(timeout)

    def _poll(self) -> None:
        assert self._runner is not None
        for event in self._runner.take():
            if event.value is not None:
                self.written.emit(str(event.value))
            if event.done:
                self._timer.stop()
            if event.error:
                self.failed.emit(event.error, event.details or "")
