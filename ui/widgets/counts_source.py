"""Where the acceptance figures come from: the run of this window, files, or counters pasted from an engine.

Knows: what to ask the person for, and that files are read on a thread of their own. Does not know: how anything is
counted, or what it says.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QPushButton, QWidget

from simulator.acceptance.jobs import files_job
from ui.asker import Asker
from ui.widgets.paste_dialog import PasteDialog

CLOSE_S = 2.0  # how long closing waits for a file to be read


class CountsSource(QWidget):
    """Three buttons and what is shown."""

    run_wanted = Signal()
    opened = Signal(object)  # an Acceptance: what the chosen files say together
    counters_pasted = Signal(object)  # an Acceptance
    failed = Signal(str, str)  # a sentence, details

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.asker = Asker(self)
        self._of = ""  # whose figures are on screen
        self.shown = QLabel()
        self.shown.setProperty("muted", True)
        self.run = self._button(self.tr("This run"), self.tr("Show the run of this window."))
        self.files = self._button(self.tr("Open runs …"), self.tr("Traces or CSVs, one or several: counts are pooled."))
        self.paste = self._button(self.tr("Paste counters …"), self.tr("From vLLM, SGLang, llama.cpp or LM Studio."))
        self.run.clicked.connect(self.run_wanted)
        self.files.clicked.connect(self._ask_files)
        self.paste.clicked.connect(self._ask_counters)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget in (self.run, self.files, self.paste, self.shown):
            row.addWidget(widget)
        row.addStretch(1)
        self.asker.answered.connect(self._read)
        self.asker.ended.connect(self._ended)

    def set_shown(self, of: str, is_other: bool) -> None:
        """Say whose figures are on screen; `is_other`: not those of this window's run."""
        self._of = of
        self.run.setEnabled(is_other)
        if not self.asker.busy:
            self.shown.setText(self.tr("Shown: {source}").format(source=of) if of else "")

    def open(self, paths: list[Path]) -> None:
        """Read traces and CSVs in the background."""
        if paths:
            self.asker.ask(files_job(paths))
            self.shown.setText(self.tr("Reading …"))

    def close_thread(self) -> bool:
        """Stop reading; return whether the thread ended in time."""
        return self.asker.close(CLOSE_S)

    def _read(self, answers: list[object]) -> None:
        for answer in answers:
            self.opened.emit(answer)

    def _ended(self, error: str, details: str) -> None:
        self.set_shown(self._of, self.run.isEnabled())
        if error:
            self.failed.emit(error, details)

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(tip)
        return button

    def _ask_files(self) -> None:
        title = self.tr("Open finished runs")
        kinds = self.tr("Traces and CSV (*.trace *.gz *.csv *.tsv *.txt);;All files (*)")
        paths, _ = QFileDialog.getOpenFileNames(self, title, "", kinds)
        if paths:
            self.open([Path(path) for path in paths])

    def _ask_counters(self) -> None:
        dialog = PasteDialog(self)
        try:
            if dialog.exec() and dialog.found is not None:
                self.counters_pasted.emit(dialog.found)
        finally:
            dialog.deleteLater()
