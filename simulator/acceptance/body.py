"""What can be said of acceptance from one body of rounds, whatever it came from; what its source cannot say is None.

Knows: the figures and what they mean. Does not know: how they are counted (`from_counts`, `from_runs`), files, Qt. The
words are `records`', the figures and their definitions `metrics`'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from simulator.intervals import wilson

LEVEL_Z = 3.29  # two-sided level .001: of a thousand honest runs one is called a disagreement


@dataclass(frozen=True, slots=True)
class Step:
    """One draft position, counted over rounds."""

    passed: int  # rounds that accepted at least this many tokens
    drafting: int  # rounds that drafted at all: the unconditional denominator
    reached: int | None  # rounds that tested this position: the conditional denominator; None if not known

    @property
    def unconditional(self) -> float | None:
        """Return passed / drafting."""
        return self.passed / self.drafting if self.drafting else None

    @property
    def conditional(self) -> float | None:
        """Return passed / reached."""
        return self.passed / self.reached if self.reached else None

    def intervals(self) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
        """Return Wilson's 95 % intervals of the unconditional and of the conditional rate."""
        reached = wilson(self.passed, self.reached) if self.reached is not None else None
        return wilson(self.passed, self.drafting), reached


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Every acceptance figure of one source; `figures` has the keys of `metrics.DEFINITIONS` that are one number."""

    source: str
    figures: Mapping[str, float | None]
    steps: tuple[Step, ...] = ()
    histogram: tuple[int, ...] = ()  # [longest draft + 1], rounds that accepted i tokens; empty: not known
    full: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # k -> histogram [k + 1] of rounds that drafted
    # all of their run's k: what a law of the accepted length is fitted to
    alphas: Mapping[int, float] = field(default_factory=dict)  # k -> mean sum min(p, q) of their tested positions
    agreement: Agreement | None = None
    printed: Mapping[str, float] = field(default_factory=dict)  # figures as the engine itself printed them, rounded
    rules: tuple[str, ...] = ()  # acceptance rules of the runs
    single: tuple[float, ...] = ()  # [longest draft], mean sum min(p, q) of a position over all rounds, tested or not
    notes: tuple[str, ...] = ()  # sentences: what was repaired, and what this source cannot say


@dataclass(frozen=True, slots=True)
class Agreement:
    """Alpha twice from the same tested positions: from the distributions, and from the verdicts.

    By the exact rule a verdict is a coin that falls "accepted" with probability sum min(p, q), whatever came before.
    So accepted - sum of those probabilities has mean 0 and variance sum o (1 - o), and z is near normal (martingale
    central limit theorem). |z| above `LEVEL_Z` is called a disagreement: one honest run in a thousand.
    """

    tested: int
    accepted: int
    expected: float  # sum of the overlaps of the tested positions
    deviation: float  # sqrt(sum o (1 - o))

    @property
    def z(self) -> float:
        """Return the difference in standard deviations; 0 or infinite where every overlap is 0 or 1."""
        gap = self.accepted - self.expected
        if self.deviation == 0:
            return 0.0 if abs(gap) < 1e-3 * max(1, self.tested) else math.copysign(math.inf, gap)
        return gap / self.deviation

    @property
    def agree(self) -> bool:
        """Return whether the two are as close as chance allows at level .001."""
        return abs(self.z) <= LEVEL_Z


def agreement_of(overlaps: ArrayLike, accepted: int) -> Agreement:
    """Return the comparison of sum min(p, q) of each tested position with how many of them were accepted."""
    capped = np.minimum(1.0, np.asarray(overlaps, float))  # float32 sums can reach 1 + 1e-7
    return Agreement(capped.size, accepted, float(capped.sum()), math.sqrt((capped * (1 - capped)).sum()))
