"""What goes in: for each outcome the target's p beside the draft's q, and both can be dragged.

The same three colours as on the Stage: green min(p, q), blue p - q on top of the left bar, red q - p on top of the
right one. Knows: pixels, drags. Does not know: how a dragged distribution stays one (it is told by `set_pair`).
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from ui import theme
from ui.plots.bars import Bars, missed_texture, stripes
from ui.plots.key import Entry
from ui.plots.lab_plot import DIM, LabPlot, Tag, number
from ui.widgets.keys import keeps

SIDE, WIDTH = 0.21, 0.38  # of a column: where the two bars stand and how wide they are
DRAG = 3  # px before a press becomes a drag
STEP = 0.01  # of a key press
PARTS = ("both", "missed", "excess")


class PairPlot(LabPlot):
    """Two bars an outcome; `spotlight` makes one part of the picture stand out."""

    dragged = Signal(str, int, float)  # "p" or "q", column, new value
    column_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layers: dict[tuple[str, bool], Bars] = {}
        for part in PARTS:
            for lit in (False, True):
                self._layers[part, lit] = self.add_bars()
        self._spot: dict[str, int | None] | None = None
        self._press: tuple[str, int, QPointF] | None = None
        self._dragging = False
        self._limit = 0.0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.items_made()

    def spotlight(self, parts: dict[str, int | None] | None) -> None:
        """Dim all but these: "both", "missed", "excess", "p", "q", each in one column or (None) in all."""
        self._spot = parts
        self.request_redraw()

    def draw(self) -> None:
        """Bring bars, tags and key up to date."""
        if self.pair is None:
            self.set_message(self.tr("Nothing to look at yet."))
            return
        self.set_header("", self._entries())
        p, q = self.pair.p, self.pair.q
        both = np.minimum(p, q)
        self.place(p, q)
        heights = {"both": np.concatenate([both, both]), "missed": np.concatenate([p - both, 0 * q])}
        heights["excess"] = np.concatenate([0 * p, q - both])
        x, scale = np.concatenate([self.x - SIDE, self.x + SIDE]), np.concatenate([self.scale, self.scale])
        base = np.concatenate([both, both]) * scale
        for part, height in heights.items():
            lit = self._lit(part)
            for on, mask in ((True, lit), (False, ~lit)):
                foot = 0.0 if part == "both" else base[mask]
                self._layers[part, on].set_bars(x[mask], (height * scale)[mask], foot, WIDTH)
        self.tags.set_tags(self._tags())

    def limit(self, top: float) -> float:
        """Hold the axis still while a bar is dragged, unless the bar would leave it."""
        self._limit = max(self._limit, super().limit(top)) if self._dragging else super().limit(top)
        return self._limit

    def read_out(self, x: float, y: float) -> str:
        """Return the numbers of the column under the pointer."""
        i = self.column_at(x)
        if i is None or self._dragging:
            return ""
        p, q = float(self.pair.p[i]), float(self.pair.q[i])
        rows = [(self.tr("target p"), number(p)), (self.tr("draft q"), number(q)), ("min(p, q)", number(min(p, q)))]
        rows.append(("p − q" if p >= q else "q − p", number(abs(p - q))))
        rows.append((self.tr("kept with min(1, p/q)"), number(min(1.0, p / q)) if q else self.tr("never drafted")))
        return self.rows_text(i, rows)

    # --- dragging ---

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the column; what follows may be a drag."""
        place = self._column_side(event.position())
        if event.button() is Qt.MouseButton.LeftButton and place is not None:
            self._press = (*place, event.position())
            self.column_chosen.emit(place[1])
            event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the pressed bar's end to the pointer; show what can be dragged otherwise."""
        if self._press is None:
            over = self._column_side(event.position()) is not None
            self.viewport().setCursor(Qt.CursorShape.SizeVerCursor if over else Qt.CursorShape.ArrowCursor)
            super().mouseMoveEvent(event)
            return
        side, column, start = self._press
        self._dragging = self._dragging or abs(event.position().y() - start.y()) >= DRAG
        if self._dragging:
            self.dragged.emit(side, column, self._value(event.position(), column))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the drag."""
        self._press, self._dragging = None, False
        self.request_redraw()
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and right choose a column; up and down move its p, with Shift its q."""
        sideways = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(event.key())
        upwards = {Qt.Key.Key_Up: STEP, Qt.Key.Key_Down: -STEP}.get(event.key())
        if self.pair is None or (sideways is None and upwards is None):
            super().keyPressEvent(event)
        elif sideways is not None:
            self.column_chosen.emit(min(max(0, self.chosen + sideways), len(self.labels) - 1))
        else:
            side = "q" if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else "p"
            self.dragged.emit(side, self.chosen, float(getattr(self.pair, side)[self.chosen]) + upwards)

    def event(self, event: QEvent) -> bool:
        """Keep the arrow keys from the window's shortcuts."""
        return keeps(event) or super().event(event)

    def _column_side(self, at: QPointF) -> tuple[str, int] | None:
        box = self.plotItem.vb
        if self.pair is None or self.message or not box.sceneBoundingRect().contains(at):
            return None
        x = box.mapSceneToView(self.mapToScene(at.toPoint())).x()
        column = self.column_at(x)
        return None if column is None else ("p" if x < self.x[column] else "q", column)

    def _value(self, at: QPointF, column: int) -> float:
        y = self.plotItem.vb.mapSceneToView(self.mapToScene(at.toPoint())).y() / self.scale[column]
        return min(1.0, max(0.0, float(y)))

    # --- looks ---

    def _lit(self, part: str) -> np.ndarray:
        """Return for each bar, all p bars first, whether this part of it stands out."""
        m = len(self.pair.ids)
        if self._spot is None:
            return np.ones(2 * m, bool)
        lit = np.zeros((2, m), bool)
        for name, column in self._spot.items():
            sides = {"p": [0], "q": [1]}.get(name, [0, 1] if name == part else [])
            for side in sides:
                lit[side, slice(None) if column is None else column] = True
        return lit.ravel()

    def _tags(self) -> list[Tag]:
        """Return the letters on the chosen column's bars, with their numbers."""
        i, colour = self.chosen, theme.colour("text")
        found = []
        for side, row, shift in (("p", self.pair.p, -SIDE), ("q", self.pair.q, SIDE)):
            text = f"{side} {number(row[i])}" if self._roomy() else side
            found.append(Tag(float(self.x[i]) + shift, float(row[i] * self.scale[i]), text, colour))
        return found

    def _roomy(self) -> bool:
        (left, right), _ = self.plotItem.vb.viewRange()
        return self.plotItem.vb.width() / (right - left) > 110

    def _entries(self) -> list[Entry]:
        return [
            Entry(self.tr("In:"), bold=True),
            Entry(self.tr("left p, right q")),
            Entry(self.tr("min(p, q)"), pg.mkBrush(theme.colour("both"))),
            Entry(self.tr("p − q, missed"), missed_texture()),
            Entry(self.tr("q − p, over-drafted"), stripes(theme.colour("excess"), theme.colour("panel")),
                  pg.mkPen(theme.colour("excess"), width=1)),
            Entry(self.tr("drag any bar")),
        ]  # fmt: skip

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        looks = {
            "both": (pg.mkBrush(theme.colour("both")), None),
            "missed": (missed_texture(), None),
            "excess": (stripes(theme.colour("excess"), theme.colour("panel")), pg.mkPen(theme.colour("excess"))),
        }
        for (part, lit), layer in self._layers.items():
            layer.set_look(*looks[part])
            layer.setOpacity(1.0 if lit else DIM)
