"""Whole texts against plain decoding: many seeds for the first tokens, or one greedy text; a table and a sentence.

Knows: what to ask for and how the answer reads. Does not know: models; the answer comes from the session.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.exactness.sequence import Divergence, Sequences
from simulator.jobs import SEEDS
from ui import sequence_words, theme
from ui.lab_words import Sentence
from ui.widgets.fitting import Fitting
from ui.widgets.labelled_slider import LabelledSlider
from ui.widgets.token_text import quoted, safe

ROWS = 3  # of the table


class SequencePanel(Fitting):
    """Asks for a comparison and shows its result."""

    wanted = Signal(int)  # first tokens to compare over many seeds; 0: greedy text

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label: Callable[[int], str] = str
        self._sentence = Sentence("")
        about = QLabel(self.tr("The real engine with the toolbar's rule and settings, against the target decoding "
                               "alone."), wordWrap=True)  # fmt: skip
        about.setProperty("muted", True)
        self.tokens = LabelledSlider(self.tr("first tokens"), "", 1, 3, 0, 1, self.tr("Texts are compared by so many "
                                     "first tokens."), 3)  # fmt: skip
        self.seeds, self.greedy = QPushButton(self.tr("{n} seeds").format(n=SEEDS)), QPushButton(self.tr("Greedy text"))
        tip = self.tr("Decode {n} texts with drafts and {n} without, each with a seed of its own.")
        self.seeds.setToolTip(tip.format(n=SEEDS))
        self.greedy.setToolTip(self.tr("Decode at T = 0 both ways and find the first token that differs."))
        self.seeds.clicked.connect(lambda: self.wanted.emit(int(self.tokens.value())))
        self.greedy.clicked.connect(lambda: self.wanted.emit(0))
        self._head, self._table, self._test = QLabel(wordWrap=True), QLabel(), QLabel(wordWrap=True)
        self._table.setTextFormat(Qt.TextFormat.RichText)
        self._test.setProperty("muted", True)
        buttons = QHBoxLayout()
        for button in (self.seeds, self.greedy):
            buttons.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        for part in (about, self.tokens, buttons, self._head, self._table, self._test):
            layout.addLayout(part) if part is buttons else layout.addWidget(part)
        layout.addStretch(1)
        self.clear()

    def set_allowed(self, allowed: bool) -> None:
        """Enable or disable asking."""
        for button in (self.seeds, self.greedy):
            button.setEnabled(allowed)

    def set_label(self, label: Callable[[int], str]) -> None:
        """Use this to write a token id."""
        self._label = label

    def clear(self) -> None:
        """Show no result, but what there is to ask."""
        self._show(Sentence(""), "", sequence_words.questions(SEEDS))

    def set_result(self, result: Sequences | Divergence) -> None:
        """Show a comparison, also while it grows."""
        if isinstance(result, Divergence):
            self._show(sequence_words.greedy(result, lambda t: quoted(self._label(t))), "", "")
            return
        sentence, test = sequence_words.sequences(result)
        self._show(sentence, self._rows(result), test)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_test"):
            self._dress()
        super().changeEvent(event)

    def _show(self, sentence: Sentence, table: str, test: str) -> None:
        self._sentence = sentence
        self._head.setText(f"{sentence.sign} {sentence.text}".strip())
        self._table.setText(table)
        self._test.setText(test)
        for label in (self._head, self._table, self._test):
            label.setVisible(bool(label.text()))
        self._dress()

    def _dress(self) -> None:
        theme.set_face(self._head, bold=True, colour=self._sentence.colour)

    def _rows(self, result: Sequences) -> str:
        """Return the most frequent texts with their counts as a table."""
        head = [self.tr("first tokens"), self.tr("with drafts"), self.tr("plain")]
        rows = [
            ("".join(safe(self._label(t)) for t in text), f"{a:,}", f"{b:,}") for text, a, b in result.table()[:ROWS]
        ]
        others = result.table()[ROWS:]
        if others:
            sums = (sum(row[i] for row in others) for i in (1, 2))
            rows.append((self.tr("{n} others").format(n=len(others)), *(f"{s:,}" for s in sums)))
        lines = [head, *rows]
        return f"<table cellpadding='1'>{''.join(_line(line) for line in lines)}</table>"


def _line(cells: tuple[str, ...] | list[str]) -> str:
    first, *numbers = (escape(cell) for cell in cells)
    return (
        f"<tr><td width='150'>{first}</td>"
        + "".join(f"<td align='right' width='84'>{n}</td>" for n in numbers)
        + "</tr>"
    )
