"""One term of an account as a button: what it is on the left with its formula, its value on the right.

Knows: how a term looks, chosen or not. Does not know: what it stands for.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from ui import theme
from ui.widgets.canvas import painting

PAD, CHIP = 7, 5  # px
SMALL = 0.92  # times the text


class TermButton(QAbstractButton):
    """A checkable row; its chip has the colour of the part of the picture that it speaks about."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = self._value = self._colour = ""
        self._formula: tuple[str, ...] = ()
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_term(self, title: str, formula: str, value: str, colour: str) -> None:
        """Show this term; `colour` is a field of the theme, a newline in the formula starts its tooltip."""
        first, _, hint = formula.partition("\n")
        self._title, self._formula, self._value, self._colour = title, (first,), value, colour
        self.setText(title)
        self.setToolTip(hint)
        self.setAccessibleName(f"{title}: {value}")
        self.setAccessibleDescription(f"{first}. {hint}")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Return the room of two lines."""
        return QSize(240, round(self._title_height() + self._small_height() + PAD))

    def minimumSizeHint(self) -> QSize:
        """Return the same height in less width: texts are cut there."""
        return QSize(160, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()
        super().changeEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint ground, chip and texts."""
        with painting(self) as painter:
            box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
            lit = self.isChecked() or self.underMouse()
            edge = theme.colour("accent" if self.isChecked() or self.hasFocus() else "border")
            painter.setPen(QPen(edge, 2 if self.isChecked() else 1))
            painter.setBrush(theme.colour("raised", 1.0 if lit else 0.35))
            painter.drawRoundedRect(box, 6, 6)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(self._colour or "muted"))
            painter.drawRoundedRect(QRectF(PAD, PAD, CHIP, box.height() - 2 * PAD + 1), 2, 2)
            self._paint_texts(painter, box.adjusted(2 * PAD + CHIP, PAD / 2, -PAD, -PAD / 2))

    def _paint_texts(self, painter, box: QRectF) -> None:
        value_font, title_font, small = theme.text_font(bold=True), theme.text_font(bold=True), _small()
        width = QFontMetricsF(value_font).horizontalAdvance(self._value) + 4
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        middle = Qt.AlignmentFlag.AlignVCenter
        upper = QRectF(box.left(), box.top(), box.width(), self._title_height())
        painter.setFont(value_font)
        painter.setPen(theme.colour(self._colour or "text"))
        painter.drawText(upper, right | middle, self._value)
        painter.setFont(title_font)
        painter.setPen(theme.colour("text"))
        room = upper.adjusted(0, 0, -width - PAD, 0)
        text = QFontMetricsF(title_font).elidedText(self._title, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, left | middle, text)
        lower = QRectF(box.left(), upper.bottom(), box.width(), self._small_height())
        painter.setFont(small)
        painter.setPen(theme.colour("muted"))
        text = QFontMetricsF(small).elidedText(self._formula[0], Qt.TextElideMode.ElideRight, lower.width())
        painter.drawText(lower, left | middle, text)

    def _title_height(self) -> float:
        return QFontMetricsF(theme.text_font(bold=True)).height()

    def _small_height(self) -> float:
        return QFontMetricsF(_small()).height()


def _small():
    return theme.text_font(theme.text_font().pointSizeF() * SMALL)
