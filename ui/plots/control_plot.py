"""Tokens per round against k: measured with intervals, and what two laws fitted at one k said they would be.

Knows: how a control run is drawn. Does not know: the laws (`simulator.acceptance.correlation`).
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from simulator.acceptance.correlation import Control
from ui import theme
from ui.plots.base import Plot
from ui.plots.key import Entry
from ui.plots.scales import ceiling
from ui.widgets.digits import prob

TOPS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0)


class ControlPlot(Plot):
    """Points with intervals over k, the independent formula dashed and dotted (two alphas), the Beta law full."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.control: Control | None = None
        self.missing = ""
        self.independent, self.start, self.correlated = (pg.PlotCurveItem(antialias=True) for _ in range(3))
        self.whiskers, self.measured = pg.ErrorBarItem(beam=0.2), pg.ScatterPlotItem(size=11, antialias=True)
        for item in (self.independent, self.start, self.correlated, self.whiskers, self.measured):
            self.plotItem.addItem(item)
        self.plotItem.getAxis("bottom").setLabel(self.tr("draft length k"))

    def set_control(self, control: Control | None, missing: str) -> None:
        """Show a control run; `missing` says why there is none."""
        if (control, missing) != (self.control, self.missing):
            self.control, self.missing = control, missing
            self.request_redraw()

    def draw(self) -> None:
        """Bring curves and points up to date."""
        c = self.control
        if c is None:
            self.set_message(self.missing)
            return
        dashed = pg.mkPen(theme.colour("muted"), width=2, style=Qt.PenStyle.DashLine)
        dotted = pg.mkPen(theme.colour("text"), width=2, style=Qt.PenStyle.DotLine)
        full, whisker = pg.mkPen(theme.colour("missed"), width=3), pg.mkPen(theme.colour("extra"), width=2)
        self.set_header(
            "",
            [
                Entry(self.tr("Tokens per round"), bold=True),
                Entry(self.tr("i.i.d., alpha = {a}").format(a=prob(c.alpha)), pen=dashed),
                Entry(self.tr("i.i.d., {f} of first positions").format(f=prob(c.first)), pen=dotted),
                Entry(self.tr("Beta model"), pen=full),
                Entry(self.tr("measured, 95 %"), pg.mkBrush(theme.colour("extra")), whisker),
            ],
        )
        k = np.array([p.k for p in c.points], float)
        y = np.array([p.measured for p in c.points])
        low, high = np.array([p.interval or (p.measured, p.measured) for p in c.points]).T
        laws = [np.array([getattr(p, name) for p in c.points]) for name in ("independent", "start", "correlated")]
        self.plotItem.vb.setXRange(k.min() - 0.5, k.max() + 0.5, padding=0)
        ticks = [(p.k, self.tr("{k} (fit)").format(k=p.k) if p.k == c.fit_k else str(p.k)) for p in c.points]
        self.plotItem.getAxis("bottom").setTicks([ticks, []])
        self.set_y_range(1.0, ceiling(float(max(high.max(), *(law.max() for law in laws))), TOPS))
        self.independent.setData(k, laws[0], pen=dashed)
        self.start.setData(k, laws[1], pen=dotted)
        self.correlated.setData(k, laws[2], pen=full)
        self.whiskers.setData(x=k, y=y, top=high - y, bottom=y - low, pen=whisker)
        self.measured.setData(
            k, y, brush=pg.mkBrush(theme.colour("extra")), pen=pg.mkPen(theme.colour("panel"), width=1.5)
        )

    def read_out(self, x: float, y: float) -> str:
        """Return measurement and both predictions at the nearest k."""
        point = next((p for p in self.control.points if p.k == round(x)), None) if self.control else None
        if point is None:
            return ""
        ends = "" if point.interval is None else " ({:.2f} … {:.2f})".format(*point.interval)
        rows = [
            (self.tr("measured, {n} rounds").format(n=point.rounds), f"{point.measured:.3f}{ends}"),
            (self.tr("i.i.d., alpha of tested positions"), f"{point.independent:.3f}"),
            (self.tr("i.i.d., first positions"), f"{point.start:.3f}"),
            (self.tr("Beta model"), f"{point.correlated:.3f}"),
        ]
        cells = "".join(f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>" for name, text in rows)
        return f"<b>k = {point.k}</b><table>{cells}</table>"
