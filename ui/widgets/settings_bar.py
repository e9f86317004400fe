"""The second line of the toolbar: draft source, rule and the numbers of the next run.

Each number's limits and help come from `simulator.parameters`. Tells; decides nothing.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSpinBox,
    QToolButton,
    QWidget,
    QWidgetAction,
)

from simulator.exactness.rules import CARDS
from simulator.parameters import PARAMETERS
from simulator.records import RunConfig
from simulator.verify import RULES
from ui import theme
from ui.widgets.flow_layout import FlowLayout

LARGEST = 2**31 - 1  # QSpinBox holds 32 bits
SOURCES = {"model": "model", "ngram": "n-gram"}
RULE_LETTERS = 13  # the longer names of rules are cut; the list shows them whole
SEED_DIGITS = "0" * 6
FILTERS = ("top_k", "top_p", "min_p", "max_new_tokens")


def number_box(name: str) -> QSpinBox | QDoubleSpinBox:
    """Return a spin box for the named parameter, with its limits and help; it reports finished edits only."""
    p = PARAMETERS[name]
    box: QSpinBox | QDoubleSpinBox = QSpinBox() if p.integer else QDoubleSpinBox()
    if isinstance(box, QSpinBox):
        box.setRange(int(p.minimum), int(min(p.maximum, LARGEST)))
        box.setSingleStep(int(p.step))
    else:
        box.setDecimals(p.decimals)
        box.setRange(p.minimum + (10**-p.decimals if p.above_minimum else 0), p.maximum)
        box.setSingleStep(p.step)
    box.setKeyboardTracking(False)
    box.setToolTip(f"{p.label}: {p.help}")
    box.setAccessibleName(p.label)
    return box


class SettingsBar(QWidget):
    """Source, rule, temperature, k, seed, and a panel with the filters; one signal for every change."""

    changed = Signal(str, object)  # field of RunConfig or Sampling, value

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._boxes: dict[str, QAbstractSpinBox] = {}
        layout = FlowLayout(self, theme.SPACE - 2)
        self.source = self._choice(SOURCES, "source", self.tr("draft"))
        self.source.setToolTip(
            self.tr("Where drafted tokens come from: a smaller model, or the text itself (n-gram prompt lookup).")
        )
        self.rule = self._choice({name: CARDS[name].title for name in RULES}, "rule", self.tr("rule"))
        for i, name in enumerate(RULES):
            card = CARDS[name]
            self.rule.setItemData(i, f"{card.statement} {card.why} ({card.lossless})", Qt.ItemDataRole.ToolTipRole)
        self.rule.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.rule.setMinimumContentsLength(RULE_LETTERS)
        layout.addWidget(_captioned(self.tr("draft"), self.source))
        layout.addWidget(_captioned(self.tr("rule"), self.rule))
        for name, caption in (("k", "k"), ("temperature", "T"), ("seed", self.tr("seed"))):
            layout.addWidget(_captioned(caption, self._number(name)))
        layout.addWidget(self._filters())
        self._dress()

    def set_config(self, config: RunConfig) -> None:
        """Show these settings without reporting them as changes."""
        values = {name: getattr(config, name, None) for name in self._boxes}
        values |= {name: getattr(config.sampling, name) for name in self._boxes if hasattr(config.sampling, name)}
        for name, box in self._boxes.items():
            with QSignalBlocker(box):
                box.setValue(values[name])  # type: ignore[attr-defined]
        for combo, value in ((self.source, config.source), (self.rule, config.rule)):
            with QSignalBlocker(combo):
                combo.setCurrentIndex(combo.findData(value))
        self.rule.setToolTip(str(self.rule.currentData(Qt.ItemDataRole.ToolTipRole)))
        s = config.sampling
        self._boxes["seed"].setEnabled(s.temperature > 0)
        self._boxes["seed"].setToolTip(self._seed_help(s.temperature))
        active = [t for t, on in ((f"top-k {s.top_k}", s.top_k), (f"top-p {s.top_p:g}", s.top_p < 1),
                                  (f"min-p {s.min_p:g}", s.min_p)) if on]  # fmt: skip
        self._filter_button.setText(", ".join(active) or self.tr("no filters"))

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_filter_button"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        seed = self._boxes["seed"]
        digits = QFontMetricsF(theme.text_font()).horizontalAdvance(SEED_DIGITS)  # the box's own font may be late
        seed.setMaximumWidth(round(digits) + 4 * theme.SPACE)

    def set_draft_available(self, available: bool) -> None:
        """Offer a draft model as the source, or not where the pair has none."""
        item = self.source.model().item(self.source.findData("model"))
        item.setEnabled(available)
        item.setToolTip("" if available else self.tr("This pair has no draft model. Open one with a draft."))

    def _seed_help(self, temperature: float) -> str:
        if temperature > 0:
            return f"{PARAMETERS['seed'].label}: {PARAMETERS['seed'].help}"
        return self.tr("At temperature 0 every draw is certain, so the seed has no effect.")

    def _choice(self, items: dict[str, str], field: str, name: str) -> QComboBox:
        combo = QComboBox()
        for value, text in items.items():
            combo.addItem(text, value)
        combo.setMaxVisibleItems(len(items))
        combo.setAccessibleName(name)
        combo.currentIndexChanged.connect(lambda: self.changed.emit(field, combo.currentData()))
        return combo

    def _number(self, name: str) -> QWidget:
        box = self._boxes[name] = number_box(name)
        box.valueChanged.connect(lambda value: self.changed.emit(name, value))
        return box

    def _filters(self) -> QToolButton:
        panel = QFrame()
        form = QFormLayout(panel)
        for name in FILTERS:
            form.addRow(PARAMETERS[name].label, self._number(name))
        menu = QMenu(self)
        action = QWidgetAction(menu)
        action.setDefaultWidget(panel)
        menu.addAction(action)
        self._filter_button = button = QToolButton()
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setToolTip(self.tr("Top-k, top-p and min-p cut p and q alike; also the length of a run."))
        return button


def _captioned(caption: str, control: QWidget) -> QWidget:
    """Return the control behind its caption, as one part of the bar."""
    part, label = QWidget(), QLabel(caption)
    label.setProperty("muted", True)
    label.setBuddy(control)
    row = QHBoxLayout(part)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(theme.SPACE // 2)
    row.addWidget(label)
    row.addWidget(control)
    return part


def with_change(config: RunConfig, field: str, value: Any) -> dict[str, Any]:
    """Return the keyword for `Session.configure` that sets one field of the configuration or its sampling."""
    from dataclasses import replace

    if hasattr(config.sampling, field):
        return {"sampling": replace(config.sampling, **{field: value})}
    return {field: value}
