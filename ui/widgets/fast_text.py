"""Short texts painted again and again: shaped once, then only drawn.

Knows: Qt's text layouts, and that combining flags costs more than drawing with them. Does not know: what is written.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QTextLayout

from ui import theme

ONE_LINE = int(Qt.TextFlag.TextSingleLine)
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter) | ONE_LINE
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter) | ONE_LINE
CENTRE = int(Qt.AlignmentFlag.AlignCenter) | ONE_LINE
SHARE = {LEFT: 0.0, CENTRE: 0.5, RIGHT: 1.0}  # of the free room that stands left of the text
KEPT = 256  # texts of a font; a picture has some fifty of one


class FastText:
    """Texts of one font on one line; its owner makes another one for another font."""

    def __init__(self, font: QFont) -> None:
        self.font, self.metrics = font, QFontMetricsF(font)
        self._laid: dict[str, tuple[QTextLayout, float, float]] = {}

    def draw(self, painter: QPainter, box: QRectF, align: int, text: str) -> None:
        """Draw in the painter's pen, vertically centred, to the pixel as `QPainter.drawText` does."""
        if not text:
            return
        layout, width, height = self._laid.get(text) or self._lay(text)
        if width > box.width() or height > box.height():  # it has to be cut at the box
            painter.setFont(self.font)
            painter.drawText(box, align, text)
            return
        left = box.x() + SHARE[align] * (box.width() - width)
        layout.draw(painter, QPointF(left, box.y() + (box.height() - height) / 2))

    def width(self, text: str) -> float:
        """Return the width of a text in px."""
        return (self._laid.get(text) or self._lay(text))[1] if text else 0.0

    def _lay(self, text: str) -> tuple[QTextLayout, float, float]:
        layout = QTextLayout(text, self.font)
        layout.setCacheEnabled(True)
        layout.beginLayout()
        line = layout.createLine()
        layout.endLayout()
        if len(self._laid) >= KEPT:
            self._laid.clear()
        found = self._laid[text] = layout, line.horizontalAdvance(), line.ascent() + line.descent()
        return found


@lru_cache(maxsize=32)
def fast_text(points: float, bold: bool = False, is_token: bool = False) -> FastText:
    """Return the texts of one of the theme's faces, shared by all who paint with it."""
    return FastText(theme.face(points, bold, is_token)[0])
