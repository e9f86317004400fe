"""The p and q of one place in a given text: the p/q plot without a round, the text's own token in bold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.records import Position
from simulator.worth.flatness import NONE
from ui.plots.key import Entry
from ui.plots.pq_plot import PQPlot
from ui.plots.token_axis import TokenLabel
from ui.widgets.digits import prob
from ui.widgets.token_text import quoted


class LookPlot(PQPlot):
    """Bars of one position of a text."""

    lines = 0  # no callouts: the sentence above has the numbers
    token = NONE  # what the text has here

    def set_look(self, position: Position | None, token: int, label: Callable[[int], str]) -> None:
        """Show this position; `token` is the text's own, NONE where it is not known."""
        self.token = token
        self.set_position(position, label)

    def draw(self) -> None:
        """Bring everything up to date, or say how to get here."""
        if self.position is None:
            self.set_message(self.tr("Click a token of the text: its p and q are computed anew and shown here."))
            return
        super().draw()

    def _caption_text(self) -> str:
        bars, context = self.position.bars, self.position.context_length
        at = [i for i, t in enumerate(bars.ids) if t == self.token]
        said = self.tr("behind {n} tokens of context").format(n=f"{context:,}")
        if at:
            p = prob(float(bars.p[at[0]]))
            said = self.tr("The text has {token} here: p {p}").format(token=quoted(self.label(self.token)), p=p)
            said += "" if bars.q is None else self.tr(", q {q}").format(q=prob(float(bars.q[at[0]])))
            said += self.tr("; behind {n} tokens of context.").format(n=f"{context:,}")
        return said

    def _entries(self) -> list[Entry]:
        """Return the key in one line: where in the text this is, the sentence above says."""
        if self.position.bars is None or self.position.bars.q is None:
            return super()._entries()[1:]
        shape = self.position.shape
        overlap = shape.overlap if shape is not None else None
        return [
            Entry(self.tr("min(p, q)"), self._both_brush),
            Entry(self.tr("p − q, missed"), self._missed_brush),
            Entry(self.tr("q − p, over-drafted"), self._excess_brush, self._excess_pen),
            Entry(self.tr("green + blue = p"), bold=True),
            *([] if overlap is None else [Entry(self.tr("alpha Σ min(p, q) = {a}").format(a=prob(overlap)))]),
        ]

    def _token_label(self, x: float, token: int, *others: object) -> TokenLabel:
        made = super()._token_label(x, token, *others)
        return replace(made, bold=True) if token == self.token and token != NONE else made
