"""Where the acceptance figures come from: the run of this window, files, or counters pasted from an engine.

Knows: what to ask the person for. Does not know: how anything is read or counted.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QPushButton, QWidget

from ui.widgets.paste_dialog import PasteDialog


class CountsSource(QWidget):
    """Three buttons and what is shown."""

    run_wanted = Signal()
    files_chosen = Signal(list)  # of Path
    counters_pasted = Signal(object)  # an Acceptance

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(tip)
        return button

    def _ask_files(self) -> None:
        title = self.tr("Open finished runs")
        kinds = self.tr("Traces and CSV (*.trace *.gz *.csv *.tsv *.txt);;All files (*)")
        paths, _ = QFileDialog.getOpenFileNames(self, title, "", kinds)
        if paths:
            self.files_chosen.emit([Path(path) for path in paths])

    def _ask_counters(self) -> None:
        dialog = PasteDialog(self)
        try:
            if dialog.exec() and dialog.found is not None:
                self.counters_pasted.emit(dialog.found)
        finally:
            dialog.deleteLater()
