"""What the Stage's big numbers and measured points say, from the session's records.

Knows: which figure comes from the run, which from the measurement, and how to add up the first rounds of a long run
without going through them. Does not know widgets' insides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.measure import MeasuredPoint, Sweep
from simulator.records import RoundTrace
from simulator.theory.speedup import speedup
from simulator.trace.store import summary_of

STRETCH = 20_000  # rounds added up in one turn, about a millisecond
SUMMED = ("rounds", "emitted", "overlap", "overlaps", "round_ms")


@dataclass(frozen=True, slots=True)
class StageNumbers:
    """The figures on the Stage; None = not measured."""

    tokens_per_round: float | None
    alpha: float | None
    c: float | None
    speed_measured: float | None  # at the run's k, from the sweep
    speed_predicted: float | None
    with_speculation: float | None  # tokens/s
    without: float | None  # tokens/s


class Totals:
    """What the first n rounds come to, for any n; each round is looked at once.

    Rounds that emitted nothing count in the time alone, as in `metrics`.
    """

    def __init__(self) -> None:
        self.size = 0
        self._sums = np.zeros((len(SUMMED), 256))  # before round i

    def follow(self, rounds: Sequence[RoundTrace], wanted: int) -> bool:
        """Add up what is new among the first `wanted` rounds, a stretch a call; return whether that is all of it.

        Of a sequence shorter than what was added up, begin anew.
        """
        if len(rounds) < self.size:
            self.size = 0
        if (after := min(wanted, self.size + STRETCH)) > self.size:
            self._add(summary_of(rounds[self.size : after]))
        return self.size >= wanted

    def first(self, n: int) -> dict[str, float]:
        """Return the sums over the first n rounds, at most those there are."""
        return dict(zip(SUMMED, self._sums[:, max(0, min(n, self.size))].tolist(), strict=True))

    def _add(self, brief: NDArray[np.void]) -> None:
        there = brief["emitted"] > 0
        added = np.stack([there, brief["emitted"], there * brief["overlap"], there * brief["overlaps"],
                          brief["round_ms"]])  # fmt: skip
        after = self.size + len(brief)
        if after >= self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, max(self._sums.shape[1], after))))
        self._sums[:, self.size + 1 : after + 1] = self._sums[:, [self.size]] + added.cumsum(axis=1)
        self.size = after


def stage_numbers(first: Mapping[str, float], k: int, sweep: Sweep | None) -> StageNumbers:
    """Return the figures of the rounds shown so far (`Totals.first`) and of the sweep, if there is one."""
    cost = sweep.cost if sweep else None
    alpha = sweep.figures.alpha if sweep and sweep.figures else None
    if first["overlaps"]:
        alpha = min(1.0, first["overlap"] / first["overlaps"])  # sums can reach 1 + 1e-7
    seconds = first["round_ms"] / 1000
    here = point_at(sweep, k)
    plain = point_at(sweep, 0)
    predicted = None
    if cost is not None and alpha is not None:
        predicted = float(speedup(alpha, cost.c, k, cost.c_verify, cost.fixed))
    return StageNumbers(
        tokens_per_round=first["emitted"] / first["rounds"] if first["rounds"] else None,
        alpha=alpha,
        c=cost.c if cost else None,
        speed_measured=here.speedup.median if here else None,
        speed_predicted=predicted,
        with_speculation=here.tokens_per_second.median if here else first["emitted"] / seconds if seconds > 0 else None,
        without=plain.tokens_per_second.median if plain else None,
    )


def point_at(sweep: Sweep | None, k: int) -> MeasuredPoint | None:
    """Return the measured point of this draft length, if it was measured."""
    return next((p for p in sweep.points if p.k == k), None) if sweep else None
