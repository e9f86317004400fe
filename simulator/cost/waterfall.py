"""From the formula's promise down to the measured speedup, in named steps that add up exactly.

Knows the order of the steps. Does not know clocks, models or the screen.

Each step puts one measured thing in place of one assumption; the order is fixed, because the sizes depend on it:

*formula*      Leviathan Thm 3.8 with the mean alpha and c: tokens by (1 - alpha^(k+1)) / (1 - alpha), a verify pass
               that costs one step, no overhead.
*correlation*  the tokens per round that were measured in place of the formula's: alpha differs between contexts.
*verify*       what the pass over k + 1 positions costs more than the pass over one.
*fixed*        what a speculative round pays whatever k is, beyond a plain one: verdicts, rollback, what its first draft
               step costs more.
*rest*         what is left to the measurement: hiccups, the last rounds of a run, a draft that is no line in k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.measure import Sweep
from simulator.round_cost import RoundCost, draft_line
from simulator.theory import expected_tokens


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the waterfall."""

    name: str  # "correlation", "verify", "fixed" or "rest"
    size: float  # in speedup: + what it adds, - what it takes
    after: float  # the speedup behind this step


@dataclass(frozen=True, slots=True)
class Waterfall:
    """promised + the sizes of all steps = measured."""

    k: int
    alpha: float
    c: float
    promised: float
    steps: tuple[Step, ...]
    measured: float

    @property
    def predicted(self) -> float:
        """Return the speedup before the unexplained rest."""
        return self.steps[-1].after - self.steps[-1].size

    @property
    def rest_share(self) -> float:
        """Return the unexplained rest / measured speedup, 0 or more."""
        return abs(self.steps[-1].size) / self.measured


def waterfall(
    alpha: float, c: float, k: int, tokens: float, verify: float, fixed: float, measured: float
) -> Waterfall:  # fmt: skip
    """Return the steps from Leviathan Thm 3.8 to `measured`.

    tokens: emitted per round, measured. verify, fixed: extra time over a plain round of the pass over k + 1 positions
    and of everything else but k draft steps of c, in plain steps; noise may make them negative. ValueError where a
    round would take no time, or the measured speedup is not above 0.
    """
    drafting = 1.0 + k * c
    if min(drafting, drafting + verify, drafting + verify + fixed) <= 0 or measured <= 0:
        raise ValueError(
            f"A round of {drafting + verify + fixed:.3g} steps at {measured:.3g} times makes no waterfall."
        )
    promised = expected_tokens(alpha, k) / drafting
    levels = {
        "correlation": tokens / drafting,
        "verify": tokens / (drafting + verify),
        "fixed": tokens / (drafting + verify + fixed),
        "rest": measured,
    }
    steps, before = [], promised
    for name, after in levels.items():
        steps.append(Step(name, after - before, after))
        before = after
    return Waterfall(k, alpha, c, promised, tuple(steps), measured)


def from_sweep(sweep: Sweep, k: int) -> Waterfall | None:
    """Return the waterfall at this draft length; None where it was not measured, or alpha is not known."""
    point = next((p for p in sweep.points if p.k == k), None)
    alpha = sweep.figures.alpha if sweep.figures else None
    if not k or point is None or alpha is None or not {0, k} <= set(sweep.rounds):
        return None
    return of_costs(alpha, sweep.rounds, k, point.tokens_per_round.median, point.speedup.median)


def of_costs(alpha: float, costs: Mapping[int, RoundCost], k: int, tokens: float, measured: float) -> Waterfall:
    """Return the waterfall at this draft length, from the costs of measured rounds by k, plain ones under 0.

    tokens per round and measured speedup are of the same runs: medians over the repeats both.
    """
    here, plain = costs[k], costs[0]
    c, first = draft_line(list(costs.values()))
    verify, other = here.verify - plain.verify, here.other - plain.other
    return waterfall(alpha, c, k, tokens, verify, other + first, measured)
