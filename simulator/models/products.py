"""Products of a few rows with a large weight on the CPU, which decoding consists of.

For one row the weight is read once, at the speed of the memory. For some rows a BLAS product first copies the whole
weight into its own order, each time anew, which costs more than the product itself. Four ways around that:

- OpenBLAS, which is NumPy's, multiplies small matrices straight from where they lie, on processors with AVX-512: the
  weight is cut into such ones, each in one piece, so that it is read from the first byte to the last. On one thread,
  which on AMD's cores reads as much as two;
- MKL, which is torch's, shares the same panels among threads. On Intel's server cores one thread reads no more than
  12 GB/s, and large models decode almost twice as fast with two;
- oneDNN, which torch brings along on most processors, takes a weight that was put into its order once, and uses every
  thread. A small model lies in the processor's cache, and there its calls cost more than they save;
- row by row: reading each weight again from the cache costs less than copying it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from simulator.models import processor
from simulator.records import FloatArray

CACHED = 64 << 20  # bytes of a model that a processor's cache may hold
MANY = 3  # threads with which oneDNN reads a large weight sooner than one thread reads panels
COLUMNS = (64, 48, 32)  # of a panel, by preference: those that divide a weight's; wider ones are not read in one go
SHARED_COLUMNS = (96, 64, 48, 32)  # of one that MKL multiplies
FEW = 8  # rows up to which a product for each is quicker than one for all, where every product copies
FULL = 4  # rows that oneDNN's kernel multiplies at once: fewer take longer, as many give the same bits in any company
LINE = 64  # bytes in a line of the processor's cache, and in one of its widest registers
PACKED_FOR = 8  # rows that oneDNN chooses the order for; from two to 32 it is the same
TRIED = (1, 5)  # rows of a pass that decodes plainly, and of one that verifies four tokens


class Weight(Protocol):
    """A weight [in, out] in the order that its products are quickest with."""

    size: int  # numbers in it
    inputs: int
    threaded: bool  # whether torch's threads share its products, which have the same bits on any number of them

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out], float32, in memory that the next product may write to."""
        ...


def weight(rows: FloatArray, model_bytes: int, room: Room) -> Weight:
    """Return the weight whose transpose is `rows` [out, in], float32, of a model of that size.

    A rule, not a stopwatch, chooses the kind: each rounds in its own way, and a seed must give the same text again.
    """
    panels = torch.backends.cpu.get_cpu_capability() == "AVX512"
    large = model_bytes > CACHED
    if large and panels and torch.backends.mkl.is_available() and processor.made_by_intel():
        return SharedPanels(rows)
    if large and torch.backends.mkldnn.is_available() and (not panels or torch.get_num_threads() >= MANY):
        return Packed(rows)
    return Panels(rows, room) if panels else Plain(rows)


def trial(layers: Sequence[Sequence[Weight]]) -> Callable[[int], None] | None:
    """Return what a calibration times: products with some weights of each layer; None where torch does none of them.

    Each number of rows comes upon the weights of another layer than the last: in the cache lie at most its own.
    """
    threaded = [[each for each in layer if each.threaded] for layer in layers]
    if not any(threaded):
        return None
    rows = {each.inputs: np.ones((max(TRIED), each.inputs), np.float32) for layer in threaded for each in layer}

    def work(number: int) -> None:
        for i, n in enumerate(TRIED):
            for each in threaded[(number * len(TRIED) + i) % len(threaded)]:
                each.product(rows[each.inputs][:n])

    return work


class Plain:
    """A weight as it is, for NumPy's products; up to `FEW` rows one by one."""

    threaded = False

    def __init__(self, rows: FloatArray) -> None:
        self.size, self.inputs = rows.size, rows.shape[1]
        self._weight = np.ascontiguousarray(rows.T)

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        one_by_one = 1 < len(x) <= FEW
        result: FloatArray = np.matmul(x[:, None], self._weight)[:, 0] if one_by_one else x @ self._weight
        return result


