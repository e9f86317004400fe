"""The right half of the Stage: speedup and tokens-per-round curves, their sliders, and the measured points.

Knows which slider feeds which argument of the curve. The formulas are in `simulator.theory`.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.acceptance.published import Published
from simulator.measure import Sweep
from simulator.parameters import PARAMETERS
from ui import theme
from ui.plots.curve_plot import CurvePlot
from ui.plots.reported import Reported
from ui.widgets.labelled_slider import LabelledSlider, align_labels

SLIDERS = ("alpha", "rho", "k", "c", "c_verify", "fixed")  # the left column first


class TheoryPanel(QWidget):
    """Curves against k with sliders, *Measure* and *Snap sliders to measured*."""

    measure_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plot = CurvePlot()
        self.sliders = {name: self._slider(name) for name in SLIDERS}
        self.reported, self._taking = QLabel(wordWrap=True), False
        self._sweep: Sweep | None = None
        self._run_alpha: float | None = None
        self._build()
        self._redraw()

    def set_sweep(self, sweep: Sweep | None) -> None:
        """Show the measured points."""
        self._sweep = sweep
        self.plot.set_measured(sweep.points if sweep else ())
        self.snap_button.setEnabled(bool(sweep and sweep.cost))

    def set_run_alpha(self, alpha: float | None) -> None:
        """Remember the run's own alpha, for snapping where there is no sweep."""
        self._run_alpha = alpha

    def set_measuring_allowed(self, allowed: bool) -> None:
        """Enable or disable *Measure*."""
        self.measure_button.setEnabled(allowed)

    def take_reported(self, row: Published) -> None:
        """Set the sliders to what a source reported, and mark its speed or length on the curve, until one is moved."""
        self._taking = True
        for name, value in {"rho": 0.0, **row.loads()}.items():
            self.sliders[name].setValue(value)
        self._taking = False
        self.plot.set_reported(Reported(row.setting, row.k, row.speedup, row.tokens_per_round))
        derived = self.tr(" (alpha: what gives the reported tokens per round)") if row.derives_alpha else ""
        self.reported.setText(self.tr("As reported: {setting}{derived}. {source}.").format(
            setting=row.setting, derived=derived, source=row.source))  # fmt: skip
        self.reported.show()

    def snap(self) -> None:
        """Set alpha, c, c_verify and fixed to what was measured on this machine."""
        sweep = self._sweep
        if sweep is None or sweep.cost is None:
            return
        alpha = sweep.figures.alpha if sweep.figures and sweep.figures.alpha is not None else self._run_alpha
        values = {"c": sweep.cost.c, "c_verify": sweep.cost.c_verify, "fixed": sweep.cost.fixed, "rho": 0.0}
        if alpha is not None:
            values["alpha"] = alpha
        for name, value in values.items():
            limits = PARAMETERS[name]
            self.sliders[name].set_range(limits.minimum, max(limits.maximum, value))  # a slow machine is beyond them
            self.sliders[name].setValue(value)

    def _slider(self, name: str) -> LabelledSlider:
        p = PARAMETERS[name]
        slider = LabelledSlider(name, "", p.minimum, p.maximum, p.decimals, p.step, p.help, p.default)
        slider.value_changed.connect(self._redraw)
        return slider

    def _redraw(self) -> None:
        v = {name: slider.value() for name, slider in self.sliders.items()}
        if not self._taking and not self.reported.isHidden():
            self.reported.hide()
            self.plot.set_reported(None)
        self.plot.set_model(v["alpha"], v["c"], v["c_verify"], int(v["k"]), v["fixed"], v["rho"])

    def _build(self) -> None:
        self.measure_button = QPushButton(self.tr("Measure k = 0…8"))
        self.measure_button.setToolTip(self.tr("Time this pair at every k from 0 to 8 against plain decoding."))
        self.measure_button.clicked.connect(self.measure_requested)
        self.snap_button = QPushButton(self.tr("Snap sliders to measured"))
        self.snap_button.setToolTip(self.tr("Set alpha, c, c_verify and fixed to the values of the last measurement."))
        self.snap_button.setEnabled(False)
        self.snap_button.clicked.connect(self.snap)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        layout.addLayout(self._switch())
        layout.addWidget(self.plot, 1)
        self.reported.hide()
        layout.addWidget(self.reported)
        layout.addLayout(self._slider_grid())
        row = QHBoxLayout()
        row.addWidget(self.measure_button)
        row.addWidget(self.snap_button)
        row.addStretch(1)
        layout.addLayout(row)

    def _slider_grid(self) -> QGridLayout:
        """Return the sliders in two columns: a third of the height that a single one would take."""
        grid, names = QGridLayout(), list(SLIDERS)
        grid.setHorizontalSpacing(2 * theme.SPACE)
        grid.setVerticalSpacing(theme.SPACE // 2)
        rows = (len(names) + 1) // 2
        for i, name in enumerate(names):
            grid.addWidget(self.sliders[name], i % rows, i // rows)
        for column in (0, 1):
            align_labels([self.sliders[n] for i, n in enumerate(names) if i // rows == column])
            grid.setColumnStretch(column, 1)
        return grid

    def _switch(self) -> QHBoxLayout:
        """Return the two buttons that choose what the curve shows."""
        row, group = QHBoxLayout(), QButtonGroup(self)
        for text, quantity in ((self.tr("Speedup"), "speedup"), (self.tr("Tokens per round"), "tokens")):
            button = QPushButton(text, checkable=True, checked=quantity == "speedup")
            button.clicked.connect(lambda _=False, q=quantity: self.plot.set_quantity(q))
            group.addButton(button)
            row.addWidget(button)
        row.addStretch(1)
        return row
