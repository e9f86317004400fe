"""A draft whose vocabulary is cut to the n most frequent tokens: what is accepted, and the two TVs people print.

Knows: rows of p and q, and the identity between acceptance and the two distances.
Does not know: models, Qt, which tokens are frequent in the world: the order is the draft's own.

With q cut to a set V and scaled up to sum 1, and m = the target's mass outside V:
acceptance = sum over V of min(p, q); TV over all tokens = 1 - acceptance, always;
TV over V alone = 1/2 sum over V of |p - q| = 1 - acceptance - m / 2: added to the acceptance it misses m / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
SIZES = 48  # sizes of the cut vocabulary that are computed, spread evenly over the logarithm of n


@dataclass(frozen=True, slots=True, eq=False)
class Truncation:
    """Means over positions, for each size n of the draft's vocabulary; the last n is the whole vocabulary."""

    n: NDArray[np.int64]  # [m], ascending
    acceptance: FloatArray  # [m], mean of sum over V of min(p, q)
    outside: FloatArray  # [m], mean of the target's mass outside V
    positions: int
    vocab: int

    @property
    def tv_all(self) -> FloatArray:
        """Return TV over the whole vocabulary, [m]."""
        return 1.0 - self.acceptance

    @property
    def tv_draft(self) -> FloatArray:
        """Return TV summed over the draft's vocabulary alone, [m]."""
        return self.tv_all - self.outside / 2


def sizes(vocab: int) -> NDArray[np.int64]:
    """Return the sizes to compute, [m]: from 1 to vocab, no size twice."""
    return np.unique(np.round(np.geomspace(1, vocab, SIZES)).astype(np.int64))


def frequency_order(q_mean: ArrayLike) -> NDArray[np.int64]:
    """Return token ids by how often the draft would propose them, [vocab]: its mean q over positions, ties by id."""
    return np.argsort(-np.asarray(q_mean, np.float64), kind="stable").astype(np.int64)


def truncate(p: ArrayLike, q: ArrayLike, order: ArrayLike) -> Truncation:
    """Return acceptance and outside mass of every size, means over positions; p, q: [positions, vocab].

    Where the draft's mass on V is 0 it can propose nothing there, so nothing is accepted and all of p is outside its
    reach all the same. ValueError for rows of two shapes or none.
    """
    p, q, order = np.asarray(p, np.float64), np.asarray(q, np.float64), np.asarray(order)
    if p.shape != q.shape or p.ndim != 2 or not p.shape[0]:
        raise ValueError(f"p and q must be [positions, vocab] of one shape, not {p.shape} and {q.shape}.")
    p, q = p[:, order], q[:, order]
    n = sizes(p.shape[1])
    inside, mass = np.cumsum(p, axis=1)[:, n - 1], np.cumsum(q, axis=1)[:, n - 1]
    accepted = np.zeros(n.size)
    for i, size in enumerate(n):
        scale = np.divide(1.0, mass[:, i], out=np.zeros(len(mass)), where=mass[:, i] > 0)
        accepted[i] = np.minimum(p[:, :size], q[:, :size] * scale[:, None]).sum(axis=1).mean()
    total = p.sum(axis=1)
    return Truncation(n, accepted, (total[:, None] - inside).mean(axis=0).clip(0), p.shape[0], p.shape[1])


def pooled(parts: list[Truncation]) -> Truncation:
    """Return several blocks of positions as one; all must have the same order of tokens."""
    weights = [part.positions for part in parts]
    return Truncation(
        parts[0].n, np.average([part.acceptance for part in parts], axis=0, weights=weights),
        np.average([part.outside for part in parts], axis=0, weights=weights), sum(weights), parts[0].vocab,
    )  # fmt: skip
