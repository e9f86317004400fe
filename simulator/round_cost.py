"""What a draft step, a verified position and a round cost, in target steps, from measured rounds.

Knows times in traces. Does not know how they were taken (`measure`) or what the formulas make of them (`theory`).

Two questions, two means. What a step costs is a mean without hiccups: a round that took more than HICCUP times the
median of its kind is the machine's doing. (A mean, not a median, because some rounds do cost more: the draft reads two
tokens after a full acceptance.) What a run's speed was made of is a mean of all its rounds, hiccups too: they are in
the speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from simulator.records import RoundTrace

HICCUP = 3.0  # times the median


@dataclass(frozen=True, slots=True)
class Cost:
    """Times relative to one plain target step: round = step * (1 + k (c + c_verify) + fixed)."""

    step_ms: float  # one plain round: target pass, sampling and trace
    c: float  # each draft step / step
    c_verify: float  # each additional verified position / step
    fixed: float  # what a speculative round pays whatever k is / step: a dearer first draft step is part of it


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Mean of rounds at one draft length, in plain steps; draft + verify + other = the whole round."""

    k: int
    rounds: int
    draft: float  # the whole proposal; 0 where k = 0
    verify: float  # the target's pass over k + 1 positions
    other: float  # everything else: probabilities, verdict, rollback, trace
    tokens: float  # emitted
    drafted: float  # k, less where rounds were cut short or a source found less to draft


def cost(plain: Sequence[RoundTrace], speculative: Mapping[int, Sequence[RoundTrace]]) -> Cost | None:
    """Return the cost fitted to plain rounds and to speculative rounds by k >= 1; None when either is missing.

    The draft's time and the rest of a round are each fitted with a line in k through their means: slopes c and
    c_verify, intercepts fixed and 1 + fixed added up; with a single k all of it counts as slope.
    """
    if not plain:
        return None
    step, drafting = _step_ms(plain), []
    for k in sorted(k for k in speculative if k > 0):
        if whole := _without_hiccups([r for r in speculative[k] if r.drafted == k]):  # others are rounds of another k
            drafting.append(_mean(k, whole, step))
    if not drafting:
        return None
    c, first = draft_line(drafting)
    c_verify, fixed = _line([each.k for each in drafting], [each.verify + each.other - 1 for each in drafting])
    return Cost(step, c, c_verify, fixed + first)


def run_costs(plain: Sequence[RoundTrace], speculative: Mapping[int, Sequence[RoundTrace]]) -> dict[int, RoundCost]:
    """Return what the rounds of one repeat cost by k, plain ones under 0; empty without plain rounds.

    All rounds count, so that tokens / (draft + verify + other) is the repeat's speedup; a k of which no round drafted
    all k tokens is left out, for it measured shorter drafts.
    """
    if not plain:
        return {}
    step = fmean(r.round_ms for r in plain)
    drafting = {k: r for k, r in speculative.items() if k > 0 and any(each.drafted == k for each in r)}
    return {k: _mean(k, rounds, step) for k, rounds in sorted({0: plain, **drafting}.items())}


def draft_line(costs: Sequence[RoundCost]) -> tuple[float, float]:
    """Return c and what the first draft step of a round costs more, in plain steps, fitted over all k >= 1; else 0, 0.

    More, because after a full acceptance it reads two tokens, and because the target's pass has emptied the caches.
    """
    drafting = [each for each in costs if each.k]
    return _line([each.drafted for each in drafting], [each.draft for each in drafting]) if drafting else (0.0, 0.0)


def _mean(k: int, rounds: Sequence[RoundTrace], step: float) -> RoundCost:
    draft = fmean(r.draft_ms for r in rounds) / step
    verify = fmean(r.verify_ms for r in rounds) / step
    other = fmean(r.round_ms - r.draft_ms - r.verify_ms for r in rounds) / step
    tokens, drafted = fmean(len(r.emitted) for r in rounds), fmean(r.drafted for r in rounds)
    return RoundCost(k, len(rounds), draft, verify, other, tokens, drafted)


def _step_ms(plain: Sequence[RoundTrace]) -> float:
    return fmean(r.round_ms for r in _without_hiccups(plain))


def _without_hiccups(rounds: Sequence[RoundTrace]) -> list[RoundTrace]:
    if not rounds:
        return []
    most = HICCUP * median(r.round_ms for r in rounds)
    return [r for r in rounds if r.round_ms <= most]


def _line(ks: Sequence[float], extra: Sequence[float]) -> tuple[float, float]:
    """Return the least-squares slope and intercept of extra(k), neither below 0: a cost is never a gain."""
    k, e = np.array(ks, float), np.array(extra)
    if len(k) > 1:
        slope, intercept = np.polyfit(k, e, 1)
        if slope >= 0 and intercept >= 0:
            return float(slope), float(intercept)
        if slope < 0:
            return 0.0, max(0.0, float(e.mean()))
    return max(0.0, float((k * e).sum() / (k * k).sum())), 0.0
