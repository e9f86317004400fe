"""The text so far; a click on a token asks to go there.

Knows: mouse, keyboard, tooltips. Does not know: what a click leads to (it is told by `set_cursor`).
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from ui.widgets.keys import keeps
from ui.widgets.origin import Origin, definition, pieces, word
from ui.widgets.reveal import Reveal, why
from ui.widgets.ribbon_layout import NO_ROUND, Placed
from ui.widgets.ribbon_view import RibbonView
from ui.widgets.token_text import safe

LINES = 2
JUDGED = (Origin.ACCEPTED, Origin.REJECTED, Origin.DISCARDED)


class TokenRibbon(RibbonView):
    """Running text in which every token shows where it came from and can be chosen."""

    token_chosen = Signal(int, int)  # round 0, 1, ...; position 1, 2, ...

    def __init__(self, label: Callable[[int], str] = str, parent: QWidget | None = None) -> None:
        super().__init__(label, parent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setAccessibleName(self.tr("The text so far"))

    def set_cursor(self, round_index: int, position: int, reveal: Reveal | None = None) -> None:
        """Highlight this round as far as it is revealed (None: all) and its token at `position`, and scroll there."""
        super().set_cursor(round_index, position, reveal)
        shown = [p for p in self._pieces if p.origin is not Origin.HIDDEN]
        self.setAccessibleDescription(
            ", ".join(f"{safe(self._text.label(p.token_id))} {word(p.origin)}" for p in shown)
        )

    def token_at(self, point: QPointF) -> Placed | None:
        """Return the token under a point."""
        return next((t for box, t in self.visible() if box.contains(point) and self._shown(t)), None)

    def tooltip(self, token: Placed) -> str:
        """Return the rich text that explains a token."""
        origin = self._origin(token)
        place = self.tr("round {r}, position {p}").format(r=token.round + 1, p=token.position)
        head = [f"<b>{escape(self._whole_label(token))}</b>", escape(word(origin))]
        sentence = definition(origin)
        if token.round != NO_ROUND:
            head.append(escape(place))
        if origin in JUDGED:
            sentence += " " + why(self._text.rounds[token.round], token.position, self._text.label)
        return f"<p>{' · '.join(head)}</p><p>{escape(sentence)}</p>"

    def sizeHint(self) -> QSize:
        """Return the room of the usual number of lines."""
        return QSize(1240, LINES * self._pitch)

    def minimumSizeHint(self) -> QSize:
        """Return the room of two lines."""
        return QSize(200, 2 * self._pitch)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll by lines."""
        turn = event.angleDelta().y()
        if turn:
            self.scroll(-1 if turn > 0 else 1)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the token under the mouse."""
        self._hover(self.token_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Forget the token under the mouse."""
        self._hover(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Ask for the token under the mouse."""
        token = self.token_at(event.position())
        if event.button() is Qt.MouseButton.LeftButton and token is not None and token.round != NO_ROUND:
            self.token_chosen.emit(token.round, token.position)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ask for the token before or after the cursor with the arrow keys."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(event.key())
        target = self._neighbour(step) if step else None
        if target is not None:
            self.token_chosen.emit(*target)
        elif step is None:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Give the tooltip of the token under the mouse."""
        if event.type() == QEvent.Type.ToolTip:
            token = self.token_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.tooltip(token) if token else "", self)
            return True
        return keeps(event) or super().event(event)

    def _neighbour(self, step: int) -> tuple[int, int] | None:
        if self._cursor == NO_ROUND:
            return None
        position = self._position + step
        if position in {p.position for p in self._pieces}:
            return self._cursor, position
        round = self._cursor + step
        if not 0 <= round < len(self._text.rounds):
            return None
        positions = [p.position for p in pieces(self._text.rounds[round])]
        return round, positions[0] if step > 0 else max(positions)

    def _whole_label(self, token: Placed) -> str:
        if token.round == NO_ROUND:
            return safe(self._text.prompt[token.order])
        return safe(self._text.label(pieces(self._text.rounds[token.round])[token.order].token_id))

    def _hover(self, token: Placed | None) -> None:
        if token != self._hovered:
            self._hovered = token
            self.update()
