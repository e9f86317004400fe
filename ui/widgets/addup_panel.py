"""Do these two numbers add up? Single positions against the chain, and acceptance against TV on a cut vocabulary.

Knows: what stands where. Does not know: how rows of p and q are read (`simulator.acceptance.jobs`).
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.acceptance.beyond import Evidence
from simulator.acceptance.truncated import Truncation
from simulator.theory.tokens_per_round import equivalent_alpha
from ui import acceptance_words as words
from ui import theme
from ui.plots.support_plot import SupportPlot
from ui.widgets.arranging import filling, halves
from ui.widgets.digits import prob
from ui.widgets.figures import Figure, Figures
from ui.widgets.fitting import Fitting
from ui.widgets.labelled_slider import LabelledSlider


class AddUpPanel(QWidget):
    """Single position, tested positions and chain on the left; the cut vocabulary on the right."""

    rows_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.truncation: Truncation | None = None
        self.figures, self.verdict = Figures(2), QLabel(wordWrap=True)
        self.plot, self.said = SupportPlot(), QLabel(wordWrap=True)
        self.size = self._slider(1)
        self.read = QPushButton(self.tr("Read full p and q of this run"))
        self.read.setToolTip(
            self.tr(
                "Both models read the run's newest 96 tokens once more; every row is kept whole. Tokens "
                "are ranked by the draft's own mean q over these positions."
            )
        )
        self.read.clicked.connect(self.rows_wanted)
        self._build()
        self.set_truncation(None)

    def set_evidence(self, e: Evidence | None) -> None:
        """Show the single-position and chain figures of a source."""
        if e is None:
            self.figures.set_figures([])
            self.verdict.setText(self.tr("The figures appear here with the first rounds."))
            return
        single = sum(e.positions) / e.k if e.positions else None
        chain = e.measured
        constant = None if chain is None else equivalent_alpha(min(chain, e.k), e.k)
        definitions = (
            (
                "single position",
                single,
                self.tr(
                    "Mean of Σ min(p, q) over all k positions of every draft, tested or not: 1 − "
                    "the raw TV that is trained on."
                ),
            ),
            (
                "alpha of tested positions",
                e.alpha,
                self.tr(
                    "Mean of Σ min(p, q), or accepted / tested, over the positions that "
                    "were reached: Leviathan's alpha."
                ),
            ),
            (
                "chain: accepted / drafted",
                None if chain is None else chain / e.k,
                self.tr(
                    "Share of the k drafted tokens that are accepted; everything behind a rejection counts as lost."
                ),
            ),
            (
                "chain as one constant alpha",
                constant,
                self.tr(
                    "The constant alpha whose rounds accept as many tokens; it can lie above every single position."
                ),
            ),
        )
        self.figures.set_figures(
            [
                Figure(prob(v), self.tr(n), text, "both" if i < 2 else "extra")
                for i, (n, v, text) in enumerate(definitions)
            ]
        )
        self.verdict.setText(self._verdict(e, single, constant))

    def set_truncation(self, t: Truncation | None) -> None:
        """Show a cut vocabulary, at first whole."""
        self.truncation = t
        self.size.set_range(0, max(0, len(t.n) - 1) if t is not None else 1)
        self.size.setVisible(t is not None)
        if t is not None:
            self.size.setValue(len(t.n) - 1)
        self._show()

    def set_allowed(self, allowed: bool, why: str) -> None:
        """Enable or disable reading; `why` says why not."""
        self.read.setEnabled(allowed)
        self._why = why
        self._show()

    def choose(self, n: int) -> None:
        """Cut to the computed size nearest to n."""
        if self.truncation is not None:
            self.size.setValue(int(abs(self.truncation.n - n).argmin()))

    def _verdict(self, e: Evidence, single: float | None, constant: float | None) -> str:
        if single is None or e.measured is None or constant is None:
            return self.tr("This source has no single-position figures, so only the chain can be told.")
        return self.tr(
            "Single positions {s} + raw TV {t} = 1: that adds up. The chain does not: {m:.2f} "
            "accepted of {k} is another quantity, the same as a constant alpha of {c}. Never set a "
            "single-position figure against a chain figure."
        ).format(s=prob(single), t=prob(1 - single), m=e.measured, k=e.k, c=prob(constant))

    def _show(self) -> None:
        index = int(self.size.value()) if self.truncation is not None else 0
        missing = getattr(self, "_why", "") or self.tr(
            "Press the button below: both models read the text of this run once more, "
            "and every row of p and q is kept whole."
        )
        self.plot.set_truncation(self.truncation, index, missing)
        self.said.setText(words.support(self.truncation, index))
        self.kept.setText(f"n = {int(self.truncation.n[index]):,}" if self.truncation is not None else "")

    def _slider(self, most: int) -> LabelledSlider:
        help = self.tr("How many of the most frequent tokens the draft's vocabulary keeps; steps are even in log n.")
        slider = LabelledSlider(self.tr("tokens kept"), "", 0, most, 0, 1, help, most)
        slider.leave_out_number()
        slider.value_changed.connect(lambda _: self._show())
        return slider

    def _build(self) -> None:
        left, right = Fitting(), Fitting()
        column = QVBoxLayout(left)
        column.addWidget(self.figures)
        column.addWidget(self.verdict)
        column.addStretch(1)
        self.kept = QLabel()
        row = QHBoxLayout()
        row.addWidget(self.size, 1)
        row.addWidget(self.kept)
        other = QVBoxLayout(right)
        other.addWidget(self.said)
        other.addWidget(filling(self.plot, 200), 1)
        other.addLayout(row)
        button = QHBoxLayout()
        button.addWidget(self.read)
        button.addStretch(1)
        other.addLayout(button)
        for side in (left, right):
            side.layout().setContentsMargins(0, 0, 0, 0)
            side.layout().setSpacing(theme.SPACE)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.SPACE, 0, 0)
        layout.addWidget(halves(left, right, (40, 60), (450, 690)))
