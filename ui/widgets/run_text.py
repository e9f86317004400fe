"""What one run wrote: every token with its origin, and one token marked.

Knows: lines, scrolling, painting. Does not know: what the mark means.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.marks import draw_token
from ui.widgets.origin import Origin
from ui.widgets.ribbon_layout import LONGEST, Line, flow
from ui.widgets.token_text import elided, safe

SIDE = 6  # px left and right of the text
LEADING = 3  # px between lines, where stars and underlines go
WIDTHS_KEPT = 20_000  # label widths remembered
END = "∎"  # where the other text goes on and this one does not


class RunText(QAbstractScrollArea):
    """A run's text in lines of its own width; scrolls."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens: list[tuple[str, Origin]] = []
        self._marked: int | None = None
        self._lines: list[Line] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._set_font()

    def set_run(self, labels: Sequence[str], origins: Sequence[str], marked: int | None = None) -> None:
        """Show these tokens with their origins (values of `Origin`), and bring the marked one into view."""
        tokens = zip(labels, origins, strict=True)
        self._tokens = [(elided(safe(label), LONGEST), Origin(origin)) for label, origin in tokens]
        if marked is not None and marked >= len(self._tokens):
            self._tokens.append((END, Origin.PROMPT))
        self._marked = marked
        self._lay()
        line = next((i for i, each in enumerate(self._lines) if any(t.order == marked for t in each)), 0)
        self.verticalScrollBar().setValue(max(0, line - 1))

    def marked_box(self) -> QRectF | None:
        """Return where the marked token stands in the viewport; None where nothing is marked or in view."""
        return next((box for box, token in self._visible() if token.order == self._marked), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines in view."""
        with painting(self.viewport()) as painter:
            painter.setFont(self._font)
            for box, token in self._visible():
                if token.order == self._marked:
                    self._paint_mark(painter, box)
                draw_token(painter, box, token.text, token.origin)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew."""
        super().resizeEvent(event)
        self._lay()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_lines"):
            self._set_font()
            self._lay()
        super().changeEvent(event)

    def _visible(self):
        top = self.verticalScrollBar().value()
        rows = max(1, self.viewport().height() // self._pitch)  # whole ones
        for row, line in enumerate(self._lines[top : top + rows]):
            for token in line:
                yield QRectF(SIDE + token.x, row * self._pitch + 2, token.width, self._pitch - 3), token

    def _paint_mark(self, painter: QPainter, box: QRectF) -> None:
        painter.setPen(QPen(theme.colour("accent"), 2))
        painter.setBrush(theme.colour("raised"))
        painter.drawRoundedRect(box.adjusted(-2, -1, 2, 1.5), 3, 3)

    def _lay(self) -> None:
        items = ((0, order, 0, origin, text) for order, (text, origin) in enumerate(self._tokens))
        width = max(40.0, self.viewport().width() - 2.0 * SIDE)
        self._lines = flow(items, self._measure, width, newlines=True)
        bar, rows = self.verticalScrollBar(), max(1, self.viewport().height() // self._pitch)
        bar.setRange(0, max(0, len(self._lines) - rows))
        bar.setPageStep(rows)
        self.viewport().update()

    def _set_font(self) -> None:
        self._font = theme.token_font(QApplication.font().pointSizeF())
        self._metrics = QFontMetricsF(self._font)
        metrics = self._metrics  # lru_cache asks a Qt method for its help text, for which PySide reads all signatures
        self._measure = lru_cache(WIDTHS_KEPT)(lambda text: metrics.horizontalAdvance(text))  # tokens recur
        self._pitch = round(self._metrics.height()) + LEADING
        self.setMinimumHeight(2 * self._pitch)
