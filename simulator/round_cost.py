"""What a draft step, a verified position and a round cost, in target steps, from measured rounds.

Knows times in traces. Does not know how they were taken (`measure`) or what the formulas make of them (`theory`).
Every time is a mean without hiccups: a round that took more than HICCUP times the median of its kind is the machine's
doing. A mean, not a median, because some rounds do cost more (the draft reads two tokens after a full acceptance).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from simulator.records import RoundTrace

HICCUP = 3.0  # times the median


@dataclass(frozen=True, slots=True)
class Cost:
    """Times relative to one plain target step: round = step * (1 + k (c + c_verify) + fixed)."""

    step_ms: float  # one plain round: target pass, sampling and trace
    c: float  # one draft step / step
    c_verify: float  # each additional verified position / step
    fixed: float  # what a speculative round pays whatever k is / step


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Mean of the rounds that drafted all k tokens, in plain steps; draft + verify + other = the whole round."""

    k: int
    rounds: int
    draft: float  # the whole proposal; 0 where k = 0
    verify: float  # the target's pass over k + 1 positions
    other: float  # everything else: probabilities, verdict, rollback, trace
    tokens: float  # emitted


def cost(plain: Sequence[RoundTrace], speculative: Mapping[int, Sequence[RoundTrace]]) -> Cost | None:
    """Return the cost fitted to plain rounds and to speculative rounds by k >= 1; None when either is missing.

    c is the mean time per drafted token. The rest of a round (all but the draft) is fitted with a line in k
    through its means: slope c_verify, intercept 1 + fixed; with a single k all of it counts as c_verify.
    """
    costs = round_costs(plain, speculative)
    drafting = [each for k, each in costs.items() if k]
    if not drafting:
        return None
    ks = np.array([each.k for each in drafting], dtype=float)
    rest = np.array([each.verify + each.other for each in drafting])
    return Cost(_step_ms(plain), draft_step(drafting), *_line(ks, rest - 1))


def round_costs(
    plain: Sequence[RoundTrace], speculative: Mapping[int, Sequence[RoundTrace]]
) -> dict[int, RoundCost]:  # fmt: skip
    """Return the mean costs by k, plain rounds under 0; empty without plain rounds.

    Only rounds that drafted all k tokens enter: those cut short at the end of a run are rounds of another k.
    """
    if not plain:
        return {}
    step = _step_ms(plain)
    drafting = {k: [r for r in rounds if r.drafted == k] for k, rounds in speculative.items() if k > 0}
    return {k: _mean(k, rounds, step) for k, rounds in sorted({0: plain, **drafting}.items()) if rounds}


def draft_step(costs: Sequence[RoundCost]) -> float:
    """Return c, the mean time of one drafted token over all rounds, in plain steps; 0 where none was drafted."""
    drafted = sum(each.rounds * each.k for each in costs)
    return sum(each.rounds * each.draft for each in costs) / drafted if drafted else 0.0


def predicted_speedup(costs: Mapping[int, RoundCost], k: int) -> float:
    """Return the speedup that the parts of a round add up to: tokens / (k c + verify(k + 1) + other(k)).

    c is the mean over all k, verify and other are the measured times at this k rather than points of a line, and the
    tokens per round are those measured at this k. KeyError where k was not measured. It is not the measured speedup:
    that also has hiccups, the last rounds of a run, and a draft step that depends on k.
    """
    return costs[k].tokens / (k * draft_step(list(costs.values())) + costs[k].verify + costs[k].other)


def _mean(k: int, rounds: Sequence[RoundTrace], step: float) -> RoundCost:
    kept = _without_hiccups(rounds)
    draft = fmean(r.draft_ms for r in kept) / step
    verify = fmean(r.verify_ms for r in kept) / step
    other = fmean(r.round_ms - r.draft_ms - r.verify_ms for r in kept) / step
    return RoundCost(k, len(kept), draft, verify, other, fmean(len(r.emitted) for r in rounds))


def _step_ms(plain: Sequence[RoundTrace]) -> float:
    return fmean(r.round_ms for r in _without_hiccups(plain))


def _without_hiccups(rounds: Sequence[RoundTrace]) -> list[RoundTrace]:
    most = HICCUP * median(r.round_ms for r in rounds)
    return [r for r in rounds if r.round_ms <= most]


def _line(ks: NDArray[np.float64], extra: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least-squares slope and intercept of extra(k), neither below 0: a cost is never a gain."""
    if len(ks) > 1:
        slope, intercept = np.polyfit(ks, extra, 1)
        if slope >= 0 and intercept >= 0:
            return float(slope), float(intercept)
        if slope < 0:
            return 0.0, max(0.0, float(extra.mean()))
    return max(0.0, float((ks * extra).sum() / (ks * ks).sum())), 0.0
