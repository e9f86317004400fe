"""Confidence intervals: of a rate (Wilson), and of a ratio of two sums over rounds.

Knows: counts and rows of numbers. Does not know: what they count, models, clocks, Qt.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float] | None:
    """Return Wilson's score interval (low, high) of a probability; None without trials.

    z = 1.96 covers 95 %. Trials of one round are not independent: for tokens per round use `ratio_interval`.
    ValueError unless 0 <= successes <= trials and z > 0. Source: Wilson 1927.
    """
    if not 0 <= successes <= trials or not 0 < z < math.inf:
        raise ValueError(f"Wilson needs 0 <= successes <= trials and z > 0, not {successes} of {trials}, z = {z}.")
    if trials == 0:
        return None
    share, spread = successes / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / trials + spread / (4 * trials)) / (1 + spread)
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exact ends, where rounding would leave 1e-17
    return low, 1.0 if successes == trials else min(1.0, centre + half)


def ratio_interval(
    numerators: ArrayLike, denominators: ArrayLike, z: float = 1.96, batch: int = 1
) -> tuple[float, float] | None:
    """Return a confidence interval (low, high) of sum(numerators) / sum(denominators) over rounds.

    Both: [rounds], such as emitted tokens and seconds (tokens per second), or emitted tokens and ones (tokens per
    round). batch: consecutive rounds summed into one observation first; choose it longer than the rounds stay
    alike. None with fewer than two observations or all denominators 0. Deterministic. Below some 20 observations
    it is too narrow. ValueError for rows of two lengths, negative or infinite values, batch < 1, z <= 0.
    Source: delta method for a ratio of means (Cochran 1977, section 6.4), with batch means.
    """
    if batch < 1 or not 0 < z < math.inf:
        raise ValueError(f"batch must be at least 1 and z above 0, not {batch} and {z}.")
    over, under = _observations("numerators", numerators, batch), _observations("denominators", denominators, batch)
    if np.size(numerators) != np.size(denominators):
        raise ValueError(f"There are {np.size(numerators)} numerators for {np.size(denominators)} denominators.")
    n, total = over.size, float(under.sum())
    if n < 2 or total == 0:
        return None
    ratio = float(over.sum()) / total
    variance = n / (n - 1) * float(np.square(over - ratio * under).sum()) / total**2
    half = z * math.sqrt(variance)
    return max(0.0, ratio - half), ratio + half


def _observations(name: str, values: ArrayLike, batch: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return one row of non-negative values as sums over consecutive batches; the last batch may be short."""
    row = np.asarray(values, np.float64)
    if row.ndim != 1 or not np.all((row >= 0) & (row < np.inf)):
        raise ValueError(f"{name} must be one row of finite values of at least 0, not {values!r}.")
    return np.add.reduceat(row, np.arange(0, row.size, batch)) if row.size else row
