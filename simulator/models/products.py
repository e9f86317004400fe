"""Products of a few rows with a large weight on the CPU, which decoding consists of.

For one row the weight is read once, at the speed of the memory. For some rows a BLAS product first copies the whole
weight into its own order, each time anew. Two ways around that, each the quicker one on its side of `CACHED`:

- a small model lies in the processor's cache, where reading each weight once for every row costs little, and NumPy has
  the least overhead a call (on one thread: two take longer);
- a large one is put into oneDNN's order once (torch brings it along on most processors); up to eight rows then cost
  what reading it from memory once costs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from simulator.records import FloatArray

CACHED = 64 << 20  # bytes of a model that a processor's cache may hold
FEW = 8  # rows up to which a BLAS product for each is quicker than one for all
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
    """A weight for NumPy's products: up to `FEW` rows one by one."""

    def __init__(self, rows: FloatArray) -> None:
        self.size = rows.size
        self._weight = np.ascontiguousarray(rows.T)

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        one_by_one = 1 < len(x) <= FEW
        result: FloatArray = np.matmul(x[:, None], self._weight)[:, 0] if one_by_one else x @ self._weight
        return result


class Packed:
    """A weight in oneDNN's order; the operation is the one that torch's own compiler makes of a linear layer."""

    def __init__(self, rows: FloatArray) -> None:
        self.size = rows.size
        self._weight = torch.ops.mkldnn._reorder_linear_weight(torch.from_numpy(rows), PACKED_FOR)

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        n = len(x)
        if n < FULL:
            x = np.concatenate([x, np.zeros((FULL - n, x.shape[1]), np.float32)])
        product = torch.ops.mkldnn._linear_pointwise(torch.from_numpy(x), self._weight, None, "none", [], "")
        result: FloatArray = product.numpy()
        return result[:n]
