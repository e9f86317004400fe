"""What one run wrote: every token with its origin, and one token marked.

Knows: scrolling, painting, and that a long text takes several turns to be broken into lines (`line_breaks`).
Does not know: what the mark means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from PySide6.QtCore import QEvent, QRectF, Qt, QTimer
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.fast_text import fast_text
from ui.widgets.line_breaks import LineBreaks
from ui.widgets.marks import draw_token
from ui.widgets.origin import Origin
from ui.widgets.ribbon_layout import LONGEST, Line, Placed, flow
from ui.widgets.token_text import elided, safe

SIDE = 6  # px left and right of the text
LEADING = 3  # px between lines, where stars and underlines go
WIDTHS_KEPT = 20_000  # label widths remembered
LINES_KEPT = 200  # lines kept laid out
END = "∎"  # where the other text goes on and this one does not


class RunText(QAbstractScrollArea):
    """A run's text in lines of its own width; scrolls."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._labels: Sequence[str] = ()
        self._origins: Sequence[str] = ()
        self._marked: int | None = None
        self._wanted: int | None = None  # the token to bring into view once its line is found
        self._lines = LineBreaks(0, str, len, 0.0)
        self._laid: dict[int, Line] = {}
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._find_more)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._set_font()

    def set_run(self, labels: Sequence[str], origins: Sequence[str], marked: int | None = None) -> None:
        """Show these tokens with their origins (values of `Origin`), and bring the marked one into view."""
        if len(labels) != len(origins):
            raise ValueError(f"{len(labels)} tokens cannot have {len(origins)} origins")
        self._labels, self._origins, self._marked = labels, origins, marked
        self._wanted = None if marked is None else min(marked, len(labels))
        self.verticalScrollBar().setValue(0)
        self._lay()

    def marked_box(self) -> QRectF | None:
        """Return where the marked token stands in the viewport; None where nothing is marked or in view."""
        return next((box for box, token in self._visible() if token.order == self._marked), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines in view."""
        with painting(self.viewport()) as painter:
            for box, token in self._visible():
                if token.order == self._marked:
                    self._paint_mark(painter, box)
                draw_token(painter, box, token.text, token.origin, self._fast)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew where the width has changed."""
        super().resizeEvent(event)
        if self._width() != self._lines.width:
            self._lay_from_here()
        else:
            self._set_range()

    def showEvent(self, event: QShowEvent) -> None:
        """Go on with what was left when this was hidden."""
        super().showEvent(event)
        if not self._lines.complete:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Do nothing that nobody sees."""
        self._timer.stop()
        super().hideEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_lines"):
            self._set_font()
            self._lay_from_here()
        super().changeEvent(event)

    def _visible(self) -> Iterator[tuple[QRectF, Placed]]:
        top = self.verticalScrollBar().value()
        for i, row in enumerate(range(top, min(len(self._lines), top + self._rows()))):
            for token in self._placed(row):
                yield QRectF(SIDE + token.x, i * self._pitch + 2, token.width, self._pitch - 3), token

    def _placed(self, row: int) -> Line:
        """Return the tokens of a line with their places."""
        if row not in self._laid:
            if len(self._laid) >= LINES_KEPT:
                self._laid.clear()
            items = ((0, i, 0, self._origin(i), self._text(i)) for i in self._lines.line(row))
            self._laid[row] = flow(items, self._measure, self._lines.width, newlines=False)[0]
        return self._laid[row]

    def _text(self, i: int) -> str:
        return elided(safe(self._labels[i]), LONGEST) if i < len(self._labels) else END

    def _origin(self, i: int) -> Origin:
        return Origin(self._origins[i]) if i < len(self._origins) else Origin.PROMPT

    def _rows(self) -> int:
        return max(1, self.viewport().height() // self._pitch)  # whole ones

    def _width(self) -> float:
        return max(40.0, self.viewport().width() - 2.0 * SIDE)

    def _paint_mark(self, painter: QPainter, box: QRectF) -> None:
        painter.setPen(QPen(theme.colour("accent"), 2))
        painter.setBrush(theme.colour("raised"))
        painter.drawRoundedRect(box.adjusted(-2, -1, 2, 1.5), 3, 3)

    def _lay_from_here(self) -> None:
        """Break the lines anew; what stands at the top comes back there."""
        if self._wanted is None and (top := self.verticalScrollBar().value()):
            self._wanted = self._lines.line(min(top, len(self._lines) - 1)).start
        self._lay()

    def _lay(self) -> None:
        ended = self._marked is not None and self._marked >= len(self._labels)
        self._lines = LineBreaks(len(self._labels) + ended, self._text, self._measure, self._width())
        self._laid.clear()
        self._find_more()
        if self.isVisible() and not self._lines.complete:
            self._timer.start()

    def _find_more(self) -> None:
        first = len(self._lines) - 1  # which may grow
        self._lines.more()
        self._laid.pop(first, None)
        if self._lines.complete:
            self._timer.stop()
        self._set_range()
        row = None if self._wanted is None else self._lines.row(self._wanted)
        if row is not None:
            above = self._wanted == self._marked  # one line of what comes before it
            self._wanted = None
            self.verticalScrollBar().setValue(max(0, row - above))
        if first < self.verticalScrollBar().value() + self._rows():
            self.viewport().update()

    def _set_range(self) -> None:
        bar, rows = self.verticalScrollBar(), self._rows()
        bar.setRange(0, max(0, len(self._lines) - rows))
        bar.setPageStep(rows)

    def _set_font(self) -> None:
        self._fast = fast_text(QApplication.font().pointSizeF(), is_token=True)
        self._font, self._metrics = self._fast.font, self._fast.metrics
        metrics = self._metrics  # lru_cache asks a Qt method for its help text, for which PySide reads all signatures
        self._measure = lru_cache(WIDTHS_KEPT)(lambda text: metrics.horizontalAdvance(text))  # tokens recur
        self._pitch = round(self._metrics.height()) + LEADING
        self.setMinimumHeight(2 * self._pitch)
