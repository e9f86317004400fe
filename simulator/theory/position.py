"""One position: how likely a draft from q is accepted, and what replaces it when it is not.

Knows: p and q of a position. Does not know: rounds, draft lengths, costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simulator.theory.arguments import FloatArray, plain, probability

SUM_SLACK = 1e-3  # how far a float32 distribution over a large vocabulary may sum from 1


def overlap(p: ArrayLike, q: ArrayLike) -> Any:
    """Return alpha of each position: sum min(p, q) = 1 - TV, the probability that a draft from q is accepted.

    p, q: [..., vocab]; returns [...], a float for one position. ValueError unless both are distributions of one
    shape. Source: Leviathan Def. 3.1 to Cor. 3.6.
    """
    p, q = _pair(p, q)
    return plain(np.minimum(p, q).sum(axis=-1))


def tv(p: ArrayLike, q: ArrayLike) -> Any:
    """Return the total variation distance of each position: 1/2 sum |p - q|, the probability of a rejection.

    p, q: [..., vocab]; returns [...], a float for one position. ValueError as for `overlap`. It is the mass of
    max(0, p - q) too. Source: Leviathan Lemma 3.3.
    """
    p, q = _pair(p, q)
    return plain(0.5 * np.abs(p - q).sum(axis=-1))


def residual(p: ArrayLike, q: ArrayLike) -> FloatArray | None:
    """Return norm(max(0, p - q)), the law of the token that replaces a rejected one; None where p never exceeds q.

    p, q: [vocab]; returns [vocab]. With p = q nothing is ever rejected, so there is no such law (not 0/0).
    ValueError as for `overlap`, and for more than one position. Source: Leviathan section 2.3.
    """
    p, q = _pair(p, q)
    if p.ndim != 1:
        raise ValueError(f"residual takes one position at a time, not an array of shape {p.shape}.")
    excess = np.maximum(0.0, p - q)
    mass = float(excess.sum())
    return excess / mass if mass > 0 else None


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return p and q as float64 distributions of one shape, [..., vocab]."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    if p.shape != q.shape or p.ndim == 0:
        raise ValueError(f"p and q must be arrays of one shape, not {p.shape} and {q.shape}.")
    for name, row in (("p", p), ("q", q)):
        sums = np.atleast_1d(probability(name, row).sum(axis=-1))
        if (off := sums[np.abs(sums - 1.0) > SUM_SLACK]).size:
            raise ValueError(f"{name} must sum to 1, not to {off.flat[0]:.6g}.")
    return p, q
