"""From the formula's promise down to the measured speedup, in named steps that add up exactly.

Knows the order of the steps. Does not know clocks, models or the screen.

Each step puts one measured thing in place of one assumption; the order is fixed, because the sizes depend on it:

*formula*      Leviathan Thm 3.8 with the mean alpha and c: tokens by (1 - alpha^(k+1)) / (1 - alpha), a verify pass
               that costs one step, no overhead.
*correlation*  the tokens per round that were measured in place of the formula's: alpha differs between contexts.
*verify*       what the pass over k + 1 positions costs more than the pass over one.
*fixed*        what a speculative round does besides drafting and verifying, beyond a plain one: verdicts, rollback.
*rest*         what is left to the measurement: hiccups, the last rounds of a run, a draft step that depends on k.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.measure import Sweep
from simulator.round_cost import draft_step
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
    and of everything else but the draft, in plain steps; noise may make them negative. ValueError where a round would
    take no time, or the measured speedup is not above 0.
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
    here, plain = sweep.rounds.get(k), sweep.rounds.get(0)
    alpha = sweep.figures.alpha if sweep.figures else None
    if not k or point is None or here is None or plain is None or alpha is None:
        return None
    c = draft_step(list(sweep.rounds.values()))
    verify, fixed = here.verify - plain.verify, here.other - plain.other
    return waterfall(alpha, c, k, here.tokens, verify, fixed, point.speedup.median)
