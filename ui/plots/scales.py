"""Axis ends that move in steps, and the ticks between them.

Knows: the 1-2-5 series. Does not know: Qt, what a number means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

SERIES = tuple(round(m * 10.0**e, 9) for e in range(-6, 7) for m in (1, 2, 5))
PROBABILITY_STEPS = tuple(step for step in SERIES if 0.001 <= step <= 1)  # .001 is as fine as a glance can use


def ceiling(value: float, steps: Sequence[float] = SERIES) -> float:
    """Return the first step that is not below the value, the last one if all are."""
    return next((step for step in steps if step >= value), steps[-1])


def tick_step(span: float, pixels: float, spacing: float) -> float:
    """Return the smallest 1-2-5 step that leaves so many pixels between ticks, at most the span."""
    least = span * spacing / max(pixels, 1.0)
    return min(ceiling(least), max((step for step in SERIES if step <= span * (1 + 1e-9)), default=span))


def ticks(low: float, high: float, step: float) -> list[tuple[float, str]]:
    """Return (value, text) for every multiple of step in [low, high], all with the same number of decimals."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(i * step, _text(i * step, decimals)) for i in range(first, last + 1)]


def _text(value: float, decimals: int) -> str:
    if abs(value) < 1e-12:
        return "0"
    text = f"{value:.{decimals}f}"
    return text[1:] if text.startswith("0.") else text
