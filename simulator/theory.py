"""Closed forms of speculative decoding: acceptance of a (p, q) pair, tokens per round, speedup, best k, bounds.

Knows: p, q, alpha, c, k, and the published formulas. Does not know: models, traces, torch, Qt, randomness.

The symbols, used in the same sense everywhere:

p, q        target and draft distribution of one position, after temperature and filters.
alpha       probability that a tested draft token is accepted, in 0..1.
k           draft length: tokens drafted per round.
c           time of one draft step / time of one target step.
c_verify    extra time of each additional verified position / time of one target step.
fixed       per-round overhead / time of one target step; paid by rounds that draft (k > 0), by no other.
rho         correlation of acceptance inside one round, when alpha differs between contexts (Beta model).

Arguments of `expected_tokens`, `speedup` and `operations_factor` broadcast; numbers in give a float out.
Source, unless said otherwise: Leviathan, Kalman, Matias 2022 (arXiv 2211.17192), "Leviathan" below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Lengths = Sequence[int] | NDArray[np.integer[Any]]

TIE = 1e-12  # two speedups closer than this (relative) are equal: rounding must not lengthen a draft
SUM_SLACK = 1e-3  # how far a float32 distribution over a large vocabulary may sum from 1


# One position


def overlap(p: ArrayLike, q: ArrayLike) -> Any:
    """Return alpha of each position: sum min(p, q) = 1 - TV, the probability that a draft from q is accepted.

    p, q: [..., vocab]; returns [...], a float for one position. ValueError unless both are distributions of one
    shape. Source: Leviathan Def. 3.1 to Cor. 3.6.
    """
    p, q = _pair(p, q)
    return _plain(np.minimum(p, q).sum(axis=-1))


def tv(p: ArrayLike, q: ArrayLike) -> Any:
    """Return the total variation distance of each position: 1/2 sum |p - q|, the probability of a rejection.

    p, q: [..., vocab]; returns [...], a float for one position. ValueError as for `overlap`. It is the mass of
    max(0, p - q) too. Source: Leviathan Lemma 3.3.
    """
    p, q = _pair(p, q)
    return _plain(0.5 * np.abs(p - q).sum(axis=-1))


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


# Constant alpha


@overload
def expected_tokens(alpha: float, k: int) -> float: ...
@overload
def expected_tokens(alpha: ArrayLike, k: ArrayLike) -> FloatArray: ...
def expected_tokens(alpha: ArrayLike, k: ArrayLike) -> float | FloatArray:
    """Return the tokens emitted per round: (1 - alpha^(k+1)) / (1 - alpha), and k + 1 at alpha = 1.

    alpha, k broadcast. ValueError for alpha outside 0..1 or k not whole or negative. Summed as powers, so there
    is no 0/0 to repair near alpha = 1. Source: Leviathan Eq. 1.
    """
    return _plain(_tokens(_probability("alpha", alpha), _length("k", k)))


@overload
def speedup(alpha: float, c: float, k: int, c_verify: float = 0.0, fixed: float = 0.0) -> float: ...
@overload
def speedup(
    alpha: ArrayLike, c: ArrayLike, k: ArrayLike, c_verify: ArrayLike = 0.0, fixed: ArrayLike = 0.0
) -> FloatArray: ...
def speedup(
    alpha: ArrayLike, c: ArrayLike, k: ArrayLike, c_verify: ArrayLike = 0.0, fixed: ArrayLike = 0.0
) -> float | FloatArray:
    """Return time without / time with speculation: E[tokens] / (1 + k (c + c_verify) + fixed).

    All arguments broadcast. Exactly 1 at k = 0, whatever the costs: such a round is a plain target step.
    ValueError for alpha outside 0..1, a negative or infinite cost, k not whole or negative.
    Source: Leviathan Thm 3.8, which has c_verify = fixed = 0.
    """
    tokens = _tokens(_probability("alpha", alpha), _length("k", k))
    return _plain(tokens / _round_cost(c, k, c_verify, fixed))


@overload
def operations_factor(alpha: float, k: int, c_hat: float = 0.0) -> float: ...
@overload
def operations_factor(alpha: ArrayLike, k: ArrayLike, c_hat: ArrayLike = 0.0) -> FloatArray: ...
def operations_factor(alpha: ArrayLike, k: ArrayLike, c_hat: ArrayLike = 0.0) -> float | FloatArray:
    """Return arithmetic with / without speculation per token: (1 - alpha)(k c_hat + k + 1) / (1 - alpha^(k+1)).

    c_hat: operations of one draft step / of one target step. All broadcast. ValueError as for `speedup`.
    Source: Leviathan Thm 3.11; Table 1 there has c_hat = 0.
    """
    k = _length("k", k)
    work = k * _cost("c_hat", c_hat) + k + 1.0
    return _plain(work / _tokens(_probability("alpha", alpha), k))


def best_k(
    alpha: float, c: float, c_verify: float = 0.0, fixed: float = 0.0, *, rho: float = 0.0, k_max: int = 64
) -> tuple[int, float]:
    """Return (k, speedup) of the fastest draft length in 0..k_max; of equally fast ones the smallest.

    (0, 1.0) means: do not speculate. With rho > 0 alpha is the mean of the Beta model. ValueError as for
    `speedup`. Source: maximum of Leviathan Thm 3.8; alpha <= c gives 0 there (Cor. 3.9).
    """
    curve = correlated_speedup(alpha, rho, c, np.arange(int(_length("k_max", k_max)) + 1), c_verify, fixed)
    k = int(np.argmax(curve >= curve.max() * (1.0 - TIE)))
    return k, float(curve[k])


def break_even_alpha(c: float, c_verify: float = 0.0, fixed: float = 0.0, k: int = 1) -> float | None:
    """Return the smallest alpha in 0..1 at which drafting k tokens is no slower than not drafting; None if none is.

    For k = 1 it is c + c_verify + fixed. For k = 0 it is 0: the speedup is always 1. ValueError as for `speedup`.
    Source: speedup = 1 in Leviathan Thm 3.8, Cor. 3.9.
    """
    lengths = _length("k", k)
    return _solve(lambda alpha: float(_tokens(np.float64(alpha), lengths)), float(_round_cost(c, k, c_verify, fixed)))


def equivalent_alpha(accepted: float, k: int) -> float:
    """Return the constant alpha whose rounds of k drafted tokens accept `accepted` on average.

    It solves sum_{i=1..k} alpha^i = accepted. ValueError for k < 1 or accepted outside 0..k.
    Source: Leviathan Eq. 1 solved for alpha.
    """
    if int(_length("k", k)) < 1 or not 0 <= accepted <= k:
        raise ValueError(f"accepted must lie in 0..k with k at least 1, not {accepted} with k = {k}.")
    alpha = _solve(lambda a: float(_tokens(np.float64(a), np.asarray(k))), 1.0 + accepted)
    assert alpha is not None  # 0..k is its whole range
    return alpha


# Positions that differ


def independent_length(acceptances: ArrayLike) -> float:
    """Return the accepted tokens per round if positions passed independently: sum_i prod_{j<=i} a_j.

    acceptances: [k], a_i = acceptance of position i on its own, not only of the survivors. ValueError for a value
    outside 0..1 or not one row. Source: product rule; with all a_i = alpha it is Leviathan Eq. 1 less 1.
    """
    return float(np.cumprod(_row(acceptances)).sum())


def frechet_bounds(acceptances: ArrayLike) -> tuple[float, float]:
    """Return the least and the most accepted tokens per round that any dependence between positions allows.

    acceptances: [k] as for `independent_length`. Lower: sum_i max(0, sum_{j<=i} a_j - (i - 1)); upper:
    sum_i min_{j<=i} a_j. ValueError as there. Source: Frechet inequalities on "positions 1..i all pass".
    """
    a = _row(acceptances)
    lower = np.maximum(0.0, np.cumsum(a) - np.arange(a.size)).sum()
    return float(lower), float(np.minimum.accumulate(a).sum())


# alpha ~ Beta(A, B), one draw per context


def beta_mean_rho(a: float, b: float) -> tuple[float, float]:
    """Return (mean, rho) of alpha ~ Beta(a, b): a / (a + b) and 1 / (a + b + 1).

    ValueError unless both are finite and above 0. rho is the correlation of two acceptances in one context.
    Source: moments of the Beta distribution (beta-binomial model).
    """
    for name, value in (("A", a), ("B", b)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} of the Beta law must be finite and above 0, not {value}.")
    return a / (a + b), 1.0 / (a + b + 1.0)


def beta_parameters(mean: float, rho: float) -> tuple[float, float]:
    """Return (A, B) of the Beta law with this mean and correlation: the inverse of `beta_mean_rho`.

    ValueError unless both lie strictly inside 0..1; at their ends there is no Beta law, only its limits, which
    `beta_moments` does take. Source: A + B = 1 / rho - 1.
    """
    for name, value in (("mean", mean), ("rho", rho)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie strictly between 0 and 1, not {value}.")
    weight = 1.0 / rho - 1.0
    return mean * weight, (1.0 - mean) * weight


def beta_moments(mean: float, rho: float, k: int) -> FloatArray:
    """Return E[alpha^i] for i = 0..k: the probability that the first i drafted tokens are all accepted.

    Returns [k + 1]. rho = 0 is independence (mean^i), rho = 1 all or nothing; from (A, B) by way of
    `beta_mean_rho`. ValueError for mean or rho outside 0..1, k not whole or negative.
    Source: E[alpha^i] = prod_{j<i} (A + j) / (A + B + j), multiplied through by rho.
    """
    mean, rho = float(_probability("mean", mean)), float(_probability("rho", rho))
    steps = rho * np.arange(1, int(_length("k", k)))
    factors = np.append(mean, (mean * (1.0 - rho) + steps) / (1.0 - rho + steps))[:k]
    return np.append(1.0, np.cumprod(factors))


@overload
def correlated_tokens(mean: float, rho: float, k: int) -> float: ...
@overload
def correlated_tokens(mean: float, rho: float, k: Lengths) -> FloatArray: ...
def correlated_tokens(mean: float, rho: float, k: int | Lengths) -> float | FloatArray:
    """Return the tokens emitted per round when alpha differs between contexts: sum_{i=0..k} E[alpha^i].

    k: a number or an array; returns its shape. ValueError as for `beta_moments`. Never below
    `expected_tokens(mean, k)`: by Jensen E[alpha^i] >= mean^i. Source: `beta_moments` summed.
    """
    lengths = _length("k", k)
    sums = np.cumsum(beta_moments(mean, rho, int(lengths.max(initial=0))))
    return _plain(sums[lengths])


@overload
def correlated_speedup(
    mean: float, rho: float, c: float, k: int, c_verify: float = 0.0, fixed: float = 0.0
) -> float: ...
@overload
def correlated_speedup(
    mean: float, rho: float, c: float, k: Lengths, c_verify: float = 0.0, fixed: float = 0.0
) -> FloatArray: ...
def correlated_speedup(
    mean: float, rho: float, c: float, k: int | Lengths, c_verify: float = 0.0, fixed: float = 0.0
) -> float | FloatArray:
    """Return `speedup` with the tokens per round of the Beta model: `correlated_tokens` over the same cost.

    k: a number or an array; returns its shape, exactly 1 at k = 0. ValueError as for `speedup` and
    `beta_moments`. Source: Leviathan Thm 3.8 with E[alpha^i] in place of alpha^i.
    """
    return _plain(correlated_tokens(mean, rho, k) / _round_cost(c, k, c_verify, fixed))


def solve_rho(mean: float, accepted: float, k: int) -> float | None:
    """Return the rho in 0..1 at which the Beta model accepts `accepted` of k drafted tokens; None if none does.

    accepted: tokens per round, without the extra one. The model reaches from independence (rho = 0) to k * mean
    (rho = 1). ValueError for accepted outside 0..k, mean outside 0..1. Source: `correlated_tokens` solved for rho.
    """
    mean, lengths = float(_probability("mean", mean)), _length("k", k)
    if not 0 <= accepted <= lengths:
        raise ValueError(f"accepted must lie in 0..k, not {accepted} with k = {k}.")
    return _solve(lambda rho: float(beta_moments(mean, rho, k).sum()), 1.0 + accepted)


# Parts


def _tokens(alpha: FloatArray | np.float64, k: NDArray[Any]) -> FloatArray:
    """Sum alpha^0 .. alpha^k by Horner's rule: exact at 0 and 1, rising in alpha and k even in the last bit."""
    alphas, lengths = np.broadcast_arrays(alpha, k)
    total = np.ones(alphas.shape)
    for i in range(1, int(lengths.max(initial=0)) + 1):
        total = np.where(i <= lengths, 1.0 + alphas * total, total)
    return total


