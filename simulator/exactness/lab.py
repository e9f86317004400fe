"""Monte-Carlo over one position: draw by a rule many times, compare with p, and say what that proves.

Knows: vectorised draws, noise, the chi-square test. Does not know: models, the screen, the run's random numbers
(its generator is its own). Every draw is a draw: a drafted token, a test, a replacement, each from its own uniform;
only their order is not kept, for counts do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.exactness.chance import chi_square_tail
from simulator.verify import TokenRule

FloatArray = NDArray[np.float64]
Counts = NDArray[np.int64]

CHUNK = 16_384  # draws between two reports, at most: a few milliseconds
FIRST = 64  # draws of the first report; later ones grow with the tally, so that a watcher sees it fill
LEVEL = 0.001  # how often the test flags a rule that is exact
LEAST_EXPECTED = 10.0  # a cell of the test with fewer expected draws is put together with others
BAND = 0.99  # share of experiments by direct sampling that the noise band holds
REPEATS = 400  # experiments by direct sampling from which the band of the TV is read
Z = 2.5758293035489004  # the normal quantile of BAND, two-sided


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What came of the draws so far."""

    kept: Counts  # [vocab], emitted as an accepted draft
    replaced: Counts  # [vocab], emitted in place of a refused one

    @property
    def emitted(self) -> Counts:
        """Return how often each token was emitted, [vocab]."""
        return self.kept + self.replaced

    @property
    def draws(self) -> int:
        """Return how many draws were made."""
        return int(self.kept.sum() + self.replaced.sum())

    @property
    def accepted(self) -> int:
        """Return how many drafts were kept."""
        return int(self.kept.sum())


def empty_tally(vocab: int) -> Tally:
    """Return the tally before the first draw."""
    return Tally(np.zeros(vocab, np.int64), np.zeros(vocab, np.int64))


def experiment(
    rule: TokenRule, p: FloatArray, q: FloatArray, draft: FloatArray, draws: int, rng: np.random.Generator,
    tally: Tally | None = None,
) -> Iterator[Tally]:  # fmt: skip
    """Make so many draws by the rule and yield the tally, added to the one given, after each chunk of them.

    p, q, draft [vocab]: the target, the q that judges, and the law that drafts (`laws.draft_law`). Between two
    yields a few milliseconds pass, so the consumer can stop at any time and keep what it has.
    """
    tally = tally or empty_tally(len(p))
    chance, refill = rule.chance(p, q), np.asarray(rule.refill(p, q), np.float64)
    refill = refill if refill.any() else p
    drafter, replacer = np.cumsum(draft), np.cumsum(refill)
    made = 0
    while made < draws:
        step = min(CHUNK, max(FIRST, made // 4), draws - made)
        made += step
        u = rng.random((3, step))
        drafted = _draw(drafter, np.sort(u[0]))  # sorted: neighbours in memory, and the other uniforms do not care
        keep = u[1] < chance[drafted]
        refused = drafted[~keep]
        if rule.leaves_out:
            extra = _draw_other(replacer, refill, refused, u[2, ~keep])
        else:
            extra = _draw(replacer, np.sort(u[2, ~keep]))
        tally = Tally(tally.kept + _count(drafted[keep], len(p)), tally.replaced + _count(extra, len(p)))
        yield tally


def _draw(cdf: FloatArray, u: FloatArray) -> NDArray[np.intp]:
    """Return the tokens that the uniforms select by inverse CDF; a token of weight 0 is never among them."""
    return _select(cdf, u * cdf[-1])


def _draw_other(cdf: FloatArray, weights: FloatArray, left_out: NDArray[np.intp], u: FloatArray) -> NDArray[np.intp]:
    """Return for each uniform a token from the weights without its left-out token: its cell is jumped over."""
    start = np.where(left_out > 0, cdf[left_out - 1], 0.0)
    v = u * (cdf[-1] - weights[left_out])
    return _select(cdf, np.where(v >= start, v + weights[left_out], v))


def _select(cdf: FloatArray, v: FloatArray) -> NDArray[np.intp]:
    last = np.searchsorted(cdf, cdf[-1], side="left")  # the last token with any weight
    result: NDArray[np.intp] = np.minimum(np.searchsorted(cdf, v, side="right"), last)
    return result


def _count(tokens: NDArray[np.intp], vocab: int) -> Counts:
    return np.bincount(tokens, minlength=vocab).astype(np.int64)


# What the counts say


def measured_tv(counts: Counts, p: FloatArray) -> float:
    """Return 1/2 sum |counts / N - p|; an exact sampler never shows 0, compare with `noise`."""
    return 0.5 * float(np.abs(counts / counts.sum() - p).sum())


@dataclass(frozen=True, slots=True)
class Noise:
    """The TV to p that direct sampling from p shows by chance."""

    mean: float
    high: float  # BAND of all experiments stay below


def noise(p: FloatArray, draws: int, seed: int = 0) -> Noise:
    """Return the noise of the measured TV at N = draws, from REPEATS experiments that sample p directly."""
    counts = np.random.default_rng(seed).multinomial(draws, p / p.sum(), size=REPEATS)
    tv = 0.5 * np.abs(counts / draws - p).sum(-1)
    return Noise(float(tv.mean()), float(np.quantile(tv, BAND)))


def band(p: FloatArray, draws: int) -> FloatArray:
    """Return how far [m] a frequency strays from its p by chance, BAND of the time: Z sqrt(p (1 - p) / N)."""
    result: FloatArray = Z * np.sqrt(p * (1.0 - p) / draws)
    return result


@dataclass(frozen=True, slots=True)
class Check:
    """Pearson's chi-square test of "the counts were drawn from p"."""

    draws: int
    cells: int  # after rare tokens were put together
    statistic: float
    p_value: float  # chance that direct sampling from p strays as far or farther
    level: float

    @property
    def flagged(self) -> bool:
        """Return whether the counts are not those of a sampler of p, at this level."""
        return self.p_value < self.level


def check(counts: Counts, p: FloatArray, level: float = LEVEL) -> Check | None:
    """Test the counts [m] against p [m]; None while there are too few draws to test anything.

    Tokens with fewer than LEAST_EXPECTED expected draws form one cell, so that the test keeps its level; a token
    that p rules out decides alone. Source: Pearson 1900; df = cells - 1.
    """
    draws = int(counts.sum())
    if (counts[p <= 0] > 0).any():
        return Check(draws, len(p), math.inf, 0.0, level)
    observed, expected = _cells(counts, draws * p / p.sum())
    if len(expected) < 2:
        return Check(draws, 1, 0.0, 1.0, level) if p.max() >= 1.0 and draws else None
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return Check(draws, len(expected), statistic, chi_square_tail(statistic, len(expected) - 1), level)


def _cells(counts: Counts, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected draws of the test's cells, the rare tokens together in the last."""
    order = np.argsort(-expected, kind="stable")
    observed, expected = counts[order].astype(np.float64), expected[order]
    common = int((expected >= LEAST_EXPECTED).sum())
    rare = float(expected[common:].sum())
    if 0 < rare < LEAST_EXPECTED:  # too rare even together: the least common token joins them
        common -= 1
    common = max(0, common)
    if common == len(expected):
        return observed, expected
    cells = [np.append(row[:common], row[common:].sum()) for row in (observed, expected)]
    return (cells[0], cells[1]) if cells[1][-1] > 0 else (cells[0][:-1], cells[1][:-1])
