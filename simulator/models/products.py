"""Products of a few rows with a large weight on the CPU, which decoding consists of.

For one row the weight is read once, at the speed of the memory. For some rows a BLAS product first copies the whole
weight into its own order, which costs more than reading it row by row; and five rows cost it more than eight, its
kernels being made for whole blocks. NumPy's BLAS reads single rows up to twice as fast as torch's on some processors,
and the call costs less.
"""

from __future__ import annotations

import numpy as np

from simulator.records import FloatArray

FEW, BLOCK = 4, 8  # rows up to which single products are quicker; rows that a kernel multiplies at once


def product(x: FloatArray, weight: FloatArray) -> FloatArray:
    """Return rows x [n, in] times weight [in, out], float32."""
    n = len(x)
    if n <= FEW:
        few: FloatArray = np.matmul(x[:, None], weight)[:, 0]
        return few
    filled = np.zeros((-(-n // BLOCK) * BLOCK, x.shape[1]), np.float32)
    filled[:n] = x
    whole: FloatArray = (filled @ weight)[:n]
    return whole
