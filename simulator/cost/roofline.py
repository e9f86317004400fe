"""The roofline: how long a target pass takes from bytes and operations alone, and when verifying stops being free.

Knows sizes, bandwidth, peak and the model below. Does not know clocks or any loaded weights.

A pass over n new tokens in each of B sequences with `context` tokens behind them
    reads    bytes = weights + B * context * (keys and values of one token)
    computes flops = B * n * (2 * parameters + 4 * context * attention width)
    takes    max(bytes / bandwidth, flops / peak)                        (Williams, Waterman, Patterson 2009)
What it leaves out: activations, the new tokens' own keys and values, launch overhead, communication, and that a real
pass reaches neither roof. Sizes of models: their published configurations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from simulator.theory.tokens_per_round import expected_tokens

WEIGHT_BYTES = {"float32": 4.0, "bfloat16": 2.0, "8 bit": 1.0, "4 bit": 0.5}
DATASHEET = "vendor data sheets: memory bandwidth, dense FP16/BF16 peak"
MOST_BATCH = 1 << 20  # where the search for a batch ends


@dataclass(frozen=True, slots=True)
class Hardware:
    """One device."""

    name: str
    bandwidth: float  # bytes/s
    peak: float  # FLOP/s
    source: str = DATASHEET

    @property
    def ridge(self) -> float:
        """Return the intensity in FLOP/byte where both roofs meet."""
        return self.peak / self.bandwidth


@dataclass(frozen=True, slots=True)
class Size:
    """What a decoder reads and computes for one token."""

    name: str
    parameters: float  # that one token uses: with experts, the active ones
    cached: float = 0.0  # numbers kept per token of context: 2 * layers * kv heads * head dim
    attention: float = 0.0  # layers * heads * head dim


@dataclass(frozen=True, slots=True)
class Pass:
    """One target pass by the model at the head of this module."""

    bytes: float
    flops: float
    reading_s: float
    computing_s: float

    @property
    def seconds(self) -> float:
        """Return how long it takes."""
        return max(self.reading_s, self.computing_s)

    @property
    def intensity(self) -> float:
        """Return FLOP per byte."""
        return self.flops / self.bytes


@dataclass(frozen=True, slots=True)
class Setting:
    """A model on a device, in use."""

    hardware: Hardware
    size: Size
    weight_bytes: float  # of one parameter
    batch: float = 1
    context: int = 0


def one_pass(setting: Setting, width: int) -> Pass:
    """Return the pass over `width` new tokens in each sequence of the batch."""
    s, size = setting, setting.size
    read = size.parameters * s.weight_bytes + s.batch * s.context * size.cached * kv_bytes(s.weight_bytes)
    flops = s.batch * width * (2 * size.parameters + 4 * s.context * size.attention)
    return Pass(read, flops, read / s.hardware.bandwidth, flops / s.hardware.peak)


def kv_bytes(weight_bytes: float) -> float:
    """Return the bytes of one cached number: as the weights, but at least 16 bit (only weights are quantised)."""
    return max(2.0, weight_bytes)


def free_width(setting: Setting) -> float:
    """Return how many positions per sequence a pass takes in before computing takes longer than reading."""
    single = one_pass(setting, 1)
    return single.reading_s / single.computing_s


def free_batch(setting: Setting, k: int) -> float:
    """Return the batch up to which verifying k + 1 positions costs what one costs: batch * (k + 1) at the ridge.

    inf where reading the keys and values of a sequence takes longer than computing its k + 1 positions: then no
    batch reaches the ridge.
    """
    s, h = setting, setting.hardware
    weights = s.size.parameters * s.weight_bytes / h.bandwidth
    caches = s.context * s.size.cached * kv_bytes(s.weight_bytes) / h.bandwidth
    computing = (k + 1) * (2 * s.size.parameters + 4 * s.context * s.size.attention) / h.peak
    return weights / (computing - caches) if computing > caches else math.inf


def batch_speedup(setting: Setting, k: int, alpha: float, c: float) -> float:
    """Return the speedup at this batch: E[tokens] / (k c + T(k + 1) / T(1)), T by `one_pass`.

    c, the draft step over the plain step, is taken to be the same at every batch. Never rises with the batch, and
    ends at E[tokens] / (k c + k + 1) < 1 once both passes compute. Source: Leviathan Thm 3.8 with this verify cost.
    """
    ratio = one_pass(setting, k + 1).seconds / one_pass(setting, 1).seconds
    return expected_tokens(alpha, k) / (k * c + ratio)


def break_even_batch(setting: Setting, k: int, alpha: float, c: float) -> int | None:
    """Return the smallest batch at which drafting k tokens is slower than not drafting; None if none up to 2^20."""

    def slower(batch: int) -> bool:
        here = Setting(setting.hardware, setting.size, setting.weight_bytes, batch, setting.context)
        return batch_speedup(here, k, alpha, c) < 1

    high = 1
    while not slower(high):
        if high >= MOST_BATCH:
            return None
        high *= 2
    low = high // 2  # not slower, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if slower(middle) else (middle, high)
    return high


def _device(name: str, gigabytes: float, teraflops: float) -> Hardware:
    return Hardware(name, gigabytes * 1e9, teraflops * 1e12)


HARDWARE = (
    _device("B300", 8000, 2250), _device("H200 SXM", 4800, 990), _device("H100 SXM", 3350, 990),
    _device("A100 80 GB", 2039, 312), _device("RTX 4090", 1008, 165), _device("A6000", 768, 155),
    _device("L40", 864, 181), _device("V100", 900, 112),
)  # fmt: skip


def _llama_like(name: str, billions: float, layers: int, heads: int, kv_heads: int, head_dim: int) -> Size:
    return Size(name, billions * 1e9, 2 * layers * kv_heads * head_dim, layers * heads * head_dim)


SIZES = (
    _llama_like("1 B, as Llama 3.2", 1.24, 16, 32, 8, 64),
    _llama_like("8 B, as Llama 3.1", 8.03, 32, 32, 8, 128),
    _llama_like("33 B, as Qwen3", 32.8, 64, 64, 8, 128),
    _llama_like("70 B, as Llama 3.1", 70.6, 80, 64, 8, 128),
)

# EAGLE-3 (tree drafts) on Llama-3.1-8B, GSM8K, as reported in the DFlash paper, arXiv 2602.06036: batch, speedup
REPORTED = ((1, 1.9), (4, 1.6), (8, 1.3), (16, 0.9), (32, 0.6))
