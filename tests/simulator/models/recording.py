"""What a CUDA graph does, on the CPU: a pass is recorded as its operations on memory and replayed without Python.

Each operation is kept with the very tensors that it read and wrote. A replay does them again in place: whatever the
pass took from Python (a position, a length, a tensor made for the occasion) is what it was when it was recorded.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from simulator.models.passes import Forward, Replay

aten = torch.ops.aten
WAITS = {aten._local_scalar_dense.default, aten.item.default, aten.is_nonzero.default, aten.nonzero.default,
         aten.equal.default, aten.masked_select.default}  # fmt: skip


class Recording(TorchDispatchMode):
    """Keeps every operation; raises at one whose result Python looks at, as a capture does."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in WAITS:
            raise RuntimeError(f"{func} waits for the device during a capture")
        result = func(*args, **(kwargs or {}))
        self.operations.append((func, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        """Do every operation again, each result into the memory that it had."""
        with torch.inference_mode():
            for func, args, kwargs, result in self.operations:
                again = func(*args, **kwargs)  # a view of the same memory, if it was one
                for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                    if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                        old.copy_(new)


class FakeGraphs:
    """Records as `CudaGraphs` does, warm-up included, and counts."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, forward: Forward) -> tuple[Replay, torch.Tensor]:
        forward()
        recording = Recording()
        with recording:
            result = forward()
        result.zero_()  # a capture computes nothing
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            recording.replay()

        return replay, result
