"""Write the run on screen to files, in the background; the window's side of `simulator.export` and `simulator.trace`.

Hashing the weights for the metadata takes seconds to minutes for large models, so the window does not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from simulator.commands import metadata
from simulator.errors import UserError
from simulator.export import check_writable, write_csv
from simulator.files import check_file
from simulator.records import Run
from simulator.text.texts import Texts
from simulator.trace.file import save_trace
from ui.file_work import FileWork, Meter
from ui.session import Session


@dataclass(frozen=True, slots=True)
class Shown:
    """The run on screen, with what a file says of it."""

    run: Run
    texts: Texts
    meta: Callable[[], dict[str, Any]]  # to be called on a thread that may take its time


def on_screen(session: Session) -> Shown | None:
    """Return the run on screen, None where there is no round of one; a file's run keeps what its file says of it."""
    run, pair, prompt, opened = session.run, session.pair, session.prompt, session.opened
    if run is None or not run.rounds:
        return None
    if opened is None:
        return Shown(run, session.texts, lambda: metadata(pair, [prompt], run.config, sys.argv))
    before = len(opened.run.rounds)
    if len(run.rounds) == before:
        return Shown(run, session.texts, lambda: opened.meta)
    return Shown(run, session.texts, lambda: opened.meta | {
        "continued": {"from_round": before, **metadata(pair, [prompt], run.config, sys.argv)}
    })  # fmt: skip


class Exporter(QObject):
    """Writes one file at a time on a thread of its own and tells how it ended."""

    written = Signal(str)  # the path
    failed = Signal(str, str)  # a sentence, and details or ""
    progress = Signal(object)  # Progress or None

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = FileWork(self)
        self._work.found.connect(lambda path: self.written.emit(str(path)))
        self._work.ended.connect(lambda error, details: self.failed.emit(error, details) if error else None)
        self._work.progress.connect(self.progress)

    @property
    def busy(self) -> bool:
        """Return whether a file is being written."""
        return self._work.busy

    def export(self, path: Path, session: Session) -> None:
        """Begin to write the run as CSV with its metadata beside it; raise `UserError` where that cannot be."""
        shown = self._ready(session)
        check_writable(path)
        self._begin(path, lambda meter: write_csv(path, [shown.run], shown.texts, shown.meta(), meter))

    def save(self, path: Path, session: Session) -> None:
        """Begin to write the run as a trace that can be opened again; raise `UserError` where that cannot be."""
        shown = self._ready(session)
        check_file(path)
        self._begin(path, lambda meter: save_trace(path, [shown.run], shown.meta(), meter, shown.texts))

    def cancel(self) -> None:
        """Give up what is being written: nothing of it stays."""
        self._work.cancel()

    def close(self, timeout: float) -> bool:
        """Let what is being written be done within `timeout` seconds, else give it up; return whether it ended."""
        return self._work.close(timeout, patience=timeout)

    def _begin(self, path: Path, write: Callable[[Meter], None]) -> None:
        def work(meter: Meter) -> Iterator[Path]:
            write(meter)
            yield path

        self._work.begin(self.tr("Writing {path} ...").format(path=path), work)

    def _ready(self, session: Session) -> Shown:
        shown = on_screen(session)
        if shown is None:
            raise UserError(self.tr("There is no run to export yet: step at least once."))
        if self.busy:
            raise UserError(self.tr("The last export is still being written: wait until it is done."))
        return shown
