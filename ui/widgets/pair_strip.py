"""What the chosen pair is, in a sentence, and what it asks of the person: consent, and sampling to begin with.

Knows: sentences, a box to tick, a button. Does not know how they came about.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.local.generation_defaults import Suggestion
from simulator.records import Sampling
from simulator.text.vocabulary import Diagnosis
from ui import theme


class PairStrip(QFrame):
    """Two to four lines under the tables."""

    agreed = Signal()  # or no longer

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", True)
        self._sentence, self._problem, self._unapplied = (QLabel(wordWrap=True) for _ in range(3))
        self.consent, self.suggest = (QPushButton(checkable=True, autoDefault=False) for _ in range(2))
        self._found: Diagnosis | None = None
        self._suggestion: Suggestion | None = None
        self.consent.toggled.connect(lambda _: self.agreed.emit())
        self.suggest.toggled.connect(lambda _: self._show_suggestion(self._suggestion))
        self._arrange()

    @property
    def may_go_on(self) -> bool:
        """Return whether the person has agreed to what needs consent."""
        return not (self._found and self._found.needs_consent) or self.consent.isChecked()

    @property
    def sampling(self) -> Sampling | None:
        """Return the sampling to begin with, None to keep the one there is."""
        return self._suggestion.sampling if self._suggestion and self.suggest.isChecked() else None

    def show_pair(self, sentence: str, problem: str, found: Diagnosis | None, suggestion: Suggestion | None) -> None:
        """Show this pair; what was agreed to holds for the pair it was agreed for."""
        self._sentence.setText(sentence)
        self._sentence.setVisible(bool(sentence))
        self._problem.setText(f"✗  {problem}" if problem else "")
        self._problem.setVisible(bool(problem))
        if found != self._found:
            self._found = found
            self.consent.setChecked(False)
        needed = found is not None and found.needs_consent
        self.consent.setVisible(needed)
        if needed:
            text = self.tr("Go on: the {n} ids that differ are never drafted").format(n=found.differing)
            self.consent.setText(_ticked(self.consent, text))
        self._show_suggestion(suggestion)

    def _show_suggestion(self, suggestion: Suggestion | None) -> None:
        if suggestion != self._suggestion:
            self.suggest.setChecked(False)
            self._suggestion = suggestion
        self.suggest.setVisible(suggestion is not None)
        self._unapplied.setVisible(suggestion is not None)
        if suggestion is not None:
            text = self.tr("Start with the target's sampling: {what}").format(what=suggestion.text)
            self.suggest.setText(_ticked(self.suggest, text))
            self._unapplied.setText(suggestion.unapplied)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_suggestion"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        theme.set_face(self._sentence, bold=True)
        theme.set_face(self._problem, colour="excess")

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(*(theme.SPACE,) * 4)
        column.setSpacing(theme.SPACE // 2)
        row, agreement = QHBoxLayout(), QHBoxLayout()
        row.setSpacing(theme.SPACE + 4)
        agreement.addWidget(self.consent)
        agreement.addStretch(1)
        row.addWidget(self.suggest)
        row.addWidget(self._unapplied, 1)
        self._unapplied.setProperty("muted", True)
        for part in (self._sentence, self._problem):
            column.addWidget(part)
        column.addLayout(agreement)
        column.addLayout(row)
        for label in (self._sentence, self._problem, self._unapplied):
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._dress()


def _ticked(button: QPushButton, text: str) -> str:
    return f"{'☑' if button.isChecked() else '☐'}  {text}"