class Room:
    """Memory for the weights of one model, in one piece.

    The system maps such a piece in large pages, which are sooner found: a pass reads every page of a model, and a
    processor remembers the places of a few thousand. NumPy asks for large ones from 4 MB on, which few weights have.
    A weight begins at a line, so that none of its rows lies across more of them than it must.
    """

    def __init__(self, numbers: int) -> None:
        self._numbers = numbers
        self._left: FloatArray | None = None  # taken when it is first asked for: not every weight is kept in here

    def take(self, *shape: int) -> FloatArray:
        """Return zeros of a shape whose last side is whole lines; elsewhere where no room is left."""
        size = math.prod(shape)
        if self._left is None:
            self._left = _from_a_line_on(self._numbers)
        if size > len(self._left):
            return _from_a_line_on(size).reshape(shape)
        taken, self._left = self._left[:size].reshape(shape), self._left[size:]
        return taken


def _from_a_line_on(numbers: int) -> FloatArray:
    zeros = np.zeros(numbers + LINE // 4, np.float32)
    start = -zeros.__array_interface__["data"][0] % LINE // 4
    return zeros[start : start + numbers]


def in_panels(rows: FloatArray, widths: Sequence[int], room: Room) -> FloatArray:
    """Return a weight's transpose [out, in] in panels of columns [panels, in, columns]; zeros fill up the last one.

    Of the widths the first that divides the weight's columns is taken, else the first.
    """
    out, inputs = rows.shape
    columns = next((c for c in widths if out % c == 0), widths[0])
    panels = room.take(-(-out // columns), inputs, columns)
    for i, panel in enumerate(panels):
        part = rows[i * columns : (i + 1) * columns]
        panel[:, : len(part)] = part.T
    return panels


NO_ROOM = Room(0)


class Panels:
    """A weight in panels, for NumPy's products.

    Up to `FEW` rows the products lie where the last of as many rows lay: whoever keeps them copies them.
    """

    threaded = False

    def __init__(self, rows: FloatArray, room: Room = NO_ROOM) -> None:
        self.size, self.inputs, self._out = rows.size, rows.shape[1], rows.shape[0]
        self._panels = in_panels(rows, COLUMNS, room)
        self._places: dict[int, _Place] = {}

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        n = len(x)
        place = self._places.get(n) or self._place(n)
        if place.x is not None:
            place.x[:n] = x
            x = place.x
        np.matmul(x, self._panels, out=place.by_panel)
        return place.result

    def _place(self, n: int) -> _Place:
        count, inputs, columns = self._panels.shape
        rows = n + (n in (1, 3))  # two and four rows take less time
        products = np.empty((rows, count, columns), np.float32)
        result = products.reshape(rows, count * columns)[:n, : self._out]
        place = _Place(np.zeros((rows, inputs), np.float32) if rows > n else None, products.transpose(1, 0, 2), result)
        if n <= FEW:
            self._places[n] = place
        return place


@dataclass(frozen=True, slots=True)
class _Place:
    """Where products of n rows are put: memory taken between two passes costs as much as a small product."""

    x: FloatArray | None  # [n + 1, in]: a copy of the rows with one of zeros below, if they need one
    by_panel: FloatArray  # [panels, n or n + 1, columns]
    result: FloatArray  # [n, out], the same memory


class SharedPanels:
    """A weight in panels, for torch's products, which its threads share."""

    threaded = True

    def __init__(self, rows: FloatArray) -> None:
        self.size, self.inputs, self._out = rows.size, rows.shape[1], rows.shape[0]
        self._panels = torch.from_numpy(in_panels(rows, SHARED_COLUMNS, NO_ROOM))

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        by_panel = torch.matmul(torch.from_numpy(x)[None], self._panels)  # [panels, n, columns]
        result: FloatArray = by_panel.transpose(0, 1).reshape(len(x), -1).numpy()
        return result[:, : self._out]


class Packed:
    """A weight in oneDNN's order; the operation is the one that torch's own compiler makes of a linear layer."""

    threaded = True

    def __init__(self, rows: FloatArray) -> None:
        self.size, self.inputs = rows.size, rows.shape[1]
        self._weight = torch.ops.mkldnn._reorder_linear_weight(torch.from_numpy(rows), PACKED_FOR)

    def product(self, x: FloatArray) -> FloatArray:
        """Return rows x [n, in] times the weight: [n, out]."""
        n = len(x)
        if n < FULL:
            x = np.concatenate([x, np.zeros((FULL - n, x.shape[1]), np.float32)])
        product = torch.ops.mkldnn._linear_pointwise(torch.from_numpy(x), self._weight, None, "none", [], "")
        result: FloatArray = product.numpy()
        return result[:n]
