"""Acceptance by position: unconditional and conditional rates side by side, with counts and Wilson intervals.

Knows: how rates of positions are drawn. Does not know: how they were counted (`simulator.acceptance.from_counts`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from simulator.acceptance.body import Step
from ui import theme
from ui.plots.bars import Bars, missed_texture
from ui.plots.base import Plot
from ui.plots.key import Entry
from ui.widgets.digits import prob

WIDTH, SHIFT = 0.36, 0.2  # of a position: a bar, and its distance from the middle


class RatesPlot(Plot):
    """Two bars a position: of all rounds that drafted, and of those that got so far."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.steps: tuple[Step, ...] = ()
        self.missing = ""
        self.bars = [Bars(), Bars()]
        self.whiskers = pg.ErrorBarItem(beam=0.12)
        for item in (*self.bars, self.whiskers):
            self.plotItem.addItem(item)
        self.plotItem.getAxis("bottom").setLabel(self.tr("draft position"))

    def set_steps(self, steps: Sequence[Step], missing: str) -> None:
        """Show these positions; `missing` says why there are none."""
        if (tuple(steps), missing) != (self.steps, self.missing):
            self.steps, self.missing = tuple(steps), missing
            self.request_redraw()

    def draw(self) -> None:
        """Bring bars and whiskers up to date."""
        if not self.steps:
            self.set_message(self.missing)
            return
        first, second = pg.mkBrush(theme.colour("both")), missed_texture()
        known = any(step.conditional is not None for step in self.steps)
        entries = [Entry(self.tr("Acceptance by position"), bold=True), Entry(self.tr("of all rounds"), first)]
        entries += [Entry(self.tr("of the rounds that got so far"), second)] if known else []
        entries.append(Entry(self.tr("95 % interval"), pen=pg.mkPen(theme.colour("text"), width=2)))
        self.set_header("", entries)
        n = len(self.steps)
        self.plotItem.vb.setXRange(0.4, n + 0.6, padding=0)
        self.plotItem.getAxis("bottom").setTicks([[(i, str(i)) for i in range(1, n + 1)], []])
        self.set_y_range(0.0, 1.0)
        self.bars[0].set_look(first)
        self.bars[1].set_look(second)
        x = np.arange(1, n + 1, dtype=float)
        rates = [[step.unconditional for step in self.steps], [step.conditional for step in self.steps]]
        for bars, row, shift in zip(self.bars, rates, (-SHIFT, SHIFT), strict=True):
            bars.set_bars(x + shift, np.array([rate or 0.0 for rate in row]), 0.0, WIDTH)
        self._draw_whiskers()

    def read_out(self, x: float, y: float) -> str:
        """Return counts, rates and Wilson intervals of the position under the pointer."""
        i = round(x) - 1
        if not 0 <= i < len(self.steps):
            return ""
        step = self.steps[i]
        of_all, of_reached = step.intervals()
        rows = [
            (self.tr("of all rounds"), step.passed, step.drafting, step.unconditional, of_all),
            (self.tr("of those that got so far"), step.passed, step.reached, step.conditional, of_reached),
        ]
        cells = "".join(
            f"<tr><td>{name}&nbsp;&nbsp;</td><td>{part} / {whole} = {prob(rate)}</td>"
            f"<td>&nbsp;({prob(ends[0])} {self.tr('to')} {prob(ends[1])})</td></tr>"
            for name, part, whole, rate, ends in rows
            if rate is not None and ends is not None
        )
        return f"<b>{self.tr('position')} {i + 1}</b>, {self.tr('95 % by Wilson')}<table>{cells}</table>"

    def _draw_whiskers(self) -> None:
        places = []
        for i, step in enumerate(self.steps, 1):
            pairs = zip((step.unconditional, step.conditional), step.intervals(), (-SHIFT, SHIFT), strict=True)
            places += [(i + s, rate, *ends) for rate, ends, s in pairs if rate is not None and ends is not None]
        x, y, low, high = np.array(places).reshape(-1, 4).T
        self.whiskers.setData(x=x, y=y, top=high - y, bottom=y - low, pen=pg.mkPen(theme.colour("text"), width=2))
