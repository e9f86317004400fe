"""How much of p the k most probable tokens hold, averaged over a text: the quickest look at a target's flatness.

Knows: one bar a k with its number. Does not know: models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from simulator.worth.outlook import Mean
from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.histogram_plot import NARROWEST
from ui.plots.key import Entry
from ui.plots.lab_plot import Tag, Tags
from ui.widgets.digits import prob

BAND = 20  # px free above the highest bar, for the numbers
BAR = 0.72  # share of a column
SMALL = 0.1  # a mass below it is written with one digit: two of ".048" would touch


class MassPlot(Plot):
    """Mean mass of the top k, k = 1, 2, 5, ..."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumSize(*NARROWEST)
        self.ks: tuple[int, ...] = ()
        self.means: tuple[Mean, ...] = ()
        self.bars, self.whiskers = Bars(), pg.ErrorBarItem(beam=0.16)
        for item in (self.bars, self.whiskers):
            self.plotItem.addItem(item)
        self.tags = Tags(self.plotItem.vb)
        self.plotItem.getAxis("left").setLabel(self.tr("mass"))
        self.restyle()

    def set_masses(self, ks: Sequence[int], means: Sequence[Mean]) -> None:
        """Show these from the next frame on; none: nothing is analysed."""
        self.ks, self.means = tuple(ks), tuple(means)
        self.request_redraw()

    def restyle(self) -> None:
        """Take over colours and fonts of the theme."""
        super().restyle()
        if hasattr(self, "whiskers"):
            self.bars.set_look(pg.mkBrush(theme.colour("accent", 0.75)))
            self.whiskers.setData(pen=pg.mkPen(theme.colour("text"), width=2))

    def draw(self) -> None:
        """Bring bars and numbers up to date."""
        if not self.means:
            self.set_message(self.tr("How much of p the most probable 1, 2, 5 … tokens hold."))
            return
        self.set_header("", [Entry(self.tr("Top-k mass of p, by k"), bold=True)])
        x = np.arange(len(self.ks), dtype=float)
        y = np.array([m.value for m in self.means])
        half = np.array([m.error or 0.0 for m in self.means])
        self.plotItem.vb.setXRange(-0.6, len(self.ks) - 0.4, padding=0)
        self.set_y_range(0, 1, BAND)
        self.plotItem.getAxis("bottom").setTicks([[(i, str(k)) for i, k in enumerate(self.ks)], []])
        self.bars.set_bars(x, y, 0.0, BAR)
        self.whiskers.setData(x=x, y=y, top=np.minimum(half, 1 - y), bottom=half)
        top = np.minimum(1.0, y + half)
        colour = theme.colour("text")
        narrow = self.plotItem.vb.width() / (len(x) or 1) < theme.text_width(
            ".00", theme.text_font().pointSizeF(), True
        )
        texts = [prob(v, 2 if v >= SMALL and not narrow else 1) for v in y]
        self.tags.set_tags([Tag(*at, text, colour) for *at, text in zip(x, top, texts, strict=True)])

    def read_out(self, x: float, y: float) -> str:
        """Return the numbers of the column under the pointer."""
        i = round(x)
        if not 0 <= i < len(self.means):
            return ""
        m = self.means[i]
        text = self.tr("The {k} most probable tokens hold {mean} of p, standard error {error}.")
        return text.format(k=self.ks[i], mean=prob(m.value, 4), error=prob(m.error, 2))
