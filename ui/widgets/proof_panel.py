"""The identity with this position's numbers: four terms, each a button that lights up its part of the picture.

Knows: one term is chosen at a time, or none. Does not know: the terms' arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from ui import theme
from ui.lab_words import Term
from ui.widgets.fitting import Fitting
from ui.widgets.term_button import TermButton


class ProofPanel(Fitting):
    """Terms, one under the other, and what follows from them."""

    term_chosen = Signal(object)  # Term, or None when the chosen one is clicked again

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._terms: tuple[Term, ...] = ()
        self._key: str | None = None
        self._head, self._end = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self._head.setProperty("muted", True)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(4)
        self.buttons: list[TermButton] = []
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        layout.addWidget(self._head)
        layout.addLayout(self._rows)
        layout.addWidget(self._end)
        layout.addStretch(1)

    def set_proof(self, head: str, terms: Sequence[Term], end: str) -> None:
        """Show these terms; the chosen one stays chosen."""
        self._terms = tuple(terms)
        self._head.setText(head)
        self._end.setText(end)
        while len(self.buttons) < len(terms):
            button, index = TermButton(self), len(self.buttons)
            button.clicked.connect(lambda _=False, i=index: self._click(i))
            self.buttons.append(button)
            self._rows.addWidget(button)
        for button, term in zip(self.buttons, terms, strict=False):
            button.set_term(term.title, term.formula, term.value, term.colour)
            button.setChecked(term.key == self._key)

    @property
    def chosen(self) -> Term | None:
        """Return the term that is lit."""
        return next((term for term in self._terms if term.key == self._key), None)

    def choose(self, key: str | None) -> None:
        """Light up a term by its key, or none."""
        self._key = key
        for button, term in zip(self.buttons, self._terms, strict=False):
            button.setChecked(term.key == key)
        self.term_chosen.emit(self.chosen)

    def _click(self, index: int) -> None:
        key = self._terms[index].key
        self.choose(None if key == self._key else key)
