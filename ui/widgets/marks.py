"""How a token of each origin is drawn: colour plus a mark that stays apart without hue.

Knows: lines under, over and through a token. Does not know: where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import cos, pi, sin

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from ui import theme
from ui.widgets.fast_text import LEFT, FastText
from ui.widgets.origin import COLOURS, Origin

ONE_LINE = LEFT
INSET = 1.0  # px left free at both ends of a line, so that neighbouring tokens stay apart


def draw_token(painter: QPainter, box: QRectF, text: str, origin: Origin, font: FastText | None = None) -> None:
    """Draw a token in its box, in the colour and with the mark of its origin; without a font in the painter's."""
    if origin is Origin.HIDDEN:
        return
    colour = theme.colour(COLOURS[origin])
    painter.setPen(colour)
    font.draw(painter, box, ONE_LINE, text) if font is not None else painter.drawText(box, ONE_LINE, text)
    draw_mark(painter, box, origin, colour)


def draw_mark(painter: QPainter, box: QRectF, origin: Origin, colour: QColor) -> None:
    """Draw only the mark: under (accepted, residual, pending), over (bonus) or through (rejected, discarded).

    The painter keeps the mark's pen and brush.
    """
    mark = _MARKS.get(origin)
    if mark is not None:
        mark(painter, box.adjusted(INSET, 0, -INSET, 0), colour)


@lru_cache(maxsize=64)
def _pen(rgba: int, width: float, style: Qt.PenStyle) -> QPen:
    """Return a pen with flat ends, or of dots; shared, because a line of text takes dozens."""
    colour = QColor.fromRgba(rgba)
    if style is Qt.PenStyle.CustomDashLine:
        pen = QPen(colour, width, style, Qt.PenCapStyle.RoundCap)
        pen.setDashPattern([0.01, 1.9])
    else:
        pen = QPen(colour, width, style, Qt.PenCapStyle.FlatCap)
    return pen


def _line(painter: QPainter, colour: QColor, width: float, style: Qt.PenStyle, box: QRectF, y: float) -> None:
    painter.setPen(_pen(colour.rgba(), width, style))
    painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))


def _under(painter: QPainter, box: QRectF, colour: QColor) -> None:
    _line(painter, colour, 1.2, Qt.PenStyle.SolidLine, box, box.bottom() - 1)


def _dotted(painter: QPainter, box: QRectF, colour: QColor) -> None:
    painter.setPen(_pen(colour.rgba(), 2.4, Qt.PenStyle.CustomDashLine))
    painter.drawLine(QPointF(box.left() + 1, box.bottom() - 1), QPointF(box.right() - 1, box.bottom() - 1))


def _dashed(painter: QPainter, box: QRectF, colour: QColor) -> None:
    _line(painter, colour, 1, Qt.PenStyle.DashLine, box, box.bottom() - 1)


def _starred(painter: QPainter, box: QRectF, colour: QColor) -> None:
    top = box.top() + 2
    _line(painter, colour, 1.4, Qt.PenStyle.SolidLine, box, top)
    painter.setBrush(colour)
    painter.setPen(QPen(theme.colour("window"), 1))
    painter.drawPolygon(star(QPointF(box.center().x(), top + 0.5), 0.24 * box.height()))


def _struck(painter: QPainter, box: QRectF, colour: QColor) -> None:
    _line(painter, colour, 1.5, Qt.PenStyle.SolidLine, box.adjusted(-INSET, 0, INSET, 0), box.center().y() + 1)


def _struck_lightly(painter: QPainter, box: QRectF, colour: QColor) -> None:
    _line(painter, colour, 1.1, Qt.PenStyle.DashLine, box.adjusted(-INSET, 0, INSET, 0), box.center().y() + 1)


def star(centre: QPointF, radius: float) -> QPolygonF:
    """Return a five-pointed star."""
    spokes = [(radius if i % 2 == 0 else radius * 0.45, pi * i / 5) for i in range(10)]
    return QPolygonF([QPointF(centre.x() + r * sin(a), centre.y() - r * cos(a)) for r, a in spokes])


_MARKS: dict[Origin, Callable[[QPainter, QRectF, QColor], None]] = {
    Origin.PENDING: _dashed,
    Origin.ACCEPTED: _under,
    Origin.RESIDUAL: _dotted,
    Origin.BONUS: _starred,
    Origin.REJECTED: _struck,
    Origin.DISCARDED: _struck_lightly,
}
