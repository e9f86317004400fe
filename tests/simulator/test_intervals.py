"""Intervals: textbook values, coverage, and what has none."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.intervals import ratio_interval, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (167, 259, 0.5848, 0.7006)],
)
def test_wilson_values(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0.5, 4))
def test_wilson_ends_are_z_standard_errors_from_the_share(trials, share, z):
    successes = round(share * trials)
    low, high = wilson(successes, trials, z)
    assert 0 <= low <= successes / trials <= high <= 1
    for end in (low, high):
        miss = (successes / trials - end) ** 2 - z * z * end * (1 - end) / trials
        assert end in (0, 1) or abs(miss) < 1e-9


def test_wilson_without_trials_is_not_available():
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("successes", "trials", "z"), [(4, 3, 1.96), (-1, 3, 1.96), (1, 3, 0.0), (1, 3, math.nan)])
def test_wilson_refuses_what_is_no_share(successes, trials, z):
    with pytest.raises(ValueError, match=f"not {successes} of {trials}, z = {z}"):
        wilson(successes, trials, z)


def test_interval_of_tokens_per_round_is_the_textbook_one():
    tokens = np.array([4, 2, 1, 3, 5, 2])
    half = 1.96 * tokens.std(ddof=1) / math.sqrt(6)
    assert ratio_interval(tokens, np.ones(6)) == pytest.approx((tokens.mean() - half, tokens.mean() + half))


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=20), st.floats(0, 5))
def test_a_constant_rate_has_no_spread(seconds, rate):
    low, high = ratio_interval(np.multiply(seconds, rate), seconds)
    assert (low, high) == pytest.approx((rate, rate), abs=1e-9)


def test_interval_covers_the_true_rate_as_often_as_it_says():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(600):
        seconds = rng.uniform(0.5, 1.5, 60)
        low, high = ratio_interval(rng.poisson(2.5 * seconds), seconds)
        hits += low <= 2.5 <= high
    assert 0.92 <= hits / 600 <= 0.975


def test_batches_widen_the_interval_of_rounds_that_resemble_their_neighbours():
    tokens = np.repeat([1, 5, 2, 4, 1, 5, 3, 2], 10)
    ones = np.ones(80)
    single, batched = ratio_interval(tokens, ones), ratio_interval(tokens, ones, batch=10)
    assert batched[1] - batched[0] > 2.5 * (single[1] - single[0])
    assert batched == pytest.approx(ratio_interval(tokens[::10], np.ones(8)))


def test_intervals_are_centred_on_the_pooled_ratio_and_never_negative():
    low, high = ratio_interval([1, 9], [1, 1.5], z=0.1)
    assert (low + high) / 2 == pytest.approx(4)
    assert ratio_interval([0, 0, 9], [1, 1, 1])[0] == 0.0


@pytest.mark.parametrize(("over", "under"), [([], []), ([3], [1]), ([0, 0], [0, 0])])
def test_too_little_data_has_no_interval(over, under):
    assert ratio_interval(over, under) is None


@pytest.mark.parametrize(
    ("over", "under", "options", "sentence"),
    [
        ([1, 2], [1], {}, "2 numerators for 1 denominators"),
        ([1, -2], [1, 1], {}, "numerators .* -2"),
        ([1, 2], [1, math.inf], {}, "denominators .* inf"),
        ([[1, 2]], [1, 2], {}, "numerators must be one row"),
        ([1, 2], [1, 1], {"batch": 0}, "batch .* not 0"),
        ([1, 2], [1, 1], {"z": -1}, "not 1 and -1"),
    ],
)
def test_intervals_refuse_impossible_input(over, under, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        ratio_interval(over, under, **options)
