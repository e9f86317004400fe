"""The p and q of one place in a given text: the p/q plot without a round, the text's own token in bold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.records import Position
from simulator.worth.flatness import NONE
from ui.plots.pq_plot import PQPlot
from ui.plots.token_axis import TokenLabel
from ui.widgets.digits import prob


class LookPlot(PQPlot):
    """Bars of one position of a text."""

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
            said = self.tr("The text has {token} here: p {p}").format(token=self.name(self.token), p=p)
            said += "" if bars.q is None else self.tr(", q {q}").format(q=prob(float(bars.q[at[0]])))
            said += self.tr("; behind {n} tokens of context.").format(n=f"{context:,}")
        return said

    def _token_label(self, x: float, token: int, *others: object) -> TokenLabel:
        made = super()._token_label(x, token, *others)
        return replace(made, bold=True) if token == self.token and token != NONE else made
