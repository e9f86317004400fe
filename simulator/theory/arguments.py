"""What the closed forms let in: probabilities, costs and lengths; and the bisection that inverts one.

Knows: the range of each symbol. Does not know: any formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

TIE = 1e-12  # two values closer than this (relative) are equal: rounding must not lengthen a draft


def probability(name: str, value: ArrayLike) -> FloatArray:
    """Return value as float64, or refuse what lies outside 0..1 (NaN included)."""
    array = np.asarray(value, np.float64)
    if (bad := array[~((array >= 0) & (array <= 1))]).size:
        raise ValueError(f"{name} must lie in 0..1, not {bad.flat[0]:.9g}.")
    return array


def cost(name: str, value: ArrayLike) -> FloatArray:
    """Return value as float64, or refuse what is negative, infinite or NaN."""
    array = np.asarray(value, np.float64)
    if (bad := array[~((array >= 0) & (array < np.inf))]).size:
        raise ValueError(f"{name} must be finite and at least 0, not {bad.flat[0]:.9g}.")
    return array


def length(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return value as an array of whole numbers of at least 0, or refuse it."""
    array = np.asarray(value)
    if (bad := array if array.dtype.kind not in "iu" else array[array < 0]).size:
        raise ValueError(f"{name} must be a whole number of at least 0, not {bad.flat[0]}.")
    return array


def plain(array: FloatArray | float) -> float | FloatArray:
    """Return a float for an array without dimensions, the array itself otherwise."""
    return float(array) if np.ndim(array) == 0 else array


def solve(rising: Callable[[float], float], goal: float) -> float | None:
    """Return the x in 0..1 with rising(x) = goal, by bisection; None where the goal lies outside its range."""
    slack = TIE * max(1.0, abs(goal))
    if not rising(0.0) - slack <= goal <= rising(1.0) + slack:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= goal else (middle, high)
    return 0.0 if goal <= rising(0.0) else high
