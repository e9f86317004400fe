"""Distributions for hypothesis, zeros and one-hots among them, and the enumeration of a rule's branches."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from simulator.verify import Rule
from tests.simulator.tiny import cdf, pieces


@st.composite
def rows(draw: st.DrawFn, size: int) -> np.ndarray:
    """Draw a distribution over `size` tokens: small whole weights (zeros, ties) or arbitrary ones, or a one-hot."""
    kind = draw(st.sampled_from(("whole", "real", "one-hot")))
    if kind == "one-hot":
        return np.eye(size)[draw(st.integers(0, size - 1))]
    weight = st.integers(0, 5) if kind == "whole" else st.floats(0, 1, allow_subnormal=False)
    weights = np.array(draw(st.lists(weight, min_size=size, max_size=size)), float)
    if weights.sum() < 1e-3:
        weights[draw(st.integers(0, size - 1))] += 1
    return weights / weights.sum()


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Draw p and q over two to five tokens, now and then equal."""
    size = draw(st.integers(2, 5))
    p = draw(rows(size))
    return p, p if draw(st.integers(0, 9)) == 0 else draw(rows(size))


def branches(rule: Rule, chance: np.ndarray, drafts: np.ndarray, p: np.ndarray, q: np.ndarray):
    """Yield (token, kept, probability) over every branch of a round of one drafted token, through the rule itself.

    The rule is a step function of its uniforms. [0, 1) is split wherever it may change its mind, at more places
    than it does, and the rule is asked once in each piece.
    """
    both = np.array([p, p])
    for x in np.flatnonzero(drafts):
        refill = (p, np.maximum(p - q, 0), np.where(np.arange(len(p)) == x, 0, p), np.maximum(p - 0.5 * q, 0))
        for u, width in pieces(chance[x], min(1.0, p[x] / q[x]) if q[x] else 1.0, p[x]):
            if rule(both, q[None], [x], [u], 0.5).accepted:
                yield x, True, drafts[x] * width
                continue
            for u_extra, share in pieces(*(cut for weights in refill for cut in cdf(weights))):
                yield rule(both, q[None], [x], [u], u_extra).extra, False, drafts[x] * width * share


def enumerated(rule: Rule, chance: np.ndarray, drafts: np.ndarray, p: np.ndarray, q: np.ndarray):
    """Return the emitted law of one position and the acceptance."""
    emitted, accepted = np.zeros(len(p)), 0.0
    for token, kept, probability in branches(rule, chance, drafts, p, q):
        emitted[token] += probability
        accepted += probability * kept
    return emitted, accepted
