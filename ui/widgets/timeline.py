"""A scrubber over all rounds, with a tick up for full acceptance and a tick down for a rejection.

Knows: one verdict per round, counted per pixel column. Does not know: tokens, or what is done with a chosen round.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QWheelEvent
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from simulator.records import RoundTrace
from simulator.trace.store import Rounds
from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.fast_text import RIGHT, fast_text
from ui.widgets.keys import keeps

HANDLE = 7  # px, radius
TICK = 8  # px, the longest tick
WIDEST_TICK = 5  # px


class Counts:
    """How many of the first i rounds were rejected in, or fully accepted; grows without copying each time."""

    def __init__(self) -> None:
        self.size = 0
        self._sums = np.zeros((2, 256), np.int64)  # [rejected, full], sums before round i

    def add(self, rounds: Iterable[RoundTrace]) -> None:
        """Append rounds."""
        if isinstance(rounds, Rounds):
            brief = rounds.summary
            drafted, tested, accepted = (brief[name] for name in ("drafted", "tested", "accepted"))
        else:
            counts = [(r.drafted, r.tested, r.accepted) for r in rounds]
            drafted, tested, accepted = np.array(counts, int).reshape(-1, 3).T
        outcomes = np.stack([tested > accepted, (drafted > 0) & (drafted == accepted)])
        after = self.size + outcomes.shape[1]
        if after >= self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, max(self._sums.shape[1], after))))
        added = self._sums[:, self.size + 1 : after + 1]
        np.cumsum(outcomes, axis=1, out=added)
        added += self._sums[:, [self.size]]
        self.size = after

    def shares(self, columns: int) -> np.ndarray:
        """Return the share of rejections and of full acceptances in each of `columns` equal stretches: [2, columns]."""
        edges = np.arange(columns + 1) * self.size // columns
        sums = self._sums[:, edges]
        return np.diff(sums, axis=1) / np.maximum(1, np.diff(edges))


class Timeline(QWidget):
    """Slider over rounds; it asks for a round and moves when it is told."""

    round_chosen = Signal(int)  # 0, 1, ...

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._counts = Counts()
        self._painted: tuple[tuple[object, ...], QPixmap] | None = None  # the track, and what it shows
        self._cursor = -1
        self._asked: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Timeline of rounds"))

    def add_rounds(self, rounds: Iterable[RoundTrace]) -> None:
        """Append rounds."""
        self._counts.add(rounds)
        self.update()

    def set_rounds(self, rounds: Iterable[RoundTrace]) -> None:
        """Replace all rounds."""
        self._counts = Counts()
        self._counts.add(rounds)
        self.set_round(-1)

    def set_round(self, round_index: int) -> None:
        """Put the handle on this round; -1 is the place before the first one."""
        self._cursor, self._asked = round_index, None
        self.setAccessibleDescription(self.caption())
        self.update()

    def clear(self) -> None:
        """Forget all rounds."""
        self.set_rounds(())

    def caption(self) -> str:
        """Return where the handle is, in words."""
        if not self._counts.size:
            return self.tr("no rounds yet")
        return self.tr("round {n} of {all}").format(n=min(self._cursor + 1, self._counts.size), all=self._counts.size)

    def sizeHint(self) -> QSize:
        """Return one row."""
        return QSize(600, max(2 * TICK + 10, round(QFontMetricsF(QApplication.font()).height()) + 6))

    def minimumSizeHint(self) -> QSize:
        """Return room for the caption and a short track."""
        return QSize(240, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint track, ticks, handle and caption."""
        with painting(self) as painter:
            track = self._track()
            painter.drawPixmap(0, 0, self._background(track))
            if self._counts.size:
                self._paint_handle(painter, track)
            self._paint_caption(painter, track)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Ask for the round under the mouse."""
        self._ask_at(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Scrub while the button is held."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._ask_at(event.position().x())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Go one round on or back."""
        turn = event.angleDelta().y()
        if turn:
            self._ask(self._cursor + (-1 if turn > 0 else 1))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go by rounds (arrows), tenths (page keys) or to the ends."""
        here, page, keys = self._cursor, max(1, self._counts.size // 10), Qt.Key
        target = {
            keys.Key_Left: here - 1,
            keys.Key_Right: here + 1,
            keys.Key_PageUp: here - page,
            keys.Key_PageDown: here + page,
            keys.Key_Home: 0,
            keys.Key_End: self._counts.size - 1,
        }.get(event.key())
        if target is None:
            super().keyPressEvent(event)
        else:
            self._ask(target)

    def event(self, event: QEvent) -> bool:
        """Name the round under the mouse and explain the ticks."""
        if event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.tooltip(event.pos().x()), self)
            return True
        return keeps(event) or super().event(event)

    def tooltip(self, x: float) -> str:
        """Return what stands under that pixel column."""
        ticks = self.tr("Tick up: all drafts of the round accepted. Tick down: one rejected.")
        if not self._counts.size:
            return ticks
        return self.tr("Round {n}. {ticks}").format(n=self.round_at(x) + 1, ticks=ticks)

    def round_at(self, x: float) -> int:
        """Return the round that a pixel column stands for."""
        track = self._track()
        return self._clamped(int((x - track.left()) / track.width() * self._counts.size))

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        self.updateGeometry()
        self.update()
        super().changeEvent(event)

    def _track(self) -> QRectF:
        widest = self.tr("round {n} of {all}").format(n="0" * len(str(self._counts.size)), all=self._counts.size)
        room = fast_text(QApplication.font().pointSizeF()).width(max(widest, self.tr("no rounds yet"), key=len))
        middle = self.height() / 2
        return QRectF(HANDLE + 1, middle - TICK, max(20.0, self.width() - room - 3 * HANDLE - 8), 2 * TICK)

    def _x(self, round: int, track: QRectF) -> float:
        if round < 0:
            return track.left()
        return track.left() + (min(round, self._counts.size - 1) + 0.5) / self._counts.size * track.width()

    def _background(self, track: QRectF) -> QPixmap:
        """Return the track with its ticks, painted once for as long as they stay the same."""
        ratio = self.devicePixelRatioF()
        key = self._counts, self._counts.size, track.getRect(), self.size(), ratio, theme.current()
        if self._painted is None or self._painted[0] != key:
            picture = QPixmap(self.size() * ratio)
            picture.setDevicePixelRatio(ratio)
            picture.fill(Qt.GlobalColor.transparent)
            with painting(picture) as painter:
                painter.setPen(QPen(theme.colour("discarded"), 2))
                painter.drawLine(QPointF(track.left(), track.center().y()), QPointF(track.right(), track.center().y()))
                if self._counts.size:
                    self._paint_ticks(painter, track)
            self._painted = key, picture
        return self._painted[1]

    def _paint_ticks(self, painter: QPainter, track: QRectF) -> None:
        columns = min(int(track.width()), self._counts.size)
        step = track.width() / columns
        pen = QPen(theme.colour("excess"), max(1.0, min(WIDEST_TICK, step * 0.6)))
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        rejected, full = self._counts.shares(columns)
        for shares, name, side in ((rejected, "excess", 1), (full, "both", -1)):
            pen.setColor(theme.colour(name))
            painter.setPen(pen)
            there, y = np.flatnonzero(shares), track.center().y() + side
            x = (track.left() + (there + 0.5) * step).tolist()
            ends = (y + side * np.maximum(2.0, TICK * shares[there])).tolist()
            painter.drawLines([QLineF(at, y, at, end) for at, end in zip(x, ends, strict=True)])

    def _paint_handle(self, painter: QPainter, track: QRectF) -> None:
        centre = QPointF(self._x(self._cursor, track), track.center().y())
        painter.setPen(QPen(theme.colour("text" if self.hasFocus() else "window"), 2))
        painter.setBrush(theme.colour("accent"))
        painter.drawEllipse(centre, HANDLE, HANDLE)

    def _paint_caption(self, painter: QPainter, track: QRectF) -> None:
        painter.setPen(theme.colour("text" if self._counts.size else "muted"))
        area = QRectF(track.right() + HANDLE + 6, 0, self.width() - track.right() - HANDLE - 8, self.height())
        fast_text(QApplication.font().pointSizeF()).draw(painter, area, RIGHT, self.caption())

    def _clamped(self, round: int) -> int:
        return max(0, min(self._counts.size - 1, round))

    def _ask_at(self, x: float) -> None:
        if self._counts.size:
            self._ask(self.round_at(x))

    def _ask(self, round: int) -> None:
        round = self._clamped(round)
        if round != (self._cursor if self._asked is None else self._asked) and self._counts.size:
            self._asked = round
            self.round_chosen.emit(round)
