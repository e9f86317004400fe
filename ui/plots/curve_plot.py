"""Speedup, or tokens per round, against the draft length k: the formula, and what was measured on the same axes.

Knows: how curves, best k and measured points are drawn. Does not know: the formulas (`simulator.theory`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QWidget

from simulator.measure import MeasuredPoint
from simulator.theory.speedup import best_k, correlated_speedup
from simulator.theory.tokens_per_round import correlated_tokens, expected_tokens
from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.callouts import Callout, Callouts
from ui.plots.header import EDGE
from ui.plots.key import Entry
from ui.plots.reported import Reported, ReportedMark

K_MAX = 16
LOWEST = 0.75  # a speedup below it needs an axis from 0, or the words at its bottom would lie on the curve
WILDEST = 1.6  # times the highest median or curve: whiskers beyond are cut off, the tooltip has their ends
MARGIN = 0.45  # of k, free at both ends of the axis
SPEEDUP_TOPS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0)
TOKEN_TOPS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0)

Quantity = Literal["speedup", "tokens"]


@dataclass(frozen=True, slots=True)
class Model:
    """The sliders' values, in the words of `simulator.theory`."""

    alpha: float
    c: float
    c_verify: float
    k: int
    fixed: float = 0.0
    rho: float = 0.0

    def curve(self, quantity: Quantity) -> NDArray[np.float64]:
        """Return the quantity at k = 0 .. K_MAX (Leviathan Thm 3.8 with a verify cost; reference, section 3)."""
        k = np.arange(K_MAX + 1)
        if quantity == "tokens":
            return np.asarray(correlated_tokens(self.alpha, self.rho, k))
        return np.asarray(correlated_speedup(self.alpha, self.rho, self.c, k, self.c_verify, self.fixed))

    def comparison(self, quantity: Quantity) -> NDArray[np.float64] | None:
        """Return the dashed curve: speedup without verify cost, tokens without correlation; None if the same."""
        k = np.arange(K_MAX + 1)
        if quantity == "speedup" and self.c_verify > 0:
            return np.asarray(correlated_speedup(self.alpha, self.rho, self.c, k, 0.0, self.fixed))
        if quantity == "tokens" and self.rho > 0:
            return np.asarray(expected_tokens(self.alpha, k))
        return None

    def best_k(self) -> int:
        """Return the fastest k on the axis."""
        return best_k(self.alpha, self.c, self.c_verify, self.fixed, rho=self.rho, k_max=K_MAX)[0]


