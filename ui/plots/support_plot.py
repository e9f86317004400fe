"""A cut draft vocabulary: acceptance and the two TVs against the number of tokens kept.

Knows: how the three curves are drawn over a logarithmic axis. Does not know: how they were computed.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from simulator.acceptance.truncated import Truncation
from ui import theme
from ui.plots.base import Plot
from ui.plots.key import Entry
from ui.widgets.digits import prob

TICKS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


class SupportPlot(Plot):
    """Acceptance, TV over all tokens and TV over the draft's own, against n; a line at the chosen n."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.truncation: Truncation | None = None
        self.index = 0
        self.missing = ""
        self.curves = {name: pg.PlotCurveItem(antialias=True) for name in ("acceptance", "tv_all", "tv_draft")}
        self.line = pg.InfiniteLine(angle=90)
        self.dots = pg.ScatterPlotItem(size=11, antialias=True)
        for item in (*self.curves.values(), self.line, self.dots):
            self.plotItem.addItem(item)
        self.plotItem.getAxis("bottom").setLabel(self.tr("tokens kept in the draft's vocabulary, n"))

    def set_truncation(self, truncation: Truncation | None, index: int, missing: str) -> None:
        """Show the curves with the chosen size marked; `missing` says why there are none."""
        if truncation is not self.truncation or (index, missing) != (self.index, self.missing):
            self.truncation, self.index, self.missing = truncation, index, missing
            self.request_redraw()

    def draw(self) -> None:
        """Bring curves and marks up to date."""
        t = self.truncation
        if t is None:
            self.set_message(self.missing)
            return
        pens = {
            "acceptance": pg.mkPen(theme.colour("both"), width=3),
            "tv_all": pg.mkPen(theme.colour("excess"), width=3),
            "tv_draft": pg.mkPen(theme.colour("excess"), width=2, style=Qt.PenStyle.DashLine),
        }
        names = {
            "acceptance": self.tr("acceptance"),
            "tv_all": self.tr("TV over all tokens"),
            "tv_draft": self.tr("TV over the draft's tokens only"),
        }
        self.set_header("", [Entry(names[name], pen=pens[name]) for name in names])
        x = np.log10(t.n.astype(float))
        self.plotItem.vb.setXRange(-0.05, float(x[-1]) + 0.05, padding=0)
        ticks = [(float(np.log10(n)), f"{n:,}") for n in TICKS if n < t.vocab / 1.6] + [(float(x[-1]), f"{t.vocab:,}")]
        self.plotItem.getAxis("bottom").setTicks([ticks, []])
        self.set_y_range(0.0, 1.0)
        for name, curve in self.curves.items():
            curve.setData(x, getattr(t, name), pen=pens[name])
        self.line.setPen(pg.mkPen(theme.colour("accent"), width=1))
        self.line.setPos(float(x[self.index]))
        values = [float(getattr(t, name)[self.index]) for name in self.curves]
        self.dots.setData(
            [float(x[self.index])] * 3,
            values,
            pen=pg.mkPen(theme.colour("panel"), width=1.5),
            brush=[pens[name].color() for name in self.curves],
        )

    def read_out(self, x: float, y: float) -> str:
        """Return all numbers at the nearest size."""
        t = self.truncation
        if t is None:
            return ""
        i = int(np.argmin(np.abs(np.log10(t.n.astype(float)) - x)))
        rows = [
            (self.tr("acceptance"), t.acceptance[i]),
            (self.tr("TV over all tokens"), t.tv_all[i]),
            (self.tr("TV over the draft's tokens only"), t.tv_draft[i]),
            (self.tr("target mass outside"), t.outside[i]),
        ]
        cells = "".join(f"<tr><td>{n}&nbsp;&nbsp;</td><td align='right'>{prob(float(v))}</td></tr>" for n, v in rows)
        return f"<b>n = {int(t.n[i]):,}</b><table>{cells}</table>"
