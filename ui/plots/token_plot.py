"""What the p/q plot and the residual plot share: columns of tokens, their labels, marks and read-out.

Knows: which column is which, how columns line up in two plots of the same width. Does not know: which
numbers become bars.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from simulator.records import DraftedToken, ExtraToken, Kind, Position, Verdict
from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.callouts import Callouts
from ui.plots.columns import REST, Columns, columns_of
from ui.plots.scales import PROBABILITY_STEPS, SERIES, ceiling
from ui.plots.token_axis import TokenAxis, TokenLabel, column_width
from ui.widgets.digits import prob
from ui.widgets.known import EVERYTHING, Known
from ui.widgets.token_text import elided, safe

LEAST, MOST = 6, 20  # columns, rest included
FEWEST_SLOTS = 8  # columns that a full width holds, so that three tokens do not become three walls
BAR = 0.76  # share of a column that its bar fills
NAME = 16  # characters of a token in a callout


class TokenPlot(Plot):
    """A plot with one column per token of a `Position`."""

    lines = 2  # of a callout

    def __init__(self, parent: QWidget | None = None) -> None:
        self.axis = TokenAxis()
        super().__init__(parent, {"bottom": self.axis})
        self.position: Position | None = None
        self.known = EVERYTHING
        self.columns: Columns | None = None
        self._label_of: Callable[[int], str] = str
        self._tint = self.add_bars()
        self.callouts = Callouts(self.plotItem.vb)
        self.plotItem.getAxis("left").setLabel(self.tr("probability"))

    def set_position(self, position: Position | None, label: Callable[[int], str], known: Known = EVERYTHING) -> None:
        """Show what is known of this position from the next frame on; `label` turns a token id into its text."""
        self.position, self._label_of, self.known = position, label, known
        self.request_redraw()

    def add_bars(self) -> Bars:
        """Return a new layer of bars."""
        bars = Bars()
        self.plotItem.addItem(bars)
        return bars

    def label(self, token_id: int) -> str:
        """Return a token's text on one line."""
        return safe(self._label_of(token_id))

    def name(self, token_id: int) -> str:
        """Return a token's text, cut where it is very long."""
        return elided(self.label(token_id), NAME)

    def marked(self) -> tuple[DraftedToken | None, ExtraToken | None]:
        """Return the drafted token and, once it is known, the extra one."""
        return self.position.drafted, self.position.extra if self.known.emitted else None

    def drafted_colour(self) -> QColor:
        """Return the colour of the drafted token's verdict, a plain one before it fell."""
        if not self.known.judged:
            return theme.colour("text")
        fields = {Verdict.ACCEPTED: "both", Verdict.REJECTED: "excess", Verdict.DISCARDED: "discarded"}
        return theme.colour(fields[self.position.drafted.verdict])

    def extra_colour(self) -> QColor:
        """Return the colour of the extra token's origin."""
        return theme.colour("missed" if self.position.extra.kind is Kind.RESIDUAL else "extra")

    def choose_columns(self) -> Columns | None:
        """Return the columns that fit the width; two plots of the same width agree on them."""
        self.columns = None
        if self.position is not None:
            self.columns = columns_of(self.position, self.capacity())
        return self.columns

    def capacity(self) -> int:
        """Return how many columns fit, gaps counted."""
        return max(LEAST, min(MOST, int(self.plotItem.vb.width() / column_width() - 1.4)))

    def place(self, top: float) -> None:
        """Set ranges, ticks, labels and the tint behind marked columns; `top` is the highest bar."""
        columns = self.columns
        span = max(columns.right + 0.6, FEWEST_SLOTS)
        self.set_range(0, -0.6, span - 0.6 + 0.1)
        per_column = self.plotItem.vb.width() / (span + 0.1)
        self.axis.set_labels(self._labels(columns), columns.gaps, per_column)
        self.plotItem.layout.activate()
        self.limit = ceiling(top, PROBABILITY_STEPS)
        self.callouts.set_lines(self.lines)
        self.set_y_range(0, self.limit, self.callouts.band())
        self._tint_marked(columns)

    def rest_divisor(self, tokens_top: float, rest_top: float) -> int:
        """Return by how much to shrink the rest's bar so that it does not flatten the tokens' bars."""
        return round(ceiling(max(1.0, rest_top / ceiling(tokens_top, PROBABILITY_STEPS)), SERIES))

    def scale_of(self, heights: np.ndarray) -> np.ndarray:
        """Return for heights [m] the factor to draw each at: 1, less for a rest that would dwarf the tokens."""
        self.divisor, scale = 1, np.ones_like(heights)
        if self.columns.ids[-1] == REST and heights.size > 1:
            self.divisor = self.rest_divisor(float(heights[:-1].max()), float(heights[-1]))
            scale[-1] = 1 / self.divisor
        return scale

    def read_out(self, x: float, y: float) -> str:
        """Return the numbers of the column under the pointer."""
        index = self.columns.at(x) if self.columns is not None else None
        return self.column_text(index) if index is not None else ""

    def column_text(self, index: int) -> str:
        """Return all numbers of one column as HTML."""
        c, token = self.columns, int(self.columns.ids[index])
        head = self.tr("all other tokens") if token == REST else escape(self.label(token))
        number = "" if token == REST else self.tr("token id {id}").format(id=token)
        if not self.known.scored:
            rows = [(self.tr("draft q"), c.q[index])] if c.q is not None else []
        else:
            rows = [(self.tr("target p"), c.p[index])] + (self._draft_rows(index, token) if c.q is not None else [])
        return f"<b>{head}</b> {number}<table>{''.join(self._row(*row) for row in rows)}</table>"

    def _draft_rows(self, index: int, token: int) -> list[tuple[str, float | None]]:
        c = self.columns
        rows = [(self.tr("draft q"), c.q[index]), ("min(p, q)", c.both[index])]
        if token == REST:
            rows += [(self.tr("p − q where missed"), c.missed[index])]
            rows += [(self.tr("q − p where over-drafted"), c.excess[index])]
        else:
            chance = min(1.0, c.p[index] / c.q[index]) if c.q[index] else None
            rows += [("p − q", c.p[index] - c.q[index]), (self.tr("accept, min(1, p/q)"), chance)]
        return [*rows, (self.tr("in the residual"), c.residual[index])]

    def _row(self, name: str, value: float | None) -> str:
        text = self.tr("never drafted") if value is None else prob(float(value))
        return f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>"

    def _labels(self, columns: Columns) -> list[TokenLabel]:
        marked, plain = self.marked(), theme.colour("text")
        places = zip(columns.x.tolist(), columns.ids.tolist(), strict=True)
        return [self._token_label(x, token, marked, plain) for x, token in places]

    def _token_label(
        self, x: float, token: int, marked: tuple[DraftedToken | None, ExtraToken | None], plain: QColor
    ) -> TokenLabel:
        drafted, extra = marked
        if token == REST:
            text = self.tr("rest") if self.divisor == 1 else self.tr("rest ÷{n}").format(n=self.divisor)
            return TokenLabel(x, text, theme.colour("muted"), is_token=False)
        if drafted is not None and token == drafted.token_id:
            return TokenLabel(x, self.label(token), self.drafted_colour(), bold=True)
        if extra is not None and token == extra.token_id:
            return TokenLabel(x, self.label(token), self.extra_colour(), bold=True)
        return TokenLabel(x, self.label(token), plain)

    def _tint_marked(self, columns: Columns) -> None:
        marked = [columns.index(t.token_id) for t in self.marked() if t is not None]
        x = columns.x[[i for i in marked if i is not None]]
        top = self.plotItem.vb.viewRange()[1][1]
        self._tint.set_look(pg.mkBrush(theme.colour("text", 0.09)))
        self._tint.set_bars(x, np.full(x.shape, top), 0.0, 0.96)
