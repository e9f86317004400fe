"""The signs on the transport buttons, drawn rather than taken from a font, so that they look alike everywhere.

Knows: shapes in a unit square. Does not know: buttons.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap, QPolygonF

from ui.widgets.canvas import painting

SIZE = 16  # px
Shape = tuple[str, tuple[float, ...]]  # "bar" left, right; "right" / "left" triangle from, to

SHAPES: dict[str, tuple[Shape, ...]] = {
    "back": (("bar", (0.04, 0.18)), ("left", (0.24, 0.8))),
    "step": (("right", (0.06, 0.62)), ("bar", (0.68, 0.82))),
    "round": (("right", (0.0, 0.36)), ("right", (0.36, 0.72)), ("bar", (0.74, 0.86))),
    "play": (("right", (0.08, 0.8)),),
    "pause": (("bar", (0.1, 0.32)), ("bar", (0.5, 0.72))),
    "stop": (("bar", (0.08, 0.76)),),
}


def icon(name: str, colour: QColor, disabled: QColor, ratio: float = 2.0) -> QIcon:
    """Return the named sign in a colour, and in another one while its button is disabled."""
    result = QIcon(_pixmap(name, colour, ratio))
    result.addPixmap(_pixmap(name, disabled, ratio), QIcon.Mode.Disabled)
    return result


def _pixmap(name: str, colour: QColor, ratio: float) -> QPixmap:
    pixmap = QPixmap(round(SIZE * ratio), round(SIZE * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    with painting(pixmap) as painter:
        painter.scale(SIZE, SIZE)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        for shape, (left, right) in SHAPES[name]:
            _draw(painter, shape, left, right)
    return pixmap


def _draw(painter: QPainter, shape: str, left: float, right: float) -> None:
    if shape == "bar":
        painter.drawRect(QRectF(left, 0.16, right - left, 0.68))
        return
    base, tip = (left, right) if shape == "right" else (right, left)
    painter.drawPolygon(QPolygonF([QPointF(base, 0.14), QPointF(base, 0.86), QPointF(tip, 0.5)]))
