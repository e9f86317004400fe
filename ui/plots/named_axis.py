"""Names under a few columns, whole at any size of text.

Knows: lines and widths. Does not know: what is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtGui import QFontMetricsF

from ui import theme

AIR = 6  # px beside and under a name


def name_columns(plot: pg.PlotItem, names: Sequence[str], columns: float) -> None:
    """Write names under x = 0, 1, ... of `columns` shown; in two lines where one is too wide for its column.

    A name of two words is broken, names of one stand on two levels in turn.
    """
    axis, metrics = plot.getAxis("bottom"), QFontMetricsF(theme.text_font())
    wide = max(map(metrics.horizontalAdvance, names)) + AIR > plot.vb.width() / columns
    if wide:
        names = [name.replace(" ", "\n", 1) if " " in name else "\n" * (i % 2) + name for i, name in enumerate(names)]
    axis.setStyle(hideOverlappingLabels=2 * AIR)  # the last name may reach into the margin
    axis.setHeight(math.ceil((1 + wide) * metrics.height()) + AIR)  # pyqtgraph's own is 0.8 of a line
    axis.setTicks([list(enumerate(names)), []])
