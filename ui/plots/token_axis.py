"""The axis under bars of tokens: one label per column, in one row or staggered over two or three.

Knows: how to set token texts so that they never overlap. Does not know: p or q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication, QStyleOptionGraphicsItem, QWidget

from ui import theme
from ui.widgets.fast_text import CENTRE, fast_text

CHARACTERS = 4.6  # that fit under one column, at least
SPILL = 32  # px a label may reach past the left end of the axis, a quarter of it past the right
GAP = 8  # px between neighbouring labels


@dataclass(frozen=True, slots=True)
class TokenLabel:
    """What stands under one column."""

    x: float  # data
    text: str
    colour: QColor
    bold: bool = False
    is_token: bool = True  # False sets it in the text face: "rest"


def column_width() -> float:
    """Return the least width in px of a column of a readable label."""
    return QFontMetricsF(theme.token_font()).horizontalAdvance("m") * CHARACTERS + GAP


class TokenAxis(pg.AxisItem):
    """A bottom axis that paints `TokenLabel`s instead of numbers."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self._labels: tuple[TokenLabel, ...] = ()
        self._gaps: tuple[float, ...] = ()
        self._rows = 1

    @property
    def labels(self) -> tuple[TokenLabel, ...]:
        """Return what is shown, uncut."""
        return self._labels

    def set_labels(self, labels: Sequence[TokenLabel], gaps: Sequence[float], pixels_per_column: float) -> None:
        """Show these labels; use a second row only when one is too long for its column, a third under narrow ones."""
        self._labels, self._gaps = tuple(labels), tuple(gaps)
        widest = max((_width(label) for label in labels if label.is_token), default=0.0)
        most = 2 if pixels_per_column >= column_width() or widest <= 2 * pixels_per_column - GAP else 3
        self._rows = most if widest > pixels_per_column - GAP else 1
        self.setHeight(round(self._row() * self._rows) + 8)
        self.update()

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Paint base line, gaps and labels."""
        painter.setPen(QPen(theme.colour("muted"), 1))
        painter.drawLine(QLineF(0, 0.5, self.width(), 0.5))
        for x in self._gaps:
            self._paint_gap(painter, self._px(x))
        border, points = QPen(theme.colour("border"), 1), _points()
        for index, (label, box) in enumerate(zip(self._labels, self._boxes(), strict=True)):
            if self._line(index):
                painter.setPen(border)
                painter.drawLine(QLineF(box.center().x(), 1, box.center().x(), box.top() + 2))
            font, text = fast_text(points, label.bold, label.is_token), label.text
            painter.setPen(label.colour)
            if font.width(text) > box.width():
                text = font.metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
            font.draw(painter, box, CENTRE, text)

    def _boxes(self) -> list[QRectF]:
        """Return each label's box: as wide as its text needs, never into its neighbour in the same row."""
        boxes, row, right = [], self._row(), self.width() + SPILL / 4
        places = [(x, self._line(i)) for i, x in enumerate(self._pxs())]
        for i, (label, (x, line)) in enumerate(zip(self._labels, places, strict=True)):
            around = range(max(0, i - self._rows), min(len(places), i + self._rows + 1))
            near = [(places[j][0] - x, _width(self._labels[j]) + 2) for j in around if places[j][1] == line]
            before = min([x + SPILL, *(_room(-by, needs) for by, needs in near if by < 0)])
            behind = min([right - x, *(_room(by, needs) for by, needs in near if by > 0)])
            width = min(_width(label) + 2, before + behind)
            left = min(max(x - width / 2, x - before), x + behind - width)  # at an end it stands beside its column
            boxes.append(QRectF(left, 4 + row * line, width, row))
        return boxes

    def _line(self, index: int) -> int:
        return index % self._rows if self._labels[index].is_token or self._rows > 2 else 0

    def _row(self) -> float:
        return theme.face(_points(), is_token=True)[1].height() + 2

    def _px(self, x: float) -> float:
        (left, right), _ = self.linkedView().viewRange()
        return (x - left) / (right - left) * self.width()

    def _pxs(self) -> list[float]:
        (left, right), _ = self.linkedView().viewRange()
        scale = self.width() / (right - left)
        return [(label.x - left) * scale for label in self._labels]

    def _paint_gap(self, painter: QPainter, x: float) -> None:
        painter.fillRect(QRectF(x - 5, -3, 10, 7), theme.colour("panel"))
        for shift in (-4, 3):
            painter.drawLine(QPointF(x + shift - 2, 5), QPointF(x + shift + 3, -4))


def _room(distance: float, needs: float) -> float:
    """Return how far a label may reach towards a neighbour: half-way, or further where that one is narrow."""
    between = distance - GAP
    return between - min(between, needs) / 2


def _points() -> float:
    return QApplication.font().pointSizeF()


def _width(label: TokenLabel) -> float:
    return theme.text_width(label.text, _points(), label.bold, label.is_token)
