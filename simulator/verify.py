"""Acceptance rules as pure functions of (p, q, drafted tokens, uniforms).

Knows the mathematics of one round. Does not know models, caches, end tokens or budgets; which rule is lossless,
and who proposed it, stands in `rules`. A deterministic draft enters with a one-hot q; nothing here is special about it.

All rules share one contract, so that a trace explains every verdict: drafted token i is kept exactly when
u_accept[i] < chances[i], the first one that is not ends the round, and u_extra draws the token in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.records import Kind
from simulator.sampling import draw

Row = NDArray[np.floating[Any]]  # [vocab]
Rows = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule decided about one round of n drafted tokens."""

    accepted: int  # the first `accepted` drafted tokens are kept
    tested: int  # accepted, plus 1 if one was rejected
    extra: int  # token id
    kind: Kind  # RESIDUAL after a rejection, BONUS after n >= 1 acceptances, PLAIN when n = 0


Rule = Callable[[Rows, Rows, Sequence[int], Sequence[float], float], Outcome]


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


# Rules that look at one position at a time


@dataclass(frozen=True, slots=True)
class TokenRule:
    """A rule given by two rows of one position: the chance to keep each token, and what replaces a refused one."""

    chance: Callable[[Row, Row], Row]  # (p, q) -> [vocab], the chance that each token is kept once it is drafted
    refill: Callable[[Row, Row], Row]  # (p, q) -> [vocab], weights that the replacement is drawn from
    leaves_out: bool = False  # whether the refused token itself is left out of them
    bonus: Callable[[Row], Row] = lambda p: p  # weights of the token behind n acceptances

    def chances(self, p: Rows, q: Rows, tokens: Sequence[int]) -> list[float]:
        """Return what each u_accept [n] must stay below."""
        return [float(self.chance(p[i], q[i])[token]) for i, token in enumerate(tokens)]

    def weights(self, p: Row, q: Row, token: int) -> Row:
        """Return the weights [vocab] from which the token, refused, is replaced."""
        left = self.refill(p, q)
        if self.leaves_out:
            left = left.copy()
            left[token] = 0
        return left if left.any() else p  # nothing left: the rejection exists only in rounding

    def __call__(self, p: Rows, q: Rows, tokens: Sequence[int], u_accept: Sequence[float], u_extra: float) -> Outcome:
        """Judge a round; shapes as in `exact`."""
        n = len(tokens)
        assert (len(p), q.shape) == (n + 1, (n, p.shape[1])), (p.shape, q.shape, n)
        for i, (token, chance) in enumerate(zip(tokens, self.chances(p, q, tokens), strict=True)):
            if u_accept[i] >= chance:
                return Outcome(i, i + 1, draw(self.weights(p[i], q[i], token), u_extra), Kind.RESIDUAL)
        return Outcome(n, n, draw(self.bonus(p[n]), u_extra), Kind.BONUS if n else Kind.PLAIN)


def lenience(l: float) -> TokenRule:  # noqa: E741 - the paper's letter
    """Return the ratio rule with q weakened to l q throughout, 0 < l <= 1: no token is emitted above p / l.

    Leviathan et al. 2022, appendix A.5.
    """
    return TokenRule(lambda p, q: _ratio(p, l * q), lambda p, q: residual(p, l * q))


def typical(epsilon: float) -> TokenRule:
    """Return the rule that keeps x when p(x) > min(epsilon, sqrt(epsilon) exp(-H(p))), else draws from p.

    H: entropy in nats. Cai et al. 2024 (Medusa), section 2.3.2, with delta = sqrt(epsilon) as there.
    """
    return TokenRule(lambda p, q: (p > typical_threshold(p, epsilon)).astype(np.float64), _target)


def typical_threshold(p: Row, epsilon: float) -> float:
    """Return min(epsilon, sqrt(epsilon) exp(-H(p))), the probability above which Medusa keeps a token."""
    mass = p[p > 0].astype(np.float64)
    return float(min(epsilon, np.sqrt(epsilon) * np.exp((mass * np.log(mass)).sum())))


def _ratio(p: Row, q: Row) -> Row:
    """Return min(1, p / q), and 1 where q = 0: such a token is never drafted."""
    p, q = p.astype(np.float64), q.astype(np.float64)
    ratio: Row = np.divide(p, q, out=np.ones_like(p), where=p < q)  # p / q itself overflows above a subnormal q
    return ratio


def _target(p: Row, _q: Row) -> Row:
    return p


def _equal_or_ratio(p: Row, q: Row) -> Row:
    """Return the chance that the target's own draw is the drafted token, or the ratio test passes anyway."""
    return p + (1.0 - p) * _ratio(p, q)


def _top(p: Row, _q: Row | None = None) -> Row:
    return np.asarray(np.arange(len(p)) == int(p.argmax()), np.float64)


