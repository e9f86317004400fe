"""Several answers to one question on one axis: a dot or a range a line, the measured one with its interval.

Knows: how answers are lined up. Does not know: what they answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.scales import tick_step, ticks

BAND = 0.34  # of a line: the height of a range


@dataclass(frozen=True, slots=True)
class Answer:
    """One line: a value, or a range, or a value with its interval."""

    name: str
    definition: str
    value: float | None
    low: float | None = None
    high: float | None = None
    colour: str = "text"  # a field of `theme.Theme`
    symbol: str = "o"


class AxisPlot(Plot):
    """Answers under one another over one axis from 0 to `most`."""

    def __init__(self, label: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answers: tuple[Answer, ...] = ()
        self.most, self.missing = 1.0, ""
        self.bands, self.whiskers = Bars(), pg.ErrorBarItem(beam=0.25)
        self.dots = pg.ScatterPlotItem(size=13, antialias=True)
        self._texts: list[pg.TextItem] = []
        for item in (self.bands, self.whiskers, self.dots):
            self.plotItem.addItem(item)
        self.plotItem.getAxis("bottom").setLabel(label)

    def set_answers(self, answers: Sequence[Answer], most: float, missing: str = "") -> None:
        """Show these answers, the first on top; `missing` says why there are none."""
        new = tuple(answers), most, missing
        if new != (self.answers, self.most, self.missing):
            self.answers, self.most, self.missing = new
            self.plotItem.getAxis("left").setWidth(self._axis_width())
            self.request_redraw()

    def draw(self) -> None:
        """Bring dots, ranges, intervals and their numbers up to date."""
        if not self.answers:
            self.set_message(self.missing)
            return
        self.set_header("", [])
        n, vb = len(self.answers), self.plotItem.vb
        vb.setXRange(0.0, self.most * 1.12, padding=0)
        vb.setYRange(-0.6, n - 0.4, padding=0)
        self.plotItem.getAxis("left").setTicks([[(n - 1 - i, a.name) for i, a in enumerate(self.answers)], []])
        step = tick_step(
            self.most, max(vb.width(), 1.0), QFontMetricsF(theme.text_font()).horizontalAdvance("00.00") * 1.6
        )
        self.plotItem.getAxis("bottom").setTicks([ticks(0.0, self.most, step), []])
        rows = [(n - 1 - i, a) for i, a in enumerate(self.answers)]
        self._draw_bands([(y, a) for y, a in rows if a.value is None and a.low is not None])
        self._draw_dots([(y, a) for y, a in rows if a.value is not None])
        self._draw_numbers(rows)

    def read_out(self, x: float, y: float) -> str:
        """Return the definition of the answer under the pointer."""
        i = len(self.answers) - 1 - round(y)
        if not 0 <= i < len(self.answers):
            return ""
        answer = self.answers[i]
        return f"<b>{answer.name}: {_number(answer)}</b><br>{answer.definition}"

    def _draw_bands(self, rows: list[tuple[int, Answer]]) -> None:
        y = np.array([r[0] for r in rows], float)
        low, high = (np.array([getattr(a, name) for _, a in rows], float) for name in ("low", "high"))
        self.bands.set_look(pg.mkBrush(theme.colour("discarded", 0.4)), pg.mkPen(theme.colour("discarded"), width=1))
        self.bands.set_bars((low + high) / 2, np.full(y.size, BAND), y - BAND / 2, np.maximum(high - low, 1e-9))

    def _draw_dots(self, rows: list[tuple[int, Answer]]) -> None:
        self.dots.setData(
            [a.value for _, a in rows],
            [y for y, _ in rows],
            symbol=[a.symbol for _, a in rows],
            brush=[pg.mkBrush(theme.colour(a.colour)) for _, a in rows],
            pen=pg.mkPen(theme.colour("panel"), width=1.5),
        )
        known = [(y, a) for y, a in rows if a.low is not None and a.high is not None]
        x = np.array([a.value for _, a in known], float)
        low, high = (np.array([getattr(a, name) for _, a in known], float) for name in ("low", "high"))
        self.whiskers.setData(
            x=x,
            y=np.array([y for y, _ in known], float),
            left=x - low,
            right=high - x,
            pen=pg.mkPen(theme.colour("extra"), width=2),
        )

    def _draw_numbers(self, rows: list[tuple[int, Answer]]) -> None:
        while len(self._texts) < len(rows):
            text = pg.TextItem(anchor=(0.0, 0.5))
            self.plotItem.addItem(text)
            self._texts.append(text)
        unit = self.most * 1.12 / max(self.plotItem.vb.width(), 1.0)
        for item, row in zip(self._texts, [*rows, *[None] * len(self._texts)], strict=False):
            item.setVisible(row is not None)
            if row is not None:
                y, a = row
                end = max(v for v in (a.value, a.high) if v is not None)
                item.setFont(theme.text_font(bold=True))
                item.setText(_number(a), theme.colour("text"))
                room = item.boundingRect().width()
                right = end + (10 + room) * unit <= self.most * 1.12
                start = min(v for v in (a.value, a.low) if v is not None)
                item.setAnchor((0.0, 0.5) if right else (1.0, 0.5))
                item.setPos(end + 10 * unit if right else start - 10 * unit, y)

    def _axis_width(self) -> int:
        metrics = QFontMetricsF(theme.text_font())
        names = [a.name for a in getattr(self, "answers", ())]
        return round(max((metrics.horizontalAdvance(name) for name in names), default=40.0) + 18)


def _number(a: Answer) -> str:
    return f"{a.low:.2f} … {a.high:.2f}" if a.value is None else f"{a.value:.2f}"
