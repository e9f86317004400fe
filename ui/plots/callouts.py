"""The boxes above a plot that speak about one x each, moved apart where they would overlap.

Knows: where they stand and how to paint them. Does not know: what they speak of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QApplication, QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from ui import theme
from ui.widgets.fast_text import LEFT, fast_text

GAP = 6  # px between callouts
LEAST_DATA = 56  # px of a plot that callouts leave to the data
MARKER = 16  # px between a box and the highest bar
PAD = 8  # px, inside a callout


@dataclass(frozen=True, slots=True)
class Callout:
    """A box above the plot that speaks about one x, with a line down to a marker there."""

    x: float  # data
    y: float  # data: where the marker points
    colour: QColor
    name: str  # in the token face
    word: str  # what it is
    numbers: tuple[str, ...] = ()  # second line; the last are left out first where room is short
    marker: str = "triangle"  # or "diamond", "none"
    to_axis: bool = False  # whether the line goes on down to the axis
    dashed: bool = False

    def text(self) -> str:
        """Return all that the box says."""
        return " ".join(part for part in (self.name, self.word, *self.numbers) if part)


class Callouts(QGraphicsItem):
    """All callouts of a plot, in a band at the top of its view, moved apart where they would overlap."""

    def __init__(self, view: pg.ViewBox) -> None:
        super().__init__(view)
        self._view = view
        self._rect = QRectF()
        self._callouts: tuple[Callout, ...] = ()
        self._lines = 2
        self.setZValue(1000)

    @property
    def callouts(self) -> tuple[Callout, ...]:
        """Return what is shown."""
        return self._callouts

    def set_callouts(self, callouts: Sequence[Callout]) -> None:
        """Show these, any order."""
        self.prepareGeometryChange()
        self._rect = QRectF(self._view.rect())
        if self._lines < 2:
            callouts = [replace(callout, numbers=()) for callout in callouts]
        self._callouts = _fitting(sorted(callouts, key=lambda callout: callout.x), self._rect.width())
        self.update()

    def set_lines(self, most: int) -> None:
        """Give boxes so many lines of text, fewer or none (markers only) where the plot is low."""
        spare = self._view.height() - LEAST_DATA
        self._lines = next((n for n in range(most, 0, -1) if _height(n) + MARKER <= spare), 0)

    def band(self) -> float:
        """Return the height of the band in px, the marker's room included."""
        return (_height(self._lines) if self._lines else 0) + MARKER

    def boundingRect(self) -> QRectF:
        """Return the view's rectangle."""
        return self._rect

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Paint lines, then boxes, so that no line crosses a box."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes = self._boxes()
        for callout, box in zip(self._callouts, boxes, strict=True):
            self._paint_line(painter, callout, box)
        for callout, box in zip(self._callouts, boxes, strict=True) if self._lines else ():
            self._paint_box(painter, callout, box)

    def _boxes(self) -> list[QRectF]:
        boxes = []
        for callout in self._callouts:
            width, lines = _width(callout), min(self._lines, 2 if callout.numbers else 1)
            boxes.append(QRectF(self._px(callout.x, 0).x() - width / 2, 1, width, _height(lines) if lines else 0))
        return _apart(boxes, self._rect.width())

    def _px(self, x: float, y: float) -> QPointF:
        return self._view.mapFromView(QPointF(x, y))

    def _paint_line(self, painter: QPainter, callout: Callout, box: QRectF) -> None:
        tip = self._px(callout.x, callout.y)
        tip.setY(max(tip.y(), box.bottom() + 9))
        start = QPointF(min(max(tip.x(), box.left() + 6), box.right() - 6), box.bottom())
        end = QPointF(tip.x(), self._rect.bottom()) if callout.to_axis else tip
        painter.setPen(QPen(callout.colour, 1.5, Qt.PenStyle.DashLine if callout.dashed else Qt.PenStyle.SolidLine))
        elbow = QPointF(tip.x(), box.bottom() + 4)
        painter.drawPolyline([start, elbow, end] if start.x() != tip.x() else [start, end])
        painter.setPen(QPen(theme.colour("panel"), 1))
        painter.setBrush(callout.colour)
        _paint_marker(painter, callout.marker, tip)

    def _paint_box(self, painter: QPainter, callout: Callout, box: QRectF) -> None:
        painter.setPen(QPen(callout.colour, 1))
        painter.setBrush(theme.colour("panel"))
        painter.drawRoundedRect(box, 5, 5)
        points = _points()
        line = QRectF(box.x() + PAD, box.y() + PAD / 2, box.width(), theme.face(points)[1].height())
        painter.setPen(callout.colour)
        fast_text(points, bold=True, is_token=True).draw(painter, line, LEFT, callout.name)
        shift = _advance(callout.name, True)
        fast_text(points, bold=True).draw(painter, line.translated(shift, 0), LEFT, callout.word)
        painter.setPen(theme.colour("text"))
        fast_text(points).draw(painter, line.translated(0, line.height()), LEFT, "   ".join(callout.numbers))


def _points() -> float:
    return QApplication.font().pointSizeF()


def _height(lines: int) -> float:
    return theme.face(_points())[1].height() * lines + PAD


def _advance(name: str, gap: bool) -> float:
    width = theme.text_width(name, _points(), bold=True, is_token=True)
    return width + 6 if name and gap else width


def _width(callout: Callout) -> float:
    points = _points()
    first = _advance(callout.name, True) + theme.text_width(callout.word, points, bold=True)
    return max(first, theme.text_width("   ".join(callout.numbers), points)) + 2 * PAD


def _fitting(callouts: list[Callout], width: float) -> tuple[Callout, ...]:
    """Leave out numbers, from the box with most of them first, then what words say behind a mark, until all fit."""
    while callouts and sum(_width(callout) + GAP for callout in callouts) > width:
        index = max(range(len(callouts)), key=lambda i: (len(callouts[i].numbers), _width(callouts[i])))
        if callouts[index].numbers:
            callouts[index] = replace(callouts[index], numbers=callouts[index].numbers[:-1])
            continue
        shorter = re.split("[:,]", callouts[index].word)[0]
        if shorter == callouts[index].word:
            break
        callouts[index] = replace(callouts[index], word=shorter)
    return tuple(callouts)


def _apart(boxes: list[QRectF], width: float, gap: float = GAP) -> list[QRectF]:
    """Move boxes sideways off each other, both by the same amount, and into [0, width]."""
    for left, right in pairwise(boxes):
        shift = max(0.0, left.right() + gap - right.left()) / 2
        left.translate(-shift, 0)
        right.translate(shift, 0)
    limit = width - 1
    for box in reversed(boxes):
        box.moveRight(min(box.right(), limit))
        limit = box.left() - gap
    limit = 1.0
    for box in boxes:
        box.moveLeft(max(box.left(), limit))
        limit = box.right() + gap
    return boxes


def _paint_marker(painter: QPainter, kind: str, tip: QPointF) -> None:
    x, y = tip.x(), tip.y()
    if kind == "diamond":
        painter.drawPolygon(QPolygonF([tip, QPointF(x - 6, y - 7), QPointF(x, y - 14), QPointF(x + 6, y - 7)]))
    elif kind == "triangle":
        painter.drawPolygon(QPolygonF([tip, QPointF(x - 7, y - 11), QPointF(x + 7, y - 11)]))
