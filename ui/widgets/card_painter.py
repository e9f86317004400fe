"""Paints one card of a round, wide or narrow, at any height.

Knows: rows, fonts and colours of a card. Does not know: rounds, or which card is where.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QFont, QPainter, QPen, QPolygonF

from ui import theme
from ui.widgets.card_model import Card
from ui.widgets.fast_text import CENTRE, LEFT, RIGHT, FastText
from ui.widgets.marks import draw_mark
from ui.widgets.origin import COLOURS, Origin

translate = QCoreApplication.translate
HEIGHT = 110  # px at scale 1; the rows below plus padding
PADDING = 6
ROWS = {"token": 23, "p": 15, "q": 15, "bar": 15, "test": 14, "verdict": 16}
FULL, NARROW = 122, 34  # px at scale 1: the least width of a card with and without its numbers


@dataclass(frozen=True, slots=True)
class Look:
    """How a card stands out at the moment."""

    current: bool = False
    linked: bool = False  # the extra token of the current position
    hovered: bool = False
    focused: bool = False


class CardPainter:
    """Fonts and row positions for one scale."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self._token = _font(theme.token_font(bold=True), 17 * scale)
        self._tiny = _font(theme.token_font(bold=True), 12 * scale)
        self._small = _font(theme.text_font(), 12 * scale)
        self._value = _font(theme.text_font(bold=True), 12.5 * scale)
        self._verdict = _font(theme.text_font(bold=True), 13.5 * scale)

    def paint(self, painter: QPainter, box: QRectF, card: Card, look: Look) -> None:
        """Paint the card in the box: with numbers where it is wide enough, otherwise token, bar and sign."""
        painter.save()
        self._frame(painter, box, card, look)
        painter.setClipRect(box)
        if box.width() >= FULL * self.scale - 1:
            self._full(painter, self._rows(box, 9), card)
        elif box.width() >= 10:  # below that, only the frame
            self._slim(painter, self._rows(box, 3), card)
        painter.restore()

    def row_at(self, box: QRectF, y: float) -> str:
        """Return the name of the row at that height, for tooltips."""
        rows = self._rows(box, 0)
        return next((name for name, row in rows.items() if y < row.bottom()), "verdict")

    def _rows(self, box: QRectF, side: float) -> dict[str, QRectF]:
        stretch = max(0.0, box.height() - HEIGHT * self.scale) / len(ROWS)
        y, rows = box.top() + PADDING * self.scale, {}
        for name, height in ROWS.items():
            rows[name] = QRectF(box.left() + side, y, box.width() - 2 * side, height * self.scale + stretch)
            y += height * self.scale + stretch
        return rows

    def _frame(self, painter: QPainter, box: QRectF, card: Card, look: Look) -> None:
        rejected = card.origin is Origin.REJECTED
        inner = box.adjusted(1.5, 1.5, -1.5, -1.5)
        colour = "excess" if rejected else "accent" if look.hovered or look.linked else "border"
        painter.setPen(QPen(theme.colour(colour), 1.4, Qt.PenStyle.DashLine if look.linked else Qt.PenStyle.SolidLine))
        painter.setBrush(theme.colour("panel"))
        painter.drawRoundedRect(inner, theme.RADIUS, theme.RADIUS)
        if rejected:
            painter.setBrush(QBrush(theme.colour("excess", 0.22), Qt.BrushStyle.BDiagPattern))
            painter.drawRoundedRect(inner, theme.RADIUS, theme.RADIUS)
        if look.current:
            width = 3.6 if look.focused else 2.4
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour("accent"), width))
            edge = width / 2
            painter.drawRoundedRect(box.adjusted(edge, edge, -edge, -edge), theme.RADIUS, theme.RADIUS)

    def _full(self, painter: QPainter, rows: dict[str, QRectF], card: Card) -> None:
        self._write(painter, rows["token"], card.tag, self._small, "muted", RIGHT)
        free = rows["token"].width() - self._small.width(card.tag) - 6
        self._token_row(painter, rows["token"], card, free, self._token)
        if not card.unreached:
            self._figure(painter, rows["p"], translate("RoundCards", "target p"), card.p, card.tone)
        if card.drafted:
            self._figure(painter, rows["q"], translate("RoundCards", "draft q"), card.q, card.tone)
            self._bar(painter, rows["bar"], card)
            self._write(painter, rows["test"], self._fitting(card.lines[0], rows["test"]), self._value, card.tone, LEFT)
        else:
            self._write(painter, rows["q"], card.lines[0], self._small, card.tone, LEFT)
            self._write(painter, rows["bar"], card.lines[1], self._small, card.tone, LEFT)
        colour = COLOURS[card.origin] if card.drafted else "text"
        self._write(painter, rows["verdict"], f"{card.sign} {card.verdict}".strip(), self._verdict, colour, LEFT)

    def _fitting(self, comparison: str, row: QRectF) -> str:
        """Return "u .00866 ≥ .00319", without its u where the digits need the room."""
        fits = self._value.width(comparison) <= row.width()
        return comparison if fits else comparison.removeprefix("u ")

    def _slim(self, painter: QPainter, rows: dict[str, QRectF], card: Card) -> None:
        self._token_row(painter, rows["token"], card, rows["token"].width(), self._tiny)
        if rows["p"].width() >= 10 * self.scale:
            self._write(painter, rows["p"], card.short, self._small, "muted", CENTRE)
        if card.drafted:
            self._bar(painter, rows["bar"].adjusted(3, 0, -3, 0), card)
        self._write(painter, rows["verdict"], card.sign, self._verdict, COLOURS[card.origin], CENTRE)

    def _token_row(self, painter: QPainter, row: QRectF, card: Card, free: float, font: FastText) -> None:
        if not card.token:
            if not card.unreached:
                self._blank(painter, QRectF(row.left(), row.top(), min(free, 44 * self.scale), row.height()), 12)
            return
        metrics, text = font.metrics, card.token
        if font.width(text) > free:
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, free)
        width = min(free, font.width(text))
        left = row.left() if font is self._token else row.center().x() - width / 2
        box = QRectF(left, row.center().y() - 0.6 * metrics.height(), width, 1.14 * metrics.height())
        self._write(painter, QRectF(left, row.top(), free, row.height()), text, font, COLOURS[card.origin], LEFT)
        draw_mark(painter, box, card.origin, theme.colour(COLOURS[card.origin]))

    def _blank(self, painter: QPainter, row: QRectF, height: float) -> None:
        height *= self.scale
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("raised"))
        painter.drawRoundedRect(QRectF(row.left(), row.center().y() - height / 2, row.width(), height), 4, 4)

    def _figure(self, painter: QPainter, row: QRectF, name: str, value: str, colour: str) -> None:
        self._write(painter, row, name, self._small, "muted", LEFT)
        if value:
            self._write(painter, row, value, self._value, colour, RIGHT)
            return
        self._blank(painter, row.adjusted(row.width() - 34 * self.scale, 0, 0, 0), 8)

    def _bar(self, painter: QPainter, row: QRectF, card: Card) -> None:
        half = 4 * self.scale
        track = QRectF(row.left(), row.center().y() - half, row.width(), 2 * half)
        painter.setPen(QPen(theme.colour("border"), 1))
        painter.setBrush(theme.colour("raised"))
        painter.drawRoundedRect(track, 3, 3)
        if card.accept is not None:
            fill = QRectF(track.left(), track.top(), track.width() * min(1.0, card.accept), track.height())
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("discarded" if card.origin is Origin.DISCARDED else "both"))
            painter.drawRoundedRect(fill, 3, 3)
        if card.needle is not None:
            self._needle(painter, track, card)

    def _needle(self, painter: QPainter, track: QRectF, card: Card) -> None:
        x, reach, half = track.left() + track.width() * card.needle, 4 * self.scale, 4 * self.scale
        painter.setPen(QPen(theme.colour("panel"), 5))  # a halo, so that it shows on the fill too
        painter.drawLine(QPointF(x, track.top()), QPointF(x, track.bottom()))
        painter.setPen(QPen(theme.colour("text"), 2.2))
        painter.drawLine(QPointF(x, track.top() - 1), QPointF(x, track.bottom() + reach * 0.75))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("text"))
        top = track.top() - reach
        painter.drawPolygon(
            QPolygonF([QPointF(x - half, top), QPointF(x + half, top), QPointF(x, track.top() + reach * 0.5)])
        )

    def _write(self, painter: QPainter, row: QRectF, text: str, font: FastText, colour: str, align: int) -> None:
        painter.setPen(theme.colour(colour))
        font.draw(painter, row, align, text)


def _font(font: QFont, pixels: float) -> FastText:
    font.setPixelSize(max(6, round(pixels)))
    return FastText(font)
