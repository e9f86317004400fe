"""The Cost page's sentences, over everything that a measurement can turn out to be."""

import itertools
import math
import re

import pytest

from simulator.cost.roofline import HARDWARE, SIZES, Setting, Size
from simulator.cost.verdict import Verdict
from simulator.measure import Spread
from simulator.round_cost import Cost
from simulator.theory.speedup import break_even_alpha
from ui import cost_words

DEVICES = {h.name: h for h in HARDWARE}
TINY, HUGE = Size("tiny", 1e5, 64, 32), Size("huge", 2e12, 2e6, 1e6)


def judged(pays=False, alpha=0.6, c=0.2, c_verify=0.27, fixed=0.24, ratio=0.9, tokens=2.0, drafted=1.0) -> Verdict:
    evens = [break_even_alpha(c, c_verify, fixed, k) for k in range(1, 17)]
    even = min((e for e in evens if e is not None), default=None)
    spread = Spread(ratio, 0.9 * ratio, 1.1 * ratio)
    return Verdict(pays, 3, spread, tokens, alpha, Cost(10.0, c, c_verify, fixed), even, drafted)


def said(**kw) -> str:
    return cost_words.sentence(judged(**kw)).replace("\xa0", " ")


COSTS = [*itertools.product((0.0, 0.5, 1.0), (0.0, 0.1, 1.5), (0.0, 0.05, 1.0), (0.0, 0.3, 2.0))]


@pytest.mark.parametrize("pays", [True, False, None])
@pytest.mark.parametrize(("alpha", "c", "c_verify", "fixed"), COSTS)
def test_no_verdict_contradicts_the_costs_it_names(pays, alpha, c, c_verify, fixed):
    v = judged(pays, alpha, c, c_verify, fixed, ratio=1.3 if pays else 0.9)
    text = cost_words.sentence(v)
    assert "nan" not in text
    assert "None" not in text
    assert text.endswith(".")
    assert ("no alpha pays" in text) is (v.break_even is None)
    if "larger alpha" in text and "nor a larger alpha" not in text:
        assert v.break_even is not None
        assert alpha <= v.break_even
    if found := re.search(r"pay with c below ([\d.e-]+)[,.]", text):
        assert 0 < float(found[1].rstrip(".")) <= c + 1e-9
    if found := re.search(r"c_verify below ([\d.e-]+)[,.]", text):
        assert 0 < float(found[1].rstrip(".")) <= c_verify + 1e-9
    if "not even a free draft" in text:
        assert v.ceilings["c"] <= 0
    if "lever" in text:
        instead = re.search(r"formula ([\d.]+) instead of ([\d.]+) times", text)
        assert float(instead[1]) > float(instead[2])


def test_a_longer_draft_may_pay_where_a_single_token_does_not():
    """With a fixed cost of a pass and alpha .9 it said that not even a free draft would pay; k = 10 reaches 1.72."""
    assert "should pay, 1.72 times at k = 10" in said(alpha=0.9, c=0.1, c_verify=0.1, fixed=1.0)
    assert "not even a free draft" not in said(alpha=0.9, c=0.5, c_verify=0.1, fixed=1.0)


def test_free_drafting_that_does_not_help_says_what_would():
    text = said(alpha=0.3, c=0.0, c_verify=0.1, fixed=0.28)
    assert "not even a free draft would pay: it takes c_verify below .055" in text  # (.3 + .09 - .28) / 2, at k = 2
    assert "nor a larger alpha: all costs are too high" in said(alpha=0.99, c=2.2, c_verify=1.0, fixed=2.0)


def test_a_measured_gain_that_the_formula_denies_is_explained():
    assert "acceptance comes in streaks" in said(pays=True, ratio=1.1, tokens=3.0)
    assert "the measurement is noisy" in said(pays=True, ratio=1.1, tokens=2.0)


def test_a_lead_within_the_repeats_is_no_verdict():
    text = said(pays=None, ratio=1.01)
    assert text.startswith("About even: the best k, 3, reaches 1.01 times plain decoding, 0.91 to 1.11 in the repeats.")


def test_a_source_that_seldom_finds_anything_is_not_given_the_formulas_speedups():
    text = said(pays=True, ratio=1.1, alpha=0.3, c=0.0, c_verify=0.05, fixed=0.1, drafted=0.2)
    assert "Only 20% of the rounds found anything to draft" in text
    assert "lever" not in text


@pytest.mark.parametrize(("a", "b"), [(0.7, 0.6), (0.7, 0.698), (0.2001, 0.2), (1.0, 0.9999), (0.0, 1e-9), (0.5, 0.5)])
def test_two_numbers_that_differ_are_written_apart(a, b):
    one, two = cost_words.apart(a, b)
    assert (one == two) is (a == b)


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.0, "1.00"), (1.003, "1.003"), (0.996, "0.996"), (0.92, "0.92"), (17, "17.00")]
)
def test_a_speedup_near_one_is_not_rounded_to_one(ratio, text):
    assert cost_words.speedup(ratio) == text


@pytest.mark.parametrize("size", [TINY, *SIZES, HUGE])
@pytest.mark.parametrize(("batch", "context"), [(1, 0), (1, 1_000_000), (4096, 0), (4096, 1_000_000)])
@pytest.mark.parametrize(("k", "alpha", "c"), [(1, 0.0, 0.0), (16, 1.0, 0.0), (4, 0.7, 1.5), (16, 0.0, 2.0)])
def test_the_roofline_is_said_without_a_row_of_zeros_or_an_exponent(size, batch, context, k, alpha, c):
    for weights in (4.0, 2.0, 0.5):
        setting = Setting(DEVICES["V100"], size, weights, batch, context)
        text = cost_words.roofline_sentence(setting, k, alpha, c)
        assert not re.search(r"\de[+-]?\d", text)
        assert not re.search(r"\d{4,} (?:MB|GB|ms)", text)
        assert ("verifying is free." in text) is (
            cost_words.free_batch(setting, k) >= batch or math.isinf(cost_words.free_batch(setting, k))
        )


@pytest.mark.parametrize(
    ("seconds", "text"), [(2e-7, "0.2 µs"), (3e-3, "3 ms"), (0.99, "990 ms"), (391.2, "391 s"), (12_345, "12,345 s")]
)
def test_a_time_has_the_unit_that_takes_fewest_zeros(seconds, text):
    assert cost_words._time(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(25.2e6, "25.2 MB"), (16.1e9, "16.1 GB"), (3.5e14, "350 TB"), (2.5e16, "25,000 TB")]
)
def test_bytes_have_the_unit_that_takes_fewest_zeros(count, text):
    assert cost_words._bytes(count) == text
