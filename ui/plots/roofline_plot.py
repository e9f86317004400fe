"""The roofline: FLOP per byte against FLOP per second, both logarithmic, with the passes of one setting on it.

Knows: how roof, ridge and points are drawn. Does not know: the arithmetic (`simulator.cost.roofline`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from simulator.cost.roofline import Setting, one_pass
from ui import theme
from ui.plots.base import Plot
from ui.plots.callouts import Callout, Callouts
from ui.plots.header import EDGE
from ui.plots.key import Entry

BATCHES = tuple(2**i for i in range(11))  # 1 .. 1024
DECADES_UP = 0.25  # above the flat roof
MARGIN = 0.2  # decades, free at both ends of the axis


@dataclass(frozen=True, slots=True)
class Measured:
    """A pass as it was timed here."""

    text: str
    intensity: float  # FLOP/byte
    speed: float  # FLOP/s


class RooflinePlot(Plot):
    """Where plain decoding and verification of k + 1 positions lie under the roof."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setting: Setting | None = None
        self.k = 4
        self.measured: tuple[Measured, ...] = ()
        self._roof, self._path = pg.PlotCurveItem(antialias=True), pg.PlotCurveItem(antialias=True)
        self.batches, self.points = pg.ScatterPlotItem(size=6), pg.ScatterPlotItem(size=13, antialias=True)
        self.here = pg.ScatterPlotItem(size=13, symbol="d", antialias=True)
        for item in (self._path, self._roof, self.batches, self.points, self.here):
            self.plotItem.addItem(item)
        self.callouts = Callouts(self.plotItem.vb)
        self.callouts.setZValue(-1)
        self.plotItem.getAxis("bottom").setLabel(self.tr("operations per byte read"))
        self.plotItem.getAxis("left").setLabel(self.tr("operations per second"))
        self.plotItem.getAxis("bottom").setStyle(hideOverlappingLabels=2 * EDGE)
        self.items_made()

    def set_setting(self, setting: Setting, k: int, measured: tuple[Measured, ...] = ()) -> None:
        """Show this setting's passes, and the measured ones where they belong to it."""
        if (setting, k, measured) != (self.setting, self.k, self.measured):
            self.setting, self.k, self.measured = setting, k, measured
            self.request_redraw()

    def draw(self) -> None:
        """Bring roof, points and callouts up to date."""
        if self.setting is None:
            self.set_message("")
            return
        self.set_header("", self._entries())
        s, h = self.setting, self.setting.hardware
        single, verify = one_pass(s, 1), one_pass(s, self.k + 1)
        path = [one_pass(replace(s, batch=b), self.k + 1) for b in BATCHES]
        xs = [p.intensity for p in (single, verify, *path)] + [m.intensity for m in self.measured] + [h.ridge]
        speeds = [p.flops / p.seconds for p in (single, verify, *path)] + [m.speed for m in self.measured]
        left, right = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)))
        bottom, top = math.floor(math.log10(min(speeds)) - 0.15), math.log10(h.peak) + DECADES_UP
        self._set_ranges(left, right, bottom, top)
        first = 10.0 ** (left - MARGIN)
        self._roof.setData(*_log([first, h.ridge, 10.0 ** (right + MARGIN)], [h.bandwidth * first, h.peak, h.peak]))
        self._path.setData(*_log([p.intensity for p in path], [p.flops / p.seconds for p in path]))
        self.batches.setData(*_log([p.intensity for p in path], [p.flops / p.seconds for p in path]))
        pair = (single, verify) if self.k else (single,)
        self.points.setData(*_log([p.intensity for p in pair], [p.flops / p.seconds for p in pair]))
        self.here.setData(*_log([m.intensity for m in self.measured], [m.speed for m in self.measured]))
        self.callouts.set_callouts(self._callouts(single, verify))

    def _callouts(self, single, verify) -> list[Callout]:
        h, text = self.setting.hardware, theme.colour("text")

        def at(p, word: str) -> Callout:
            place = math.log10(p.intensity), math.log10(p.flops / p.seconds)
            return Callout(*place, text, "", word, (), "none", dashed=True)

        ridge = self.tr("ridge: {r:.3g} per byte").format(r=h.ridge)
        found = [
            at(single, self.tr("decode")),
            Callout(math.log10(h.ridge), math.log10(h.peak), theme.colour("accent"), "", ridge, (), "none", True),
        ]
        return [*found, at(verify, self.tr("verify {n}").format(n=self.k + 1))] if self.k else found

    def _set_ranges(self, left: int, right: int, bottom: int, top: float) -> None:
        self.plotItem.vb.setXRange(left - MARGIN, right + MARGIN, padding=0)
        self.callouts.set_lines(1)
        self.set_y_range(bottom, top, self.callouts.band())
        every = 2 if right - left > 7 else 1
        self.plotItem.getAxis("bottom").setTicks([[(e, _number(10.0**e)) for e in range(left, right + 1, every)], []])
        every = 2 if top - bottom > 5 else 1
        self.plotItem.getAxis("left").setTicks([[(e, _rate(e)) for e in range(bottom, math.floor(top) + 1, every)], []])

    def read_out(self, x: float, y: float) -> str:
        """Return the roof above the pointer and the point nearest to it."""
        if self.setting is None:
            return ""
        h = self.setting.hardware
        roof = min(h.peak, h.bandwidth * 10.0**x)
        text = self.tr("<b>{name}</b>: {bw:.4g} GB/s, {peak:.4g} TFLOP/s ({source})<br>at {x:.3g} operations per byte "
                       "the roof is {roof:.3g} TFLOP/s, set by {what}")  # fmt: skip
        what = self.tr("arithmetic") if 10.0**x >= h.ridge else self.tr("reading")
        lines = [text.format(name=h.name, bw=h.bandwidth / 1e9, peak=h.peak / 1e12, source=h.source, x=10.0**x,
                             roof=roof / 1e12, what=what)]  # fmt: skip
        for m in self.measured:
            share = m.speed / min(h.peak, h.bandwidth * m.intensity)
            lines.append(self.tr("{t}, measured here: {s:.0%} of the roof").format(t=m.text, s=share))
        return "<br>".join(lines)

    def _entries(self) -> list[Entry]:
        s = self.setting
        title = self.tr("Roofline: {size} on {device}").format(size=s.size.name, device=s.hardware.name)
        entries = [
            Entry(title, bold=True), Entry(self.tr("roof"), pen=self._roof_pen),
            Entry(self.tr("one pass"), pg.mkBrush(theme.colour("both")), pg.mkPen(None)),
            Entry(self.tr("verifying at batch 1 to 1,024"), pen=self._path_pen),
        ]  # fmt: skip
        if self.measured:
            entries.append(Entry(self.tr("measured here"), pg.mkBrush(theme.colour("extra")), pg.mkPen(None)))
        return entries

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        self._roof_pen = pg.mkPen(theme.colour("accent"), width=3)
        self._path_pen = pg.mkPen(theme.colour("both"), width=2, style=Qt.PenStyle.DotLine)
        self._roof.setPen(self._roof_pen)
        self._path.setPen(self._path_pen)
        for points, name in ((self.batches, "both"), (self.points, "both"), (self.here, "extra")):
            points.setBrush(pg.mkBrush(theme.colour(name)))
            points.setPen(pg.mkPen(theme.colour("panel"), width=1.5))
        self.plotItem.getAxis("left").setWidth(self._axis_width() + 22)
        for side in ("left", "bottom"):
            self.plotItem.getAxis(side).label.setDefaultTextColor(theme.colour("muted"))


def _log(x: list[float], y: list[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.log10(np.array(x, float)), np.log10(np.array(y, float))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}".removeprefix("0")


def _rate(exponent: int) -> str:
    """Write 10^exponent operations per second with the letter that people read: 100 G, 10 T."""
    letters = ((15, "P"), (12, "T"), (9, "G"), (6, "M"))
    power, letter = next(((p, c) for p, c in letters if exponent >= p), (0, ""))
    return f"{10 ** max(0, exponent - power):,} {letter}".strip()
