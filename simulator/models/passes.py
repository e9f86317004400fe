"""How a pass over static buffers is run: called each time, or recorded once and replayed.

Knows functions without arguments that read and write tensors at fixed addresses. Does not know models.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

import torch

WARM_UP = 3  # calls before one is recorded: libraries choose kernels and take workspace in the first ones

Forward = Callable[[], torch.Tensor]
Replay = Callable[[], None]
Record = Callable[[Forward], tuple[Replay, torch.Tensor]]  # what repeats the pass, and where its result lies


class Runner(Protocol):
    """Runs passes; the key tells passes apart that differ in more than what lies in their buffers."""

    failed: str | None  # why passes are no longer recorded

    def run(self, key: Hashable, forward: Forward) -> torch.Tensor:
        """Do the pass and return its result, which no later pass changes."""
        ...

    def forget(self) -> None:
        """Let go of everything recorded: buffers have moved."""
        ...


class Eager:
    """Calls the function each time."""

    failed: str | None = None

    def run(self, key: Hashable, forward: Forward) -> torch.Tensor:
        """Do the pass."""
        return forward()

    def forget(self) -> None:
        """Forget nothing."""


class Recorded:
    """Records each pass the first time it is asked for; calls the function where recording fails, once and for all."""

    def __init__(self, record: Record) -> None:
        self.failed: str | None = None
        self._record = record
        self._passes: dict[Hashable, tuple[Replay, torch.Tensor]] = {}

    def run(self, key: Hashable, forward: Forward) -> torch.Tensor:
        """Repeat the pass recorded under this key, or record it."""
        if self.failed is None and key not in self._passes:
            try:
                self._passes[key] = self._record(forward)
            except Exception as error:  # whatever a capture does not allow: a wait for the device, too little memory
                self.failed = str(error)
        if key not in self._passes:
            return forward()
        replay, result = self._passes[key]
        replay()
        return result.clone()

    def forget(self) -> None:
        """Let go of everything recorded."""
        self._passes.clear()


class CudaGraphs:
    """Records passes as CUDA graphs that share one pool of memory: only one of them runs at a time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, forward: Forward) -> tuple[Replay, torch.Tensor]:
        """Return the replay of a pass and its result's place in memory; raise what a capture raises."""
        with torch.cuda.device(self._device):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(WARM_UP):
                    forward()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                result = forward()
        return graph.replay, result
