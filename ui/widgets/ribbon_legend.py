"""The key to the ribbon: each word written in the style that it names.

Knows: the marks. Does not know: any text.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.marks import draw_token
from ui.widgets.origin import Origin, definition, word

SHOWN = (
    Origin.PROMPT,
    Origin.ACCEPTED,
    Origin.RESIDUAL,
    Origin.BONUS,
    Origin.PLAIN,
    Origin.REJECTED,
    Origin.DISCARDED,
)
GAP = 16  # px between words


class RibbonLegend(QWidget):
    """One row of words in the styles of the ribbon, each with its definition as tooltip."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Legend of the text"))
        self.setAccessibleDescription("; ".join(f"{word(o)}: {definition(o)}" for o in SHOWN))

    def boxes(self) -> list[tuple[Origin, QRectF]]:
        """Return where each word stands."""
        metrics, x, result = QFontMetricsF(_font()), 2.0, []
        height = metrics.height() + 2
        for origin in SHOWN:
            width = metrics.horizontalAdvance(word(origin))
            result.append((origin, QRectF(x, (self.height() - height) / 2, width, height)))
            x += width + GAP
        return result

    def sizeHint(self) -> QSize:
        """Return the room that all words take."""
        metrics = QFontMetricsF(_font())
        width = sum(metrics.horizontalAdvance(word(o)) + GAP for o in SHOWN)
        return QSize(round(width) + 4, round(metrics.height()) + 6)

    def minimumSizeHint(self) -> QSize:
        """Return the same: a legend with words missing explains nothing."""
        return self.sizeHint()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        self.updateGeometry()
        self.update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the words."""
        with painting(self) as painter:
            painter.setFont(_font())
            for origin, box in self.boxes():
                draw_token(painter, box, word(origin), origin)
            self._paint_hint(painter, box.right() + GAP)

    def event(self, event: QEvent) -> bool:
        """Give the definition of the word under the mouse."""
        if event.type() == QEvent.Type.ToolTip:
            point = QPointF(event.pos())
            text = next((definition(o) for o, box in self.boxes() if box.contains(point)), "")
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def _paint_hint(self, painter: QPainter, left: float) -> None:
        hint = self.tr("click a token to see its round")
        room = QRectF(left, 0, self.width() - left - 4, self.height())
        if painter.fontMetrics().horizontalAdvance(hint) < room.width():
            painter.setPen(theme.colour("muted"))
            painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, hint)


def _font() -> QFont:
    return theme.text_font(QApplication.font().pointSizeF() * 0.9)
