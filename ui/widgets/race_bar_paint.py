"""A lane's bar: a block a token, tokens of one round close together; finishing line; where two texts part.

Knows: colours and heights of origins. Does not know: how much of it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap, QPolygonF

from simulator.race import Lane
from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.origin import COLOURS, Origin

OVER = 3  # px that the finishing line stands out
GAP = 1.5  # px between rounds; the tokens of one round touch
LEAST = 3.0  # px a token; below that there is no room for gaps
PARTS = {Origin.BONUS: (0.0, 0.62), Origin.RESIDUAL: (0.38, 1.0)}  # of the height, from the top; others: all of it


def bar_of(lane: Lane, one: float, height: float, ratio: float) -> QPixmap:
    """Return the bar of a lane with `one` px a token."""
    wide = max(1, math.ceil(len(lane.tokens) * one * ratio))
    picture = QPixmap(wide, max(1, math.ceil(height * ratio)))
    picture.fill(Qt.GlobalColor.transparent)
    with painting(picture) as painter:
        painter.scale(ratio, ratio)
        painter.setPen(Qt.PenStyle.NoPen)
        for name, first, last, ends in _blocks(lane, one >= LEAST):
            top, foot = PARTS.get(name, (0.0, 1.0))
            left, right = (round(n * one * ratio) / ratio for n in (first, last))  # whole pixels: blocks that touch do
            box = QRectF(left, top * height, right - left - GAP * ends, (foot - top) * height)
            painter.fillRect(box, theme.colour(COLOURS[Origin(name)]))
    return picture


def _blocks(lane: Lane, gaps: bool) -> Iterator[tuple[str, int, int, bool]]:
    """Yield runs of tokens with one origin: origin, first, last + 1, whether a gap follows (with `gaps`: a round's)."""
    at = 0
    for (name, number), tokens in groupby(
        zip(lane.origins, lane.passes, strict=True), lambda t: t if gaps else (t[0], 0)
    ):
        first, at = at, at + sum(1 for _ in tokens)
        yield name, first, at, gaps and (at == len(lane.passes) or lane.passes[at] != number)


def groove(painter: QPainter, box: QRectF) -> None:
    """Paint an empty bar."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("raised"))
    painter.drawRoundedRect(box, 4, 4)


def paint_bar(painter: QPainter, box: QRectF, whole: QPixmap, shown: float, end: float) -> None:
    """Paint the first `shown` px of a lane's picture, and its finishing line at `end` px."""
    groove(painter, QRectF(box.left(), box.top(), end, box.height()))
    ratio = whole.height() / box.height()
    part = QRectF(0, 0, round(shown * ratio), whole.height())  # whole pixels: parts of it paint like all of it
    painter.drawPixmap(QRectF(box.left(), box.top(), part.width() / ratio, box.height()), whole, part)
    painter.setPen(QPen(theme.colour("text"), 2, Qt.PenStyle.DotLine))
    x = box.left() + end
    painter.drawLine(QPointF(x, box.top() - OVER), QPointF(x, box.bottom() + OVER))


def paint_parting(painter: QPainter, box: QRectF, at: float) -> None:
    """Mark where two greedy texts part, `at` px from the start: a triangle that points at the token."""
    x, tip = box.left() + at, box.top() + 3
    painter.setPen(QPen(theme.colour("panel"), 1))
    painter.setBrush(theme.colour("accent"))
    painter.drawPolygon(QPolygonF([QPointF(x - 6, tip - 9), QPointF(x + 6, tip - 9), QPointF(x, tip)]))
