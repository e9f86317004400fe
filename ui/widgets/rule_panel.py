"""Choose one of the twelve rules and read what it says: statement, whether it is lossless, law, source.

Knows: the table of rules. Does not know: what comes of a rule on this position.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from simulator.exactness.rules import CARDS, Lossless, RuleCard
from ui import theme
from ui.widgets.labelled_slider import LabelledSlider

SIGNS = {Lossless.YES: ("✓", "both"), Lossless.AT_ZERO: ("◐", "extra"), Lossless.NO: ("✗", "excess")}


class RulePanel(QWidget):
    """A combo of rules, the chosen one's card, and a slider where it has a parameter."""

    changed = Signal(str, object)  # name, parameter or None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.combo = QComboBox()
        for name, card in CARDS.items():
            self.combo.addItem(f"{SIGNS[card.lossless][0]}  {card.title}", name)
        self.combo.setMaxVisibleItems(len(CARDS))
        self.combo.setMinimumContentsLength(12)
        self.combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.combo.setAccessibleName(self.tr("Acceptance rule"))
        self.combo.currentIndexChanged.connect(self._changed)
        self._badge, self._statement = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self._sliders = {name: self._slider(card) for name, card in CARDS.items() if card.parameter is not None}
        self._build()
        self._show()

    @property
    def rule(self) -> str:
        """Return the chosen rule's name."""
        return str(self.combo.currentData())

    @property
    def parameter(self) -> float | None:
        """Return the chosen rule's parameter, None where it has none."""
        slider = self._sliders.get(self.rule)
        return None if slider is None else float(slider.value())

    def choose(self, name: str) -> None:
        """Choose a rule."""
        self.combo.setCurrentIndex(self.combo.findData(name))

    def show_rule(self, name: str) -> None:
        """Show a rule without reporting it."""
        with QSignalBlocker(self.combo):
            self.choose(name)
        self._show()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme."""
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_statement"):
            self._dress(CARDS[self.rule])
        super().changeEvent(event)

    def _build(self) -> None:
        row = QHBoxLayout()
        caption = QLabel(self.tr("Rule"))
        caption.setProperty("muted", True)
        row.addWidget(caption)
        row.addWidget(self.combo, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        layout.addLayout(row)
        layout.addWidget(self._badge)
        layout.addWidget(self._statement)
        for slider in self._sliders.values():
            layout.addWidget(slider)

    def _slider(self, card: RuleCard) -> LabelledSlider:
        p = card.parameter
        slider = LabelledSlider(p.label, "", p.minimum, p.maximum, p.decimals, p.step, p.help, p.default)
        slider.value_changed.connect(lambda _: self._changed())
        return slider

    def _changed(self) -> None:
        self._show()
        self.changed.emit(self.rule, self.parameter)

    def _show(self) -> None:
        card = CARDS[self.rule]
        self._statement.setText(self.tr(card.statement))
        for name, slider in self._sliders.items():
            slider.setVisible(name == card.name)
        tip = self.tr("Emitted law: {law}\nAcceptance: {a}\nSource: {s}").format(
            law=card.law, a=card.acceptance, s=card.source
        )
        for widget in (self.combo, self._badge, self._statement):
            widget.setToolTip(tip)
        self._dress(card)

    def _dress(self, card: RuleCard) -> None:
        sign, colour = SIGNS[card.lossless]
        self._badge.setText(self.tr("{sign} {word}: emits {law}").format(
            sign=sign, word=self.tr(card.lossless.value), law=card.law))  # fmt: skip
        self._badge.setStyleSheet(f"color: {getattr(theme.current(), colour)}; font-weight: 600;")
