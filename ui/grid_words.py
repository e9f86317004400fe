"""What a grid of runs amounts to, in a sentence.

Knows: words. Does not know: how the grid was asked for, or how it is run.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QCoreApplication

from simulator.grids.grid import Grid, count, estimated_seconds
from simulator.grids.run import duration

translate = QCoreApplication.translate


def amount(grid: Grid, speeds: Mapping[int, float]) -> str:
    """Return how many runs it is, and about how long they take; `speeds`: known tokens per second by k."""
    text = translate("Grid", "{n} runs of up to {t} tokens").format(n=f"{count(grid):,}", t=f"{grid.max_new_tokens:,}")
    seconds = estimated_seconds(grid, speeds)
    if seconds is None:
        text += translate("Grid", "; how long is not known before a first run.")
    else:
        text += translate("Grid", ", about {time} at the speeds measured so far.").format(time=duration(seconds))
    if 0 in grid.temperatures and len(grid.seeds) > 1:
        text += " " + translate("Grid", "At T = 0 the seed changes nothing.")
    return text
