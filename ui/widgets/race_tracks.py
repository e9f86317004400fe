"""Two lanes to one finishing line: name, tokens so far in the colours of their origins, clock and speed of each.

Knows: where each part stands and which parts a moment changes. Does not know: what moves the moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from simulator.race import Lane, Race, Underway, shown_at
from ui import race_words, theme
from ui.widgets.canvas import painting
from ui.widgets.race_bar_paint import bar_of, groove, paint_bar, paint_parting
from ui.widgets.race_places import Places

OVER = 10  # px that marks stand out of a bar
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
FONT_EVENTS = (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange, QEvent.Type.StyleChange)


@dataclass(slots=True)
class Runner:
    """One lane on screen."""

    lane: Lane | None
    shown: int = 0  # tokens
    clock: str = ""
    rate: str = ""
    bar: QPixmap | None = None  # the whole bar, of which the part so far is shown


class RaceTracks(QWidget):
    """The plain lane above, the speculative one below, on one scale of tokens."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._race: Race | None = None
        self.underway: Underway | None = None
        self._at = 0.0
        self._runners = [Runner(None), Runner(None)]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("The race"))
        self._painters = {"name": self._paint_name, "bar": self._paint_bar, "count": self._paint_count,
                          "clock": self._paint_clock, "rate": self._paint_rate}  # fmt: skip
        self._places = Places()

    def set_race(self, race: Race | None) -> None:
        """Take another race, at its start."""
        self._race, self._at = race, 0.0
        lanes = (race.plain, race.speculative) if race is not None else (None, None)
        self._runners = [Runner(lane) for lane in lanes]
        self.set_moment(0.0)
        self.update()

    def set_underway(self, underway: Underway | None) -> None:
        """Show how far the measurement is instead of a race; None: the race again."""
        if underway != self.underway:
            self.underway = underway
            self.update()

    def set_moment(self, ms: float, rates: bool = True) -> None:
        """Show the race so many ms after its start; `rates`: also the speeds, which nobody reads at each tick."""
        self._at = ms
        for i, runner in enumerate(self._runners):
            if runner.lane is not None:
                self._move(i, runner, runner.lane, rates or ms >= runner.lane.ms)

    def shown(self) -> tuple[int, int]:
        """Return how many tokens the two lanes show."""
        return self._runners[0].shown, self._runners[1].shown

    def texts(self, i: int) -> tuple[str, str]:
        """Return clock and speed of a lane as they are shown."""
        return self._runners[i].clock, self._runners[i].rate

    # --- what a moment changes ---

    def _move(self, i: int, runner: Runner, lane: Lane, rates: bool) -> None:
        ms, was = min(self._at, lane.ms), runner.shown
        shown = shown_at(lane, ms)
        clock = race_words.clock(ms)
        if clock != runner.clock:
            runner.clock = clock
            self._renew(self._box(i, "clock"))
        if shown != was:
            runner.shown = shown
            bar, one = self._box(i, "bar"), self._per_token()
            ends = sorted((was * one, shown * one))
            self._renew(QRectF(bar.left() + ends[0] - 6, bar.top() - OVER, ends[1] - ends[0] + 12,
                               bar.height() + 2 * OVER))  # fmt: skip
            self._renew(self._box(i, "count"))
            if len(lane.tokens) in (was, shown):  # it has come in, or goes back
                self._renew(self._box(i, "name"))
        if rates:
            speed = self.tr("{n:,.0f} tokens/s").format(n=1000 * shown / ms) if shown else self.tr("– tokens/s")
            if speed != runner.rate:
                runner.rate = speed
                self._renew(self._box(i, "rate"))

    def _renew(self, box: QRectF) -> None:
        self.update(box.toAlignedRect())

    # --- where things stand ---

    def _box(self, i: int, part: str) -> QRectF:
        return self._places.box(i, part, self.width())

    def _per_token(self) -> float:
        """Return the pixels of one token: both lanes have one scale."""
        most = max((len(r.lane.tokens) for r in self._runners if r.lane is not None), default=1)
        return self._box(0, "bar").width() / most

    def sizeHint(self) -> QSize:
        """Return the room of both lanes."""
        return QSize(900, self._places.height)

    def minimumSizeHint(self) -> QSize:
        """Return the least room in which a bar is still one."""
        return QSize(self._places.least_width, self._places.height)

    # --- painting ---

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint both lanes; what has not changed is clipped away."""
        with painting(self) as painter:
            for i, runner in enumerate(self._runners):
                for part, paint in self._painters.items():
                    box = self._box(i, part)
                    if event.region().intersects(box.toAlignedRect().adjusted(-OVER, -OVER, OVER, OVER)):
                        paint(painter, box, i, runner)

    def _paint_name(self, painter: QPainter, box: QRectF, i: int, runner: Runner) -> None:
        title, caption = race_words.names(self._race if self.underway is None else None)[i]
        colour, half = "muted", box.height() / 2
        if runner.lane is not None and self.underway is None and runner.shown == len(runner.lane.tokens):
            first = self._first(i)
            caption = self.tr("✓ first at the finish") if first else self.tr("✓ finished")
            colour = "both" if first else "muted"
        self._write(painter, box.adjusted(0, 0, 0, -half), title, "text", self._places.title)
        self._write(painter, box.adjusted(0, half, 0, 0), caption, colour)

    def _first(self, i: int) -> bool:
        """Return whether a lane wins and comes in first; lanes of different lengths have no first."""
        race, lane = self._race, self._runners[i].lane
        if race is None or race.winner is not lane:
            return False
        return len(race.plain.tokens) == len(race.speculative.tokens)

    def _paint_bar(self, painter: QPainter, box: QRectF, i: int, runner: Runner) -> None:
        lane = runner.lane
        if lane is None or self.underway is not None:
            groove(painter, box)
            self._paint_share(painter, box, self._share(i))
            return
        one = self._per_token()
        if runner.bar is None:
            runner.bar = bar_of(lane, one, box.height(), self.devicePixelRatioF())
        paint_bar(painter, box, runner.bar, runner.shown * one, len(lane.tokens) * one)
        parted = self._race.divergence.at if self._race is not None and self._race.divergence is not None else None
        if parted is not None and parted < runner.shown:
            paint_parting(painter, box, (parted + 0.5) * one)

    def _paint_share(self, painter: QPainter, box: QRectF, share: float) -> None:
        painter.setBrush(theme.colour("accent"))
        painter.drawRoundedRect(QRectF(box.left(), box.top(), box.width() * share, box.height()), 4, 4)

    def _share(self, i: int) -> float:
        """Return how much of a lane has been measured."""
        u = self.underway
        if u is None or u.speculative != bool(i):
            return float(u is not None and u.speculative)  # the plain lane comes first
        return u.tokens / max(1, u.wanted)

    def _paint_count(self, painter: QPainter, box: QRectF, i: int, runner: Runner) -> None:
        if self.underway is not None:
            self._write(painter, box, race_words.underway(self.underway, i), "muted")
        elif runner.lane is not None:
            self._write(painter, box, race_words.count(runner.lane, runner.shown), "muted")

    def _paint_clock(self, painter: QPainter, box: QRectF, i: int, runner: Runner) -> None:
        if runner.lane is not None and self.underway is None:
            won = self._first(i) and self._at >= runner.lane.ms
            text = self.tr("{n} s").format(n=runner.clock)
            self._write(painter, box, text, "both" if won else "text", self._places.clock, RIGHT)

    def _paint_rate(self, painter: QPainter, box: QRectF, i: int, runner: Runner) -> None:
        if runner.lane is not None and self.underway is None:
            self._write(painter, box, runner.rate, "text", self._places.rate, RIGHT)

    def _write(
        self, painter: QPainter, box: QRectF, text: str, colour: str, font: QFont | None = None, side: int = LEFT
    ) -> None:
        painter.setPen(theme.colour(colour))
        painter.setFont(font or self._places.text)
        shown = QFontMetricsF(painter.font()).elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(box, side, shown)

    # --- Qt ---

    def event(self, event: QEvent) -> bool:
        """Give the definition of the part under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            tips = race_words.definitions()
            parts = ((i, part) for i in (0, 1) for part in tips)
            text = next((tips[part] for i, part in parts if self._box(i, part).contains(QPointF(event.pos()))), "")
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Paint the bars anew."""
        super().resizeEvent(event)
        self._forget_bars()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of font or theme."""
        super().changeEvent(event)
        if not hasattr(self, "_runners"):
            return
        if event.type() in FONT_EVENTS:
            self._places = Places()
            self.updateGeometry()
        self._forget_bars()
        self.update()

    def _forget_bars(self) -> None:
        for runner in self._runners:
            runner.bar = None
