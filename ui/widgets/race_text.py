"""A lane's text as it came: tokens appear up to a number, and the newest stays in view.

Knows: which lines change with a token. Does not know: time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.fast_text import fast_text
from ui.widgets.marks import draw_token
from ui.widgets.run_text import LEADING, SIDE, WIDTHS_KEPT, RunText

LARGER = 1.15  # times the text: it is read from the back of a room
LINES = 4  # at least
OVER = 3  # px that a mark may stand out of its token


class RaceText(RunText):
    """A run's text of which the first tokens are there."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._shown, self._empty = 0, ""  # tokens there, and what is written before the first
        super().__init__(parent)

    @property
    def shown(self) -> int:
        """Return how many tokens are there."""
        return self._shown

    def set_lane(self, labels: Sequence[str], origins: Sequence[str], marked: int | None, empty: str) -> None:
        """Take another text, none of it there yet; `empty` is written meanwhile."""
        self._shown, self._empty = 0, empty
        self.set_run(labels, origins, marked)

    def show_tokens(self, shown: int) -> None:
        """Let the first tokens be there, and bring the newest into view."""
        old, self._shown = self._shown, shown
        if shown == old:
            return
        self._follow()
        self.viewport().update(self._changed(*sorted((old, shown))) if min(old, shown) else self.viewport().rect())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint what is there of the lines to be painted."""
        with painting(self.viewport()) as painter:
            if not self._shown:
                self._paint_empty(painter)
                return
            for box, token in self._visible(event.rect()):
                if token.order == self._marked:
                    self._paint_mark(painter, box)
                draw_token(painter, box, token.text, token.origin, self._fast)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Move what is painted; only the lines that come into view are new."""
        self.viewport().scroll(0, dy * self._pitch)

    def _lay(self) -> None:
        super()._lay()
        while not self._lines.complete:  # a lane is short, and any of its tokens may be the newest
            self._find_more()
        self._follow()

    def _follow(self) -> None:
        """Bring the newest token into view."""
        bar, rows = self.verticalScrollBar(), max(1, self.viewport().height() // self._pitch)
        newest = self._line(self._shown - 1)
        if not bar.value() <= newest < bar.value() + rows:
            bar.setValue(max(0, newest - rows + 1))

    def _set_font(self) -> None:
        super()._set_font()
        self._fast = fast_text(QApplication.font().pointSizeF() * LARGER, is_token=True)
        self._font, self._metrics = self._fast.font, self._fast.metrics
        metrics = self._metrics  # as in RunText: not the Qt method itself
        self._measure = lru_cache(WIDTHS_KEPT)(lambda text: metrics.horizontalAdvance(text))
        self._pitch = math.ceil(self._metrics.height()) + LEADING
        self.setMinimumHeight(LINES * self._pitch)

    def _line(self, token: int) -> int:
        return self._lines.row(max(0, token)) or 0

    def _changed(self, old: int, new: int) -> QRect:
        """Return what the tokens old .. new - 1 cover in the viewport, with the marks that reach beyond them."""
        first, last = self._line(old), self._line(new - 1)
        top = (first - self.verticalScrollBar().value()) * self._pitch
        left = self._placed(first)[old - self._lines.line(first).start].x if first == last else 0
        return QRect(int(left), top - 2, self.viewport().width(), (last - first + 1) * self._pitch + 4)

    def _visible(self, area: QRect | None = None):
        """Yield box and token of what is there, in view and in an area of the viewport."""
        area = area or self.viewport().rect()
        top = self.verticalScrollBar().value()
        rows = range(max(-top, area.top() // self._pitch - 1), area.bottom() // self._pitch + 2)  # marks reach over
        for row in rows[: max(0, len(self._lines) - top - rows.start)]:
            for token in self._placed(top + row):
                if token.order >= self._shown:
                    return
                box = QRectF(SIDE + token.x, row * self._pitch + 2, token.width, self._pitch - 3)
                if box.right() + OVER >= area.left() and box.left() - OVER <= area.right():
                    yield box, token

    def _paint_empty(self, painter) -> None:
        painter.setPen(theme.colour("muted"))
        painter.setFont(theme.text_font())
        area = QRectF(self.viewport().rect()).adjusted(SIDE, 0, -SIDE, 0)
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._empty)
