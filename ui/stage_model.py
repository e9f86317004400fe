"""What the Stage's big numbers and measured points say, from the session's records.

Knows: which figure comes from the run, which from the measurement. Does not know widgets' insides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.measure import MeasuredPoint, Sweep, speed_of
from simulator.metrics import from_summary
from simulator.records import RoundTrace
from simulator.store import summary_of
from simulator.theory import speedup


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


def stage_numbers(rounds: Sequence[RoundTrace], k: int, sweep: Sweep | None) -> StageNumbers:
    """Return the figures of the rounds shown so far and of the sweep, if there is one."""
    brief = summary_of(rounds)
    figures = from_summary(brief)
    cost = sweep.cost if sweep else None
    alpha = figures.alpha if figures.alpha is not None else (sweep.figures.alpha if sweep and sweep.figures else None)
    here = point_at(sweep, k)
    plain = point_at(sweep, 0)
    predicted = None
    if cost is not None and alpha is not None:
        predicted = float(speedup(alpha, cost.c, k, cost.c_verify, cost.fixed))
    return StageNumbers(
        tokens_per_round=figures.acceptance_length,
        alpha=alpha,
        c=cost.c if cost else None,
        speed_measured=here.speedup.median if here else None,
        speed_predicted=predicted,
        with_speculation=here.tokens_per_second.median if here else speed_of(brief),
        without=plain.tokens_per_second.median if plain else None,
    )


def point_at(sweep: Sweep | None, k: int) -> MeasuredPoint | None:
    """Return the measured point of this draft length, if it was measured."""
    return next((p for p in sweep.points if p.k == k), None) if sweep else None
