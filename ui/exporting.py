"""Write the run on screen to files, in the background; the window's side of `simulator.export`.

Hashing the weights for the metadata takes seconds to minutes for large models, so the window does not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from simulator.commands import metadata
from simulator.errors import UserError
from simulator.export import check_writable, write_csv
from simulator.loading import Pair
from simulator.records import Run
from simulator.runner import Control, Job
from simulator.text.prompts import Prompt
from ui.asker import Asker
from ui.session import Session


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
        self._asker = Asker(self)
        self._asker.answered.connect(lambda paths: self.written.emit(str(paths[0])))
        self._asker.ended.connect(lambda error, details: self.failed.emit(error, details) if error else None)

    @property
    def busy(self) -> bool:
        """Return whether an export is going on."""
        return self._asker.busy

    def export(self, path: Path, session: Session) -> None:
        """Begin to write the session's run; raise `UserError` when there is none or the place cannot be written."""
        run, pair = session.run, session.pair
        if run is None or not run.rounds or pair is None:
            raise UserError(self.tr("There is no run to export yet: step at least once."))
        if self.busy:
            raise UserError(self.tr("The last export is still being written: wait until it is done."))
        check_writable(path)
        self._asker.ask(export_job(path, run, pair, session.prompt))

    def close(self, timeout: float) -> bool:
        """Wait for an export that is going on, at most `timeout` seconds; return whether it ended."""
        return self._asker.close(timeout)
