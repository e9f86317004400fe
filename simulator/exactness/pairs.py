"""Pairs of distributions to experiment on: folded from a run, worked out in a paper, drawn at random, set by hand.

Knows: how to fold a vocabulary to its top m tokens and the rest, and how to move one bar without losing the sum 1.
Does not know: what a rule makes of a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.records import Bars

FloatArray = NDArray[np.float64]

REST = -1  # stands for a token id in the place of all tokens that were folded
NOTHING = 1e-6  # a rest below this is rounding of float32 probabilities, not mass


@dataclass(frozen=True, slots=True, eq=False)
class PQ:
    """One position's target p and draft q over few outcomes; both sum to 1."""

    ids: tuple[int, ...]  # token ids, REST for the rest; 0, 1, ... where there are no tokens
    p: FloatArray  # [m]
    q: FloatArray  # [m]

    def __post_init__(self) -> None:
        """Refuse rows that are no distributions."""
        for name, row in (("p", self.p), ("q", self.q)):
            if row.shape != (len(self.ids),) or (row < 0).any() or abs(float(row.sum()) - 1.0) > 1e-9:
                raise ValueError(f"{name} must be {len(self.ids)} numbers of at least 0 with sum 1, not {row}.")


def pq(p: ArrayLike, q: ArrayLike, ids: tuple[int, ...] | None = None) -> PQ:
    """Return the pair of two rows of weights [m], scaled to sum 1."""
    rows = [np.asarray(row, np.float64) for row in (p, q)]
    return PQ(ids or tuple(range(len(rows[0]))), rows[0] / rows[0].sum(), rows[1] / rows[1].sum())


def folded(bars: Bars, m: int) -> PQ | None:
    """Return the m tokens with the largest max(p, q) and the rest as one outcome; None where there is no q.

    Folding hides differences inside the rest: sum min(p, q) of the folded pair is at least the position's own.
    """
    if bars.q is None:
        return None
    p, q = bars.p.astype(np.float64), bars.q.astype(np.float64)
    keep = np.argsort(-np.maximum(p, q), kind="stable")[:m]
    ids, rows = [int(i) for i in bars.ids[keep]], [p[keep], q[keep]]
    rest = [max(0.0, 1.0 - float(row.sum())) for row in rows]
    if max(rest) >= NOTHING:
        ids, rows = [*ids, REST], [np.append(row, r) for row, r in zip(rows, rest, strict=True)]
    return pq(rows[0], rows[1], tuple(ids))


def fold(values: NDArray[np.generic], keep: NDArray[np.integer]) -> NDArray[np.generic]:
    """Return the values [vocab] of the kept tokens and, last, the sum of all others: for counts and laws alike."""
    kept = values[keep]
    return np.append(kept, values.sum() - kept.sum())


def random_pair(m: int, seed: int) -> PQ:
    """Return a p over m tokens, largest first, and a q that follows it roughly."""
    rng = np.random.default_rng(seed)
    p = np.sort(rng.dirichlet(np.full(m, 0.9)))[::-1] + 1e-3
    return pq(p, p * np.exp(rng.normal(0.0, 0.9, m)))


def moved(row: FloatArray, index: int, value: float) -> FloatArray:
    """Return the distribution with one entry set to `value` in 0..1 and the others scaled to keep the sum 1."""
    value = min(1.0, max(0.0, value))
    others = np.delete(row, index)
    total = float(others.sum())
    shares = others / total if total > 0 else np.full(others.size, 1.0 / max(1, others.size))
    result: FloatArray = np.insert(shares * (1.0 - value), index, value)
    result /= result.sum()
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A worked example: what it shows, in a few words, and its rows."""

    title: str
    pair: PQ


EXAMPLES: dict[str, Example] = {
    "crossing": Example("p and q cross over", pq([0.5, 0.3, 0.2], [0.2, 0.5, 0.3])),
    "close": Example("q close to p", pq([0.5, 0.3, 0.2], [0.4, 0.4, 0.2])),
    "equal": Example("p = q", pq([0.7, 0.2, 0.1], [0.7, 0.2, 0.1])),
    "cut": Example("q cut by top-k, p flat", pq([1, 1, 1, 1], [4, 3, 0, 0])),
    "one-hot": Example("q one-hot (n-gram)", pq([0.5, 0.3, 0.2], [0, 1, 0])),
    "sure": Example("p one-hot (T = 0)", pq([1, 0, 0], [0.6, 0.3, 0.1])),
}  # reference, sections 1 and 2; the cut one from a test that must be able to fail
