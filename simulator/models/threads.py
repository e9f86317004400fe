"""How many threads the products of a large model take: timed once over its own weights, where it is loaded.

Only the number is chosen by a stopwatch. It changes no bit of a product in oneDNN's order, so a seed still repeats;
another kind of product does, and stays a rule (`products.weight`). The other path of a CPU keeps the number that torch
was given: there a sum is cut among the threads (a float32 layer of 2,048 inputs, attention over 2,000 entries, a
bfloat16 layer over a prompt), and on two of them it rounds otherwise than on one.

Knows counts and times. Does not know weights: whoever calls brings the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch

SECONDS = 0.2  # that a calibration takes, but for its last turn
MOST_TURNS = 50  # of small work, of which more tell nothing new
TIE = 0.04  # of a time by which more threads must be quicker: they take cores from whoever else wants some

Clock = Callable[[], float]


def calibrate(
    work: Callable[[int], None], checkpoint: Callable[[], None] = lambda: None, clock: Clock = time.perf_counter
) -> int:
    """Return with how many threads the work is done soonest, of 1, 2, 4 ... and those that torch has in this thread.

    `work` is given its number, from 0 on, so that it need not read the same weights twice in a row. The counts take
    turns, of which the first, when threads start, is not counted; `checkpoint` may raise between two.
    """
    counts = candidates(torch.get_num_threads())
    if len(counts) == 1:
        return counts[0]
    times: dict[int, list[float]] = {count: [] for count in counts}
    done, begin = 0, clock()
    for turn in range(MOST_TURNS + 1):
        checkpoint()
        for count in counts:
            with at_most(count):
                start = clock()
                work(done)
                end = clock()
            done += 1
            if turn:
                times[count].append(end - start)
        if turn and clock() - begin >= SECONDS:
            break
    return quickest(times)


def candidates(allowed: int) -> list[int]:
    """Return the powers of 2 below `allowed`, and that."""
    return [*(1 << i for i in range(allowed.bit_length()) if 1 << i < allowed), allowed]


def quickest(times: Mapping[int, Sequence[float]]) -> int:
    """Return the fewest threads whose median time is the least, or as good as that."""
    medians = {count: median(each) for count, each in times.items()}
    return min(count for count, each in medians.items() if each <= min(medians.values()) * (1 + TIE))


def threads_of(model: Any) -> int | None:
    """Return how many threads a model's products take while it decodes, None where that is not the CPU's to know.

    NumPy's take one, which the program gives them before it imports it.
    """
    if model.device.type != "cpu":
        return None
    return int(getattr(model, "threads", torch.get_num_threads()) or 1)


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Let torch use so many threads at most for a while; the number is this thread's own, and that of later ones."""
    before = torch.get_num_threads()
    if count >= before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
