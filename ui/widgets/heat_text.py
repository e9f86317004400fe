"""A text whose tokens carry a number each: tinted by it, with a bar under each token that is as high as it.

Knows: lines, mouse, keys, tooltips. Does not know: which number it is (it comes scaled to 0..1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QToolTip, QWidget

from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.keys import keeps
from ui.widgets.marks import ONE_LINE
from ui.widgets.token_text import NEWLINE, elided, safe

SIDE = 8  # px left and right of the text
BAR = 7  # px, the bar of 1
LEADING = 4  # px between a bar and the next line
LONGEST = 40  # characters of one token; the tooltip has the whole label
FAINT, STRONG = 0.04, 0.46  # opacity of the tint of 0 and of 1: text stays readable on both
LINES = 5
FONT_EVENTS = (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange, QEvent.Type.StyleChange)


class Placed(NamedTuple):
    """One token with its place in the text; many are made at once, so the rectangle waits until it is asked for."""

    index: int
    text: str
    left: float
    top: float  # from the text's top
    width: float
    height: float

    @property
    def box(self) -> QRectF:
        """Return the token's rectangle."""
        return QRectF(self.left, self.top, self.width, self.height)


class HeatText(QAbstractScrollArea):
    """Some hundred tokens to look at; one of them may be chosen."""

    token_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._labels: tuple[str, ...] = ()
        self._values: Sequence[float] = ()
        self._lines: list[list[Placed]] = []
        self._laid_out = 0.0  # the width that the lines are broken at
        self._chosen: int | None = None
        self._tooltip: Callable[[int], str] = lambda index: ""
        self._empty = ""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("The analysed text"))
        self._set_fonts()

    def set_tokens(self, labels: Sequence[str], tooltip: Callable[[int], str], empty: str = "") -> None:
        """Show tokens with these labels; `tooltip` gives the rich text of one, `empty` is shown without any."""
        self._tooltip, self._empty = tooltip, empty
        if tuple(labels) != self._labels:
            self._labels = tuple(labels)
            self._lay_out()
        self.viewport().update()

    def set_values(self, values: Sequence[float]) -> None:
        """Tint the tokens by these numbers in 0..1, NaN for none."""
        self._values = values
        self.viewport().update()

    def set_chosen(self, index: int | None) -> None:
        """Frame one token and scroll to it."""
        self._chosen = index
        box = next((t.box for line in self._lines for t in line if t.index == index), None)
        bar, height = self.verticalScrollBar(), self.viewport().height()
        if box is not None and not bar.value() <= box.top() <= bar.value() + height - self._pitch:
            bar.setValue(round(box.top() - height / 2))
        self.viewport().update()

    def token_at(self, point: QPointF) -> int | None:
        """Return the index of the token under a point of the viewport."""
        at = point + QPointF(0, self.verticalScrollBar().value())
        row = int(at.y() // self._pitch)
        line = self._lines[row] if 0 <= row < len(self._lines) else []
        return next((t.index for t in line if t.box.left() <= at.x() < t.box.right()), None)

    def sizeHint(self) -> QSize:
        """Return the room of the usual number of lines."""
        return QSize(600, LINES * self._pitch)

    def minimumSizeHint(self) -> QSize:
        """Return the room of three lines."""
        return QSize(200, 3 * self._pitch)

    # --- Qt ---

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines in view."""
        with painting(self.viewport()) as painter:
            painter.fillRect(event.rect(), theme.colour("panel"))
            if not self._labels:
                painter.setPen(theme.colour("muted"))
                area = QRectF(self.viewport().rect()).adjusted(SIDE, 0, -SIDE, 0)
                painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._empty)
                return
            painter.setFont(self._font)
            top = self.verticalScrollBar().value()
            first, last = int(top // self._pitch), int((top + self.viewport().height()) // self._pitch)
            for line in self._lines[first : last + 1]:
                for token in line:
                    self._paint_token(painter, token, token.box.translated(0, -top))

    def _paint_token(self, painter: QPainter, token: Placed, box: QRectF) -> None:
        value = self._values[token.index] if token.index < len(self._values) else float("nan")
        face = box.adjusted(0.5, 1, -0.5, -BAR - LEADING)
        if not isnan(value):
            painter.fillRect(face, theme.colour("accent", FAINT + (STRONG - FAINT) * value))
            foot = face.bottom() + 1 + BAR
            painter.fillRect(QRectF(face.left(), foot - BAR * value, face.width(), BAR * value), theme.colour("accent"))
        painter.setPen(theme.colour("muted" if isnan(value) else "text"))
        painter.drawText(face, ONE_LINE, token.text)
        if token.index == self._chosen:
            painter.setPen(QPen(theme.colour("text"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(face, 3, 3)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew."""
        super().resizeEvent(event)
        if self._width() != self._laid_out:
            self._lay_out()
        self._set_range()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        super().changeEvent(event)
        if event.type() in FONT_EVENTS and hasattr(self, "_empty"):
            self._set_fonts()
            self._lay_out()
            self.updateGeometry()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the token under the mouse."""
        token = self.token_at(event.position())
        if event.button() is Qt.MouseButton.LeftButton and token is not None:
            self.token_chosen.emit(token)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose the token before or after with the arrow keys."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(event.key())
        if step is None:
            super().keyPressEvent(event)
        elif self._labels:
            at = -1 if self._chosen is None else self._chosen
            self.token_chosen.emit(max(0, min(len(self._labels) - 1, at + step)))

    def event(self, event: QEvent) -> bool:
        """Keep the moving keys from the window's shortcuts."""
        return keeps(event) or super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        """Give the tooltip of the token under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            token = self.token_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), "" if token is None else self._tooltip(token), self)
            return True
        return super().viewportEvent(event)

    # --- layout ---

    def _lay_out(self) -> None:
        line: list[Placed] = []
        self._lines, self._laid_out, x, top = [line], self._width(), 0.0, 0
        for index, label in enumerate(self._labels):
            if label not in self._measured:
                text = elided(safe(label), LONGEST)
                self._measured[label] = text, self._metrics.horizontalAdvance(text) + 1
            text, size = self._measured[label]
            size = min(size, self._laid_out)
            if line and x + size > self._laid_out:
                line, x, top = [], 0.0, top + self._pitch
                self._lines.append(line)
            line.append(Placed(index, text, SIDE + x, top, size, self._pitch))
            x = self._laid_out if text.endswith(NEWLINE) else x + size
        self._set_range()

    def _width(self) -> float:
        return max(40.0, self.viewport().width() - 2.0 * SIDE)

    def _set_range(self) -> None:
        height, room = len(self._lines) * self._pitch, self.viewport().height()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, height - room))
        bar.setPageStep(room)
        bar.setSingleStep(self._pitch)
        self.viewport().update()

    def _set_fonts(self) -> None:
        self._font = theme.token_font(QApplication.font().pointSizeF())
        self._metrics = QFontMetricsF(self._font)
        self._pitch = round(self._metrics.height()) + 2 + BAR + LEADING
        self._measured: dict[str, tuple[str, float]] = {}  # what is shown of a label, and its width
