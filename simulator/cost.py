"""What a draft step, a verified position and a round cost, in target steps, from measured rounds.

Knows times in traces. Does not know how they were taken (`measure`) or what they predict (`theory`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from simulator.records import RoundTrace


@dataclass(frozen=True, slots=True)
class Cost:
    """Times relative to one plain target step: round = step * (1 + k (c + c_verify) + fixed)."""

    step_ms: float  # one plain round: target pass, sampling and trace
    c: float  # one draft step / step
    c_verify: float  # each additional verified position / step
    fixed: float  # what a speculative round pays whatever k is / step


def cost(plain: Sequence[RoundTrace], speculative: Mapping[int, Sequence[RoundTrace]]) -> Cost | None:
    """Return the cost fitted to plain rounds and to speculative rounds by k >= 1; None when either is missing.

    c is the median time per drafted token. The rest of a round (all but the draft) is fitted with a line in k
    through its medians: slope c_verify, intercept 1 + fixed; with a single k all of it counts as c_verify.
    Only rounds that drafted all k tokens enter. Medians, so one hiccup of the machine does not matter.
    """
    full = {k: [r for r in rounds if r.drafted == k] for k, rounds in speculative.items() if k > 0}
    full = {k: rounds for k, rounds in full.items() if rounds}
    if not plain or not full:
        return None
    step = median(r.round_ms for r in plain)
    c = median(r.draft_ms / k for k, rounds in full.items() for r in rounds) / step
    ks = np.array(sorted(full), dtype=float)
    rest = np.array([median(r.round_ms - r.draft_ms for r in full[int(k)]) for k in ks]) / step
    return Cost(step, c, *_line(ks, rest - 1))


def _line(ks: NDArray[np.float64], extra: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least-squares slope and intercept of extra(k), neither below 0: a cost is never a gain."""
    if len(ks) > 1:
        slope, intercept = np.polyfit(ks, extra, 1)
        if slope >= 0 and intercept >= 0:
            return float(slope), float(intercept)
        if slope < 0:
            return 0.0, max(0.0, float(extra.mean()))
    return max(0.0, float((ks * extra).sum() / (ks * ks).sum())), 0.0
