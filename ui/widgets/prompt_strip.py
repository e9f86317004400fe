"""The tokens of a prompt as chips, line by line; of a very long prompt the first and the last ones.

Knows: labels and widths. Does not know: what a token means. Special tokens are those whose label stands in '⟦⟧'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QToolTip, QWidget

from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.marks import ONE_LINE
from ui.widgets.token_text import NEWLINE, elided, safe

LONGEST = 40  # characters of one token; the tooltip has the whole label
PAD, GAP, LEADING = 3, 2, 5  # px inside a chip, between chips, between lines
SPECIAL = "⟦"
LINES = 4  # asked for


@dataclass(frozen=True, slots=True)
class _Chip:
    number: int  # 1, 2, ... in the prompt; 0 = stands for those left out
    text: str
    label: str
    x: float
    width: float


class PromptStrip(QAbstractScrollArea):
    """Shows tokens; is told which."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("The prompt's tokens"))
        self._head: Sequence[str] = ()
        self._tail: Sequence[str] = ()
        self._count = 0
        self._lines: list[list[_Chip]] = []
        self._set_font()

    def set_tokens(self, head: Sequence[str], tail: Sequence[str], count: int) -> None:
        """Show the first and the last labels of `count` tokens."""
        self._head, self._tail, self._count = head, tail, count
        self.setAccessibleDescription(" ".join(map(safe, head[:200])))
        self._lay_out()

    def chips(self) -> Iterator[tuple[QRectF, str]]:
        """Yield the chips in view with their boxes in the viewport."""
        for box, chip in self._visible():
            yield box, chip.text

    def sizeHint(self) -> QSize:
        """Return the room of a few lines."""
        return QSize(400, LINES * self._pitch)

    def minimumSizeHint(self) -> QSize:
        """Return the room of two lines."""
        return QSize(160, 2 * self._pitch)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew."""
        self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange) and hasattr(self, "_lines"):
            self._set_font()
            self._lay_out()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the chips in view."""
        with painting(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), theme.colour("panel"))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._font)
            for box, chip in self._visible():
                self._paint(painter, box, chip)
            if not self._count:
                painter.setPen(theme.colour("muted"))
                painter.setFont(theme.text_font())
                area = self.viewport().rect().adjusted(PAD, 0, -PAD, 0)
                painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self.tr("The prompt's tokens appear here."))

    def viewportEvent(self, event: QEvent) -> bool:
        """Give the tooltip of the token under the mouse."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self._tip(event.pos()), self)
            return True
        return super().viewportEvent(event)

    def _tip(self, point: QPoint) -> str:
        chip = next((chip for box, chip in self._visible() if box.contains(point.toPointF())), None)
        if chip is None or not chip.number:
            return ""
        place = self.tr("token {i} of {n}").format(i=f"{chip.number:,}", n=f"{self._count:,}")
        kind = self.tr(", special") if chip.label.startswith(SPECIAL) else ""
        return f"<b>{escape(safe(chip.label))}</b> · {place}{kind}"

    def _paint(self, painter: QPainter, box: QRectF, chip: _Chip) -> None:
        special = chip.label.startswith(SPECIAL)
        if chip.number:
            painter.setPen(QPen(theme.colour("accent" if special else "border"), 1))
            painter.setBrush(theme.colour("raised" if chip.number % 2 else "panel"))
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.setPen(theme.colour("accent" if special else "text" if chip.number else "muted"))
        painter.drawText(box.adjusted(PAD, 0, 0, 0), ONE_LINE, chip.text)

    def _visible(self) -> Iterator[tuple[QRectF, _Chip]]:
        top = self.verticalScrollBar().value()
        first = top // self._pitch
        for row in range(first, min(len(self._lines), first + self.viewport().height() // self._pitch + 2)):
            for chip in self._lines[row]:
                yield QRectF(chip.x, row * self._pitch - top + 1, chip.width, self._pitch - LEADING + 2), chip

    def _items(self) -> Iterator[tuple[int, str]]:
        yield from enumerate(self._head, 1)
        between = self._count - len(self._head) - len(self._tail)
        if between > 0:
            yield 0, self.tr("… {n} tokens between …").format(n=f"{between:,}")
        yield from enumerate(self._tail, self._count - len(self._tail) + 1)

    def _lay_out(self) -> None:
        """Break the chips into lines, after each newline too."""
        room, self._lines, x = float(self.viewport().width()), [[]], 0.0
        for number, label in self._items():
            text = elided(safe(label), LONGEST)
            width = min(self._measure(text) + 2 * PAD, room)
            if x and x + width > room:
                self._lines.append([])
                x = 0.0
            self._lines[-1].append(_Chip(number, text, label, x, width))
            x = room if text.endswith(NEWLINE) else x + width + GAP
        height = len(self._lines) * self._pitch
        self.verticalScrollBar().setRange(0, max(0, height - self.viewport().height()))
        self.verticalScrollBar().setPageStep(self.viewport().height())
        self.verticalScrollBar().setSingleStep(self._pitch)
        self.viewport().update()

    def _measure(self, text: str) -> float:
        width = self._widths.get(text)
        if width is None:
            width = self._widths[text] = self._metrics.horizontalAdvance(text)
        return width

    def _set_font(self) -> None:
        self._font = theme.token_font(QApplication.font().pointSizeF())
        self._metrics = QFontMetricsF(self._font)
        self._pitch = round(self._metrics.height()) + LEADING
        self._widths: dict[str, float] = {}
