"""Cut a round's full rows [n, vocab] down to what the trace keeps: bars and whole-vocabulary figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.records import Bars, FloatArray, Shape

TINY = np.finfo(np.float32).tiny
LONG, HIGH = 8192, 1e-3  # in a longer row, the few entries above HIGH (p and q have 2,000 at most) are looked at first
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


def bars(p: FloatArray, q: FloatArray | None, always: tuple[int, ...]) -> Bars:
    """Return the largest tokens of one position by max(p, q) with p and q [vocab], `always` among them."""
    height = p if q is None else np.maximum(p, q)
    largest = _largest(height, KEPT).tolist()
    chosen = np.array(largest + [t for t in dict.fromkeys(always) if t not in largest], np.int32)
    ids = chosen[np.lexsort((chosen, -height[chosen]))]
    return Bars(ids, p[ids], None if q is None else q[ids])


def _largest(height: FloatArray, m: int) -> NDArray[np.intp]:
    """Return the ids of the m largest entries, in no order."""
    if len(height) <= m:
        return np.arange(len(height))
    high = np.flatnonzero(height > HIGH) if len(height) > LONG else ()
    if len(high) >= m:  # the m largest are among them, and looking for so few is cheap
        return np.asarray(high[_largest(height[high], m)])
    return np.argpartition(height, len(height) - m)[-m:]
