"""From the formula's promise down to the measured speedup, in named steps that add up exactly.

Knows the order of the steps. Does not know clocks, models or the screen.

Each step puts one measured thing in place of one assumption; the order is fixed, because the sizes depend on it:

*formula*      Leviathan Thm 3.8 with the mean alpha and c: tokens by (1 - alpha^(k+1)) / (1 - alpha), a verify pass
               that costs one step, no overhead.
*correlation*  the tokens per round that were measured, emitted and drafted, in place of the formula's: alpha differs
               between contexts, a source may find nothing to draft, the last round of a run is cut short.
*verify*       what the pass over k + 1 positions costs more than the pass over one.
*fixed*        what a speculative round pays whatever k is, beyond a plain one: verdicts, rollback, what its first draft
               step costs more.
*rest*         what is left: a draft that is no line in k, and medians over repeats that need not be of the same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from simulator.cost.verdict import alpha_of
from simulator.measure import Sweep
from simulator.round_cost import RoundCost, draft_line
from simulator.theory.tokens_per_round import expected_tokens


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
    alpha: float, c: float, k: int, tokens: float, verify: float, fixed: float, measured: float,
    drafted: float | None = None,
) -> Waterfall:  # fmt: skip
    """Return the steps from Leviathan Thm 3.8 to `measured`.

    tokens: emitted per round, measured. verify, fixed: extra time over a plain round of the pass over k + 1 positions
    and of everything else but the draft steps of c, in plain steps; noise may make them negative. drafted: tokens per
    round, k if None. ValueError where a round would take no time, or the measured speedup is not above 0.
    """
    drafting = 1.0 + (k if drafted is None else drafted) * c
    if min(drafting, drafting + verify, drafting + verify + fixed) <= 0 or measured <= 0:
        raise ValueError(
            f"A round of {drafting + verify + fixed:.3g} steps at {measured:.3g} times makes no waterfall."
        )
    promised = expected_tokens(alpha, k) / (1.0 + k * c)
    levels = {
        "correlation": tokens / drafting,
        "verify": tokens / (drafting + verify),
        "fixed": tokens / (drafting + verify + fixed),
        "rest": measured,
    }
    return _between(k, alpha, c, promised, levels)


def from_sweep(sweep: Sweep, k: int, rule: str = "exact") -> Waterfall | None:
    """Return the waterfall at this draft length by this rule; None where it was not measured, or alpha is not known."""
    alpha = alpha_of(sweep.figures, rule)
    repeats = [costs for costs in sweep.repeats if k in costs]
    if not k or alpha is None or not repeats:
        return None
    return middle([of_costs(alpha, costs, k) for costs in repeats])


def of_costs(alpha: float, costs: Mapping[int, RoundCost], k: int) -> Waterfall:
    """Return the waterfall of one repeat at this draft length, from what its rounds cost (`run_costs`).

    All but the rest is explained by the same rounds that the speedup was measured on; what a line through the draft's
    times of all k leaves is the rest.
    """
    here, plain = costs[k], costs[0]
    c, first = draft_line(list(costs.values()))
    verify, other = here.verify - plain.verify, here.other - plain.other
    measured = here.tokens / (here.draft + here.verify + here.other)
    return waterfall(alpha, c, k, here.tokens, verify, other + first, measured, here.drafted)


def middle(falls: Sequence[Waterfall]) -> Waterfall:
    """Return the waterfall whose levels are the medians over the repeats, one at least; its steps lie between them."""
    first = falls[0]
    promised = median(fall.promised for fall in falls)
    levels = {step.name: median(fall.steps[i].after for fall in falls) for i, step in enumerate(first.steps)}
    return _between(first.k, first.alpha, median(fall.c for fall in falls), promised, levels)


def _between(k: int, alpha: float, c: float, promised: float, levels: Mapping[str, float]) -> Waterfall:
    """Return the waterfall through these levels, the last of which was measured."""
    steps, before = [], promised
    for name, after in levels.items():
        steps.append(Step(name, after - before, after))
        before = after
    return Waterfall(k, alpha, c, promised, tuple(steps), before)