LENIENCE, EPSILON = 0.5, 0.09  # defaults: a middle value of Leviathan's table 5, Medusa's own threshold

# The target's own draw y is made in two steps: u_accept decides whether y is the drafted token, u_extra which other
# token it is. The law of y is p, as if it were drawn at once.
TOKEN_RULES: dict[str, TokenRule] = {
    "exact": TokenRule(_ratio, residual),
    "resample": TokenRule(_ratio, _target),
    "equality": TokenRule(_target, _target, leaves_out=True),
    "equality-fresh": TokenRule(_target, _target),
    "equality-or-ratio": TokenRule(_equal_or_ratio, _target, leaves_out=True),
    "one-hot": TokenRule(_target, _target, leaves_out=True),  # min(1, p/q) and max(0, p - q) at q = 1 on the draft
    "softmax": TokenRule(_ratio, residual),  # the fault is in the draft: a greedy token with a q it was not drawn from
    "argmax": TokenRule(_top, _top, bonus=_top),
    "lenience": lenience(LENIENCE),
    "typical": typical(EPSILON),
    "always": TokenRule(lambda p, q: np.ones(len(p)), _target),
}


def token_rule(name: str, parameter: float | None = None) -> TokenRule:
    """Return the named rule; `parameter` is the l of "lenience" or the epsilon of "typical"."""
    if parameter is not None and name in ("lenience", "typical"):
        return lenience(parameter) if name == "lenience" else typical(parameter)
    return TOKEN_RULES["exact" if name == "block" else name]  # a block of one token is judged by the ratio


# Block verification: the drafted tokens are judged together


def block(p: Rows, q: Rows, tokens: Sequence[int], u_accept: Sequence[float], u_extra: float) -> Outcome:
    """Judge the drafted tokens jointly; the emitted law is exactly p, and at least as many are kept as by `exact`.

    Shapes as in `exact`. Sun et al. 2024 (arXiv 2403.10444), algorithm 2.
    """
    n = len(tokens)
    assert (len(p), q.shape) == (n + 1, (n, p.shape[1])), (p.shape, q.shape, n)
    for i, chance in enumerate(block_chances(p, q, tokens)):
        if u_accept[i] >= chance:
            carried = _carried(p, q, tokens)[i]
            left = np.maximum(carried * p[i] - q[i], 0)
            return Outcome(i, i + 1, draw(left if left.any() else p[i], u_extra), Kind.RESIDUAL)
    return Outcome(n, n, draw(p[n], u_extra), Kind.BONUS if n else Kind.PLAIN)


def block_chances(p: Rows, q: Rows, tokens: Sequence[int]) -> list[float]:
    """Return the chance [n] that drafted token i is kept, given the block and that those before it are.

    The paper tests every prefix with its own h_i and keeps the longest that passes. Read from the left this is
    reach_i / reach_(i-1), where reach_i is the chance that a prefix of i tokens or more passes.
    """
    n, carried = len(tokens), _carried(p, q, tokens)
    reach = [1.0, *(0.0 for _ in range(n + 1))]
    for i in range(n, 0, -1):
        h = carried[n] if i == n else _prefix_chance(carried[i], p[i], q[i])
        reach[i] = h + (1.0 - h) * reach[i + 1]
    reach[0] = 1.0
    return [reach[i + 1] / reach[i] if reach[i] else 0.0 for i in range(n)]


def _carried(p: Rows, q: Rows, tokens: Sequence[int]) -> list[float]:
    """Return p_0 = 1 and p_i = min(1, p_(i-1) p(x_i) / q(x_i)): how much of each prefix the target covers, [n + 1]."""
    carried = [1.0]
    for i, token in enumerate(tokens):
        carried.append(accept_probability(carried[-1] * float(p[i, token]), float(q[i, token])))
    return carried


def _prefix_chance(carried: float, p: Row, q: Row) -> float:
    """Return h_i from p_i and the next position's p and q; 1 at 0/0, where a longer prefix always passes."""
    missed = float(np.maximum(carried * p - q, 0).sum(dtype=np.float64))
    whole = missed + 1.0 - carried
    return missed / whole if whole > 0 else 1.0


# What the engine can run: it drafts from q itself, so rules that are about the drafting are not among them

RULES: dict[str, Rule] = {
    "exact": exact,
    "block": block,
    **{name: rule for name, rule in TOKEN_RULES.items() if name not in ("exact", "one-hot", "softmax")},
}


def chances(name: str, p: Rows, q: Rows, tokens: Sequence[int]) -> list[float]:
    """Return what each u_accept [n] must stay below for its token to be kept; shapes as in `exact`."""
    if name == "exact":  # the usual one, without a row over the whole vocabulary
        return [accept_probability(p[i, token], q[i, token]) for i, token in enumerate(tokens)]
    return block_chances(p, q, tokens) if name == "block" else TOKEN_RULES[name].chances(p, q, tokens)
