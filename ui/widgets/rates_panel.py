"""The rates of one source: every definition in a table, positions and accepted lengths as pictures.

Knows: what stands where, but for the choice of the engine, which is the page's to place. Does not know: where the
figures come from.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QLabel, QVBoxLayout, QWidget

from simulator.acceptance.beyond import Evidence, shares
from simulator.acceptance.body import Acceptance
from simulator.acceptance.names import NAMES
from simulator.theory.tokens_per_round import beta_moments
from ui import acceptance_words as words
from ui import theme
from ui.plots.lengths_plot import LengthsPlot
from ui.plots.rates_plot import RatesPlot
from ui.widgets.arranging import filling, halves
from ui.widgets.figure_table import FigureTable
from ui.widgets.fitting import Fitting


class RatesPanel(QWidget):
    """Table on the left, plots on the right."""

    engine_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.engines = QComboBox()
        self.engines.addItems(list(NAMES))
        self.engines.setAccessibleName(self.tr("My engine or paper"))
        self.engines.setToolTip(self.tr("Marks the figures that this engine or paper prints, with its names for them."))
        self.engines.currentIndexChanged.connect(self.engine_changed)
        self.table, self.rates, self.lengths = FigureTable(), RatesPlot(), LengthsPlot()
        self.counts, self.agreement, self.notes = QLabel(wordWrap=True), QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.notes.setProperty("muted", True)
        for label in (self.counts, self.agreement, self.notes):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._build()

    @property
    def engine(self) -> str:
        """Return the chosen engine."""
        return self.engines.currentText()

    def choose_engine(self, name: str) -> None:
        """Choose an engine by its name, where it is one of ours."""
        if name in NAMES:
            self.engines.setCurrentText(name)

    def set_acceptance(self, a: Acceptance | None, evidence: Evidence | None) -> None:
        """Show a source."""
        self.table.set_acceptance(a, self.engine)
        self.agreement.setText(words.agreement(a))
        self.counts.setText(self._counts(a))
        self.notes.setText(" ".join(a.notes) if a is not None else "")
        self.notes.setVisible(bool(self.notes.text()))
        nothing = self.tr("Rates by position appear here with the first round.")
        missing = nothing if a is None else self.tr("This source does not say how many rounds accepted 1, 2, … tokens.")
        unknown = self.tr("How many tokens a round accepted appears here, too.") if a is None else missing
        if a is not None and a.figures["drafted"] == 0:
            missing = unknown = self.tr("Nothing was drafted, so there is no position to speak of.")
        self.rates.set_steps(a.steps if a is not None else (), missing)
        whole = evidence is not None and len(evidence.histogram) == len(
            a.histogram
        )  # leaves a run's short last rounds out
        counts = () if a is None else evidence.histogram if whole else a.histogram
        self.lengths.set_counts(counts, self._laws(evidence) if whole else [], unknown)

    def _counts(self, a: Acceptance | None) -> str:
        if a is None:
            return ""
        names = {
            "rounds": self.tr("rounds"),
            "drafted": self.tr("drafted"),
            "tested": self.tr("tested"),
            "accepted": self.tr("accepted"),
            "emitted": self.tr("emitted"),
        }
        return "   ".join(f"{text} {words.value_text(name, a.figures[name])}" for name, text in names.items())

    def _laws(self, e: Evidence) -> list[tuple[str, tuple[float, ...]]]:
        """Return what constant alpha and the Beta law say of the histogram, where all rounds have one draft length."""
        if e.alpha is None:
            return []
        laws = [(self.tr("constant alpha"), shares(beta_moments(e.alpha, 0.0, e.k).tolist()))]
        if e.fit is not None:
            laws.append((self.tr("Beta, fitted"), shares(beta_moments(e.fit.mean, e.fit.rho, e.k).tolist())))
        return laws

    def _build(self) -> None:
        left, right = Fitting(), Fitting()
        column = QVBoxLayout(left)
        column.addWidget(filling(self.table, 140), 1)
        for label in (self.counts, self.agreement, self.notes):
            column.addWidget(label)
        plots = QVBoxLayout(right)
        for plot in (self.rates, self.lengths):
            plots.addWidget(filling(plot, 180), 1)
        for side in (left, right):
            side.layout().setContentsMargins(0, 0, 0, 0)
            side.layout().setSpacing(theme.SPACE)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.SPACE, 0, 0)
        layout.addWidget(halves(left, right, (63, 37), (720, 420)))
