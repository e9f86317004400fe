"""What the laboratory's two plots share: a column per outcome of a `PQ`, labels, the chosen column, tags on bars.

Knows: how columns are placed so that both plots line up. Does not know: which numbers become bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from simulator.exactness.pairs import PQ, REST
from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.columns import GAP
from ui.plots.scales import PROBABILITY_STEPS, SERIES, ceiling
from ui.plots.token_axis import TokenAxis, TokenLabel
from ui.widgets.digits import prob
from ui.widgets.token_text import safe

FEWEST_SLOTS = 4  # columns that a full width holds, so that three outcomes do not become three walls
BAND = 18  # px free above the highest bar, for the tags
STEPS = (*(round(m * 10.0**e, 9) for e in (-3, -2, -1) for m in (1, 1.5, 2, 3, 4, 5, 6, 8)), 1.0)  # axis ends
DIM = 0.22  # opacity of what is not spoken about

Floats = np.ndarray


@dataclass(frozen=True, slots=True)
class Tag:
    """A short text above one place in data coordinates."""

    x: float
    y: float
    text: str
    colour: QColor


class LabPlot(Plot):
    """A plot with one column per outcome; the last may be the rest, drawn smaller where it would dwarf the others."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.axis = TokenAxis()
        super().__init__(parent, {"bottom": self.axis})
        self.pair: PQ | None = None
        self.labels: tuple[str, ...] = ()
        self.chosen = 0
        self._tint = self.add_bars()
        self.tags = Tags(self.plotItem.vb)
        self.plotItem.getAxis("left").setLabel(self.tr("probability"))

    def set_pair(self, pair: PQ | None, labels: Sequence[str]) -> None:
        """Show this pair from the next frame on; one label per outcome."""
        self.pair, self.labels = pair, tuple(labels)
        self.chosen = min(self.chosen, len(self.labels) - 1) if self.labels else 0
        self.request_redraw()

    def set_chosen(self, index: int) -> None:
        """Mark one column."""
        if index != self.chosen:
            self.chosen = index
            self.request_redraw()

    def add_bars(self) -> Bars:
        """Return a new layer of bars."""
        bars = Bars()
        self.plotItem.addItem(bars)
        return bars

    def place(self, *tops: Floats) -> None:
        """Set columns, ranges and labels for bars that reach at most to `tops` [m] each."""
        pair, heights = self.pair, np.maximum.reduce(tops)
        rest = pair.ids[-1] == REST
        self.x = np.arange(len(pair.ids)) + np.where(np.array(pair.ids) == REST, GAP, 0.0)
        self.scale = self._scale(np.maximum(pair.p, pair.q), rest)
        spare = max(0.0, FEWEST_SLOTS - float(self.x[-1]) - 1.2) / 2  # few columns stand in the middle
        left, right = -0.6 - spare, float(self.x[-1]) + 0.6 + spare
        self.plotItem.vb.setXRange(left, right, padding=0)
        gaps = [float(self.x[-1]) - 0.5 - GAP / 2] if rest else []
        self.axis.set_labels(self._axis_labels(), gaps, self.plotItem.vb.width() / (right - left))
        self.plotItem.layout.activate()
        self.set_y_range(0, self.limit(float((heights * self.scale).max())), BAND)
        top = self.plotItem.vb.viewRange()[1][1]
        self._tint.set_look(pg.mkBrush(theme.colour("text", 0.08)))
        self._tint.set_bars(self.x[[self.chosen]], np.array([top]), 0.0, 0.98)

    def limit(self, top: float) -> float:
        """Return where the axis ends for bars up to `top`."""
        return ceiling(top, STEPS)

    def column_at(self, x: float) -> int | None:
        """Return the column under x (data), None in a gap."""
        near = np.flatnonzero(np.abs(self.x - x) <= 0.5) if self.pair is not None else np.empty(0, int)
        return int(near[0]) if near.size else None

    def rows_text(self, index: int, rows: Sequence[tuple[str, str]]) -> str:
        """Return a tooltip: the outcome's name over rows of name and number."""
        cells = "".join(f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>" for name, text in rows)
        return f"<b>{escape(self.labels[index])}</b><table>{cells}</table>"

    def _scale(self, heights: Floats, rest: bool) -> Floats:
        """Return the factor [m] to draw each height at: 1, less for a rest that would flatten the tokens' bars."""
        scale, self.divisor = np.ones_like(heights), 1
        if rest and heights.size > 1:
            tokens = ceiling(float(heights[:-1].max()), PROBABILITY_STEPS)
            self.divisor = round(ceiling(max(1.0, float(heights[-1]) / tokens), SERIES))
            scale[-1] = 1 / self.divisor
        return scale

    def _axis_labels(self) -> list[TokenLabel]:
        found = []
        for i, (x, token) in enumerate(zip(self.x, self.pair.ids, strict=True)):
            bold, colour = i == self.chosen, theme.colour("text" if i == self.chosen else "muted")
            text = safe(self.labels[i])
            if token == REST and self.divisor > 1:
                text = self.tr("rest ÷{n}").format(n=self.divisor)
            found.append(TokenLabel(float(x), text, colour, bold, is_token=token != REST))
        return found


class Tags(QGraphicsItem):
    """Short texts above places of the plot, at the same size whatever the scale."""

    def __init__(self, view: pg.ViewBox) -> None:
        super().__init__(view)
        self._view, self._rect = view, QRectF()
        self._tags: tuple[Tag, ...] = ()
        self.setZValue(900)

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Return what is shown."""
        return self._tags

    def set_tags(self, tags: Sequence[Tag]) -> None:
        """Show these."""
        self.prepareGeometryChange()
        self._rect, self._tags = QRectF(self._view.rect()), tuple(tags)
        self.update()

    def boundingRect(self) -> QRectF:
        """Return the view's rectangle."""
        return self._rect

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Paint the texts, each centred above its place and inside the view."""
        font = theme.text_font(bold=True)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        for tag in self._tags:
            at, width = self._view.mapFromView(QPointF(tag.x, tag.y)), metrics.horizontalAdvance(tag.text) + 2
            box = QRectF(at.x() - width / 2, max(0.0, at.y() - metrics.height() - 1), width, metrics.height())
            painter.setPen(tag.colour)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, tag.text)


def number(value: float) -> str:
    """Write a probability with digits that tell."""
    return prob(float(value))
