"""Beyond independence: the accepted length by every law on one axis, and a control run at other draft lengths.

Knows: what stands where and which slider feeds which argument. The laws are in `simulator.theory`.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.acceptance.beyond import Evidence
from simulator.acceptance.correlation import Control
from simulator.acceptance.jobs import CONTROL_PROMPTS, CONTROL_SEEDS, CONTROL_TOKENS
from simulator.parameters import PARAMETERS
from ui import acceptance_words as words
from ui import theme
from ui.plots.axis_plot import Answer, AxisPlot
from ui.plots.control_plot import ControlPlot
from ui.widgets.arranging import filling, halves
from ui.widgets.fitting import Fitting
from ui.widgets.labelled_slider import LabelledSlider, align_labels


class BeyondPanel(QWidget):
    """Laws, sliders and measurement on the left, the control run on the right."""

    control_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.evidence: Evidence | None = None
        self._control: Control | None = None
        self._touched = False  # whether the person has moved a slider since the source was chosen
        self.axis, self.control = AxisPlot(self.tr("drafted tokens accepted in a round")), ControlPlot()
        self.head, self.said = QLabel(wordWrap=True), QLabel(wordWrap=True)
        rho = PARAMETERS["rho"]
        self.mean = LabelledSlider(
            self.tr("Beta: mean"), "", 0.001, 0.999, 3, 0.001, self.tr("Mean of alpha over contexts."), 0.7
        )
        self.rho = LabelledSlider(
            self.tr("Beta: ρ"), "", rho.minimum, rho.maximum, rho.decimals, rho.step, rho.help, rho.default
        )
        self.fit = QPushButton(self.tr("Fit to these rounds"))
        self.fit.setToolTip(self.tr("Set mean and rho to the Beta law that makes the seen rounds most likely."))
        self.match = QPushButton(self.tr("ρ that gives the measurement"))
        self.match.setToolTip(
            self.tr(
                "Keep the mean over single positions, and solve for the correlation that gives the measured length."
            )
        )
        self.run = QPushButton(self.tr("Control run, k = 1…8"))
        self.run.setToolTip(
            self.tr(
                "Up to {p} prompts, {n} seeds, {t} tokens at every k; the laws are fitted at k = 4 and "
                "foretell the others."
            ).format(p=CONTROL_PROMPTS, n=CONTROL_SEEDS, t=CONTROL_TOKENS)
        )
        self._build()
        for slider in (self.mean, self.rho):
            slider.value_changed.connect(self._moved)
        self.fit.clicked.connect(self.fit_now)
        self.match.clicked.connect(self.match_now)
        self.run.clicked.connect(self.control_wanted)
        self.set_control(None, False)
        self._show()

    def set_evidence(self, evidence: Evidence | None) -> None:
        """Show a source; another source (not merely more rounds of it) brings its own fit."""
        if evidence == self.evidence:
            return
        other = evidence is None or self.evidence is None or evidence.source != self.evidence.source
        self.evidence = evidence
        self._touched = self._touched and not other
        if evidence is not None and not self._touched:
            self.fit_now() if evidence.fit is not None else self.match_now()
        self._show()

    def set_control(self, control: Control | None, tried: bool) -> None:
        """Show a control run's result; `tried`: one was made and gave nothing."""
        self._control = control
        missing = (
            self.tr("The rounds at k = 4 accepted all or nothing, so no law could be fitted to them.")
            if tried
            else self.tr("A control run decodes the same prompts at k = 1 to 8. Or open runs of several k together.")
        )
        self.control.set_control(control, missing)
        self.said.setText(words.control(control))

    def set_allowed(self, allowed: bool) -> None:
        """Enable or disable the control run."""
        self.run.setEnabled(allowed)

    def fit_now(self) -> None:
        """Set both sliders to the fit."""
        e = self.evidence
        if e is not None and e.fit is not None:
            self._set(e.fit.mean, e.fit.rho)

    def match_now(self) -> None:
        """Set rho to what gives the measurement, with the mean of the positions."""
        e = self.evidence
        if e is None:
            return
        mean = sum(e.positions) / e.k if e.positions else e.mean
        self._set(mean, e.rho(mean) or 0.0)

    def _set(self, mean: float, rho: float) -> None:
        self.mean.setValue(mean)
        self.rho.setValue(rho)
        self._touched = False
        self._show()

    def _moved(self) -> None:
        self._touched = True
        self._show()

    def _show(self) -> None:
        e, mean, rho = self.evidence, self.mean.value(), self.rho.value()
        self.fit.setEnabled(e is not None and e.fit is not None)
        self.match.setEnabled(e is not None and e.measured is not None)
        self.head.setText(words.beyond(e, mean, rho))
        missing = self.tr("Laws and measurement appear here with the first rounds.")
        self.axis.set_answers(self._answers(e, mean, rho) if e is not None else [], float(e.k) if e else 1.0, missing)

    def _answers(self, e: Evidence, mean: float, rho: float) -> list[Answer]:
        bounds, independent = e.bounds(), e.independent()
        answers = []
        if e.measured is not None:
            low, high = e.interval or (None, None)
            answers.append(
                Answer(
                    self.tr("measured"),
                    self.tr("Accepted tokens per round that drafted all k; the bar is the 95 % interval."),
                    e.measured,
                    low,
                    high,
                    "extra",
                    "d",
                )
            )
        answers.append(
            Answer(
                self.tr("Beta model"),
                self.tr("Σ E[alpha^i], i = 1..k, with alpha from a Beta law: mean and ρ by the sliders."),
                e.beta(mean, rho),
                colour="missed",
                symbol="s",
            )
        )
        if independent is not None:
            answers.append(
                Answer(
                    self.tr("independence"),
                    self.tr("Σ over i of the product of the first i positions' own acceptances."),
                    independent,
                )
            )
        if e.alpha is not None and (independent is None or e.fit is not None):
            answers.append(
                Answer(
                    self.tr("constant alpha"),
                    self.tr("(1 − alpha^(k+1)) / (1 − alpha) − 1."),
                    e.constant(),
                    colour="muted",
                )
            )
        if bounds is not None:
            answers.append(
                Answer(
                    self.tr("any dependence"),
                    self.tr("Fréchet bounds: no law with these single-position acceptances lies outside."),
                    None,
                    *bounds,
                )
            )
        return answers

    def _build(self) -> None:
        left, right = Fitting(), Fitting()
        buttons, sliders = QHBoxLayout(), QVBoxLayout()
        for button in (self.fit, self.match):
            buttons.addWidget(button)
        buttons.addStretch(1)
        for slider in (self.mean, self.rho):
            sliders.addWidget(slider)
        align_labels([self.mean, self.rho])
        column = QVBoxLayout(left)
        column.addWidget(self.head)
        column.addWidget(filling(self.axis, 150), 1)
        column.addLayout(sliders)
        column.addLayout(buttons)
        other = QVBoxLayout(right)
        other.addWidget(self.said)
        other.addWidget(filling(self.control, 200), 1)
        row = QHBoxLayout()
        row.addWidget(self.run)
        row.addStretch(1)
        other.addLayout(row)
        for side in (left, right):
            side.layout().setContentsMargins(0, 0, 0, 0)
            side.layout().setSpacing(theme.SPACE)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.SPACE, 0, 0)
        layout.addWidget(halves(left, right, (55, 45), (630, 510)))