def _round_cost(c: ArrayLike, k: ArrayLike, c_verify: ArrayLike, fixed: ArrayLike) -> FloatArray:
    """Return the time of a round in target steps; 1 at k = 0."""
    k = _length("k", k)
    per_token = _cost("c", c) + _cost("c_verify", c_verify)
    return np.asarray(1.0 + k * per_token + np.where(k > 0, _cost("fixed", fixed), 0.0))


def _solve(rising: Callable[[float], float], goal: float) -> float | None:
    """Return the x in 0..1 with rising(x) = goal, by bisection; None where the goal lies outside its range."""
    slack = TIE * max(1.0, abs(goal))
    if not rising(0.0) - slack <= goal <= rising(1.0) + slack:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= goal else (middle, high)
    return 0.0 if goal <= rising(0.0) else high


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return p and q as float64 distributions of one shape, [..., vocab]."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    if p.shape != q.shape or p.ndim == 0:
        raise ValueError(f"p and q must be arrays of one shape, not {p.shape} and {q.shape}.")
    for name, row in (("p", p), ("q", q)):
        sums = np.atleast_1d(_probability(name, row).sum(axis=-1))
        if (off := sums[np.abs(sums - 1.0) > SUM_SLACK]).size:
            raise ValueError(f"{name} must sum to 1, not to {off.flat[0]:.6g}.")
    return p, q


