"""The second line of the toolbar: draft source, rule and the numbers of the next run.

Each number's limits and help come from `simulator.parameters`. Tells; decides nothing.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
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

from simulator.parameters import PARAMETERS
from simulator.records import RunConfig
from simulator.verify import RULES
from ui import theme

LARGEST = 2**31 - 1  # QSpinBox holds 32 bits
SOURCES = {"model": "draft model", "ngram": "n-gram lookup"}
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
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        self.source = self._choice(
            layout,
            self.tr("draft"),
            SOURCES,
            "source",
            self.tr(
                "Where drafted tokens come from: a second, smaller model, or the text itself (n-gram prompt lookup)."
            ),
        )
        self.rule = self._choice(
            layout,
            self.tr("rule"),
            dict.fromkeys(RULES, "ratio + residual"),
            "rule",
            self.tr(
                "exact: accept with min(1, p/q), after a rejection draw from norm(max(0, p - q)); the output law is p."
            ),
        )
        for name, caption in (("k", "k"), ("temperature", "T"), ("seed", self.tr("seed"))):
            layout.addWidget(self._caption(caption))
            layout.addWidget(self._number(name))
        self._boxes["seed"].setMaximumWidth(96)
        layout.addWidget(self._filters())

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
        s = config.sampling
        active = [t for t, on in ((f"top-k {s.top_k}", s.top_k), (f"top-p {s.top_p:g}", s.top_p < 1),
                                  (f"min-p {s.min_p:g}", s.min_p)) if on]  # fmt: skip
        self._filter_button.setText(", ".join(active) or self.tr("no filters"))

    def _choice(self, layout: QHBoxLayout, caption: str, items: dict[str, str], field: str, help: str) -> QComboBox:
        combo = QComboBox()
        for value, text in items.items():
            combo.addItem(text, value)
        combo.setToolTip(help)
        combo.setAccessibleName(caption)
        combo.currentIndexChanged.connect(lambda: self.changed.emit(field, combo.currentData()))
        layout.addWidget(self._caption(caption))
        layout.addWidget(combo)
        return combo

    def _caption(self, text: str) -> QLabel:
        label = QLabel(text)
        label.setProperty("muted", True)
        label.setContentsMargins(theme.SPACE // 2, 0, 0, 0)
        return label

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


def with_change(config: RunConfig, field: str, value: Any) -> dict[str, Any]:
    """Return the keyword for `Session.configure` that sets one field of the configuration or its sampling."""
    from dataclasses import replace

    if hasattr(config.sampling, field):
        return {"sampling": replace(config.sampling, **{field: value})}
    return {field: value}
