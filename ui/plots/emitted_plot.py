"""What comes out: how often each outcome was emitted, against ticks at p and the noise that N draws have anyway.

Green is an accepted draft, blue a replacement: with the exact rule the two fill up to the ticks. Knows: how that
is drawn. Does not know: rules, tests (it is told whether the difference is to be marked).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from simulator.exactness.lab import Tally, band
from ui import theme
from ui.plots.bars import missed_texture, stripes
from ui.plots.key import Entry
from ui.plots.lab_plot import LabPlot, Tag, number

BAR, TICK, NOISE = 0.56, 0.86, 0.76  # share of a column
HEADROOM = 1.1  # above p and the law; the bar of a single draw may leave the picture


@dataclass(frozen=True, slots=True, eq=False)
class Emitted:
    """What the plot shows; None leaves a part out."""

    tally: Tally | None = None
    law: np.ndarray | None = None  # [m], the closed form, where it differs from p
    law_text: str = ""
    differs: bool = False  # whether the test found a difference that may be marked


class EmittedPlot(LabPlot):
    """Frequencies as bars against p."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown = Emitted()
        self.noise, self.kept, self.replaced = self.add_bars(), self.add_bars(), self.add_bars()
        self.surplus, self.lack = self.add_bars(), self.add_bars()
        self.law, self.ticks = pg.PlotCurveItem(), pg.PlotCurveItem()
        for item in (self.law, self.ticks):
            self.plotItem.addItem(item)
        self._question = ""
        self.items_made()

    def set_emitted(self, shown: Emitted) -> None:
        """Show these draws from the next frame on."""
        self.shown = shown
        self.request_redraw()

    def ask(self, text: str) -> None:
        """Show a sentence in place of the plot until it is empty."""
        self._question = text
        self.request_redraw()

    def draw(self) -> None:
        """Bring bars, ticks and key up to date."""
        if self.pair is None or self._question:
            self.set_message(self._question or self.tr("Nothing to look at yet."))
            return
        self.set_header("", self._entries())
        p, law = self.pair.p, self.shown.law if self.shown.law is not None else self.pair.p
        self.place(p, np.minimum(1.0, law))
        self._steps(self.ticks, p, TICK)
        self._steps(self.law, law if self.shown.law is not None else None, TICK)
        self._draw_tally(p)

    def limit(self, top: float) -> float:
        """Leave room for draws that stray above p."""
        return super().limit(min(1.0, HEADROOM * top))

    def read_out(self, x: float, y: float) -> str:
        """Return the numbers of the column under the pointer."""
        i, tally = self.column_at(x), self.shown.tally
        if i is None:
            return ""
        rows = [(self.tr("target p"), number(self.pair.p[i]))]
        if self.shown.law is not None:
            rows.append((self.shown.law_text, number(self.shown.law[i])))
        if tally is not None and tally.draws:
            n = tally.draws
            rows.append((self.tr("emitted"), f"{number(tally.emitted[i] / n)}  ({tally.emitted[i]:,})"))
            rows.append((self.tr("as an accepted draft"), f"{tally.kept[i]:,}"))
            rows.append((self.tr("in place of a refused one"), f"{tally.replaced[i]:,}"))
            rows.append((self.tr("noise around p, 99 %"), f"± {number(band(self.pair.p, n)[i])}"))
        return self.rows_text(i, rows)

    def _draw_tally(self, p: np.ndarray) -> None:
        tally = self.shown.tally
        n = tally.draws if tally is not None else 0
        zero = np.zeros_like(p)
        kept, replaced = (tally.kept / n, tally.replaced / n) if n else (zero, zero)
        half = band(p, n) if n else zero
        low = np.maximum(0.0, p - half)
        self.noise.set_bars(self.x, (p + half - low) * self.scale, low * self.scale, NOISE)
        self.kept.set_bars(self.x, kept * self.scale, 0.0, BAR)
        self.replaced.set_bars(self.x, replaced * self.scale, kept * self.scale, BAR)
        out = kept + replaced - p
        marked = np.abs(out) > half if n and self.shown.differs else np.zeros(p.shape, bool)
        self.surplus.set_bars(self.x, np.where(marked, np.maximum(0, out), 0) * self.scale, p * self.scale, BAR)
        lack = np.where(marked, np.maximum(0, -out), 0)
        self.lack.set_bars(self.x, lack * self.scale, (p - lack) * self.scale, BAR)
        self.tags.set_tags(self._tags(kept + replaced, marked) if n else [])

    def _tags(self, frequency: np.ndarray, marked: np.ndarray) -> list[Tag]:
        """Return arrows on the outcomes that differ, and the chosen one's frequency."""
        found, top = [], self.plotItem.vb.viewRange()[1][1]
        tops = np.minimum(np.maximum(frequency, self.pair.p) * self.scale, top)
        for i in np.flatnonzero(marked | (np.arange(marked.size) == self.chosen)):
            sign = ("▲ " if frequency[i] > self.pair.p[i] else "▼ ") if marked[i] else ""
            text = sign + (number(frequency[i]) if i == self.chosen or self._roomy() else "")
            colour = theme.colour("excess" if marked[i] else "text")
            found.append(Tag(float(self.x[i]), float(tops[i]), text.strip(), colour))
        return found

    def _roomy(self) -> bool:
        (left, right), _ = self.plotItem.vb.viewRange()
        return self.plotItem.vb.width() / (right - left) > 70

    def _steps(self, item: pg.PlotCurveItem, heights: np.ndarray | None, width: float) -> None:
        if heights is None:
            item.setData([], [])
            return
        x = np.stack([self.x - width / 2, self.x + width / 2], axis=-1).ravel()
        item.setData(x, np.repeat(heights * self.scale, 2), connect="pairs")

    def _entries(self) -> list[Entry]:
        entries = [
            Entry(self.tr("Out:"), bold=True),
            Entry(self.tr("accepted drafts"), pg.mkBrush(theme.colour("both"))),
            Entry(self.tr("replacements"), missed_texture()),
            Entry(self.tr("p"), pen=self._tick_pen),
            Entry(self.tr("noise of N draws"), pg.mkBrush(theme.colour("text", 0.25))),
        ]
        if self.shown.law is not None:
            entries.append(Entry(self.shown.law_text, pen=self._law_pen))
        return entries

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        self._tick_pen = pg.mkPen(theme.colour("text"), width=3)
        self._law_pen = pg.mkPen(theme.colour("extra"), width=3, style=Qt.PenStyle.DotLine)
        self.ticks.setPen(self._tick_pen)
        self.law.setPen(self._law_pen)
        self.noise.set_look(pg.mkBrush(theme.colour("text", 0.25)))
        self.kept.set_look(pg.mkBrush(theme.colour("both")))
        self.replaced.set_look(missed_texture())
        red = theme.colour("excess")
        self.surplus.set_look(stripes(red, theme.colour("panel")), pg.mkPen(red, width=1))
        self.lack.set_look(pg.mkBrush(theme.colour("excess", 0.12)), pg.mkPen(red, width=1, style=Qt.PenStyle.DashLine))