def _row(acceptances: ArrayLike) -> FloatArray:
    """Return per-position acceptances as one row, [k]."""
    a = _probability("Each acceptance", acceptances)
    if a.ndim != 1:
        raise ValueError(f"Acceptances must be one row of k values, not an array of shape {a.shape}.")
    return a


def _probability(name: str, value: ArrayLike) -> FloatArray:
    """Return value as float64, or refuse what lies outside 0..1 (NaN included)."""
    array = np.asarray(value, np.float64)
    if (bad := array[~((array >= 0) & (array <= 1))]).size:
        raise ValueError(f"{name} must lie in 0..1, not {bad.flat[0]:.9g}.")
    return array


def _cost(name: str, value: ArrayLike) -> FloatArray:
    """Return value as float64, or refuse what is negative, infinite or NaN."""
    array = np.asarray(value, np.float64)
    if (bad := array[~((array >= 0) & (array < np.inf))]).size:
        raise ValueError(f"{name} must be finite and at least 0, not {bad.flat[0]:.9g}.")
    return array


def _length(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return value as an array of whole numbers of at least 0, or refuse it."""
    array = np.asarray(value)
    if (bad := array if array.dtype.kind not in "iu" else array[array < 0]).size:
        raise ValueError(f"{name} must be a whole number of at least 0, not {bad.flat[0]}.")
    return array


def _plain(array: FloatArray | float) -> float | FloatArray:
    """Return a float for an array without dimensions, the array itself otherwise."""
    return float(array) if np.ndim(array) == 0 else array
