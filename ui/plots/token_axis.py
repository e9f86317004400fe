"""The axis under bars of tokens: one label per column, in one row or staggered over two.

Knows: how to set token texts so that they never overlap. Does not know: p or q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication, QStyleOptionGraphicsItem, QWidget

from ui import theme

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
        self._staggered = False

    @property
    def labels(self) -> tuple[TokenLabel, ...]:
        """Return what is shown, uncut."""
        return self._labels

    def set_labels(self, labels: Sequence[TokenLabel], gaps: Sequence[float], pixels_per_column: float) -> None:
        """Show these labels; use a second row only when one is too long for its column."""
        self._labels, self._gaps = tuple(labels), tuple(gaps)
        widest = max((_metrics(label).horizontalAdvance(label.text) for label in labels if label.is_token), default=0.0)
        self._staggered = widest > pixels_per_column - GAP
        self.setHeight(round(self._row() * (2 if self._staggered else 1)) + 8)
        self.update()

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Paint base line, gaps and labels."""
        painter.setPen(QPen(theme.colour("muted"), 1))
        painter.drawLine(QLineF(0, 0.5, self.width(), 0.5))
        for x in self._gaps:
            self._paint_gap(painter, self._px(x))
        for index, (label, box) in enumerate(zip(self._labels, self._boxes(), strict=True)):
            if self._line(index):
                painter.setPen(QPen(theme.colour("border"), 1))
                painter.drawLine(QLineF(self._px(label.x), 1, self._px(label.x), box.top() + 2))
            painter.setFont(_font(label))
            painter.setPen(label.colour)
            text = _metrics(label).elidedText(label.text, Qt.TextElideMode.ElideRight, box.width())
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _boxes(self) -> list[QRectF]:
        """Return each label's box: as wide as its text needs, never into its neighbour in the same row."""
        boxes, row = [], self._row()
        places = [(self._px(label.x), self._line(i)) for i, label in enumerate(self._labels)]
        for label, (x, line) in zip(self._labels, places, strict=True):
            room = self._room(x, [other for other, its_line in places if its_line == line])
            width = min(_metrics(label).horizontalAdvance(label.text) + 2, 2 * room)
            boxes.append(QRectF(x - width / 2, 4 + row * line, width, row))
        return boxes

    def _room(self, x: float, row: Sequence[float]) -> float:
        """Return half the width a label at x may take: half way to its row's others, and not past the edges."""
        between = [(abs(other - x) - GAP) / 2 for other in row if other != x]
        return min([x + SPILL, self.width() - x + SPILL / 4, *between])

    def _line(self, index: int) -> int:
        return index % 2 if self._staggered and self._labels[index].is_token else 0

    def _row(self) -> float:
        return _face(QApplication.font().pointSizeF(), False, True)[1].height() + 2

    def _px(self, x: float) -> float:
        (left, right), _ = self.linkedView().viewRange()
        return (x - left) / (right - left) * self.width()

    def _paint_gap(self, painter: QPainter, x: float) -> None:
        painter.fillRect(QRectF(x - 5, -3, 10, 7), theme.colour("panel"))
        for shift in (-4, 3):
            painter.drawLine(QPointF(x + shift - 2, 5), QPointF(x + shift + 3, -4))


@lru_cache(maxsize=64)  # asked for dozens of times a repaint
def _face(points: float, bold: bool, is_token: bool) -> tuple[QFont, QFontMetricsF]:
    font = theme.token_font(points, bold) if is_token else theme.text_font(points, bold)
    return font, QFontMetricsF(font)


def _font(label: TokenLabel) -> QFont:
    return _face(QApplication.font().pointSizeF(), label.bold, label.is_token)[0]


def _metrics(label: TokenLabel) -> QFontMetricsF:
    return _face(QApplication.font().pointSizeF(), label.bold, label.is_token)[1]
