"""What is drawn from after a rejection: norm(max(0, p - q)), token by token under the p/q plot.

Knows: when the residual matters and when it does not. Does not know: the drawing of p and q themselves.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtWidgets import QWidget

from simulator.records import Kind, Position, Verdict
from ui.plots.bars import missed_texture
from ui.plots.callouts import Callout
from ui.plots.columns import Columns
from ui.plots.token_plot import BAR, TokenPlot
from ui.widgets.digits import prob


class ResidualPlot(TokenPlot):
    """The residual of one position, in the columns of a `PQPlot` of the same width."""

    lines = 1

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bars = self.add_bars()

    def draw(self) -> None:
        """Bring bars, mark and caption up to date."""
        if self.position is None:
            self.set_message(self.tr("The residual appears here: what a rejected token is replaced from."))
            return
        if not self.known.scored:
            self.set_message(self.tr("The residual needs the target's p, which the next step shows."))
            return
        self.set_header(self._caption_text(self.position), [])
        columns = self.choose_columns()
        reason = self._nothing_to_show(self.position, columns)
        if reason:
            self.set_message(reason)
            return
        self._draw_bars(columns)
        self.callouts.set_callouts(self._callouts(columns))

    def needed(self) -> bool:
        """Return whether this position's token is drawn from the residual, as far as is known yet."""
        extra = self.position.extra if self.position is not None else None
        return self.known.judged and extra is not None and extra.kind is Kind.RESIDUAL

    def _draw_bars(self, c: Columns) -> None:
        heights = c.residual
        scale = self.scale_of(heights)
        self.tops = heights * scale
        self.place(float(self.tops.max()))
        strength = 1.0 if self.needed() else 0.35
        self.bars.set_look(missed_texture())
        self.bars.setOpacity(strength)
        self.bars.set_bars(c.x, self.tops, 0.0, BAR)

    def _callouts(self, c: Columns) -> list[Callout]:
        extra = self.marked()[1]
        index = c.index(extra.token_id) if extra is not None and self.needed() else None
        if index is None:
            return []
        word = self.tr("resampled, residual {r}, u {u}").format(r=prob(float(c.residual[index])), u=prob(extra.u))
        place = float(c.x[index]), float(self.tops[index])
        return [Callout(*place, self.extra_colour(), self.name(extra.token_id), word, marker="diamond")]

    def _nothing_to_show(self, position: Position, columns: Columns | None) -> str:
        """Return why there is no residual, empty when there is one."""
        if columns is None:
            return self.tr("Trace is off: the distributions of this round were not kept.")
        if columns.q is None and position.extra is not None and position.extra.kind is Kind.BONUS:
            return self.tr("No residual here: the bonus is drawn from p itself.")
        if columns.q is None:
            return self.tr("No residual here: nothing was drafted, the token is drawn from p itself.")
        if not np.any(columns.residual > 0) or (position.shape is not None and position.shape.tv == 0):
            return self.tr("none (p = q)")
        return ""

    def _caption_text(self, position: Position) -> str:
        if position.bars is None or position.bars.q is None or (position.shape is not None and position.shape.tv == 0):
            return ""
        law = self.tr("Residual, max(0, p − q) scaled up to sum 1.")
        drafted = position.drafted
        if not self.known.judged:
            return law + self.tr(" Needed only if the draft is rejected.")
        if self.needed() and not self.known.emitted:
            return law + self.tr(" The draft is rejected: the next token is drawn from it.")
        if self.needed():
            return law + self.tr(" The rejected token was replaced by a draw from it.")
        if drafted is not None and drafted.verdict is Verdict.ACCEPTED:
            return law + self.tr(" Not needed: the draft was accepted.")
        if drafted is not None and drafted.verdict is Verdict.DISCARDED:
            return law + self.tr(" Not needed: this draft was discarded untested.")
        return law
