"""Where the parts of two lanes stand, and the faces that they are written in.

Knows: text sizes and pixels. Does not know: what is in a lane.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

from ui import race_words, theme

NAME, CLOCK, RATE = 1.2, 2.3, 1.1  # times the text
BAR = 30  # px at the usual size of the text
WIDEST_CLOCK, WIDEST_K = "000.00 s", 16
GAP = 12  # px between the columns, and between the lanes
LEAST_BAR = 120  # px wide


class Places:
    """Boxes and fonts at the application's size of text; all of it in whole pixels."""

    def __init__(self) -> None:
        points = QApplication.font().pointSizeF()
        self.text, self.title = theme.text_font(points), theme.text_font(points * NAME, bold=True)
        self.clock, self.rate = theme.token_font(points * CLOCK, bold=True), theme.text_font(points * RATE)
        small, rates, clock = (QFontMetricsF(font) for font in (self.text, self.rate, self.clock))
        self._bar = round(BAR * points / theme.TEXT)
        self._line, self._rate = math.ceil(small.height()) + 2, math.ceil(rates.height()) + 1
        self._lane = math.ceil(clock.height() + rates.height())
        self._right = math.ceil(clock.horizontalAdvance(WIDEST_CLOCK))
        captions = (small.horizontalAdvance(caption) for _, caption in race_words.names(None))
        title = QFontMetricsF(self.title).horizontalAdvance(race_words.title(WIDEST_K))
        self._left = math.ceil(max(title, *captions))

    @property
    def height(self) -> int:
        """Return the height of both lanes."""
        return 2 * self._lane + GAP

    @property
    def least_width(self) -> int:
        """Return the least width at which a bar is still one."""
        return self._left + self._right + 2 * GAP + LEAST_BAR

    def box(self, i: int, part: str, width: int) -> QRectF:
        """Return where a part of lane 0 or 1 stands at a width; `name` holds title and caption."""
        top, mid = i * (self._lane + GAP), self._left + GAP
        wide = max(LEAST_BAR, width - self._left - self._right - 2 * GAP)
        over, foot = (self._lane - self._line - self._bar) // 2, top + self._lane
        return {
            "name": QRectF(0, top, self._left, self._lane),
            "bar": QRectF(mid, top + over, wide, self._bar),
            "count": QRectF(mid, foot - self._line, wide, self._line),
            "clock": QRectF(mid + wide + GAP, top, self._right, self._lane - self._rate),
            "rate": QRectF(mid + wide + GAP, foot - self._rate, self._right, self._rate),
        }[part]
