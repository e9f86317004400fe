"""The roofline's arithmetic against published figures and its own limits."""

import math
from itertools import pairwise

import pytest

from simulator.cost.roofline import (
    HARDWARE,
    REPORTED,
    SIZES,
    Hardware,
    Setting,
    Size,
    batch_speedup,
    break_even_batch,
    free_batch,
    free_width,
    kv_bytes,
    one_pass,
)

BY_NAME = {h.name: h for h in HARDWARE}
B300, H100 = BY_NAME["B300"], BY_NAME["H100 SXM"]
ANCHOR = Setting(H100, Size("27 B anchor", 25.63e9), 2.0)
LLAMA = Setting(H100, SIZES[1], 2.0, 1, 1024)


def at(setting: Setting, batch: int, context: int | None = None) -> Setting:
    context = setting.context if context is None else context
    return Setting(setting.hardware, setting.size, setting.weight_bytes, batch, context)


def test_sixty_gigabytes_at_eight_terabytes_a_second_take_seven_and_a_half_milliseconds():
    single = one_pass(Setting(B300, Size("30 B", 30e9), 2.0), 1)
    assert single.bytes == 60e9
    assert single.seconds == pytest.approx(7.5e-3)
    assert single.intensity == pytest.approx(1.0)  # two operations for each two-byte weight


def test_the_27_b_anchor_on_an_h100():
    one, five = one_pass(ANCHOR, 1), one_pass(ANCHOR, 5)
    assert one.computing_s == pytest.approx(0.052e-3, abs=0.0005e-3)
    assert one.reading_s == pytest.approx(15.30e-3, abs=0.005e-3)
    assert five.computing_s == pytest.approx(0.26e-3, abs=0.005e-3)
    assert five.seconds == one.seconds  # far below: free


def test_the_table_is_the_references():
    rows = [(h.name, h.bandwidth / 1e9, h.peak / 1e12) for h in HARDWARE]
    assert rows == [
        ("B300", 8000, 2250), ("H200 SXM", 4800, 990), ("H100 SXM", 3350, 990), ("A100 80 GB", 2039, 312),
        ("RTX 4090", 1008, 165), ("A6000", 768, 155), ("L40", 864, 181), ("V100", 900, 112),
    ]  # fmt: skip
    assert B300.ridge == pytest.approx(281.25)


def test_verifying_is_free_until_batch_times_width_reaches_the_ridge():
    """Two bytes and two operations a weight: without a cache the ridge is at as many positions as it has FLOP/byte."""
    assert free_width(ANCHOR) == pytest.approx(H100.ridge)
    for k in (1, 4, 7):
        batch = free_batch(ANCHOR, k)
        assert batch * (k + 1) == pytest.approx(H100.ridge)
        below, above = at(ANCHOR, math.floor(batch)), at(ANCHOR, math.ceil(batch))
        assert one_pass(below, k + 1).seconds == one_pass(below, 1).seconds
        assert one_pass(above, k + 1).seconds > one_pass(above, 1).seconds


def test_a_pass_counts_caches_by_sequence_and_operations_by_token():
    setting = Setting(Hardware("unit", 1.0, 1.0), Size("s", 100.0, cached=4, attention=3), 2.0, batch=5, context=7)
    here = one_pass(setting, 3)
    assert here.bytes == 100 * 2 + 5 * 7 * 4 * 2
    assert here.flops == 5 * 3 * (2 * 100 + 4 * 7 * 3)
    assert [kv_bytes(b) for b in (4.0, 2.0, 1.0, 0.5)] == [4, 2, 2, 2]


def test_at_a_long_context_reading_the_caches_keeps_verifying_free_at_every_batch():
    long = at(LLAMA, 1, 131_072)
    assert free_batch(long, 4) == math.inf
    assert one_pass(at(long, 100_000), 5).seconds == one_pass(at(long, 100_000), 1).seconds
    assert free_batch(at(LLAMA, 1, 0), 4) < math.inf


def test_speedup_never_rises_with_the_batch_and_ends_below_one():
    speeds = [batch_speedup(at(ANCHOR, 2**i), 4, 0.8, 0.05) for i in range(14)]
    assert speeds[0] == pytest.approx(3.3616 / 1.2)
    assert all(b <= a for a, b in pairwise(speeds))
    assert speeds[-1] == pytest.approx(3.3616 / 5.2)
    assert speeds[-1] < 1
    reported = [speed for _, speed in REPORTED]
    assert reported == sorted(reported, reverse=True)  # the published shape: from above 1 to below it
    assert reported[0] > 1 > reported[3] == 0.9


def test_the_break_even_batch_is_the_first_that_loses():
    batch = break_even_batch(ANCHOR, 4, 0.8, 0.05)
    assert batch_speedup(at(ANCHOR, batch - 1), 4, 0.8, 0.05) >= 1 > batch_speedup(at(ANCHOR, batch), 4, 0.8, 0.05)
    assert break_even_batch(ANCHOR, 4, 0.0, 0.5) == 1
    assert break_even_batch(ANCHOR, 4, 1.0, 0.0) is None  # k + 1 tokens for at most k + 1 passes: never slower
