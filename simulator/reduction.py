"""Cut a round's full rows [n, vocab] down to what the trace keeps: bars and whole-vocabulary figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.records import Bars, FloatArray, Shape

TINY = np.finfo(np.float32).tiny
HIGH = 1e-3  # where enough entries are above it (p and q have 2,000 at most, most rows a hundred) only those are sorted
KEPT = 32  # tokens per position, by max(p, q); unless q has as many larger ones, the residual's largest are among them


def shapes(p: FloatArray, q: FloatArray) -> list[Shape]:
    """Return the figures of every position from p [n + 1, vocab] and q [n, vocab]; the overlap is summed in float64.

    The last position has no q: the draft was never asked there.
    """
    n = len(q)
    tv = np.maximum(p[:n] - q, 0).sum(-1, dtype=np.float64)  # exactly 0 where p = q, which a sum of minima is not
    tv = np.minimum(tv, 1)  # float32 rows sum to 1 but for rounding
    entropy_p, entropy_q = _entropy(p), _entropy(q)
    largest = p.max(-1)
    drafted = [
        Shape(1.0 - float(tv[i]), float(tv[i]), float(entropy_p[i]), float(entropy_q[i]), float(largest[i]))
        for i in range(n)
    ]  # fmt: skip
    return [*drafted, *(Shape(None, None, float(entropy_p[i]), None, float(largest[i])) for i in range(n, len(p)))]


def _entropy(rows: FloatArray) -> FloatArray:
    """Return the entropy in nats of each row; 0 log 0 = 0."""
    result: FloatArray = 0 - np.vecdot(rows, np.log(np.maximum(rows, TINY)))
    return result


def bars(p: FloatArray, q: FloatArray, always: Sequence[Sequence[int]]) -> list[Bars]:
    """Return the largest tokens of every position by max(p, q), those in `always` [n] among them.

    p [n, vocab], q [m, vocab] with m <= n: behind row m nothing was drafted.
    """
    m = len(q)
    height = np.concatenate([np.maximum(p[:m], q), p[m:]])
    high = height > HIGH
    result = []
    for i, named in enumerate(always):
        row = height[i]
        ids = high[i].nonzero()[0]
        if len(ids) < KEPT < len(row):
            ids = np.sort(np.argpartition(row, len(row) - KEPT)[-KEPT:])
        elif len(ids) < KEPT:
            ids = np.arange(len(row))
        ids = ids[(-row[ids]).argsort(kind="stable")[:KEPT]]  # equal ones stay in the order of their ids
        lacking = set(named).difference(ids.tolist())
        if lacking:
            ids = np.array([*ids.tolist(), *lacking])
            ids = ids[np.lexsort((ids, -row[ids]))]
        result.append(Bars(ids.astype(np.int32), p[i].take(ids), q[i].take(ids) if i < m else None))
    return result