class CurvePlot(Plot):
    """The formula's curve over k with its best k, the current k, and measured points."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model: Model | None = None
        self.points: tuple[MeasuredPoint, ...] = ()
        self.quantity: Quantity = "speedup"
        self._slow, self._plain = Bars(), pg.PlotCurveItem()
        self.formula, self.comparison = pg.PlotCurveItem(antialias=True), pg.PlotCurveItem(antialias=True)
        self.whiskers, self.measured = pg.ErrorBarItem(beam=0.22), pg.ScatterPlotItem(size=12, antialias=True)
        self.marks = pg.ScatterPlotItem(size=12, antialias=True)
        for item in (self._slow, self._plain, self.comparison, self.formula, self.marks, self.whiskers, self.measured):
            self.plotItem.addItem(item)
        self.reported = ReportedMark(self.plotItem)
        self.callouts = Callouts(self.plotItem.vb)
        self.callouts.setZValue(-1)  # their lines must not cover measured points
        self._slow_text = pg.TextItem(anchor=(0.5, 1.0))
        self._slow_text.setParentItem(self.plotItem.vb)
        axis = self.plotItem.getAxis("bottom")
        axis.setLabel(self.tr("draft length k"))
        axis.setStyle(hideOverlappingLabels=EDGE)  # the last number may reach into the margin
        self.items_made()

    def set_model(self, alpha: float, c: float, c_verify: float, k: int, fixed: float = 0.0, rho: float = 0.0) -> None:
        """Draw the formula for these values from the next frame on; of many calls in a frame the last one wins."""
        self._change("model", Model(alpha, c, c_verify, k, fixed, rho))

    def set_measured(self, points: Sequence[MeasuredPoint]) -> None:
        """Show these measured points."""
        self._change("points", tuple(points))

    def set_quantity(self, quantity: Quantity) -> None:
        """Show "speedup" or "tokens" (per round)."""
        self._change("quantity", quantity)

    def set_reported(self, reported: Reported | None) -> None:
        """Mark what a source reported; None takes the mark away."""
        self.reported.shown = reported
        self.request_redraw()

    def _change(self, name: str, value: object) -> None:
        if value != getattr(self, name):
            setattr(self, name, value)
            self.request_redraw()

    def draw(self) -> None:
        """Bring curves, points, marks and key up to date."""
        if self.model is None:
            self.set_message(self.tr("The speedup against the draft length appears here after the first round."))
            return
        curve, other = self.model.curve(self.quantity), self.model.comparison(self.quantity)
        shown = [_row(point, self.quantity) for point in self.points if point.k <= K_MAX]
        self.set_header("", self._entries(other is not None, bool(shown)))
        self._set_ranges(curve, other, shown)
        k = np.arange(K_MAX + 1)
        self.formula.setData(k, curve)
        self.comparison.setData(k, other if other is not None else np.full(k.shape, np.nan))
        self._draw_measured(np.array(shown).reshape(-1, 4))
        callouts = self._callouts(curve)
        self.callouts.set_callouts(callouts)
        self.marks.setData([c.x for c in callouts], [c.y for c in callouts], brush=[c.colour for c in callouts])
        self._draw_slow(curve, [c.x for c in callouts])

    def _set_ranges(self, curve: NDArray, other: NDArray | None, shown: list[tuple[float, ...]]) -> None:
        told = [*(row[1] for row in shown), *self.reported.values(self.quantity)]
        middles = [*curve, *(other if other is not None else ()), *told]
        most = WILDEST * max(middles)  # one disturbed repeat must not press the curve flat
        values = [*middles, *(min(v, most) for row in shown for v in row[2:])]
        slowest, tops = min(values), SPEEDUP_TOPS if self.quantity == "speedup" else TOKEN_TOPS
        self.low = 0.0 if slowest < LOWEST else 0.5 if self.quantity == "speedup" else 1.0 if slowest >= 1 else 0.5
        self.high = next((top for top in tops if top >= max(values)), tops[-1])
        self.plotItem.vb.setXRange(-MARGIN, K_MAX + MARGIN, padding=0)
        self.callouts.set_lines(1)
        self.set_y_range(self.low, self.high, self.callouts.band())
        step = 1 if self.plotItem.vb.width() > 420 else 2
        self.plotItem.getAxis("bottom").setTicks([[(k, str(k)) for k in range(0, K_MAX + 1, step)], []])

    def _draw_measured(self, rows: NDArray[np.float64]) -> None:
        k, value, low, high = rows.T
        self.measured.setData(k, value)
        self.whiskers.setData(x=k, y=value, top=np.clip(high, value, self.high) - value, bottom=value - low)

    def _draw_slow(self, curve: NDArray[np.float64], lines: list[float]) -> None:
        """Shade what is slower than plain decoding, and say so in the corner that curve and lines leave free."""
        ends = np.array([-MARGIN, K_MAX + MARGIN])
        self._plain.setData(ends, np.ones(2))
        height = np.array([max(0.0, 1.0 - self.low) if self.quantity == "speedup" else 0.0])
        self._slow.set_bars(np.array([K_MAX / 2]), height, self.low, K_MAX + 2 * MARGIN)
        view, text = self.plotItem.vb.rect(), self._slow_text.boundingRect()
        unit = view.height() / (self.plotItem.vb.viewRange()[1][1] - self.low)
        self._slow_text.setVisible(bool(height[0] * unit > text.height()))
        half = text.width() / view.width() * K_MAX / 2 + 0.3
        x = _free_place(curve, lines, half, self.low + text.height() / unit)
        self._slow_text.setPos(self.plotItem.vb.mapFromView(QPointF(x, self.low)))

    def _callouts(self, curve: NDArray[np.float64]) -> list[Callout]:
        best, k = self.model.best_k(), self.model.k
        found = [self._best(curve, best, k)]
        if k != best and 0 <= k <= K_MAX:
            word = self.tr("k = {k}: {value}").format(k=k, value=self._text(curve[k]))
            found.append(Callout(k, float(curve[k]), theme.colour("text"), "", word, (), "none", True, dashed=True))
        return found

    def _best(self, curve: NDArray[np.float64], best: int, k: int) -> Callout:
        if best == 0:
            word = self.tr("best k = 0: do not draft")
        elif best == k:
            word = self.tr("k = {k}, the best: {value}").format(k=best, value=self._text(curve[best]))
        elif self.quantity == "tokens":
            word = self.tr("fastest k = {k}: {value}").format(k=best, value=self._text(curve[best]))
        else:
            word = self.tr("best k = {k}: {value}").format(k=best, value=self._text(curve[best]))
        return Callout(best, float(curve[best]), theme.colour("accent"), "", word, (), "none", to_axis=True)

    def read_out(self, x: float, y: float) -> str:
        """Return formula and measurement at the nearest k."""
        k = round(x)
        if self.model is None or not 0 <= k <= K_MAX:
            return ""
        rows = [(self.tr("formula"), self._text(self.model.curve(self.quantity)[k]))]
        other = self.model.comparison(self.quantity)
        if other is not None:
            rows.append((self._comparison_name(), self._text(other[k])))
        for point in self.points:
            if point.k == k:
                value, low, high = (self._text(v) for v in _row(point, self.quantity)[1:])
                rows.append((self.tr("measured here"), self.tr("{value} ({low} to {high})").format(**locals())))
        cells = "".join(f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>" for name, text in rows)
        return f"<b>k = {k}</b><table>{cells}</table>"

    def _text(self, value: float) -> str:
        return self.tr("{x:.2f}×").format(x=value) if self.quantity == "speedup" else f"{value:.2f}"

    def _comparison_name(self) -> str:
        return self.tr("without verify cost") if self.quantity == "speedup" else self.tr("without correlation")

    def _entries(self, other: bool, measured: bool) -> list[Entry]:
        titles = {"speedup": self.tr("Speedup against draft length"), "tokens": self.tr("Tokens per round")}
        entries = [Entry(titles[self.quantity], bold=True), Entry(self.tr("formula"), pen=self._formula_pen)]
        if other:
            entries.append(Entry(self._comparison_name(), pen=self._comparison_pen))
        if measured:
            entries.append(Entry(self.tr("measured here"), pg.mkBrush(theme.colour("extra")), self._whisker_pen))
        return entries + self.reported.draw(self.quantity, self.tr("as reported"))

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        self._formula_pen = pg.mkPen(theme.colour("accent"), width=3)
        self._comparison_pen = pg.mkPen(theme.colour("muted"), width=2, style=Qt.PenStyle.DashLine)
        self._whisker_pen = pg.mkPen(theme.colour("extra"), width=2)
        self.formula.setPen(self._formula_pen)
        self.comparison.setPen(self._comparison_pen)
        self.whiskers.setData(pen=self._whisker_pen)
        self.measured.setBrush(pg.mkBrush(theme.colour("extra")))
        self.measured.setPen(pg.mkPen(theme.colour("panel"), width=1.5))
        self.marks.setPen(pg.mkPen(theme.colour("panel"), width=1.5))
        self._plain.setPen(pg.mkPen(theme.colour("muted"), width=1))
        self._slow.set_look(pg.mkBrush(theme.colour("excess", 0.12)))
        self._slow_text.setText(self.tr("slower than plain decoding"), theme.colour("muted"))
        self._slow_text.setFont(theme.text_font())
        self.plotItem.getAxis("bottom").label.setDefaultTextColor(theme.colour("muted"))


def _free_place(curve: NDArray[np.float64], lines: list[float], half: float, floor: float) -> float:
    """Return the middle k of a text at the bottom that neither a line nor the curve crosses, far right first."""
    k = np.arange(curve.size)
    places = [float(x) for x in np.arange(K_MAX - half, half, -0.5)] or [K_MAX / 2]
    for x in places:
        near = np.abs(k - x) <= half + 1
        if curve[near].min() >= floor and all(abs(line - x) > half for line in lines):
            return x
    return places[0]


def _row(point: MeasuredPoint, quantity: Quantity) -> tuple[float, float, float, float]:
    """Return k, median, lowest and highest."""
    spread = point.speedup if quantity == "speedup" else point.tokens_per_round
    return float(point.k), spread.median, spread.low, spread.high
