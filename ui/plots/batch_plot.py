"""Speedup against batch, down to below 1, as the roofline has it, with published points beside it.

Knows: how the curve is drawn. Does not know: the arithmetic (`simulator.cost.roofline`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from simulator.cost.roofline import REPORTED, SIZES, Setting, batch_speedup, break_even_batch
from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.callouts import Callout, Callouts
from ui.plots.header import EDGE
from ui.plots.key import Entry
from ui.plots.scales import ceiling

REPORTED_SIZE = SIZES[1].name
MOST = 12  # log2 of the largest batch shown
TOPS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0)


@dataclass(frozen=True, slots=True)
class Batch:
    """What the curve is drawn from."""

    setting: Setting
    k: int
    alpha: float
    c: float

    def at(self, batch: float) -> float:
        """Return the speedup at this batch."""
        return batch_speedup(replace(self.setting, batch=batch), self.k, self.alpha, self.c)


class BatchPlot(Plot):
    """The roofline's speedup over the batch, with the batch where drafting stops paying."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.batch: Batch | None = None
        self.even: int | None = None
        self._slow, self._plain = Bars(), pg.PlotCurveItem()
        self.curve, self.reported = pg.PlotCurveItem(antialias=True), pg.ScatterPlotItem(size=10, symbol="s")
        for item in (self._slow, self._plain, self.curve, self.reported):
            self.plotItem.addItem(item)
        self.callouts = Callouts(self.plotItem.vb)
        self.callouts.setZValue(-1)
        self.plotItem.getAxis("bottom").setLabel(self.tr("sequences in a batch"))
        self.plotItem.getAxis("left").setLabel(self.tr("speedup"))
        self.plotItem.getAxis("bottom").setStyle(hideOverlappingLabels=EDGE)
        self.items_made()

    def set_batch(self, batch: Batch) -> None:
        """Show the curve of this setting."""
        if batch != self.batch:
            self.batch = batch
            self.even = break_even_batch(batch.setting, batch.k, batch.alpha, batch.c)
            self.request_redraw()

    def draw(self) -> None:
        """Bring curve, points and callouts up to date."""
        if self.batch is None:
            self.set_message("")
            return
        self.set_header("", self._entries())
        exponents = np.linspace(0, MOST, 8 * MOST + 1)
        speeds, reported = np.array([self.batch.at(2**e) for e in exponents]), self._reported()
        top = ceiling(max([float(speeds.max()), *(s for _, s in reported)]), TOPS)
        self.plotItem.vb.setXRange(-0.3, MOST + 0.3, padding=0)
        self.callouts.set_lines(1)
        self.set_y_range(0, top, self.callouts.band())
        step = 1 if self.plotItem.vb.width() > 620 else 2
        marks = [(e, f"{2**e:,}") for e in range(0, MOST + 1, step)]
        self.plotItem.getAxis("bottom").setTicks([marks, []])
        self._slow.set_bars(np.array([MOST / 2]), np.ones(1), 0.0, MOST + 1.0)
        self._plain.setData(np.array([-0.3, MOST + 0.3]), np.ones(2))
        self.curve.setData(exponents, speeds)
        self.reported.setData([math.log2(b) for b, _ in reported], [s for _, s in reported])
        self.callouts.set_callouts(self._callouts())

    def _reported(self) -> tuple[tuple[int, float], ...]:
        """Return the published points, which belong to one model."""
        return REPORTED if self.batch.setting.size.name == REPORTED_SIZE else ()

    def _callouts(self) -> list[Callout]:
        b = self.batch
        here = b.setting.batch
        word = self.tr("batch {n:,}: {s:.2f}×").format(n=here, s=b.at(here))
        found = [Callout(math.log2(here), b.at(here), theme.colour("text"), "", word, (), "none", dashed=True)]
        if self.even is not None and 1 < self.even <= 2**MOST:
            word = self.tr("from batch {n:,} on slower").format(n=self.even)
            place = math.log2(self.even), b.at(self.even)
            found.append(Callout(*place, theme.colour("excess"), "", word, (), "none", to_axis=True))
        return found

    def read_out(self, x: float, y: float) -> str:
        """Return the speedup at the batch under the pointer."""
        if self.batch is None or not 0 <= x <= MOST:
            return ""
        n = max(1, round(2**x))
        text = self.tr("<b>batch {n:,}</b><br>{s:.3f}× by the roofline: E[tokens] / (k c + T(k + 1) / T(1))")
        lines = [text.format(n=n, s=self.batch.at(n))]
        near = [(b, s) for b, s in self._reported() if abs(math.log2(b) - x) < 0.4]
        lines += [self.tr("{s}× at batch {b}: EAGLE-3, tree drafts, Llama-3.1-8B, GSM8K, as reported in arXiv "
                          "2602.06036").format(s=s, b=b) for b, s in near]  # fmt: skip
        return "<br>".join(lines)

    def _entries(self) -> list[Entry]:
        slow = pg.mkBrush(theme.colour("excess", 0.25))
        entries = [
            Entry(self.tr("Speedup against batch"), bold=True), Entry(self.tr("roofline"), pen=self._curve_pen),
            Entry(self.tr("slower than plain"), slow),
        ]  # fmt: skip
        if self._reported():
            dot = pg.mkBrush(theme.colour("discarded")), pg.mkPen(None)
            entries.append(Entry(self.tr("EAGLE-3 as reported"), *dot))
        return entries

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        self._curve_pen = pg.mkPen(theme.colour("accent"), width=3)
        self.curve.setPen(self._curve_pen)
        self._plain.setPen(pg.mkPen(theme.colour("muted"), width=1))
        self._slow.set_look(pg.mkBrush(theme.colour("excess", 0.12)))
        self.reported.setBrush(pg.mkBrush(theme.colour("discarded")))
        self.reported.setPen(pg.mkPen(theme.colour("panel"), width=1))
        for side in ("left", "bottom"):
            self.plotItem.getAxis(side).label.setDefaultTextColor(theme.colour("muted"))
