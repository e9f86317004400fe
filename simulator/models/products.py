"""Products of a few rows with a large weight on the CPU, which decoding consists of.

For one row the weight is read once, at the speed of the memory. For some rows a BLAS product first copies the whole
weight into its own order, each time anew. Two ways around that, each the quicker one on its side of `CACHED`:

- a small model lies in the processor's cache, where reading each weight once for every row costs little, and NumPy has
  the least overhead a call;
- a large one is put into oneDNN's order once (torch brings it along on most processors); up to eight rows then cost
  what reading it from memory once costs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from simulator.records import FloatArray

CACHED = 64 << 20  # bytes of a model that a processor's cache may hold
FEW, BLOCK = 4, 8  # rows up to which single BLAS products are quicker; rows that its kernel multiplies at once
FULL = 4  # rows that oneDNN's kernel multiplies at once: fewer take longer, as many give the same bits in any company
PACKED_FOR = 8  # rows that oneDNN chooses the order for; from two to 32 it is the same


class Weight(Protocol):
    """A weight [in, out] in the order that its products are quickest with."""

    size: int  # numbers in it

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out], float32."""
        ...


def weight(rows: FloatArray, model_bytes: int) -> Weight:
    """Return the weight whose transpose is `rows` [out, in], float32, of a model of that size."""
    return Packed(rows) if model_bytes > CACHED and torch.backends.mkldnn.is_available() else Plain(rows)


class Plain:
    """A weight for NumPy's products: row by row, beyond `FEW` in whole blocks (five rows cost more than eight)."""

    def __init__(self, rows: FloatArray) -> None:
        self.size = rows.size
        self._weight = np.ascontiguousarray(rows.T)

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        n = len(x)
        if n <= FEW:
            few: FloatArray = np.matmul(x[:, None], self._weight)[:, 0]
            return few
        whole: FloatArray = (_filled(x, -(-n // BLOCK) * BLOCK) @ self._weight)[:n]
        return whole


class Packed:
    """A weight in oneDNN's order; the operation is the one that torch's own compiler makes of a linear layer."""

    def __init__(self, rows: FloatArray) -> None:
        self.size = rows.size
        self._weight = torch.ops.mkldnn._reorder_linear_weight(torch.from_numpy(rows), PACKED_FOR)

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        n = len(x)
        rows = torch.from_numpy(x if n >= FULL else _filled(x, FULL))
        result: FloatArray = torch.ops.mkldnn._linear_pointwise(rows, self._weight, None, "none", [], "").numpy()
        return result[:n]


def _filled(x: FloatArray, n: int) -> FloatArray:
    """Return the rows with zeros below, n altogether."""
    filled = np.zeros((n, x.shape[1]), np.float32)
    filled[: len(x)] = x
    return filled
