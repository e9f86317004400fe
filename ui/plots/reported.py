"""What a source reported, on the curve's axes: a point where it names its k, a level where it does not.

Knows: how the mark is drawn. Does not know: the curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyqtgraph as pg
from PySide6.QtCore import Qt

from ui import theme
from ui.plots.key import Entry

Quantity = Literal["speedup", "tokens"]


@dataclass(frozen=True, slots=True)
class Reported:
    """A published row's place on the curve; None: not reported."""

    name: str
    k: int | None
    speedup: float | None
    tokens: float | None


class ReportedMark:
    """A square at k, or a dotted line across; nothing where the quantity was not reported."""

    def __init__(self, plot_item: pg.PlotItem) -> None:
        self.shown: Reported | None = None
        self.point, self.level = pg.ScatterPlotItem(size=13, symbol="s", antialias=True), pg.InfiniteLine(angle=0)
        for item in (self.point, self.level):
            plot_item.addItem(item)
            item.setVisible(False)

    def values(self, quantity: Quantity) -> list[float]:
        """Return the reported value of a quantity, none or one."""
        value = getattr(self.shown, quantity, None)
        return [] if value is None else [value]

    def draw(self, quantity: Quantity, text: str) -> list[Entry]:
        """Show the mark, and return its entry in the key."""
        values, k = self.values(quantity), self.shown.k if self.shown else None
        self.point.setVisible(bool(values) and k is not None)
        self.level.setVisible(bool(values) and k is None)
        if not values:
            return []
        pen = pg.mkPen(theme.colour("excess"), width=2, style=Qt.PenStyle.DotLine)
        self.point.setData(
            [k or 0], values, brush=pg.mkBrush(theme.colour("excess")), pen=pg.mkPen(theme.colour("panel"))
        )
        self.level.setPos(values[0])
        self.level.setPen(pen)
        return [
            Entry(text, pg.mkBrush(theme.colour("excess")) if k is not None else None, None if k is not None else pen)
        ]
