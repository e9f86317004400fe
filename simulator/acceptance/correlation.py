"""Acceptance that is not independent: the Beta model fitted to rounds, and whether it foretells other draft lengths.

Knows: histograms of accepted tokens by draft length, and the closed forms of `theory`.
Does not know: traces, where the histograms came from, Qt.

The model: alpha of a round is drawn from a Beta law and stays for the round, so the first i drafted tokens are all
accepted with probability E[alpha^i] (`theory.beta_moments`), and accepted counts follow the beta-geometric law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from simulator.exactness.chance import chi_square_tail
from simulator.theory.tokens_per_round import beta_moments, correlated_tokens, expected_tokens

FIT_K = 4  # the draft length that a control run fits at
GRID = 41  # values of mean and of rho in each pass of the search
PASSES = 6  # each narrows the search to two steps around the best
TINY = 1e-300
RHOS = tuple(i / 100 for i in range(1, 100))
Z = 1.96  # 95 %

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """The Beta law that makes the seen rounds most likely, and the constant alpha that does."""

    mean: float
    rho: float
    alpha: float  # accepted / tested: the most likely constant alpha
    rounds: int
    chance: float  # of a likelihood ratio at least as large if alpha were constant (rho = 0)

    def tokens(self, k: int) -> float:
        """Return the tokens per round that the Beta law foretells at draft length k."""
        return correlated_tokens(self.mean, self.rho, k)


def fit_beta(by_length: Mapping[int, Sequence[float]]) -> Fit | None:
    """Return the most likely Beta law of rounds; None where they cannot tell mean and correlation apart.

    by_length: draft length k -> [k + 1], rounds that accepted 0 .. k tokens. A round that accepted all k only says
    that more would have been accepted (it is censored). Two positions must have been tested, so k = 1 alone is None.
    Source: maximum likelihood of the beta-geometric law with censoring (Weinberg and Gladen 1986).
    """
    tallies = {k: np.asarray(row, np.float64) for k, row in by_length.items() if k > 0 and any(row)}
    longest = max(tallies, default=0)
    tested = sum(float(row[:k] @ np.arange(1, k + 1)) + k * float(row[k]) for k, row in tallies.items())
    accepted = sum(float(row @ np.arange(k + 1)) for k, row in tallies.items())
    if longest < 2 or not 0 < accepted < tested:
        return None
    mean, rho = _search(tallies, longest)
    alpha = accepted / tested
    best, flat = _likelihood(tallies, longest, np.array([mean, alpha]), np.array([rho, 0.0]))
    chance = chi_square_tail(2 * max(0.0, float(best - flat)), 1) / 2  # rho = 0 ends its range (Self and Liang 1987)
    return Fit(mean, rho, alpha, round(sum(float(row.sum()) for row in tallies.values())), chance)


def _search(tallies: Mapping[int, FloatArray], longest: int) -> tuple[float, float]:
    """Return the mean and rho of the highest likelihood, by grids that close in on it; deterministic."""
    low, high = np.array([1e-4, 0.0]), np.array([1 - 1e-4, 0.99])
    best = low
    for _ in range(PASSES):
        mean, rho = np.meshgrid(*(np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)), indexing="ij")
        value = _likelihood(tallies, longest, mean, rho)
        at = np.unravel_index(int(np.argmax(value)), value.shape)
        best, step = np.array([mean[at], rho[at]]), 2 * (high - low) / (GRID - 1)
        low, high = np.maximum([1e-6, 0.0], best - step), np.minimum([1 - 1e-6, 0.999], best + step)
    return float(best[0]), float(best[1])


def _likelihood(tallies: Mapping[int, FloatArray], longest: int, mean: FloatArray, rho: FloatArray) -> FloatArray:
    """Return the log-likelihood on a grid of means and rhos, [GRID, GRID]."""
    survival = [np.ones_like(mean)]
    for i in range(longest):
        survival.append(survival[-1] * (mean * (1 - rho) + i * rho) / (1 - rho + i * rho))
    total = np.zeros_like(mean)
    for k, row in tallies.items():
        for i in range(k):
            total += row[i] * np.log(np.maximum(survival[i] - survival[i + 1], TINY))
        total += row[k] * np.log(np.maximum(survival[k], TINY))
    return total


@dataclass(frozen=True, slots=True)
class ControlPoint:
    """One draft length of a control run: what was measured there, and what the fit elsewhere said it would be."""

    k: int
    rounds: int
    measured: float  # tokens per round
    interval: tuple[float, float] | None  # 95 %, rounds taken as independent; None from one round
    independent: float  # (1 - alpha^(k+1)) / (1 - alpha)
    start: float  # the same with the acceptance of first positions in the place of alpha
    correlated: float  # sum of E[alpha^i]


@dataclass(frozen=True, slots=True)
class Control:
    """Whether a law fitted at one k foretells the others; errors are means of |foretold / measured - 1| off that k.

    The independent formula stands here twice. Leviathan's alpha is the mean over all prefixes; where a round begins,
    behind a residual token as a rule, contexts are harder, so the mean of first positions is another number, and it is
    the one that the Beta law starts from. What correlation alone adds is seen against that second curve.
    """

    fit_k: int
    alpha: float  # of the independent formula: mean sum min(p, q), or accepted / tested where that is not known
    first: float  # share of rounds at `fit_k` that accepted their first token
    fit: Fit
    points: tuple[ControlPoint, ...]

    @property
    def independent_error(self) -> float | None:
        """Return the mean relative error of the independent formula at the other k."""
        return self._error([p.independent for p in self.points])

    @property
    def correlated_error(self) -> float | None:
        """Return the mean relative error of the fitted model at the other k."""
        return self._error([p.correlated for p in self.points])

    @property
    def start_error(self) -> float | None:
        """Return the mean relative error of the independent formula with the acceptance of first positions."""
        return self._error([p.start for p in self.points])

    @property
    def noise(self) -> float | None:
        """Return the mean half-width of the measured intervals, relative: errors below it show nothing."""
        others = [(p.interval, p.measured) for p in self.points if p.k != self.fit_k]
        halves = [(interval[1] - interval[0]) / 2 / measured for interval, measured in others if interval]
        return fmean(halves) if halves else None

    @property
    def telling_rho(self) -> float | None:
        """Return the correlation from which on the independent formula would miss by more than the noise; None: none.

        If rounds followed the Beta law with the fitted mean and this rho, alpha = accepted / tested at `fit_k` would
        miss the tokens per round at the other k by as much as the mean half-width of the measured intervals.
        """
        ks, noise = [p.k for p in self.points if p.k != self.fit_k], self.noise
        found = (rho for rho in RHOS if noise and _missed(self.fit.mean, rho, self.fit_k, ks) > noise)
        return next(found, None) if ks else None

    def _error(self, foretold: Sequence[float]) -> float | None:
        errors = [abs(f / p.measured - 1) for f, p in zip(foretold, self.points, strict=True) if p.k != self.fit_k]
        return fmean(errors) if errors else None


def control(full: Mapping[int, Sequence[int]], fit_k: int = FIT_K, alpha: float | None = None) -> Control | None:
    """Fit at `fit_k` and foretell every other k; None where nothing was drafted there or it cannot be fitted.

    full: draft length k -> [k + 1], rounds that drafted all k and accepted 0 .. k; the short rounds at the end of a
    run belong to no k. alpha: mean sum min(p, q) of the tested positions at `fit_k`, where it is known.
    """
    fit = fit_beta({fit_k: full[fit_k]}) if fit_k in full else None
    if fit is None:
        return None
    alpha, first = fit.alpha if alpha is None else min(1.0, alpha), 1 - full[fit_k][0] / sum(full[fit_k])
    rows = ((k, np.asarray(row, np.float64)) for k, row in sorted(full.items()) if k and sum(row))
    return Control(fit_k, alpha, first, fit, tuple(_point(k, row, alpha, first, fit) for k, row in rows))


def _point(k: int, row: FloatArray, alpha: float, first: float, fit: Fit) -> ControlPoint:
    n, tokens = float(row.sum()), 1.0 + np.arange(k + 1)
    mean = float(row @ tokens) / n
    half = Z * float(np.sqrt(row @ (tokens - mean) ** 2 / max(1.0, n - 1) / n))
    interval = (mean - half, mean + half) if n > 1 else None
    laws = expected_tokens(alpha, k), expected_tokens(first, k), fit.tokens(k)
    return ControlPoint(k, int(n), mean, interval, *laws)


def _missed(mean: float, rho: float, fit_k: int, ks: Sequence[int]) -> float:
    """Return the mean relative error, at these k, of constant alpha = accepted / tested of Beta rounds at `fit_k`."""
    survival = beta_moments(mean, rho, fit_k)
    alpha = float(survival[1:].sum() / survival[:-1].sum())
    return fmean(abs(expected_tokens(alpha, k) / correlated_tokens(mean, rho, k) - 1) for k in ks)
