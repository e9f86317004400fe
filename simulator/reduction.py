"""Cut a round's full rows [n, vocab] down to what the trace keeps: bars and whole-vocabulary figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.records import Bars, FloatArray, Shape

TINY = np.finfo(np.float32).tiny
HIGH, LOW = (
    2e-3,
    5e-5,
)  # where enough entries are above one of them (p and q have few large ones), only those are sorted
KEPT = 32  # tokens per position, by max(p, q); unless q has as many larger ones, the residual's largest are among them


def shapes(p: FloatArray, q: FloatArray) -> list[Shape]:
    """Return the figures of every position from p [n + 1, vocab] and q [n, vocab]; the overlap is summed in float64.

    The last position has no q: the draft was never asked there.
    """
    n, missed = len(q), p[: len(q)] - q
    np.maximum(missed, 0, out=missed)
    tv = np.minimum(np.add.reduce(missed, -1, dtype=np.float64), 1)  # float32 rows sum to 1 but for rounding;
    overlaps, tvs = (1 - tv).tolist(), tv.tolist()  # exactly 1 and 0 where p = q, which a sum of minima is not
    entropies_p, entropies_q, largest = _entropy(p), _entropy(q), np.maximum.reduce(p, -1).tolist()
    drafted = [Shape(overlaps[i], tvs[i], entropies_p[i], entropies_q[i], largest[i]) for i in range(n)]
    return drafted + [Shape(None, None, entropies_p[i], None, largest[i]) for i in range(n, len(p))]


def _entropy(rows: FloatArray) -> list[float]:
    """Return the entropy in nats of each row; 0 log 0 = 0."""
    entropies: list[float] = (0 - np.vecdot(rows, np.log(np.maximum(rows, TINY)))).tolist()
    return entropies


def bars(p: FloatArray, q: FloatArray, always: Sequence[Sequence[int]]) -> list[Bars]:
    """Return the largest tokens of every position by max(p, q), those in `always` [n] among them.

    p [n, vocab], q [m, vocab] with m <= n: behind row m nothing was drafted.
    """
    m = len(q)
    height = np.concatenate([np.maximum(p[:m], q), p[m:]])
    high = height > HIGH
    result = []
    for i, named in enumerate(always):
        row, ids = height[i], high[i].nonzero()[0]
        if len(ids) < KEPT:
            ids = _candidates(row)
        ids = ids[(-row[ids]).argsort(kind="stable")[:KEPT]]  # equal ones stay in the order of their ids
        kept = ids.tolist()
        lower = [t for t in named if t not in kept]
        if lower:
            ids = np.array(kept + sorted(set(lower), key=lambda t: (-row[t], t)))
        result.append(Bars(ids.astype(np.int32), p[i].take(ids), q[i].take(ids) if i < m else None))
    return result


def _candidates(row: FloatArray) -> NDArray[np.intp]:
    """Return ids of a row [vocab] in order, the `KEPT` largest entries among them; of equal ones the first."""
    if len(row) <= KEPT:
        return np.arange(len(row))
    high = (row > LOW).nonzero()[0]
    if len(high) >= KEPT:
        return high
    least = np.partition(row, -KEPT)[-KEPT]
    above = (row > least).nonzero()[0]
    return np.sort(np.concatenate([above, (row == least).nonzero()[0][: KEPT - len(above)]]))
