"""Speedup, best k and break-even: published tables to the printed digits, and their ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.theory.position import overlap
from simulator.theory.speedup import best_k, break_even_alpha, correlated_speedup, operations_factor, speedup
from simulator.theory.tokens_per_round import correlated_tokens, expected_tokens

unit = st.floats(0, 1)
cost = st.floats(0, 3)
length = st.integers(0, 12)


@pytest.mark.parametrize(
    ("alpha", "c", "k", "value"),
    [
        (0.8, 0.1, 5, 2.45952),
        (0.44, 0.11, 5, 1.143714),
        (1.0, 0.1, 5, 4.0),
        (0.0, 0.1, 5, 0.666667),
        (0.9, 0.02, 8, 5.280858),
        (0.6, 0.7, 4, 0.606737),
        (0.8, 0.0, 1, 1.8),  # DeepSeek-V3, second-token prediction
    ],
)
def test_speedup_has_its_exact_values(alpha, c, k, value):
    assert speedup(alpha, c, k) == pytest.approx(value, abs=5e-7)


def test_a_dearer_verify_pass_lowers_the_speedup():
    # A pass of 6 tokens that costs 1.6 plain steps: c_verify = .6 / 5 over the 5 additional positions.
    assert speedup(0.8, 0.1, 5, c_verify=0.6 / 5) == pytest.approx(1.7568)
    assert speedup(0.8, 0.1, 5, fixed=0.6) == pytest.approx(1.7568)


def test_speedup_is_smooth_where_alpha_reaches_one():
    assert abs(speedup(1 - 1e-9, 0.1, 5) - speedup(1, 0.1, 5)) < 1e-6
    steps = 1 - np.arange(1000) * 2.0**-53
    assert np.all(np.diff(expected_tokens(steps, 5)) <= 0)


@given(unit, cost, cost, cost)
def test_without_a_draft_the_speedup_is_exactly_one(alpha, c, c_verify, fixed):
    assert speedup(alpha, c, 0, c_verify, fixed) == 1.0
    assert correlated_speedup(alpha, 0.5, c, 0, c_verify, fixed) == 1.0
    assert speedup(alpha, c, [0, 1], c_verify, fixed)[0] == 1.0


@given(unit, length)
def test_nothing_is_won_or_lost_at_break_even(x, k):
    assert speedup(x, x, 1) == 1.0
    assert speedup(1.0, 1.0, k) == 1.0


@given(unit, cost, cost, cost)
def test_arrays_give_what_single_calls_give(alpha, c, c_verify, fixed):
    alphas, ks = np.array([0.0, alpha, 1.0]), np.arange(9)
    grid = speedup(alphas[:, None], c, ks, c_verify, fixed)
    one_by_one = [[speedup(float(a), c, int(k), c_verify, fixed) for k in ks] for a in alphas]
    assert grid.tolist() == one_by_one
    assert expected_tokens(alphas, 4).tolist() == [expected_tokens(float(a), 4) for a in alphas]


def test_numbers_give_a_plain_float():
    for value in (expected_tokens(0.5, 3), speedup(0.5, 0.1, 3), operations_factor(0.5, 3), overlap([1.0], [1.0])):
        assert type(value) is float
    assert type(correlated_tokens(0.5, 0.1, 3)) is type(correlated_speedup(0.5, 0.1, 0.1, 3)) is float


def test_an_empty_axis_gives_an_empty_curve():
    assert speedup(0.5, 0.1, np.arange(0)).shape == (0,)


@pytest.mark.parametrize(
    ("alpha", "k", "operations", "speed"),
    [
        (0.6, 2, 1.53, 1.96),
        (0.7, 3, 1.58, 2.53),
        (0.8, 2, 1.23, 2.44),
        (0.8, 5, 1.63, 3.69),
        (0.9, 2, 1.11, 2.71),
        (0.9, 10, 1.60, 6.86),
    ],
)
def test_leviathan_table_1_with_a_free_draft(alpha, k, operations, speed):
    assert round(operations_factor(alpha, k), 2) == operations
    assert round(speedup(alpha, 0.0, k), 2) == speed


def test_draft_operations_are_added_per_drafted_token():
    assert operations_factor(0.6, 2, c_hat=0.1) == pytest.approx((1 - 0.6) * (2 * 0.1 + 2 + 1) / (1 - 0.6**3))
    assert operations_factor(1.0, 4) == 1.0


@pytest.mark.parametrize(
    ("k", "alpha", "c", "printed"),
    [
        *[(7, 0.75, 0.02, 3.2), (7, 0.80, 0.04, 3.3), (7, 0.82, 0.11, 2.5), (7, 0.62, 0.02, 2.3)],
        *[(5, 0.68, 0.04, 2.4), (3, 0.71, 0.11, 2.0), (5, 0.65, 0.02, 2.4), (5, 0.73, 0.04, 2.6)],
        *[(3, 0.74, 0.11, 2.0), (5, 0.53, 0.02, 1.9), (3, 0.55, 0.04, 1.8), (3, 0.56, 0.11, 1.6)],
    ],
)
def test_leviathan_table_4_lies_within_the_rounding_of_its_alpha_and_c(k, alpha, c, printed):
    low, high = speedup(alpha - 0.005, c + 0.005, k), speedup(alpha + 0.005, c - 0.005, k)
    assert low - 0.05 <= printed <= high + 0.05


@pytest.mark.parametrize(
    ("alpha", "c", "c_verify", "k", "value"),
    [
        (0.8, 0.1, 0.0, 6, 2.46964),
        (0.6, 0.5, 0.0, 1, 1.066667),
        (0.6, 0.7, 0.0, 0, 1.0),
        (0.75, 0.1, 0.0, 5, 2.1921),
        (0.75, 0.1, 0.05, 4, 1.9067),
        (0.75, 0.1, 0.25, 2, 1.3603),
    ],
)
def test_best_k_table(alpha, c, c_verify, k, value):
    best, gain = best_k(alpha, c, c_verify)
    assert best == k
    assert gain == pytest.approx(value, abs=5e-5)


def test_the_best_k_shrinks_when_verifying_costs_to_the_printed_digits():
    found = [best_k(0.75, 0.1, c_verify) for c_verify in (0.0, 0.05, 0.25)]
    assert [(k, round(gain, 2)) for k, gain in found] == [(5, 2.19), (4, 1.91), (2, 1.36)]


@given(st.sampled_from([0.1, 0.3, 1 / 3, 0.7, 0.9, 1.0]))
def test_of_equally_fast_drafts_the_shortest_wins(x):
    assert best_k(x, x) == (0, 1.0)
    assert best_k(0.0, 0.0) == (0, 1.0)


@given(unit, cost, cost, cost, unit)
def test_no_other_k_is_faster_than_the_best(alpha, c, c_verify, fixed, rho):
    k, gain = best_k(alpha, c, c_verify, fixed, rho=rho, k_max=10)
    curve = [correlated_speedup(alpha, rho, c, i, c_verify, fixed) for i in range(11)]
    assert gain == curve[k] == pytest.approx(max(curve), rel=1e-11)
    assert all(s < gain for s in curve[:k])


def test_a_fixed_cost_per_round_asks_for_longer_drafts():
    assert best_k(0.75, 0.1)[0] < best_k(0.75, 0.1, fixed=0.5)[0]


def test_a_free_and_perfect_draft_is_as_long_as_allowed():
    assert best_k(1.0, 0.0, k_max=12) == (12, 13.0)


@given(cost, cost, cost, st.integers(1, 12))
def test_break_even_is_the_least_alpha_that_does_not_lose(c, c_verify, fixed, k):
    alpha = break_even_alpha(c, c_verify, fixed, k)
    if alpha is None:
        assert speedup(1.0, c, k, c_verify, fixed) < 1
    else:
        assert speedup(alpha, c, k, c_verify, fixed) == pytest.approx(1.0, abs=1e-10) or alpha == 0
        assert alpha < 1e-6 or speedup(alpha - 1e-6, c, k, c_verify, fixed) < 1


@given(unit)
def test_break_even_of_one_token_is_its_cost(c):
    assert break_even_alpha(c) == pytest.approx(c, abs=1e-12)


def test_break_even_at_its_ends():
    assert break_even_alpha(0.0, k=5) == 0.0
    assert break_even_alpha(5.0, k=0) == 0.0
    assert break_even_alpha(1.0, k=5) == pytest.approx(1.0)
    assert break_even_alpha(1.01, k=5) is None


def test_correlated_curves_take_their_k_in_any_order():
    tokens = correlated_tokens(0.5, 1 / 3, [2, 0, 1])
    assert tokens == pytest.approx([1 + 1 / 2 + 1 / 3, 1, 1 + 1 / 2])
    assert correlated_speedup(0.5, 1 / 3, 0.1, [2, 0, 1], 0.1) == pytest.approx(tokens / [1.4, 1, 1.2])
