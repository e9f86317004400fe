"""A plot's key: swatches with their meaning, in as many lines as the width needs.

Knows: how to paint a swatch. Does not know: any plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from ui import theme
from ui.widgets.fast_text import LEFT, fast_text

SWATCH = 16  # px, side of a square swatch; lines are twice as wide
SPACING = 18  # px between entries
LEADING = 6  # px between lines


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a key: a filled square, a line (with a dot when both are given), or text alone."""

    text: str
    brush: QBrush | None = None
    pen: QPen | None = None
    bold: bool = False

    @property
    def swatch(self) -> float:
        """Return the width of the swatch with its gap, in px."""
        if self.pen is not None and not self._framed:
            return SWATCH * 1.75 + 7
        return SWATCH + 7 if self.brush is not None else 0

    @property
    def _framed(self) -> bool:
        return self.brush is not None and self.brush.style() == Qt.BrushStyle.TexturePattern


class Key(QWidget):
    """A row of entries that wraps like text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[Entry, ...] = ()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show these entries from now on."""
        self.setVisible(bool(entries))
        if tuple(entries) == self._entries:
            return
        self._entries = tuple(entries)
        self.setAccessibleName(", ".join(entry.text for entry in self._entries))
        self.updateGeometry()
        self.update()

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to show."""
        return not self._entries

    def hasHeightForWidth(self) -> bool:
        """Tell layouts that lines wrap."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines at this width."""
        lines = max((line for line, _, _ in self._places(width)), default=-1) + 1
        return round(lines * (self._line_height() + LEADING) - LEADING) if lines else 0

    def sizeHint(self) -> QSize:
        """Ask for one line."""
        return QSize(400, self.heightForWidth(100_000))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint swatches and texts."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = self._line_height()
        for line, x, entry in self._places(self.width()):
            self._paint_entry(painter, entry, QRectF(x, line * (height + LEADING), self.width() - x, height))

    def _paint_entry(self, painter: QPainter, entry: Entry, box: QRectF) -> None:
        self._paint_swatch(painter, entry, box)
        painter.setPen(theme.colour("text"))
        fast_text(self.font().pointSizeF(), entry.bold).draw(
            painter, box.adjusted(entry.swatch, 0, 0, 0), LEFT, entry.text
        )

    def _paint_swatch(self, painter: QPainter, entry: Entry, box: QRectF) -> None:
        middle = box.center().y()
        painter.setPen(entry.pen or Qt.PenStyle.NoPen)
        painter.setBrush(entry.brush or Qt.BrushStyle.NoBrush)
        if entry.pen is not None and not entry._framed:
            end = entry.swatch - 7
            painter.drawLine(QPointF(box.x(), middle), QPointF(box.x() + end, middle))
            if entry.brush is not None:
                painter.drawEllipse(QPointF(box.x() + end / 2, middle), 5, 5)
        elif entry.brush is not None:
            painter.drawRect(QRectF(box.x() + 0.5, middle - SWATCH / 2, SWATCH - 1, SWATCH - 1))

    def _line_height(self) -> float:
        return max(SWATCH + 1.0, QFontMetricsF(self.font()).height())

    def _places(self, width: int) -> list[tuple[int, float, Entry]]:
        """Return (line, x, entry) for each entry."""
        places, line, x, points = [], 0, 0.0, self.font().pointSizeF()
        for entry in self._entries:
            need = entry.swatch + theme.text_width(entry.text, points, entry.bold)
            if x and x + need > width:
                line, x = line + 1, 0.0
            places.append((line, x, entry))
            x += need + SPACING
        return places
