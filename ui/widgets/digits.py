"""Small numbers as short text whose digits tell.

Knows: how a probability is written on screen. Does not know: which probability it is.
"""

from __future__ import annotations

import math

PLACES = 3  # significant digits; enough for a glance, tooltips give more


def prob(x: float | None, places: int = PLACES) -> str:
    """Write a probability (or a ratio) with `places` significant digits: .591, .0021, 3.5e-8, 1, 0, n/a.

    Only an exact 0 reads 0 and only an exact 1 reads 1; what would round up to 1 reads >.999.
    """
    if x is None or math.isnan(x):
        return "n/a"
    if x < 0:
        return "-" + prob(-x, places)
    if math.isinf(x):
        return "∞"
    return _plain(float(x), places)


def pair(a: float, b: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for places in range(PLACES, 18):
        texts = prob(a, places), prob(b, places)
        if texts[0] != texts[1] or a == b:
            break
    return texts


def _plain(x: float, places: int) -> str:
    if x in (0.0, 1.0):
        return f"{x:.0f}"
    if x < 1e-4 or x >= 1e6:
        return _scientific(x, places)
    text = f"{x:.0f}" if x >= 10**places else f"{x:.{places}g}"
    if x < 1 and float(text) >= 1:
        return ">." + "9" * places
    return _trimmed(_unfolded(text, x, places))


def _unfolded(text: str, x: float, places: int) -> str:
    if "e" not in text:
        return text
    decimals = max(0, places - 1 - math.floor(math.log10(x)))
    return f"{x:.{decimals}f}"


def _trimmed(text: str) -> str:
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.removeprefix("0") or "0"


def _scientific(x: float, places: int) -> str:
    mantissa, exponent = f"{x:.{places - 1}e}".split("e")
    return f"{_trimmed(mantissa)}e{int(exponent)}"
