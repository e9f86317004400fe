"""Tokens per round: at one alpha, at positions that differ, and at an alpha that differs by context.

Knows: acceptance and draft length, independent or not. Does not know: p and q, costs.

Three models, each a section: one alpha for all tests; acceptances a_1 .. a_k of the positions; alpha ~ Beta(A, B), one
draw per context. Arguments of `expected_tokens` broadcast; numbers in give a float out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.theory.arguments import FloatArray, length, plain, probability, solve

Lengths = Sequence[int] | NDArray[np.integer[Any]]


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
    return plain(_tokens(probability("alpha", alpha), length("k", k)))


def equivalent_alpha(accepted: float, k: int) -> float:
    """Return the constant alpha whose rounds of k drafted tokens accept `accepted` on average.

    It solves sum_{i=1..k} alpha^i = accepted. ValueError for k < 1 or accepted outside 0..k.
    Source: Leviathan Eq. 1 solved for alpha.
    """
    if int(length("k", k)) < 1 or not 0 <= accepted <= k:
        raise ValueError(f"accepted must lie in 0..k with k at least 1, not {accepted} with k = {k}.")
    alpha = solve(lambda a: expected_tokens(a, k), 1.0 + accepted)
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
    mean, rho = float(probability("mean", mean)), float(probability("rho", rho))
    steps = rho * np.arange(1, int(length("k", k)))
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
    lengths = length("k", k)
    sums = np.cumsum(beta_moments(mean, rho, int(lengths.max(initial=0))))
    return plain(sums[lengths])


def solve_rho(mean: float, accepted: float, k: int) -> float | None:
    """Return the rho in 0..1 at which the Beta model accepts `accepted` of k drafted tokens; None if none does.

    accepted: tokens per round, without the extra one. The model reaches from independence (rho = 0) to k * mean
    (rho = 1). ValueError for accepted outside 0..k, mean outside 0..1. Source: `correlated_tokens` solved for rho.
    """
    mean, lengths = float(probability("mean", mean)), length("k", k)
    if not 0 <= accepted <= lengths:
        raise ValueError(f"accepted must lie in 0..k, not {accepted} with k = {k}.")
    return solve(lambda rho: float(beta_moments(mean, rho, k).sum()), 1.0 + accepted)


# Parts


def _tokens(alpha: FloatArray | np.float64, k: NDArray[Any]) -> FloatArray:
    """Sum alpha^0 .. alpha^k by Horner's rule: exact at 0 and 1, rising in alpha and k even in the last bit."""
    alphas, lengths = np.broadcast_arrays(alpha, k)
    total = np.ones(alphas.shape)
    for i in range(1, int(lengths.max(initial=0)) + 1):
        total = np.where(i <= lengths, 1.0 + alphas * total, total)
    return total


def _row(acceptances: ArrayLike) -> FloatArray:
    """Return per-position acceptances as one row, [k]."""
    a = probability("Each acceptance", acceptances)
    if a.ndim != 1:
        raise ValueError(f"Acceptances must be one row of k values, not an array of shape {a.shape}.")
    return a
