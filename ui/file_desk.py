"""Everything between the run on screen and files: export, save, open, drop, and what is said while that goes on.

Knows: dialogs, who reads and who writes, what is said over an opened run. Does not know: what is in files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from simulator.errors import UserError
from simulator.loading import Progress
from simulator.opened import Opened
from ui import opened_words
from ui.exporting import Exporter
from ui.session import Session
from ui.states import State
from ui.trace_files import TraceFiles
from ui.widgets.notice import ProgressNotice
from ui.widgets.opened_strip import OpenedStrip

TRACES = "Traces (*.trace);;All files (*)"


class FileDesk(QObject):
    """Takes the person's wishes about files; `parts` are the widgets that it shows itself in."""

    problem = Signal(str, str)  # a sentence, and details or ""
    told = Signal(str)  # something worth knowing, "" where what was told before no longer matters
    listed = Signal(object, object)  # an opened file's path, and one of its runs in brief

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session, self._window, self._said = session, parent, ""
        self.exporter, self.traces = Exporter(self), TraceFiles(self)
        self.strip, self.writing, self.reading = OpenedStrip(), ProgressNotice(), ProgressNotice()
        self.parts = self.strip, self.writing, self.reading
        for source, notice in ((self.exporter, self.writing), (self.traces, self.reading)):
            source.progress.connect(lambda progress, notice=notice: show_progress(notice, progress))
            source.failed.connect(self.problem)
            notice.cancelled.connect(source.cancel)
        self.exporter.written.connect(lambda path: self.told.emit(self.tr("Written to {path}.").format(path=path)))
        self.traces.opened.connect(self.show)
        self.traces.listed.connect(self.listed)
        self.strip.closed.connect(session.close_file)
        self.strip.run_chosen.connect(lambda i: self.show(replace(session.opened, index=i)))
        session.opened_changed.connect(self._show_strip)
        session.rounds_added.connect(lambda _: self._show_remarks())

    def export_csv(self) -> None:
        """Ask for a file name and write all rounds of this run as CSV, in the background."""
        self._ask_where(self.tr("Export rounds"), "rounds.csv", self.tr("CSV (*.csv)"), self.exporter.export)

    def save_trace(self) -> None:
        """Ask for a file name and write this run as a trace, in the background."""
        self._ask_where(self.tr("Save trace"), "run.trace", self.tr(TRACES), self.exporter.save)

    def open_trace(self) -> None:
        """Ask for a trace file and show its runs."""
        path, _ = QFileDialog.getOpenFileName(self._window, self.tr("Open trace"), "", self.tr(TRACES))
        if path:
            self.open(Path(path))

    def drop(self, data: QMimeData) -> None:
        """Open the file that was dropped."""
        files = dropped(data)
        if len(files) > 1:
            text = self.tr("{n} files were dropped: drop a single trace file.")
            self.problem.emit(text.format(n=len(files)), "")
        elif files:
            self.open(files[0])

    def open(self, path: Path) -> None:
        """Read a trace in the background; what is on screen stays until all of the file is understood."""
        if self._session.state is State.MEASURING:
            self.problem.emit(self.tr("Something is being measured: wait until that is done, or cancel it, before "
                                      "you open a file."), "")  # fmt: skip
        else:
            self.traces.open(path)

    def show(self, opened: Opened) -> None:
        """Show a run of a file that was read."""
        try:
            self._session.show(opened)
        except UserError as error:
            self.problem.emit(str(error), "")
        else:
            self.told.emit(" ".join(opened.run.notices))

    def close(self, timeout: float) -> bool:
        """Wait for what is being read or written, at most `timeout` seconds each; return whether all ended."""
        return all([self.exporter.close(timeout), self.traces.close(timeout)])

    def _ask_where(self, title: str, name: str, kinds: str, write: Callable[[Path, Session], None]) -> None:
        path, _ = QFileDialog.getSaveFileName(self._window, title, name, kinds)
        if path:
            try:
                write(Path(path), self._session)
            except UserError as error:
                self.problem.emit(str(error), "")

    def _show_strip(self) -> None:
        self._said = ""
        self.strip.set_opened(self._session.opened)
        self._show_remarks()

    def _show_remarks(self) -> None:
        said = opened_words.remarks(self._session) if self._session.opened is not None else ""
        if said != self._said:
            self._said = said
            self.strip.set_remarks(said)


def show_progress(notice: ProgressNotice, progress: Progress | None) -> None:
    """Show how far something is, or no longer."""
    if progress is None:
        notice.hide()
    else:
        notice.set_progress(progress.text, progress.fraction)


def dropped(data: QMimeData) -> list[Path]:
    """Return the files of this computer that are being dropped."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
