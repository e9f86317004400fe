"""How often each value occurs along a text: bars of equal width, with lines at values worth knowing.

Knows: bins, lines and their key. Does not know: which quantity it shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.header import EDGE
from ui.plots.key import Entry
from ui.plots.scales import PROBABILITY_STEPS, ceiling, tick_step, ticks
from ui.widgets.digits import prob

BINS = 20
NARROWEST = 200, 140  # px; three of these stand side by side
DIGITS = "0.00"  # the room of a tick's number


@dataclass(frozen=True, slots=True)
class Line:
    """A vertical line: where it stands and what it says in the key."""

    x: float
    text: str
    dashed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """What is shown: values [n], counted in BINS equal bins from 0 to `top`."""

    title: str
    values: np.ndarray
    top: float
    lines: tuple[Line, ...]
    about: str = ""  # what the values are, for the tooltip
    unit: str = ""

    def shares(self) -> np.ndarray:
        """Return the share of the values in each bin, [BINS]; what rounding puts above the top is in the last."""
        counts = np.histogram(np.clip(self.values, 0, self.top), BINS, (0, self.top))[0]
        return counts / max(1, self.values.size)


class HistogramPlot(Plot):
    """Bars of the share of positions over a value's range."""

    def __init__(self, missing: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumSize(*NARROWEST)
        self.missing = missing  # said in place of a histogram
        self.shown: Histogram | None = None
        self.bars = Bars()
        self.lines = [pg.PlotCurveItem(), pg.PlotCurveItem()]  # solid, dashed
        for item in (self.bars, *self.lines):
            self.plotItem.addItem(item)
        self.plotItem.getAxis("left").setLabel(self.tr("share of positions"))
        self.plotItem.getAxis("bottom").setStyle(hideOverlappingLabels=EDGE)
        self.restyle()

    def set_histogram(self, shown: Histogram | None) -> None:
        """Show this from the next frame on."""
        self.shown = shown
        self.request_redraw()

    def restyle(self) -> None:
        """Take over colours and fonts of the theme."""
        super().restyle()
        if hasattr(self, "lines"):
            self._pens = [pg.mkPen(theme.colour("text"), width=2),
                          pg.mkPen(theme.colour("extra"), width=2, style=Qt.PenStyle.DashLine)]  # fmt: skip
            self.bars.set_look(pg.mkBrush(theme.colour("accent", 0.75)))
            for item, pen in zip(self.lines, self._pens, strict=True):
                item.setPen(pen)

    def draw(self) -> None:
        """Bring bars, lines, ticks and key up to date."""
        s = self.shown
        if s is None:
            self.set_message(self.missing)
            return
        entries = [Entry(line.text, pen=self._pens[line.dashed]) for line in s.lines]
        self.set_header("", [Entry(s.title, bold=True), *entries])
        shares = s.shares()
        self.plotItem.vb.setXRange(0, s.top * 1.02, padding=0)
        self.set_y_range(0, ceiling(float(shares.max()), PROBABILITY_STEPS))
        self._set_ticks(s.top)
        width = s.top / BINS
        self.bars.set_bars((np.arange(BINS) + 0.5) * width, shares, 0.0, width * 0.9)
        high = self.plotItem.vb.viewRange()[1][1]
        for item, dashed in zip(self.lines, (False, True), strict=True):
            x = np.repeat([line.x for line in s.lines if line.dashed == dashed], 2)
            item.setData(x, np.tile([0.0, high], x.size // 2), connect="pairs")

    def read_out(self, x: float, y: float) -> str:
        """Return the bin under the pointer with its share."""
        s = self.shown
        i = int(x / s.top * BINS) if s is not None else -1
        if not 0 <= i < BINS:
            return ""
        width = s.top / BINS
        text = self.tr("{low} to {high}{unit}: {share} of {n} positions")
        share = prob(float(s.shares()[i]))
        text = text.format(low=prob(i * width), high=prob((i + 1) * width), unit=s.unit, share=share,
                           n=f"{s.values.size:,}")  # fmt: skip
        return f"<p>{text}</p><p>{escape(s.about)}</p>"

    def _set_ticks(self, top: float) -> None:
        spacing = 2 * QFontMetricsF(theme.text_font()).horizontalAdvance(DIGITS)
        step = tick_step(top, self.plotItem.vb.width(), spacing)
        self.plotItem.getAxis("bottom").setTicks([ticks(0, top, step), []])
