"""How many drafted tokens a round accepted: the histogram, with what two laws would give.

Knows: how the histogram is drawn. Does not know: the laws (`simulator.theory`, `simulator.acceptance.correlation`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from ui import theme
from ui.plots.bars import Bars
from ui.plots.base import Plot
from ui.plots.key import Entry
from ui.plots.scales import PROBABILITY_STEPS, ceiling
from ui.widgets.digits import prob

WIDTH = 0.7
TICK = 0.46  # half a tick's width


class LengthsPlot(Plot):
    """Shares of rounds by accepted tokens 0 .. k; ticks where constant alpha and the Beta law would put them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.counts: tuple[int, ...] = ()
        self.laws: tuple[tuple[str, tuple[float, ...]], ...] = ()
        self.missing = ""
        self.bars = Bars()
        self.plotItem.addItem(self.bars)
        self.ticks = [pg.PlotCurveItem(connect="pairs") for _ in range(2)]
        for item in self.ticks:
            self.plotItem.addItem(item)
        self.plotItem.getAxis("bottom").setLabel(self.tr("drafted tokens accepted in a round"))

    def set_counts(self, counts: Sequence[int], laws: Sequence[tuple[str, tuple[float, ...]]], missing: str) -> None:
        """Show rounds by accepted tokens, [k + 1]; up to two laws by name, shares [k + 1] each."""
        new = tuple(counts), tuple(laws), missing
        if new != (self.counts, self.laws, self.missing):
            self.counts, self.laws, self.missing = new
            self.request_redraw()

    def draw(self) -> None:
        """Bring bars and ticks up to date."""
        if not sum(self.counts):
            self.set_message(self.missing)
            return
        brush = pg.mkBrush(theme.colour("extra", 0.75))
        pens = [pg.mkPen(theme.colour("text"), width=2), pg.mkPen(theme.colour("missed"), width=3)]
        pens[0].setStyle(Qt.PenStyle.DotLine)
        names = [Entry(name, pen=pen) for (name, _), pen in zip(self.laws, pens, strict=False)]
        self.set_header(
            "", [Entry(self.tr("Accepted in a round"), bold=True), Entry(self.tr("measured"), brush), *names]
        )
        shares = np.array(self.counts) / sum(self.counts)
        n = len(shares)
        self.plotItem.vb.setXRange(-0.6, n - 0.4, padding=0)
        self.plotItem.getAxis("bottom").setTicks([[(i, str(i)) for i in range(n)], []])
        top = max([*shares, *(v for _, law in self.laws for v in law)])
        self.set_y_range(0.0, ceiling(float(top) * 1.05, PROBABILITY_STEPS))
        self.bars.set_look(brush)
        self.bars.set_bars(np.arange(n, dtype=float), shares, 0.0, WIDTH)
        for i, item in enumerate(self.ticks):
            law = np.array(self.laws[i][1]) if i < len(self.laws) else np.empty(0)
            x = np.arange(law.size, dtype=float)
            item.setData(np.stack([x - TICK, x + TICK], axis=1).ravel(), np.repeat(law, 2), pen=pens[i])

    def read_out(self, x: float, y: float) -> str:
        """Return count, share and what the laws say at the length under the pointer."""
        i, whole = round(x), sum(self.counts)
        if not 0 <= i < len(self.counts) or not whole:
            return ""
        rows = [(self.tr("measured"), f"{self.counts[i]} / {whole} = {prob(self.counts[i] / whole)}")]
        rows += [(name, prob(law[i])) for name, law in self.laws if i < len(law)]
        cells = "".join(f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>" for name, text in rows)
        return f"<b>{self.tr('{n} accepted').format(n=i)}</b><table>{cells}</table>"
