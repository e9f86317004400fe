"""The k + 1 cards of a round, painted in one widget.

Knows: which cards are wide, which are narrow, and where the mouse is. Does not know: how a round came about.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontInfo, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from simulator.records import RoundTrace
from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.card_model import Card, cards
from ui.widgets.card_painter import FULL, HEIGHT, NARROW, CardPainter, Look
from ui.widgets.keys import keeps
from ui.widgets.origin import definition
from ui.widgets.reveal import Reveal, why

GAP = 6  # px between cards
WIDEST = 236  # px at scale 1; a single card need not fill the window


def shares(count: int, current: int, width: float, full: float, narrow: float, widest: float) -> list[float]:
    """Return the cards' widths: all full where they fit, otherwise full around the current one, narrow elsewhere."""
    if not count:
        return []
    room = width - GAP * (count - 1)
    if room >= count * full:
        return [min(widest, room / count)] * count
    wide = max(1, min(count - 1, int((room - count * narrow) // (full - narrow))))
    first = max(0, min(count - wide, current - wide // 2))
    slim = max(4.0, (room - wide * full) / (count - wide))
    return [full if first <= i < first + wide else slim for i in range(count)]


class RoundCards(QWidget):
    """One card for each drafted token and one for the extra token of a round."""

    position_chosen = Signal(int)  # 1, 2, ...
    beyond = Signal(int)  # an arrow key at the first card (-1) or at the last one (+1)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._round: RoundTrace | None = None
        self._label: Callable[[int], str] = str
        self._cards: list[Card] = []
        self._position = 1
        self._hovered = -1
        self._painter: CardPainter | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(320)
        self.setAccessibleName(self.tr("Cards of the round"))

    def set_round(self, round: RoundTrace | None, revealed: Reveal, label: Callable[[int], str]) -> None:
        """Show this round as far as it is revealed; None shows the empty state."""
        self._round, self._label = round, label
        self._cards = cards(round, revealed, label) if round is not None else []
        self._describe()
        self.update()

    def set_current(self, position: int) -> None:
        """Outline the card of this position (1, 2, ...)."""
        if position != self._position:
            self._position = position
            self._describe()
            self.update()

    def boxes(self) -> list[QRectF]:
        """Return where each card stands, left to right."""
        scale, x, result = self._scale(), 0.5, []
        current = next((i for i, c in enumerate(self._cards) if c.position == self._position), 0)
        for width in shares(len(self._cards), current, self.width() - 1, FULL * scale, NARROW * scale, WIDEST * scale):
            result.append(QRectF(x, 0.5, width, self.height() - 1))
            x += width + GAP
        return result

    def sizeHint(self) -> QSize:
        """Return a height that follows the application's font."""
        return QSize(830, round(HEIGHT * _font_scale()))

    def minimumSizeHint(self) -> QSize:
        """Return the least size at which the text does not shrink below the application's font."""
        return QSize(320, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the cards, or the empty state."""
        with painting(self) as painter:
            if not self._cards:
                self._paint_empty(painter)
            for index, box in enumerate(self.boxes()):
                self._card_painter().paint(painter, box, self._cards[index], self._look(index))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the card under the mouse."""
        self._hover(self._index_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Forget the card under the mouse."""
        self._hover(-1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Ask for the card under the mouse."""
        index = self._index_at(event.position())
        if event.button() is Qt.MouseButton.LeftButton and index >= 0 and self._cards[index].position is not None:
            self.position_chosen.emit(self._cards[index].position)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ask for a neighbour with the arrow keys, for the ends with Home and End; beyond the ends is another round."""
        choices = sorted({c.position for c in self._cards if c.position is not None})
        keys = Qt.Key
        wanted = {
            keys.Key_Left: self._position - 1,
            keys.Key_Right: self._position + 1,
            keys.Key_Home: choices[0] if choices else 0,
            keys.Key_End: choices[-1] if choices else 0,
        }.get(event.key())
        if wanted is None:
            super().keyPressEvent(event)
        elif wanted in choices and wanted != self._position:
            self.position_chosen.emit(wanted)
        elif choices and not choices[0] <= wanted <= choices[-1]:
            self.beyond.emit(-1 if wanted < choices[0] else 1)

    def event(self, event: QEvent) -> bool:
        """Give tooltips for the row under the mouse."""
        if event.type() == QEvent.Type.ToolTip:
            point = QPointF(event.pos())
            index = self._index_at(point)
            text = self.tooltip(index, point.y()) if index >= 0 else ""
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return keeps(event) or super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font, theme or language."""
        self._painter = None
        self.updateGeometry()
        self.update()
        super().changeEvent(event)

    def tooltip(self, index: int, y: float) -> str:
        """Return the rich text that explains the row of that card at height y."""
        card, box = self._cards[index], self.boxes()[index]
        row = self._card_painter().row_at(box, y)
        head = f"<b>{escape(card.token or card.tag)}</b> · {escape(card.tag)}"
        return f"<p>{head}</p><p>{escape(self._explain(card, row))}</p>"

    def _explain(self, card: Card, row: str) -> str:
        place = next((p for p in self._round.positions if p.position == card.position), None)
        token = place.drafted if place is not None and card.drafted else None
        if row == "p" and card.p:
            value = token.p if token else place.extra.p
            return self.tr("target p = {p!r}: what the target gives this token, after temperature and filters.").format(
                p=value
            )
        if row == "q" and token and card.q:
            return self.tr("draft q = {q!r}: what the draft gave this token, after temperature and filters.").format(
                q=token.q
            )
        if row in ("bar", "test") and token and card.accept is not None:
            return self._explain_test(token.accept_prob, token.u_accept if card.needle is not None else None)
        return self._explain_origin(card)

    def _explain_test(self, accept: float, u: float | None) -> str:
        text = self.tr("accept probability min(1, p/q) = {a!r}: the filled part of the bar.").format(a=accept)
        if u is None:
            return text
        return (
            text + " " + self.tr("u = {u!r}: the uniform that was drawn; inside the fill means accepted.").format(u=u)
        )

    def _explain_origin(self, card: Card) -> str:
        if not card.verdict or card.position is None:
            return definition(card.origin)
        sentence = why(self._round, card.position, self._label) if card.drafted else ""
        return f"{definition(card.origin)} {sentence}".strip()

    def _look(self, index: int) -> Look:
        card = self._cards[index]
        mine = card.position == self._position
        twin = any(c.drafted and c.position == card.position for c in self._cards) and not card.drafted
        return Look(mine and not twin, mine and twin, index == self._hovered, self.hasFocus())

    def _paint_empty(self, painter: QPainter) -> None:
        painter.setPen(QPen(theme.colour("border"), 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), theme.RADIUS, theme.RADIUS)
        painter.setPen(theme.colour("muted"))
        painter.setFont(theme.text_font())
        text = self.tr("No round yet. Step or play to see the draft propose and the target judge.")
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, text)

    def _card_painter(self) -> CardPainter:
        if self._painter is None or self._painter.scale != self._scale():
            self._painter = CardPainter(self._scale())
        return self._painter

    def _scale(self) -> float:
        """Grow with the height, but not at the price of a card's numbers."""
        count = len(self._cards) or 1
        fits = (self.width() - GAP * count) / (count * FULL)
        return max(0.7, min(1.7, self.height() / HEIGHT, max(_font_scale(), fits)))

    def _index_at(self, point: QPointF) -> int:
        return next((i for i, box in enumerate(self.boxes()) if box.contains(point)), -1)

    def _hover(self, index: int) -> None:
        if index != self._hovered:
            self._hovered = index
            self.update()

    def _describe(self) -> None:
        text = "; ".join(" ".join(part for part in (c.tag, c.token, *c.lines, c.verdict) if part) for c in self._cards)
        self.setAccessibleDescription(self.tr("Position {n}. {cards}").format(n=self._position, cards=text))


def _font_scale() -> float:
    return QFontInfo(QApplication.font()).pixelSize() / 14
