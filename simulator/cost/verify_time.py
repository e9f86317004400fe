"""How long one target pass takes against its width: the flat part, the knee, and the slope behind it.

Knows forward passes and a clock. Does not know drafting, verdicts or where the tokens came from.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.clocks import Clock
from simulator.drafts.base import Checkpoint, no_checkpoint
from simulator.measure import Spread
from simulator.models.base import LanguageModel, prefill

WIDTHS = (*range(1, 18), 20, 24, 28, 33)  # tokens; k + 1 for every k up to 16
REPEATS = 15
LEAST_REPEATS, MOST_SECONDS = 3, 12.0  # a large model is timed less often


@dataclass(frozen=True, slots=True)
class WidthTime:
    """One width: n tokens read in one pass."""

    width: int
    ms: Spread  # median and quartiles: the longest of some passes is the machine's doing


@dataclass(frozen=True, slots=True)
class Knee:
    """time(n) = flat_ms up to `width` tokens, then slope_ms more for each."""

    width: float
    flat_ms: float
    slope_ms: float

    def at(self, n: float) -> float:
        """Return the fitted time of a pass over n tokens, ms."""
        return self.flat_ms + self.slope_ms * max(0.0, n - self.width)


def time_widths(
    model: LanguageModel, prompt: Sequence[int], clock: Clock, *, widths: Sequence[int] = WIDTHS,
    repeats: int = REPEATS, checkpoint: Checkpoint = no_checkpoint,
) -> Generator[float, None, tuple[WidthTime, ...]]:  # fmt: skip
    """Time passes over each width behind the prompt, in turn; yield the done fraction, return the times by width.

    Widths that the model's context cannot hold are left out. The first turn warms up and is not counted; none begins
    after MOST_SECONDS but the first LEAST_REPEATS. What is read are the prompt's own tokens, again and again: the time
    does not depend on them.
    """
    model.reset()
    prefill(model, prompt, checkpoint)
    room = model.max_length - len(prompt) if model.max_length is not None else max(widths)
    fitting = [n for n in widths if n <= room]
    tokens = [prompt[i % len(prompt)] for i in range(max(fitting, default=0))]
    times: dict[int, list[float]] = {n: [] for n in fitting}
    begin = clock()
    for turn in range(repeats + 1):
        if turn > LEAST_REPEATS and clock() - begin > MOST_SECONDS:
            break
        for n in fitting:
            checkpoint()
            start = clock()
            model.extend(tokens[:n])
            seconds = clock() - start
            model.rollback(n)
            if turn:
                times[n].append(1000 * seconds)
        yield (turn + 1) / (repeats + 1)
    model.reset()
    return tuple(WidthTime(n, Spread(*np.quantile(ms, (0.5, 0.25, 0.75)).tolist())) for n, ms in times.items())


def knee(times: Sequence[WidthTime]) -> Knee | None:
    """Return the flat part and the slope that fit the medians best; None for fewer than three widths.

    Least squares of flat + slope * max(0, n - width), errors relative to the time, over knees on and between the
    widths; no slope is negative. A knee at the first width means that every further token costs from the start; one
    at the last width, with slope 0, that no knee was reached.
    """
    if len(times) < 3:
        return None
    n = np.array([t.width for t in times], float)
    ms = np.array([t.ms.median for t in times])
    best = Knee(float(n[-1]), float(np.average(ms, weights=1 / ms**2)), 0.0)
    least = _error(best, n, ms)
    for width in np.arange(n[0], n[-1], 0.25):
        rows = np.stack([np.ones(n.shape), np.maximum(0.0, n - width)], axis=-1) / ms[:, None]
        flat, slope = np.linalg.lstsq(rows, np.ones(n.shape), rcond=None)[0]
        fit = Knee(float(width), float(flat), float(slope))
        error = _error(fit, n, ms)
        if slope > 0 and error < least * (1 - 1e-9) - 1e-15:
            best, least = fit, error
    return best


def _error(fit: Knee, n: np.ndarray, ms: np.ndarray) -> float:
    fitted = np.array([fit.at(float(width)) for width in n])
    return float(np.square(fitted / ms - 1).sum())
