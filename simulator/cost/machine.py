"""All that the Cost page measures beside a sweep, in one go: pass times by width, bandwidth, peak.

Knows in which order, and what progress says. How each is measured is in `verify_time` and `bandwidth`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from simulator.clocks import Clock, clock_for
from simulator.cost.bandwidth import Machine, measure_machine, size_of
from simulator.cost.roofline import WEIGHT_BYTES, Setting, Size, one_pass
from simulator.cost.verify_time import Knee, WidthTime, knee, time_widths
from simulator.drafts.base import Checkpoint, no_checkpoint
from simulator.loading import Pair, Progress

PASSES_SHARE = 0.6  # of the progress bar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MachineCost:
    """What this target costs on this machine."""

    times: tuple[WidthTime, ...]
    knee: Knee | None
    context: int  # tokens behind which the passes were timed
    machine: Machine
    size: Size | None  # None for a model whose weights cannot be counted
    weight_bytes: float  # of one parameter, as loaded

    @property
    def read_bytes(self) -> float:
        """Return what a pass over one token reads: weights, and keys and values of the context; 0 without a size."""
        if self.size is None:
            return 0.0
        return one_pass(Setting(self.machine.hardware(""), self.size, self.weight_bytes, 1, self.context), 1).bytes

    @property
    def bandwidth_fraction(self) -> float | None:
        """Return the share of the measured bandwidth that a pass over one token uses; None without a size.

        read_bytes / time of the pass / bandwidth.
        """
        single = next((t.ms.median for t in self.times if t.width == 1), None)
        return 1000 * self.read_bytes / single / self.machine.bandwidth if self.size and single else None


def measure_cost(
    pair: Pair, prompt: Sequence[int], checkpoint: Checkpoint = no_checkpoint, clock: Clock | None = None
) -> Generator[Progress | MachineCost, None, MachineCost]:
    """Yield progress and at last the figures, which are returned too."""
    target = pair.target
    clock = clock or clock_for(target.device)
    passes = time_widths(target.model, prompt, clock, checkpoint=checkpoint)
    times = yield from _told(passes, "Timing passes of 1 to 33 tokens ...", 0.0, PASSES_SHARE)
    size, each = size_of(target), WEIGHT_BYTES.get(target.dtype, 2.0)
    weights = size.parameters * each if size else 0.0
    parts = measure_machine(target.device, target.dtype, weights, clock, checkpoint)
    machine = yield from _told(parts, "Measuring bandwidth and peak ...", PASSES_SHARE, 1.0)
    found = MachineCost(times, knee(times), len(prompt), machine, size, each)
    yield found
    return found


def _told(part: Generator[float, None, T], text: str, start: float, end: float) -> Generator[Progress, None, T]:
    """Pass a part's fractions on as progress between start and end; return what the part returns."""
    while True:
        try:
            fraction = next(part)
        except StopIteration as stop:
            result: T = stop.value
            return result
        yield Progress(text, start + (end - start) * fraction)
