"""The accepted length of a round by every law that one can hold against the measurement.

Knows: single-position acceptances, a draft length, a measured mean, and the closed forms of `theory`.
Does not know: where they came from, how they look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.acceptance.body import Acceptance
from simulator.acceptance.correlation import Fit, fit_beta
from simulator.acceptance.published import Published
from simulator.theory.tokens_per_round import (
    correlated_tokens,
    expected_tokens,
    frechet_bounds,
    independent_length,
    solve_rho,
)

Z = 1.96  # 95 %


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of rounds that drafted k tokens; None: not known from this source."""

    source: str
    k: int
    positions: tuple[float, ...]  # [k], each position on its own, tested or not; empty if not known
    alpha: float | None  # of the constant-alpha formula
    measured: float | None  # accepted tokens per round
    interval: tuple[float, float] | None  # 95 % of the measured mean, rounds taken as independent
    fit: Fit | None
    histogram: tuple[int, ...]  # [k + 1]; empty if not known

    @property
    def mean(self) -> float:
        """Return the mean that the Beta law starts with: of the fit, else of the positions, else alpha."""
        if self.fit is not None:
            return self.fit.mean
        return sum(self.positions) / self.k if self.positions else self.alpha or 0.5

    def independent(self) -> float | None:
        """Return the accepted length if the positions passed independently."""
        return independent_length(self.positions) if self.positions else None

    def constant(self) -> float | None:
        """Return the accepted length of constant alpha: (1 - alpha^(k+1)) / (1 - alpha) - 1."""
        return None if self.alpha is None else expected_tokens(self.alpha, self.k) - 1

    def bounds(self) -> tuple[float, float] | None:
        """Return the Frechet bounds of the accepted length."""
        return frechet_bounds(self.positions) if self.positions else None

    def beta(self, mean: float, rho: float) -> float:
        """Return the accepted length of the Beta law."""
        return correlated_tokens(mean, rho, self.k) - 1

    def rho(self, mean: float) -> float | None:
        """Return the rho at which the Beta law of this mean gives the measured length; None if none does."""
        return None if self.measured is None else solve_rho(mean, self.measured, self.k)


def of_acceptance(a: Acceptance) -> Evidence | None:
    """Return the evidence of the draft length that most tokens were drafted at; None where no round drafted."""
    known = {k: row for k, row in a.full.items() if sum(row)}
    if not known:
        return None
    k = max(known, key=lambda length: length * sum(known[length]))
    row, fit = known[k], fit_beta({k: known[k]})
    positions = a.single if len(a.single) == k else ()
    tested = sum(min(i + 1, k) * n for i, n in enumerate(row))
    alpha = a.alphas.get(k, sum(i * n for i, n in enumerate(row)) / tested)
    mean, interval = _mean(row)
    return Evidence(a.source, k, positions, min(1.0, alpha), mean, interval, fit, tuple(row))


def of_published(p: Published) -> Evidence | None:
    """Return the evidence of a published row that printed every position; None for others."""
    if not p.per_position or p.k is None:
        return None
    measured = None if p.tokens_per_round is None else p.tokens_per_round - 1
    return Evidence(p.setting, p.k, p.per_position, p.alpha, measured, None, None, ())


def shares(survival: Sequence[float]) -> tuple[float, ...]:
    """Return the share of rounds that accept exactly 0 .. k tokens, from P(at least i), [k + 1] with P(0) = 1."""
    return tuple(a - b for a, b in zip(survival, (*survival[1:], 0.0), strict=True))


def _mean(row: Sequence[int] | Mapping[int, int]) -> tuple[float, tuple[float, float] | None]:
    counts = list(row)
    n = sum(counts)
    mean = sum(i * c for i, c in enumerate(counts)) / n
    if n < 2:
        return mean, None
    half = Z * math.sqrt(sum(c * (i - mean) ** 2 for i, c in enumerate(counts)) / (n - 1) / n)
    return mean, (max(0.0, mean - half), mean + half)
