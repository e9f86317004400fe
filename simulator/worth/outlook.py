"""Does a draft source pay: its mean acceptance along a text against the break-even of given costs.

Knows: means with their error, and `theory`. Does not know: models, texts, where the costs come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import floor, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.theory.tokens_per_round import expected_tokens

K_MAX = 16  # the longest draft that is considered, as in the settings
TIE = 1e-12  # two speedups closer than this (relative) are equal
SURE = 2.0  # standard errors between alpha and the break-even from which on the verdict is clear


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over positions with its standard error; None where too few positions say nothing about it."""

    value: float
    error: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Costs:
    """What drafting costs, in target steps; the words of `theory`."""

    c: float
    c_verify: float
    fixed: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What one source would gain under these costs, were its alpha the same at every place of a draft."""

    alpha: Mean  # over the positions at which the source drafts
    hits: float  # share of the positions at which it drafts; the others are plain rounds
    break_even: float | None  # the least alpha at which some k <= K_MAX is no slower; None: no alpha is enough
    k: int  # the fastest draft length; 0 = do not draft
    speedup: float  # at that k

    @property
    def pays(self) -> bool | None:
        """Return whether it pays; None where alpha and break-even are too close to tell."""
        if self.break_even is None:
            return False
        if self.alpha.error is None or abs(self.alpha.value - self.break_even) <= SURE * self.alpha.error:
            return None
        return self.alpha.value > self.break_even


def mean(values: ArrayLike) -> Mean | None:
    """Return the mean of the values that are not NaN, None without any.

    The error is that of the means of about sqrt(n) consecutive blocks: neighbouring positions are alike, so n values
    tell less than n independent ones. None with fewer than 4 values.
    """
    array = np.asarray(values, np.float64)
    kept = array[~np.isnan(array)]
    if not kept.size:
        return None
    blocks = floor(sqrt(kept.size))
    error = None
    if blocks >= 2:
        starts = np.arange(blocks) * kept.size // blocks
        parts = np.add.reduceat(kept, starts) / np.diff(np.append(starts, kept.size))
        error = float(parts.std(ddof=1) / sqrt(blocks))
    return Mean(float(kept.mean()), error, int(kept.size))


def outlook(alpha: Mean, hits: float, costs: Costs) -> Outlook:
    """Return what a source gains that drafts at a share `hits` of the positions and is accepted there by alpha.

    ValueError for costs that `theory.speedup` refuses.
    """
    alpha = Mean(min(1.0, max(0.0, alpha.value)), alpha.error, alpha.n)  # float32 rounding
    curve = mixed_speedup(alpha.value, hits, costs)
    k = int(np.argmax(curve >= curve.max() * (1 - TIE)))
    return Outlook(alpha, hits, lowest_break_even(costs), k, float(curve[k]))


@lru_cache(maxsize=256)  # asked for every source at every move of a slider
def lowest_break_even(costs: Costs) -> float | None:
    """Return the least alpha at which drafting some k in 1..K_MAX is no slower than not drafting, None if none is.

    The least of `theory.break_even_alpha` over k, to 1e-9: with `fixed` > 0 a longer draft breaks even earlier.
    """
    k = np.arange(1, K_MAX + 1)
    needed = 1 + k * (costs.c + costs.c_verify) + costs.fixed

    def pays(alpha: float) -> bool:
        return bool((expected_tokens(alpha, k) >= needed * (1 - TIE)).any())

    if pays(0.0) or not pays(1.0):
        return 0.0 if pays(0.0) else None
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def mixed_speedup(alpha: float, hits: float, costs: Costs) -> NDArray[np.float64]:
    """Return the speedup at k = 0..K_MAX where only a share `hits` of the rounds drafts, [K_MAX + 1].

    (1 + hits (E[tokens] - 1)) / (1 + hits (k (c + c_verify) + fixed)); `theory.speedup` at hits = 1, exactly 1 at
    k = 0. Source: Leviathan Thm 3.8, numerator and denominator averaged over rounds with and without a draft.
    """
    k = np.arange(K_MAX + 1)
    extra = k * (costs.c + costs.c_verify) + np.where(k > 0, costs.fixed, 0.0)
    result: NDArray[np.float64] = (1 + hits * (expected_tokens(alpha, k) - 1)) / (1 + hits * extra)
    return result
