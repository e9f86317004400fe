"""What drafting costs: three sliders that a measurement sets, and a line that says whether it did.

Knows: which cost belongs to which draft source. Does not know: how a cost is measured.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.measure import Sweep
from simulator.parameters import PARAMETERS
from simulator.worth.flatness import NGRAM
from simulator.worth.outlook import Costs
from ui import theme
from ui.widgets.labelled_slider import LabelledSlider, align_labels

NAMES = ("c", "c_verify", "fixed")


class CostPanel(QWidget):
    """c, c_verify and fixed, in target steps."""

    changed = Signal()
    measure_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.measured = False  # whether the sliders stand where a measurement put them
        self._c_measured, self._ngram_c = False, 0.0
        self._setting = False
        self.sliders = {name: self._slider(name) for name in NAMES}
        self._state = QLabel(wordWrap=True)
        self._state.setProperty("muted", True)
        self.measure = QPushButton(self.tr("Measure"))
        self.measure.setToolTip(self.tr("Time this pair at every k from 0 to 8 against plain decoding."))
        self.measure.clicked.connect(self.measure_wanted)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        row = QHBoxLayout()
        row.addWidget(self._state, 1)
        row.addWidget(self.measure)
        layout.addLayout(row)
        for slider in self.sliders.values():
            layout.addWidget(slider)
        align_labels(list(self.sliders.values()))
        self._show()

    def costs(self, source: str) -> Costs:
        """Return what a draft source costs; looking up an n-gram is free unless it was measured."""
        c, c_verify, fixed = (self.sliders[name].value() for name in NAMES)
        return Costs(self._ngram_c if source == NGRAM else c, c_verify, fixed)

    def set_sweep(self, sweep: Sweep | None, source: str) -> None:
        """Take over what was measured with this draft source ("model" or "ngram"); None: nothing is measured now."""
        cost = sweep.cost if sweep is not None else None
        if cost is not None:
            self._ngram_c = cost.c if source == NGRAM else 0.0
            self._set({"c_verify": cost.c_verify, "fixed": cost.fixed, **({} if source == NGRAM else {"c": cost.c})})
        self.measured = cost is not None
        self._c_measured = source != NGRAM
        self._show()
        self.changed.emit()

    def _set(self, values: dict[str, float]) -> None:
        self._setting = True
        for name, value in values.items():
            limits = PARAMETERS[name]
            self.sliders[name].set_range(limits.minimum, max(limits.maximum, value))
            self.sliders[name].setValue(value)
        self._setting = False

    def _moved(self) -> None:
        if not self._setting:
            self.measured = False
            self._show()
            self.changed.emit()

    def _slider(self, name: str) -> LabelledSlider:
        p = PARAMETERS[name]
        slider = LabelledSlider(name, "", p.minimum, p.maximum, p.decimals, p.step, p.help, p.default)
        slider.value_changed.connect(lambda _: self._moved())
        return slider

    def _show(self) -> None:
        text = self.tr("Costs in target steps: assumed. Measure first, or set them.")
        if self.measured:
            text = self.tr("Costs in target steps: measured here.")
            if not self._c_measured:
                text += self.tr(" c of a draft model is assumed: prompt lookup was measured.")
        self._state.setText(text)
