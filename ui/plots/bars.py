"""The bars that plots are put together from, and their textures.

Knows: how to paint them. Does not know: what they stand for.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QGraphicsItem

from ui import theme

TILE = 10  # px, period of a texture
DOT, DOT_STRENGTH = 1.3, 0.6  # radius in px and opacity of a dot
OUTLINE = 2  # px around bars that their outline may take


def stripes(line: QColor, ground: QColor, width: float = 2.0) -> QBrush:
    """Return a brush of diagonal stripes, the same on screen whatever the scale of the axes."""
    tile, painter = _tile(ground)
    painter.setPen(QPen(line, width))
    for shift in (-TILE, 0, TILE):
        painter.drawLine(QLineF(shift - 2, TILE + 2, shift + TILE + 2, -2))
    painter.end()
    return QBrush(tile)


def missed_texture() -> QBrush:
    """Return the brush of p - q: dots, so that it differs from min(p, q) without hue."""
    tile, painter = _tile(theme.colour("missed"))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("panel", DOT_STRENGTH))
    for place in (0.25, 0.75):
        painter.drawEllipse(QPointF(TILE * place, TILE * place), DOT, DOT)
    painter.end()
    return QBrush(tile)


def _tile(ground: QColor) -> tuple[QPixmap, QPainter]:
    tile = QPixmap(TILE, TILE)
    tile.fill(ground)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return tile, painter


class Bars(QGraphicsItem):
    """Bars of one look; textures keep their size on screen, bars of height 0 leave no line behind.

    Not pyqtgraph's, which prepares shapes for every call and measures itself dozens of times a repaint.
    """

    def __init__(self) -> None:
        super().__init__()
        self._brush, self._pen = QBrush(), QPen(Qt.PenStyle.NoPen)
        self._rects: list[QRectF] = []
        self._area = QRectF()

    @property
    def opts(self) -> dict[str, np.ndarray]:
        """Return the bars as pyqtgraph names their parts: x, y0, width, height, [m] each."""
        rows = [(r.center().x(), r.y(), r.width(), r.height()) for r in self._rects]
        return dict(zip(("x", "y0", "width", "height"), np.array(rows, float).reshape(-1, 4).T, strict=True))

    def set_bars(self, x: np.ndarray, height: np.ndarray, base: np.ndarray | float, width: np.ndarray | float) -> None:
        """Show bars [m] around x, from base to base + height."""
        m = len(x)
        bases, widths = (v.tolist() if isinstance(v, np.ndarray) else [v] * m for v in (base, width))
        self.prepareGeometryChange()
        bars = zip(x.tolist(), height.tolist(), bases, widths, strict=True)
        self._rects = [QRectF(at - w / 2, foot, w, tall) for at, tall, foot, w in bars if tall > 0]
        self._area = QRectF()
        for rect in self._rects:
            self._area |= rect
        self.update()

    def set_look(self, brush: QBrush, pen: QPen | None = None) -> None:
        """Fill with this brush, outline with this (cosmetic) pen."""
        self._brush, self._pen = brush, pen or QPen(Qt.PenStyle.NoPen)
        self.update()

    def rects(self) -> list[QRectF]:
        """Return the bars in data coordinates."""
        return list(self._rects)

    def boundingRect(self) -> QRectF:
        """Return the bars' rectangle and room for the outline."""
        if not self._rects:
            return QRectF()
        across, up = OUTLINE / max(self._scale(0), 1e-9), OUTLINE / max(self._scale(1), 1e-9)
        return self._area.adjusted(-across, -up, across, up)

    def paint(self, painter: QPainter, *_args: object) -> None:
        """Paint the bars with the texture fixed to the screen."""
        if not self._rects:
            return
        brush = QBrush(self._brush)
        if brush.style() is Qt.BrushStyle.TexturePattern:
            brush.setTransform(painter.worldTransform().inverted()[0])
        painter.setPen(self._pen)
        painter.setBrush(brush)
        painter.drawRects(self._rects)

    def _scale(self, axis: int) -> float:
        """Return how many px a unit of x (0) or y (1) takes on screen."""
        transform = self.sceneTransform()
        return abs(transform.m22() if axis else transform.m11())
