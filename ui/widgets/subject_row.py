"""What is to be analysed: this run's text, a typed text, a text file, or a file of logits.

Knows: buttons and dialogs. Does not know: how an analysis is made.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QInputDialog, QPushButton, QVBoxLayout, QWidget

from simulator.worth.jobs import Subject
from ui import theme
from ui.widgets.flow_layout import FlowLayout

NAME = 28  # characters of a typed text that stand for all of it


class SubjectRow(QWidget):
    """One button for each kind of text, and one that analyses the last one again."""

    chosen = Signal(object)  # a Subject
    run_wanted = Signal()  # the run's text, which the page knows
    again = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self.run = self._button(self.tr("This run's text"), self.tr("Analyse the prompt and what the run has emitted."))
        self.typed = self._button(self.tr("Type a text …"), self.tr("Type or paste a text to analyse."))
        self.file = self._button(self.tr("Text file …"), self.tr("Analyse a text file in UTF-8, a book if you like."))
        self.rows = self._button(self.tr("Logits (.npz) …"), self.tr(
            "Analyse any model with logits over ids, audio codec tokens included: an .npz file with 'logits' or "
            "'probs' [n, V], and if you have them 'q_logits' or 'q_probs' [n, V] of a draft and 'ids' [n], the token "
            "that each row predicts. The toolbar's temperature and filters are applied."))  # fmt: skip
        self.once_more = self._button(self.tr("Again"), self.tr("Analyse the same text again, with the temperature and "
                                                                "the filters that the toolbar has now."))  # fmt: skip
        self.run.setProperty("primary", True)
        row = FlowLayout(spacing=theme.SPACE)
        for button in (self.run, self.typed, self.file, self.rows, self.once_more):
            row.addWidget(button)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addLayout(row)
        self.run.clicked.connect(self.run_wanted)
        self.typed.clicked.connect(self._ask_text)
        self.file.clicked.connect(self._ask_file)
        self.rows.clicked.connect(self._ask_rows)
        self.once_more.clicked.connect(self.again)

    def set_allowed(self, anything: bool, run: bool, again: bool) -> None:
        """Enable what can be asked now."""
        for button in (self.typed, self.file, self.rows):
            button.setEnabled(anything)
        self.run.setEnabled(anything and run)
        self.once_more.setEnabled(anything and again)

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(tip)
        return button

    def _ask_text(self) -> None:
        title, label = self.tr("A text to analyse"), self.tr("Each of its tokens is predicted from those before it.")
        text, ok = QInputDialog.getMultiLineText(self, title, label, self._text)
        if ok:
            self._text = text
            words = " ".join(text.split())
            name = words if len(words) <= NAME else words[: NAME - 1] + "…"
            self.chosen.emit(Subject(self.tr("'{words}'").format(words=name), text=text))

    def _ask_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self, self.tr("Text file"), "", self.tr("Text (*.txt *.md);;All files (*)")
        )
        if path:
            self.chosen.emit(Subject(Path(path).name, path=Path(path)))

    def _ask_rows(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Logits"), "", self.tr("NumPy archive (*.npz)"))
        if path:
            self.chosen.emit(Subject(Path(path).name, rows=Path(path)))
