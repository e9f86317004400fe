"""The analysed text, a part of it at a time: what tints it, the key to the tint, and the tokens themselves.

Knows: which token of the text belongs to which position of the analysis. Does not know: what a click leads to.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.worth.flatness import Analysis
from ui import theme, worth_model, worth_words
from ui.plots.key import Entry, Key
from ui.widgets.arranging import filling
from ui.widgets.digits import prob
from ui.widgets.heat_text import FAINT, STRONG, HeatText

PART = 1000  # tokens shown at once
HEIGHT = 94  # px of the tokens, at least, at the usual size of the text
STEPS, FEW = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 1.0)  # of the key; beside the place in a long text


class TextPart(QWidget):
    """A text with a number at each token."""

    position_chosen = Signal(int)  # of the analysis

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._analysis: Analysis | None = None
        self._label: Callable[[int], str] = str
        self._blank = ""  # what parts tokens that are no text
        self._first = 0  # the first token shown
        self._words: list[str] = []  # what stands in the part that is shown
        self._worded: tuple[range, str] | None = None  # which part and what parted its tokens
        self.heat, self.legend, self.quantity = HeatText(), Key(), QComboBox()
        self.earlier, self.later, self.place = QPushButton(self.tr("Earlier")), QPushButton(self.tr("Later")), QLabel()
        self._strip = QWidget()
        self._build()
        self.quantity.currentIndexChanged.connect(self.refresh)
        self.earlier.clicked.connect(lambda: self.show_from(self._first - PART))
        self.later.clicked.connect(lambda: self.show_from(self._first + PART))
        self.heat.token_chosen.connect(self._choose)

    def set_analysis(
        self, analysis: Analysis | None, label: Callable[[int], str], are_texts: bool, other: bool = False
    ) -> None:
        """Show what is known of a text; `label` writes a token id, and ids that are no texts are kept apart.

        other: it is another text than before, to be shown from its beginning.
        """
        self._analysis, self._label, self._blank = analysis, label, "" if are_texts else " "
        if other:
            self._first, self._words = 0, []
            self.heat.set_chosen(None)
        self.refresh()

    def show_from(self, first: int) -> None:
        """Show the part that begins with this token; no token is chosen."""
        self._first = first
        self.heat.set_chosen(None)
        self.refresh()

    def refresh(self) -> None:
        """Show everything anew."""
        a = self._analysis
        self._strip.setVisible(a is not None)
        if a is None:
            self.heat.set_tokens((), lambda i: "", self.tr("The text appears here, each token tinted by its number."))
            return
        self._offer(worth_model.quantities(a))
        total = a.wanted + a.offset
        here = range(self._first, min(total, self._first + PART))
        if (here, self._blank) != self._worded:
            self._worded, self._words = (here, self._blank), []
        self._words = self._words or [self._word(a, t) for t in here]  # a text does not change while it is read
        self.heat.set_tokens(self._words, self.tooltip)
        self.heat.set_values(self._values(a, here))
        self._show_key(a)
        text = self.tr("{first} to {last} of {all}")
        self.place.setText(text.format(first=f"{here.start + 1:,}", last=f"{here.stop:,}", all=f"{total:,}"))
        for button, on in ((self.earlier, here.start > 0), (self.later, here.stop < total)):
            button.setEnabled(on)
        for part in (self.place, self.earlier, self.later):
            part.setVisible(total > PART)

    def tooltip(self, index: int) -> str:
        """Return all numbers of a token of this part as rich text."""
        a = self._analysis
        i = index + self._first - a.offset
        if not 0 <= i < a.n:
            return self.tr("The first token: nothing before it could predict it.") if i < 0 else self.tr("Not read.")
        return worth_words.tooltip(a, i, {t: self._label(t) for t in worth_words.tokens_at(a, i)})

    def _choose(self, index: int) -> None:
        a = self._analysis
        i = index + self._first - (a.offset if a is not None else 0)
        if a is not None and 0 <= i < a.n:
            self.heat.set_chosen(index)
            self.position_chosen.emit(i)

    def _values(self, a: Analysis, here: range) -> list[float]:
        known = worth_model.values(a, self.quantity.currentData())
        first, last = max(0, here.start - a.offset), max(0, here.stop - a.offset)
        before = np.full(max(0, a.offset - here.start), np.nan)
        return np.concatenate([before, known[first:last]]).tolist()

    def _show_key(self, a: Analysis) -> None:
        entropy = self.quantity.currentData() == "entropy"
        most, unit = (a.most_entropy, self.tr(" bits")) if entropy else (1.0, "")
        steps = STEPS if self.place.isHidden() else FEW
        tints = [pg.mkBrush(theme.colour("accent", FAINT + (STRONG - FAINT) * x)) for x in steps]
        texts = [prob(most * x) + (unit if x == steps[-1] else "") for x in steps]
        self.legend.set_entries([Entry(text, tint) for text, tint in zip(texts, tints, strict=True)])

    def _offer(self, names: list[str]) -> None:
        if [self.quantity.itemData(i) for i in range(self.quantity.count())] == names:
            return
        before = self.quantity.currentData()
        self.quantity.blockSignals(True)
        self.quantity.clear()
        for name in names:
            self.quantity.addItem(worth_words.quantity_name(name), name)
        self.quantity.setCurrentIndex(max(0, self.quantity.findData(before)))
        self.quantity.blockSignals(False)

    def _word(self, a: Analysis, token: int) -> str:
        """Return what stands in the text for token number `token`: the rows of a file without ids are numbered."""
        return (str(token) if a.text is None else self._label(int(a.text[token]))) + self._blank

    def _build(self) -> None:
        self.place.setProperty("muted", True)
        self.place.setToolTip(self.tr("Which tokens of the text are shown here."))
        self.quantity.setAccessibleName(self.tr("What tints the text"))
        self.quantity.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.quantity.setToolTip(
            self.tr("The number that tints each token; the bar under a token is as high as it is large.")
        )
        row = QHBoxLayout(self._strip)
        row.setContentsMargins(0, 0, 0, 0)
        caption = QLabel(self.tr("Tint and bar:"))
        caption.setProperty("muted", True)
        for part in (caption, self.quantity):
            row.addWidget(part)
        row.addWidget(self.legend, 1, Qt.AlignmentFlag.AlignVCenter)
        for part in (self.place, self.earlier, self.later):
            row.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        layout.addWidget(self._strip)
        layout.addWidget(filling(self.heat, HEIGHT), 1)
