"""Choose which tokens of a position become columns, and where the columns stand.

Knows: p, q and the identities between them (reference, section 1). Does not know: Qt, colours, token text.

Every column satisfies both + missed = p and both + excess = q. The last column may be the rest of the
vocabulary, the only one in which `missed` and `excess` can both be positive: min(p, q) summed over many
tokens is less than min(sum p, sum q).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.records import Position

REST = -1  # stands for a token id in the column of all tokens not shown
GAP = 0.7  # columns left free before the tail and before the rest
NOTHING = 1e-6  # a rest below this is rounding of float32 probabilities, not mass

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one position, left to right: head by max(p, q), then the tail, then the rest."""

    ids: NDArray[np.int64]  # [m], REST for the rest
    x: Floats  # [m], column centres; neighbours are 1 apart
    p: Floats  # [m]
    q: Floats | None  # [m]; None where the draft proposed nothing
    both: Floats  # [m], min(p, q); for the rest the sum of min(p, q) over its tokens
    gaps: tuple[float, ...]  # x of the middle of each gap

    @property
    def missed(self) -> Floats:
        """Return p - both, the mass the draft missed: the unnormalised residual."""
        return self.p - self.both

    @property
    def excess(self) -> Floats:
        """Return q - both, the mass the draft gave too much; zeros without q."""
        return np.zeros_like(self.p) if self.q is None else self.q - self.both

    @property
    def residual(self) -> Floats:
        """Return norm(max(0, p - q)) per column, zeros where p = q."""
        mass = self.missed.sum()
        return self.missed / mass if self.q is not None and mass > 0 else np.zeros_like(self.p)

    @property
    def right(self) -> float:
        """Return the x where the last column ends."""
        return float(self.x[-1]) + 0.5 if self.x.size else 0.5

    def at(self, x: float) -> int | None:
        """Return the index of the column under x, None in a gap."""
        near = np.flatnonzero(np.abs(self.x - x) <= 0.5)
        return int(near[0]) if near.size else None

    def index(self, token_id: int | None) -> int | None:
        """Return the column of a token, None when it has none."""
        found = np.flatnonzero(self.ids == token_id) if token_id is not None else np.empty(0, int)
        return int(found[0]) if found.size else None


def columns_of(position: Position, capacity: int) -> Columns | None:
    """Return at most `capacity` columns, rest included; None when the position kept no bars (trace off).

    The drafted and the extra token always have a column; where they rank too low they form the tail.
    """
    global _last
    if _last is None or _last[0] is not position or _last[1] != capacity:
        _last = position, capacity, _columns(position, capacity)
    return _last[2]


_last: tuple[Position, int, Columns | None] | None = None  # two plots ask for the same columns one after the other


def _columns(position: Position, capacity: int) -> Columns | None:
    bars = position.bars
    if bars is None:
        return None
    p, q = bars.p.astype(np.float64), None if bars.q is None else bars.q.astype(np.float64)
    order = np.argsort(-(p if q is None else np.maximum(p, q)), kind="stable")
    head, tail = _split(bars.ids[order], _forced(position), capacity)
    chosen = np.concatenate([order[:head], order[tail]])
    return _with_rest(position, bars.ids[chosen], p[chosen], None if q is None else q[chosen], head)


def _forced(position: Position) -> set[int]:
    return {t.token_id for t in (position.drafted, position.extra) if t is not None}


def _split(ids: NDArray[np.int32], forced: set[int], capacity: int) -> tuple[int, list[int]]:
    """Return how many tokens the head shows, and the ranks of the forced tokens behind it."""
    ranks = [i for i, token in enumerate(ids.tolist()) if token in forced]
    for spare in range(len(ranks) + 1):
        head = max(1, min(len(ids), capacity - 1 - spare))
        tail = [rank for rank in ranks if rank >= head]
        if len(tail) <= spare:
            break
    return head, tail


def _with_rest(position: Position, ids: NDArray[np.int32], p: Floats, q: Floats | None, head: int) -> Columns:
    both = p if q is None else np.minimum(p, q)
    x = np.arange(ids.size) + np.where(np.arange(ids.size) >= head, GAP, 0.0)
    gaps = [head - 0.5 + GAP / 2] if ids.size > head else []
    rest_p, rest_q = _remaining(p), 0.0 if q is None else _remaining(q)
    if max(rest_p, rest_q) < NOTHING:
        return Columns(ids.astype(np.int64), x, p, q, both, tuple(gaps))
    last = float(x[-1]) + 0.5 if ids.size else -0.5
    return Columns(
        ids=np.append(ids.astype(np.int64), REST),
        x=np.append(x, last + GAP + 0.5),
        p=np.append(p, rest_p),
        q=None if q is None else np.append(q, rest_q),
        both=np.append(both, _rest_both(position, both, rest_p, rest_q) if q is not None else rest_p),
        gaps=(*gaps, last + GAP / 2),
    )


def _remaining(values: Floats) -> float:
    return max(0.0, 1.0 - float(values.sum()))


def _rest_both(position: Position, both: Floats, rest_p: float, rest_q: float) -> float:
    """Return the overlap left for the rest; without the position's overlap its upper bound."""
    most = min(rest_p, rest_q)
    if position.shape is None or position.shape.overlap is None:
        return most
    return min(most, max(0.0, position.shape.overlap - float(both.sum())))
