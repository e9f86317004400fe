"""From the formula's promise down to the measured speedup: one bar a step, each with its name and size.

Knows: how the bars are drawn. Does not know: how big a step is (`simulator.cost.waterfall`).
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QGraphicsTextItem, QWidget

from simulator.cost.waterfall import Step, Waterfall
from ui import theme
from ui.plots.bars import Bars, stripes
from ui.plots.base import Plot
from ui.plots.key import Entry
from ui.plots.named_axis import name_columns
from ui.plots.scales import ceiling

TOPS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 25.0, 50.0)
WIDTH = 0.62  # of the place of a bar
SMALLEST_BAR = 0.004  # of the axis: a step of nothing is still seen as a line


class WaterfallPlot(Plot):
    """Bars from the promise to the measurement; the unexplained rest is hatched."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fall: Waterfall | None = None
        self._empty = ""
        self.looks = {name: Bars() for name in ("promised", "gain", "loss", "rest", "measured")}
        self._joints, self._plain = pg.PlotCurveItem(connect="pairs"), pg.PlotCurveItem()
        for item in (*self.looks.values(), self._joints, self._plain):
            self.plotItem.addItem(item)
        self.labels = [pg.TextItem(anchor=(0.5, 1.0)) for _ in range(6)]
        for label in self.labels:
            self.plotItem.addItem(label)
        self.plotItem.getAxis("left").setLabel(self.tr("speedup"))
        self.items_made()

    def set_fall(self, fall: Waterfall | None, empty: str = "") -> None:
        """Show this waterfall, or a sentence while there is none."""
        if (fall, empty) != (self.fall, self._empty):
            self.fall, self._empty = fall, empty
            self.request_redraw()

    def draw(self) -> None:
        """Bring bars and labels up to date."""
        title = self.tr("From the formula to the measurement")
        if self.fall is None:
            self.set_message(self._empty, title)
            return
        f = self.fall
        self.set_header("", [Entry(self.tr("{t}, k = {k}").format(t=title, k=f.k), bold=True), *self._entries()])
        levels = [f.promised, *(s.after for s in f.steps)]
        self.top = ceiling(1.02 * max(levels), TOPS)
        self.plotItem.vb.setXRange(-0.5, len(levels) + 0.5, padding=0)
        self.set_y_range(0, self.top, 2.4 * QFontMetricsF(theme.text_font()).height())  # two lines of text on a bar
        name_columns(self.plotItem, self._names(), len(levels) + 1)
        self._draw_bars()
        self._draw_labels()
        self._plain.setData(np.array([-0.5, len(levels) + 0.5]), np.ones(2))

    def _draw_bars(self) -> None:
        f, least = self.fall, SMALLEST_BAR * self.top
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in self.looks}
        rows["promised"].append((0, f.promised, 0))
        before, joints = f.promised, []
        for i, step in enumerate(f.steps, 1):
            joints += [(i - 1 + WIDTH / 2, before), (i - WIDTH / 2, before)]
            rows[_look(step)].append((i, max(abs(step.size), least), min(before, step.after)))
            before = step.after
        joints += [(len(f.steps) + WIDTH / 2, before), (len(f.steps) + 1 - WIDTH / 2, before)]
        rows["measured"].append((len(f.steps) + 1, f.measured, 0))
        for name, bars in self.looks.items():
            x, height, base = np.array(rows[name], float).reshape(-1, 3).T
            bars.set_bars(x, height, base, WIDTH)
        x, y = np.array(joints).T
        self._joints.setData(x, y)

    def _draw_labels(self) -> None:
        f, before = self.fall, self.fall.promised
        texts = [(f.promised, _times(f.promised))]
        for step in f.steps:
            texts.append(
                (max(before, step.after), f"{_signed(step.size, '.2f')}×\n{_signed(step.size / f.promised, '.0%')}")
            )
            before = step.after
        texts.append((f.measured, _times(f.measured)))
        for i, (label, (y, text)) in enumerate(zip(self.labels, texts, strict=True)):
            label.textItem.setTextWidth(-1)  # of the text before
            label.setText(text, theme.colour("text"))
            _centre(label.textItem)
            label.updateTextPos()
            label.setPos(i, y)

    def _names(self) -> list[str]:
        return [self.tr("formula"), self.tr("correlation"), self.tr("verify"), self.tr("fixed"), self.tr("rest"),
                self.tr("measured")]  # fmt: skip

    def read_out(self, x: float, y: float) -> str:
        """Return what the bar under the pointer stands for."""
        i, f = round(x), self.fall
        if f is None or not 0 <= i < len(self.labels):
            return ""
        level = [f.promised, *(s.after for s in f.steps), f.measured][i]
        text = self.tr("<b>{name}</b><br>{what}<br>speedup here: {level:.3f}×")
        return text.format(name=self._names()[i], what=self._meanings()[i], level=level)

    def _meanings(self) -> list[str]:
        f = self.fall
        return [
            self.tr("Leviathan Thm 3.8 with the mean alpha {a:.3f} and c {c:.3f}: (1 − alpha^(k+1)) / ((1 − alpha)(1 + "
                    "k c)).").format(a=f.alpha, c=f.c),
            self.tr("The tokens per round that were measured, in place of the formula's: alpha differs between "
                    "contexts, a source may find nothing to draft, the last round of a run is cut short."),
            self.tr("What the pass over {n} tokens costs more than the pass over one.").format(n=f.k + 1),
            self.tr("What else a speculative round does, beyond a plain one: verdicts, rollback, trace, and what its "
                    "first draft step costs more."),
            self.tr("Not explained: hiccups of the machine, the last rounds of a run, a draft that is no line in k."),
            self.tr("Tokens per second at this k over plain decoding, median of the repeats."),
        ]  # fmt: skip

    def _entries(self) -> list[Entry]:
        return [
            Entry(self.tr("costs"), self._brushes["loss"]), Entry(self.tr("gains"), self._brushes["gain"]),
            Entry(self.tr("unexplained"), self._brushes["rest"]),
        ]  # fmt: skip

    def style_items(self) -> None:
        """Take over the colours of the theme, textures included."""
        self._brushes = {
            "promised": pg.mkBrush(theme.colour("accent")),
            "gain": pg.mkBrush(theme.colour("both")),
            "loss": stripes(theme.colour("panel", 0.35), theme.colour("excess")),
            "rest": stripes(theme.colour("discarded"), theme.colour("panel"), 3.0),
            "measured": pg.mkBrush(theme.colour("extra")),
        }
        for name, bars in self.looks.items():
            bars.set_look(self._brushes[name], pg.mkPen(theme.colour("discarded"), width=1) if name == "rest" else None)
        self._joints.setPen(pg.mkPen(theme.colour("muted"), width=1))
        self._plain.setPen(pg.mkPen(theme.colour("muted"), width=1))
        for label in self.labels:
            label.setFont(theme.text_font(bold=True))
        self.plotItem.getAxis("left").label.setDefaultTextColor(theme.colour("muted"))


def _centre(item: QGraphicsTextItem) -> None:
    """Set all lines of a text to its middle."""
    option = item.document().defaultTextOption()
    option.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    item.document().setDefaultTextOption(option)
    item.setTextWidth(item.boundingRect().width())


def _look(step: Step) -> str:
    return "rest" if step.name == "rest" else "gain" if step.size >= 0 else "loss"


def _signed(value: float, form: str) -> str:
    """Write a number with its sign; one that rounds to 0 has none."""
    text = f"{abs(value):{form}}"
    return text if not float(text.rstrip("%")) else ("−" if value < 0 else "+") + text


def _times(value: float) -> str:
    return f"{value:.2f}×"
