"""Acceptance rules as pure functions of (p, q, drafted tokens, uniforms).

Knows the mathematics of one round. Does not know models, caches, end tokens or budgets.
A deterministic draft enters with a one-hot q; nothing here is special about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.records import Kind
from simulator.sampling import draw

Rows = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule decided about one round of n drafted tokens."""

    accepted: int  # the first `accepted` drafted tokens are kept
    tested: int  # accepted, plus 1 if one was rejected
    extra: int  # token id
    kind: Kind  # RESIDUAL after a rejection, BONUS after n >= 1 acceptances, PLAIN when n = 0


def accept_probability(p: float, q: float) -> float:
    """Return min(1, p / q), the chance that a token drawn from q is kept (Leviathan et al. 2022, section 2.3).

    In float64 from the values as they are. Raise ValueError when q is 0: such a token cannot have been drawn.
    """
    if q <= 0:
        raise ValueError(f"A drafted token must have q > 0, got q = {q}.")
    return min(1.0, float(p) / float(q))


def residual(p: Rows, q: Rows) -> Rows:
    """Return max(0, p - q) over [vocab], not normalised: its sum is TV(p, q), the chance of a rejection.

    All zeros when p = q; there is then nothing to draw from and, but for rounding, nothing to reject.
    """
    return np.maximum(p - q, 0)


def exact(p: Rows, q: Rows, tokens: Sequence[int], u_accept: Sequence[float], u_extra: float) -> Outcome:
    """Judge a round by the ratio test with residual and bonus; the emitted law is exactly p.

    p [n + 1, vocab], q [n, vocab], tokens [n], u_accept [n]. Leviathan et al. 2022 algorithm 1,
    Chen et al. 2023 algorithm 2.
    """
    n = len(tokens)
    assert (len(p), q.shape) == (n + 1, (n, p.shape[1])), (p.shape, q.shape, n)
    for i, token in enumerate(tokens):
        if u_accept[i] >= accept_probability(p[i, token], q[i, token]):
            left = residual(p[i], q[i])
            # A rejection with an empty residual exists only in rounding (p = q up to the last bit): p is the limit.
            return Outcome(i, i + 1, draw(left if left.any() else p[i], u_extra), Kind.RESIDUAL)
    return Outcome(n, n, draw(p[n], u_extra), Kind.BONUS if n else Kind.PLAIN)


Rule = Callable[[Rows, Rows, Sequence[int], Sequence[float], float], Outcome]

RULES: dict[str, Rule] = {"exact": exact}
