"""The picture to remember: green + blue = p. Bars of min(p, q), p - q and q - p of one position.

Knows: how the three parts are stacked and what marks the drafted and the extra token.
Does not know: how p and q came about.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from simulator.records import DraftedToken, Kind
from ui import theme
from ui.plots.bars import missed_texture, stripes
from ui.plots.callouts import Callout
from ui.plots.columns import REST, Columns
from ui.plots.key import Entry
from ui.plots.token_plot import BAR, TokenPlot
from ui.widgets.digits import pair, prob


class PQPlot(TokenPlot):
    """Overlaid bars of one position's p and q, the most probable tokens first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.both, self.missed, self.excess = self.add_bars(), self.add_bars(), self.add_bars()
        self.items_made()

    def draw(self) -> None:
        """Bring bars, marks and key up to date."""
        if self.position is None:
            self.set_message(self.tr("No round yet. Step once to see what target and draft expected here."))
            return
        self.set_header(self._caption_text(), self._entries())
        columns = self.choose_columns()
        if columns is None:
            self.set_message(self._trace_off())
            return
        self._draw_bars(columns)
        self.callouts.set_callouts(self._callouts(columns))

    def _draw_bars(self, c: Columns) -> None:
        if not self.known.scored:
            self._draw_draft(c)
            return
        heights = c.p if c.q is None else np.maximum(c.p, c.q)
        scale = self.scale_of(heights)
        self.tops = heights * scale
        self.place(float(self.tops.max()))
        self.both.set_look(self._target_brush if c.q is None else self._both_brush)
        self.both.set_bars(c.x, c.both * scale, 0.0, BAR)
        self.missed.set_bars(*_upper(c, c.missed * scale, c.excess, -1), c.both * scale, _widths(c))
        self.excess.set_bars(*_upper(c, c.excess * scale, c.missed, +1), c.both * scale, _widths(c))

    def _draw_draft(self, c: Columns) -> None:
        """Draw q alone: the target has not looked yet."""
        heights = np.zeros_like(c.p) if c.q is None else c.q
        self.tops = heights * self.scale_of(heights)
        self.place(float(max(self.tops.max(), 1e-3)))
        self.both.set_look(self._target_brush)
        self.both.set_bars(c.x, self.tops, 0.0, BAR)
        for layer in (self.missed, self.excess):
            layer.set_bars(c.x, np.zeros_like(c.p), 0.0, BAR)

    def _callouts(self, c: Columns) -> list[Callout]:
        marks = [self._drafted(c), self._extra(c)]
        return [mark for mark in marks if mark is not None]

    def _drafted(self, c: Columns) -> Callout | None:
        drafted = self.position.drafted
        index = c.index(drafted.token_id) if drafted is not None else None
        if index is None:
            return None
        place = float(c.x[index]), float(self.tops[index])
        if self.known.scored:
            p, q = pair(drafted.p, drafted.q)
            numbers: tuple[str, ...] = (f"p {p}", f"q {q}", f"p/q {_quotient(drafted)}")
        else:
            numbers = (f"q {prob(drafted.q)}",)
        return Callout(*place, self.drafted_colour(), self.name(drafted.token_id), self._verdict_word(), numbers)

    def _verdict_word(self) -> str:
        if not self.known.judged:
            return self.tr("drafted")
        return {
            "accepted": self.tr("drafted, accepted"),
            "rejected": self.tr("drafted, rejected"),
            "discarded": self.tr("drafted, discarded"),
        }[self.position.drafted.verdict]

    def _extra(self, c: Columns) -> Callout | None:
        extra = self.marked()[1]
        index = c.index(extra.token_id) if extra is not None else None
        if index is None:
            return None
        q = () if c.q is None else (f"q {prob(float(c.q[index]))}",)
        numbers = (f"p {prob(extra.p)}", *q, f"u {prob(extra.u)}")
        word = {
            Kind.RESIDUAL: self.tr("resampled"),
            Kind.BONUS: self.tr("bonus"),
            Kind.PLAIN: self.tr("drawn from p"),
        }[extra.kind]
        place = float(c.x[index]), float(self.tops[index])
        return Callout(*place, self.extra_colour(), self.name(extra.token_id), word, numbers, "diamond")

    def _caption_text(self) -> str:
        bars, extra = self.position.bars, self.position.extra
        if not self.known.scored:
            return self.tr("The draft's q alone: the target has not looked yet.") if bars and bars.q is not None else ""
        if bars is None or bars.q is not None:
            return ""
        if extra is not None and extra.kind is Kind.BONUS:
            return self.tr("The draft proposed nothing here: all its tokens were accepted, so the target adds one.")
        return self.tr("The draft proposed nothing here: the token comes from the target alone.")

    def _entries(self) -> list[Entry]:
        head = Entry(self.tr("Position {n}").format(n=self.position.position), bold=True)
        shape, bars = self.position.shape, self.position.bars
        if bars is None:
            return []
        if not self.known.scored:
            return [head, Entry(self.tr("draft q"), self._target_brush)]
        if bars.q is None:
            return [head, Entry(self.tr("target p"), self._target_brush)]
        entries = [
            head,
            Entry(self.tr("min(p, q)"), self._both_brush),
            Entry(self.tr("p − q, what the draft missed"), self._missed_brush),
            Entry(self.tr("q − p, what it over-drafted"), self._excess_brush, self._excess_pen),
            Entry(self.tr("green + blue = p"), bold=True),
        ]
        if shape is not None and shape.overlap is not None:
            entries.append(Entry(self.tr("overlap Σ min(p, q) = {a}").format(a=prob(shape.overlap))))
        return entries

    def _trace_off(self) -> str:
        drafted, text = self.position.drafted, self.tr("Trace is off: the distributions of this round were not kept.")
        if drafted is None:
            return text
        return text + self.tr("\nDrafted {token}: target p {p}, draft q {q}.").format(
            token=self.name(drafted.token_id), p=prob(drafted.p), q=prob(drafted.q)
        )

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        self._both_brush = pg.mkBrush(theme.colour("both"))
        self._target_brush = pg.mkBrush(theme.colour("discarded"))
        self._missed_brush = missed_texture()
        self._excess_brush = stripes(theme.colour("excess"), theme.colour("panel"))
        self._excess_pen = pg.mkPen(theme.colour("excess"), width=1)
        self.missed.set_look(self._missed_brush)
        self.excess.set_look(self._excess_brush, self._excess_pen)


def _upper(c: Columns, heights: np.ndarray, other: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and heights of the upper parts; in the rest, where both parts exist, they stand side by side."""
    shared = (c.ids == REST) & (other > 0) & (heights > 0)
    return np.where(shared, c.x + side * BAR / 4, c.x), heights


def _widths(c: Columns) -> np.ndarray:
    return np.where((c.ids == REST) & (c.missed > 0) & (c.excess > 0), BAR / 2, BAR)


def _quotient(drafted: DraftedToken) -> str:
    return prob(drafted.p / drafted.q) if drafted.q > 0 else "∞"
