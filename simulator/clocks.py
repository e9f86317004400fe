"""Clocks that count a device's work as done when it is, without making anybody wait for it meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch


class Moment(Protocol):
    """A point in time; two of the same clock can be compared."""

    def __sub__(self, earlier: Any, /) -> float:
        """Return the seconds since an earlier moment."""
        ...


Clock = Callable[[], Moment]


class CudaMoment:
    """When a GPU is through with all that it was asked to do so far; only the difference of two waits for that."""

    def __init__(self, device: torch.device | str) -> None:
        import torch

        with torch.cuda.device(device):
            self._event: Any = torch.cuda.Event(enable_timing=True)
            self._event.record()

    def __sub__(self, earlier: CudaMoment, /) -> float:
        self._event.synchronize()
        return float(earlier._event.elapsed_time(self._event)) / 1000


def clock_for(device: str) -> Clock:
    """Return a clock for work on a device, "cpu", "cuda:0" or "mps"."""
    if device.startswith("cuda"):
        return lambda: CudaMoment(device)
    if device.startswith("mps"):
        import torch

        def mps_clock() -> float:
            torch.mps.synchronize()
            return time.perf_counter()

        return mps_clock
    return time.perf_counter
