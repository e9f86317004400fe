"""What the figures need to know of one finished run, added up over its rounds once.

Knows: sums and counts of rounds. Does not know: what is made of them (`figures`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simulator.round_cost import HICCUP


class Times(NamedTuple):
    """A run's mean times over its full rounds, hiccups left out, in the place of a round: what `cost` reads."""

    drafted: int
    draft_ms: float
    verify_ms: float
    round_ms: float
    emitted: tuple[int, ...] = ()


class Sums(NamedTuple):
    """One run: its size does not grow with the rounds."""

    seconds: float
    overlaps: tuple[float, int]  # sum, number
    firsts: tuple[float, int]  # the same, of first positions
    lengths: dict[int, int]  # rounds by drafted tokens
    accepted: dict[int, int]  # accepted tokens by drafted tokens
    times: Times | None  # None where no round drafted all k tokens


def lengths_of(drafted: Sequence[int], accepted: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the rounds, and the accepted tokens, by drafted tokens. drafted, accepted: [rounds]."""
    by, passed = np.array(drafted, int), np.array(accepted, int)
    rounds = dict(Counter(drafted))
    return rounds, {n: int(passed[by == n].sum()) for n in rounds}


def times_of(
    k: int, drafted: Sequence[int], draft_ms: Sequence[float], verify_ms: Sequence[float], round_ms: Sequence[float]
) -> Times | None:
    """Return the mean times over the rounds that drafted all k tokens; None where none did. All rows: [rounds]."""
    full = np.array(drafted, int) == k
    draft, verify, whole = (np.array(row)[full] for row in (draft_ms, verify_ms, round_ms))
    if not len(whole):
        return None
    kept = whole <= HICCUP * np.median(whole)
    return Times(k, float(draft[kept].mean()), float(verify[kept].mean()), float(whole[kept].mean()))
