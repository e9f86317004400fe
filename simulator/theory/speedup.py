"""Speedup: tokens per round over the cost of a round, the best draft length, and break-even.

Knows: costs, on top of `tokens_per_round`. Does not know: how tokens per round come about, p and q.

Arguments of `speedup` and `operations_factor` broadcast; numbers in give a float out.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from simulator.theory.arguments import TIE, FloatArray, cost, length, plain, solve
from simulator.theory.tokens_per_round import Lengths, correlated_tokens, expected_tokens


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
    return plain(expected_tokens(alpha, k) / _round_cost(c, k, c_verify, fixed))


@overload
def operations_factor(alpha: float, k: int, c_hat: float = 0.0) -> float: ...
@overload
def operations_factor(alpha: ArrayLike, k: ArrayLike, c_hat: ArrayLike = 0.0) -> FloatArray: ...
def operations_factor(alpha: ArrayLike, k: ArrayLike, c_hat: ArrayLike = 0.0) -> float | FloatArray:
    """Return arithmetic with / without speculation per token: (1 - alpha)(k c_hat + k + 1) / (1 - alpha^(k+1)).

    c_hat: operations of one draft step / of one target step. All broadcast. ValueError as for `speedup`.
    Source: Leviathan Thm 3.11; Table 1 there has c_hat = 0.
    """
    k = length("k", k)
    work = k * cost("c_hat", c_hat) + k + 1.0
    return plain(work / expected_tokens(alpha, k))


def best_k(
    alpha: float, c: float, c_verify: float = 0.0, fixed: float = 0.0, *, rho: float = 0.0, k_max: int = 64
) -> tuple[int, float]:
    """Return (k, speedup) of the fastest draft length in 0..k_max; of equally fast ones the smallest.

    (0, 1.0) means: do not speculate. With rho > 0 alpha is the mean of the Beta model. ValueError as for
    `speedup`. Source: maximum of Leviathan Thm 3.8; alpha <= c gives 0 there (Cor. 3.9).
    """
    curve = correlated_speedup(alpha, rho, c, np.arange(int(length("k_max", k_max)) + 1), c_verify, fixed)
    k = int(np.argmax(curve >= curve.max() * (1.0 - TIE)))
    return k, float(curve[k])


def break_even_alpha(c: float, c_verify: float = 0.0, fixed: float = 0.0, k: int = 1) -> float | None:
    """Return the smallest alpha in 0..1 at which drafting k tokens is no slower than not drafting; None if none is.

    For k = 1 it is c + c_verify + fixed. For k = 0 it is 0: the speedup is always 1. ValueError as for `speedup`.
    Source: speedup = 1 in Leviathan Thm 3.8, Cor. 3.9.
    """
    return solve(lambda alpha: expected_tokens(alpha, k), float(_round_cost(c, k, c_verify, fixed)))


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
    return plain(correlated_tokens(mean, rho, k) / _round_cost(c, k, c_verify, fixed))


def _round_cost(c: ArrayLike, k: ArrayLike, c_verify: ArrayLike, fixed: ArrayLike) -> FloatArray:
    """Return the time of a round in target steps; 1 at k = 0."""
    k = length("k", k)
    per_token = cost("c", c) + cost("c_verify", c_verify)
    return np.asarray(1.0 + k * per_token + np.where(k > 0, cost("fixed", fixed), 0.0))
