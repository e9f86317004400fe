"""The visible lines of the text: told what to show, scrolls to the cursor, paints.

Knows: which lines are in view and where each token stands. Does not know: mouse and keyboard (see `token_ribbon`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QApplication, QWidget

from simulator.records import RoundTrace
from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.fast_text import fast_text
from ui.widgets.marks import draw_token
from ui.widgets.origin import Origin, Piece, pieces
from ui.widgets.reveal import Reveal
from ui.widgets.ribbon_layout import NO_ROUND, Address, Placed, RibbonText

SIDE = 6  # px left and right of the text
LEADING = 3  # px between lines, where stars and underlines go
WIDTHS_KEPT = 20_000  # label widths remembered
FONT_EVENTS = (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange, QEvent.Type.StyleChange)


class RibbonView(QWidget):
    """Prompt and rounds as running text around a cursor."""

    def __init__(self, label: Callable[[int], str] = str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._widths: dict[str, float] = {}
        self._text = RibbonText(label, self._measure)
        self._top: Address = (0, 0)
        self._cursor = NO_ROUND
        self._position = 0
        self._pieces: list[Piece] = []  # the cursor's round, as far as it is revealed
        self._ahead = True
        self._hovered: Placed | None = None
        self._set_fonts()

    def set_label(self, label: Callable[[int], str]) -> None:
        """Write token ids with this function from now on."""
        self._text.label = label
        self._relayout()

    def set_prompt(self, labels: Sequence[str]) -> None:
        """Show these labels, muted, before the first round."""
        self._text.prompt = list(labels)
        self._relayout()

    def set_rounds(self, rounds: Sequence[RoundTrace]) -> None:
        """Show the rounds of this sequence; one that grows tells it by `rounds_added`."""
        self._text.set_rounds(rounds)
        self._cursor, self._position, self._pieces = NO_ROUND, 0, []
        self._relayout()

    def rounds_added(self) -> None:
        """Take notice of new rounds at the end of the sequence."""
        self._text.grown()
        if self._ahead:  # otherwise nothing of them is seen before the cursor is there
            self.update()

    def set_cursor(self, round_index: int, position: int, reveal: Reveal | None = None) -> None:
        """Highlight this round as far as it is revealed (None: all) and its token at `position`, and scroll there."""
        known = 0 <= round_index < len(self._text.rounds)
        self._cursor, self._position = (round_index, position) if known else (NO_ROUND, 0)
        self._pieces = pieces(self._text.rounds[round_index], reveal) if known else []
        self._show_cursor()
        self.update()

    def set_show_rejected(self, shown: bool) -> None:
        """Show or hide rejected and discarded drafts."""
        self._text.show_rejected = shown
        self._relayout()

    def set_show_ahead(self, shown: bool) -> None:
        """Show or hide the rounds after the cursor."""
        self._ahead = shown
        self.update()

    def clear(self) -> None:
        """Forget prompt, rounds and cursor."""
        self._text.prompt, self._hovered = [], None
        self.set_rounds(())

    def visible(self) -> Iterator[tuple[QRectF, Placed]]:
        """Yield each token in view with its box; the only place that turns lines into pixels."""
        for row, address in enumerate(self._addresses()):
            for token in self._text.line(address):
                yield QRectF(SIDE + token.x, row * self._pitch + 1, token.width, self._pitch - 3), token

    def scroll(self, lines: int) -> None:
        """Move the view down (or up) without moving the cursor."""
        self._set_top(self._text.moved(self._top, lines))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the box of the current round, then the tokens in view."""
        with painting(self) as painter:
            tokens = [(box, token, origin) for box, token in self.visible() if (origin := self._seen(token))]
            self._paint_round(painter, [box for box, token, _ in tokens if self._in_round(token)])
            for box, token, origin in tokens:
                self._paint_token(painter, box, token, origin)
            if not tokens:
                self._paint_empty(painter)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew when the width has changed."""
        width = max(40.0, self.width() - 2.0 * SIDE)
        if width != self._text.width:
            self._text.width = width
            self._relayout()
        else:
            self._show_cursor()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        if event.type() in FONT_EVENTS:
            self._set_fonts()
            self._relayout()
            self.updateGeometry()
        self.update()
        super().changeEvent(event)

    def _rows(self) -> int:
        return max(1, int((self.height() + LEADING) // self._pitch))

    def _addresses(self) -> list[Address]:
        result = [self._text.moved(self._top, 0)]
        while len(result) < self._rows() and (following := self._text.moved(result[-1], 1)) != result[-1]:
            result.append(following)
        return result

    def _show_cursor(self) -> None:
        if self._cursor == NO_ROUND:
            self._bring(self._text.find(NO_ROUND, last=True))
            return
        self._bring(self._text.find(self._cursor, last=True))
        self._bring(self._text.find(self._cursor))
        self._bring(self._text.find(self._cursor, self._position))

    def _bring(self, address: Address) -> None:
        seen = self._addresses()
        if address in seen:
            return
        if address == self._text.moved(seen[-1], 1):
            self._set_top(self._text.moved(seen[0], 1))
        elif address == self._text.moved(seen[0], -1):
            self._set_top(address)
        else:
            self._set_top(self._text.moved(address, -(self._rows() // 2)))

    def _set_top(self, top: Address) -> None:
        self._top = top
        seen = self._addresses()
        if len(seen) < self._rows():  # no blank lines below while there is text above
            self._top = self._text.moved(seen[-1], 1 - self._rows())

    def _relayout(self) -> None:
        self._text.forget()
        self._set_top(self._text.moved(self._top, 0))
        self._show_cursor()
        self.update()

    def _in_round(self, token: Placed) -> bool:
        return token.round == self._cursor and token.round != NO_ROUND

    def _origin(self, token: Placed) -> Origin:
        return self._pieces[token.order].origin if self._in_round(token) else token.origin

    def _shown(self, token: Placed) -> bool:
        return self._seen(token) is not None

    def _seen(self, token: Placed) -> Origin | None:
        """Return what a token is shown as; None where it is not revealed yet, or ahead of the cursor."""
        origin = self._origin(token)
        return origin if origin is not Origin.HIDDEN and (self._ahead or token.round <= self._cursor) else None

    def _paint_round(self, painter: QPainter, boxes: list[QRectF]) -> None:
        painter.setPen(QPen(theme.colour("accent", 0.6), 1))
        painter.setBrush(theme.colour("raised"))
        for y in sorted({box.top() for box in boxes}):
            line = [box for box in boxes if box.top() == y]
            area = QRectF(line[0].topLeft(), line[-1].bottomRight())
            painter.drawRoundedRect(area.adjusted(-2, -1, 2, 1.5), 4, 4)

    def _paint_token(self, painter: QPainter, box: QRectF, token: Placed, origin: Origin) -> None:
        if self._in_round(token) and token.position == self._position:
            painter.setPen(QPen(theme.colour("accent"), 2))
            painter.setBrush(theme.colour("panel"))
            painter.drawRoundedRect(box.adjusted(-1, -0.5, 1, 1.5), 3, 3)
        elif token == self._hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("border"))
            painter.drawRoundedRect(box, 3, 3)
        draw_token(painter, box, token.text, origin, self._font)

    def _paint_empty(self, painter: QPainter) -> None:
        painter.setPen(theme.colour("muted"))
        painter.setFont(theme.text_font())
        area = QRectF(SIDE, 0, self.width() - 2 * SIDE, self.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self.tr("The text appears here, token by token."))

    def _set_fonts(self) -> None:
        self._font = fast_text(QApplication.font().pointSizeF() * 1.05, is_token=True)
        self._advance = self._font.metrics.horizontalAdvance("0")
        self._pitch = round(self._font.metrics.height()) + LEADING
        self._widths.clear()

    def _measure(self, text: str) -> float:
        if text.lstrip("·").isascii():
            return len(text) * self._advance  # one width for every letter of this face
        width = self._widths.get(text)
        if width is None:
            if len(self._widths) >= WIDTHS_KEPT:
                self._widths.clear()
            width = self._widths[text] = self._font.metrics.horizontalAdvance(text)
        return width
