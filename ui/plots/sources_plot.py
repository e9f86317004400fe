"""What each draft source reaches and what it has to reach: bars of alpha, the break-even, the ceiling of flatness.

Knows: one column a source. Does not know: how alpha was measured or what drafting costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from simulator.worth.outlook import SURE, Mean
from ui import theme
from ui.plots.bars import Bars, stripes
from ui.plots.base import Plot
from ui.plots.key import Entry
from ui.plots.lab_plot import Tag, Tags
from ui.plots.named_axis import name_columns
from ui.widgets.digits import prob

BAND = 20  # px free above the highest bar, for the numbers
BAR, LINE = 0.5, 0.86  # share of a column
SIGNS = {True: "✓", False: "✗", None: "?"}
COLOURS = {True: "both", False: "discarded", None: "extra"}


@dataclass(frozen=True, slots=True)
class Source:
    """One column."""

    name: str
    alpha: Mean
    break_even: float | None  # the alpha from which on it pays; None: no alpha is enough
    pays: bool | None  # None: too close to tell
    ceiling: float | None  # E[max p] where a deterministic source drafts; None for a sampled one


class SourcesPlot(Plot):
    """Alpha of each draft source against what it needs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sources: tuple[Source, ...] = ()
        self.missing = ""
        self.bars = {pays: Bars() for pays in SIGNS}
        self.whiskers = pg.ErrorBarItem(beam=0.12)
        self.needed, self.ceilings = pg.PlotCurveItem(), pg.PlotCurveItem()
        for item in (*self.bars.values(), self.whiskers, self.needed, self.ceilings):
            self.plotItem.addItem(item)
        self.tags = Tags(self.plotItem.vb)
        self.restyle()

    def set_sources(self, sources: Sequence[Source], missing: str = "") -> None:
        """Show these from the next frame on; `missing` says why there are none."""
        if tuple(sources) != self.sources or (not sources and missing != self.missing):
            self.sources, self.missing = tuple(sources), missing
            self.request_redraw()

    def restyle(self) -> None:
        """Take over colours and fonts of the theme."""
        super().restyle()
        if hasattr(self, "ceilings"):
            self._needed_pen = pg.mkPen(theme.colour("accent"), width=3)
            self._ceiling_pen = pg.mkPen(theme.colour("excess"), width=2, style=Qt.PenStyle.DashLine)
            self.needed.setPen(self._needed_pen)
            self.ceilings.setPen(self._ceiling_pen)
            self.whiskers.setData(pen=pg.mkPen(theme.colour("text"), width=2))
            for pays, bars in self.bars.items():
                colour = theme.colour(COLOURS[pays])
                bars.set_look(pg.mkBrush(colour) if pays else stripes(colour, theme.colour("panel")), pg.mkPen(colour))

    def draw(self) -> None:
        """Bring bars, lines and key up to date."""
        if not self.sources:
            self.set_message(self.missing)
            return
        self.set_header("", self._entries())
        x = np.arange(len(self.sources), dtype=float)
        y = np.array([s.alpha.value for s in self.sources])
        half = SURE * np.array([s.alpha.error or 0.0 for s in self.sources])
        self.plotItem.vb.setXRange(-0.6, max(3, len(x)) - 0.4, padding=0)
        self.set_y_range(0, 1, BAND)
        name_columns(self.plotItem, [s.name for s in self.sources], max(3, len(x)) + 0.2)
        for pays, bars in self.bars.items():
            bars.set_bars(x, np.where([s.pays is pays for s in self.sources], y, 0.0), 0.0, BAR)
        self.whiskers.setData(x=x, y=y, top=np.minimum(half, 1 - y), bottom=np.minimum(half, y))
        _steps(self.needed, x, [s.break_even for s in self.sources])
        _steps(self.ceilings, x, [s.ceiling for s in self.sources])
        colour, tops = theme.colour("text"), self._tops(np.minimum(1.0, y + half))
        self.tags.set_tags([Tag(float(a), float(b), f"{SIGNS[s.pays]} {prob(s.alpha.value, 2)}", colour)
                            for a, b, s in zip(x, tops, self.sources, strict=True)])  # fmt: skip

    def _tops(self, tops: np.ndarray) -> np.ndarray:
        """Return where the numbers stand: above the bars, or above a line that would run through them."""
        vb, clear = self.plotItem.vb, tops.copy()
        line = vb.viewRect().height() / max(vb.height(), 1.0) * (QFontMetricsF(theme.text_font()).height() + 4)
        for i, s in enumerate(self.sources):
            for level in sorted(h for h in (s.break_even, s.ceiling) if h is not None):
                if clear[i] - line / 4 < level < clear[i] + line:
                    clear[i] = level
        return clear

    def read_out(self, x: float, y: float) -> str:
        """Return the numbers of the column under the pointer."""
        i = round(x)
        if not 0 <= i < len(self.sources):
            return ""
        s = self.sources[i]
        rows = [(self.tr("alpha"), prob(s.alpha.value, 4)), (self.tr("standard error"), prob(s.alpha.error, 2)),
                (self.tr("positions at which it drafts"), f"{s.alpha.n:,}"),
                (self.tr("break-even"), self.tr("none") if s.break_even is None else prob(s.break_even))]  # fmt: skip
        if s.ceiling is not None:
            rows.append((self.tr("E[max p] there"), prob(s.ceiling, 4)))
        cells = "".join(f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>" for name, text in rows)
        return f"<b>{s.name}</b><table>{cells}</table>"

    def _entries(self) -> list[Entry]:
        entries = [Entry(self.tr("alpha"), bold=True)]
        if any(s.break_even is not None for s in self.sources):
            entries.append(Entry(self.tr("break-even"), pen=self._needed_pen))
        if any(s.ceiling is not None for s in self.sources):
            entries.append(Entry(self.tr("ceiling E[max p]"), pen=self._ceiling_pen))
        return entries


def _steps(item: pg.PlotCurveItem, x: np.ndarray, heights: Sequence[float | None]) -> None:
    """Draw a level line over each column that has a height."""
    known = [(a, h) for a, h in zip(x, heights, strict=True) if h is not None]
    ends = np.array([(a - LINE / 2, a + LINE / 2) for a, _ in known]).ravel()
    item.setData(ends, np.repeat([h for _, h in known], 2), connect="pairs")
