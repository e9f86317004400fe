"""How long a pass takes against its width: measured points, the flat part, the knee and the slope behind it.

Knows: how they are drawn. Does not know: how they were measured (`simulator.cost.verify_time`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from simulator.cost.verify_time import Knee, WidthTime
from ui import theme
from ui.plots.base import Plot
from ui.plots.callouts import Callout, Callouts
from ui.plots.header import EDGE
from ui.plots.key import Entry
from ui.plots.scales import ceiling

TOPS = tuple(m * 10.0**e for e in range(-3, 6) for m in (1, 1.5, 2, 3, 4, 5, 6, 8))


class VerifyPlot(Plot):
    """Milliseconds of one target pass over n tokens, median with the middle half of the repeats."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.times: tuple[WidthTime, ...] = ()
        self.knee: Knee | None = None
        self._k, self._empty = 4, ""
        self.fit, self.linear = pg.PlotCurveItem(antialias=True), pg.PlotCurveItem(antialias=True)
        self.whiskers, self.measured = pg.ErrorBarItem(beam=0.4), pg.ScatterPlotItem(size=10, antialias=True)
        for item in (self.linear, self.fit, self.whiskers, self.measured):
            self.plotItem.addItem(item)
        self.callouts = Callouts(self.plotItem.vb)
        self.callouts.setZValue(-1)
        self.plotItem.getAxis("bottom").setLabel(self.tr("tokens in one pass (k + 1)"))
        self.plotItem.getAxis("left").setLabel(self.tr("ms"))
        self.plotItem.getAxis("bottom").setStyle(hideOverlappingLabels=EDGE)
        self.items_made()

    def set_times(self, times: Sequence[WidthTime], knee: Knee | None, k: int, empty: str = "") -> None:
        """Show these times, the fit, and the width of a draft of k; without times the sentence `empty`."""
        new = tuple(times), knee, k, empty
        if new != (self.times, self.knee, self._k, self._empty):
            self.times, self.knee, self._k, self._empty = new
            self.request_redraw()

    def draw(self) -> None:
        """Bring points, fit and callouts up to date."""
        title = Entry(self.tr("One target pass against its width"), bold=True)
        if not self.times:
            self.set_message(self._empty, title.text)
            return
        self.set_header("", [title, *self._entries()])
        n = np.array([t.width for t in self.times], float)
        middle, low, high = (np.array([getattr(t.ms, part) for t in self.times]) for part in ("median", "low", "high"))
        top = ceiling(1.08 * float(middle.max()), TOPS)
        high = np.where(high > top, 9 * top, high)  # out of the picture, and its end with it
        edge = float(n[-1]) + 1
        self.plotItem.vb.setXRange(0, edge, padding=0)
        self.callouts.set_lines(1)
        self.set_y_range(0, top, self.callouts.band())
        step = 1 if edge <= 12 else 4
        self.plotItem.getAxis("bottom").setTicks([[(1, "1"), *((x, str(x)) for x in range(step, int(edge), step))], []])
        self.measured.setData(n, middle)
        self.whiskers.setData(x=n, y=middle, top=high - middle, bottom=middle - low)
        self._draw_fit(edge, top)
        self.callouts.set_callouts(self._callouts())

    def _draw_fit(self, edge: float, top: float) -> None:
        if self.knee is None:
            for line in (self.fit, self.linear):
                line.setData([], [])  # those of a measurement before
            return
        ends = np.array([1.0, max(1.0, self.knee.width), edge])
        self.fit.setData(ends, np.array([self.knee.at(x) for x in ends]))
        first = self.times[0].ms.median
        last = min(edge, top / first) if first > 0 else edge
        self.linear.setData(np.array([1.0, last]), np.array([first, first * last]))

    def _callouts(self) -> list[Callout]:
        found, knee = [], self.knee
        mine = next((t for t in self.times if t.width == self._k + 1), None)
        if mine is not None and self._k:
            word = self.tr("k = {k}: {ratio:.2f} passes").format(
                k=self._k, ratio=mine.ms.median / self.times[0].ms.median
            )
            found.append(Callout(mine.width, mine.ms.median, theme.colour("text"), "", word, (), "none", dashed=True))
        if knee is not None and knee.slope_ms and round(knee.width) > 1:
            word = self.tr("knee: {n:.0f} tokens").format(n=knee.width)
            found.append(Callout(knee.width, knee.flat_ms, theme.colour("accent"), "", word, (), "none", to_axis=True))
        return found

    def read_out(self, x: float, y: float) -> str:
        """Return the measurement nearest to the pointer."""
        if not self.times:
            return ""
        near = min(self.times, key=lambda t: abs(t.width - x))
        ratio = near.ms.median / self.times[0].ms.median
        text = self.tr("<b>{n} tokens in one pass</b><br>{middle:.3g} ms (half of them {low:.3g} to {high:.3g})<br>"
                       "{ratio:.2f} times a pass over one")  # fmt: skip
        return text.format(n=near.width, middle=near.ms.median, low=near.ms.low, high=near.ms.high, ratio=ratio)

    def _entries(self) -> list[Entry]:
        entries = [Entry(self.tr("measured here"), pg.mkBrush(theme.colour("extra")), self._whisker_pen)]
        if self.knee is not None:
            entries.append(Entry(self.tr("flat, then a slope"), pen=self._fit_pen))
            entries.append(Entry(self.tr("if each token cost a pass"), pen=self._linear_pen))
        return entries

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        self._fit_pen = pg.mkPen(theme.colour("accent"), width=3)
        self._linear_pen = pg.mkPen(theme.colour("muted"), width=2, style=Qt.PenStyle.DashLine)
        self._whisker_pen = pg.mkPen(theme.colour("extra"), width=2)
        self.fit.setPen(self._fit_pen)
        self.linear.setPen(self._linear_pen)
        self.whiskers.setData(pen=self._whisker_pen)
        self.measured.setBrush(pg.mkBrush(theme.colour("extra")))
        self.measured.setPen(pg.mkPen(theme.colour("panel"), width=1.5))
        for side in ("left", "bottom"):
            self.plotItem.getAxis(side).label.setDefaultTextColor(theme.colour("muted"))
