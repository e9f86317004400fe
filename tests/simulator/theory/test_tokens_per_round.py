"""Tokens per round: slow exact oracles, published values, and the edges where formulas break."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.theory.speedup import correlated_speedup
from simulator.theory.tokens_per_round import (
    beta_mean_rho,
    beta_moments,
    beta_parameters,
    correlated_tokens,
    equivalent_alpha,
    expected_tokens,
    frechet_bounds,
    independent_length,
    solve_rho,
)

unit = st.floats(0, 1)
length = st.integers(0, 12)
near_one = st.integers(1, 2**20).map(lambda n: 1.0 - n * 2.0**-53)

# A published draft, block 7: acceptance of each position on its own, and what it reports per round.
PUBLISHED = [0.714, 0.619, 0.553, 0.508, 0.474, 0.446, 0.423]
REPORTED = 3.16


def exact_tokens(alpha: float, k: int) -> Fraction:
    """Return the closed form in rational arithmetic, where nothing cancels."""
    a = Fraction(alpha)
    return Fraction(k + 1) if a == 1 else (1 - a ** (k + 1)) / (1 - a)


@given(st.one_of(unit, near_one), length)
def test_tokens_agree_with_rational_arithmetic(alpha, k):
    """The closed form is 0/0 at alpha = 1, and just below it a double-precision quotient loses all its digits.

    Guards the slip where a speedup curve jumped or became NaN at the right end of the alpha axis.
    """
    assert expected_tokens(alpha, k) == pytest.approx(float(exact_tokens(alpha, k)), rel=1e-14)


@given(unit, unit, length)
def test_tokens_rise_with_alpha_and_with_k_within_their_bounds(a, b, k):
    low, high = sorted((a, b))
    assert expected_tokens(low, k) <= expected_tokens(high, k) <= k + 1
    assert 1 <= expected_tokens(a, k) <= expected_tokens(a, k + 1)


def test_published_draft_independence_and_bounds():
    assert round(independent_length(PUBLISHED), 2) == 1.62
    low, high = frechet_bounds(PUBLISHED)
    assert (round(low, 2), round(high, 2)) == (1.05, 3.74)
    assert low < REPORTED < high


def test_published_draft_equivalent_alpha_is_above_every_position():
    alpha = equivalent_alpha(REPORTED, 7)
    assert round(alpha, 2) == 0.80
    assert alpha > max(PUBLISHED)


def test_published_draft_needs_strong_correlation():
    mean = sum(PUBLISHED) / 7
    assert round(mean, 3) == 0.534
    rho = solve_rho(mean, REPORTED, 7)
    assert round(rho, 2) == 0.79
    assert correlated_tokens(mean, rho, 7) == pytest.approx(4.16)
    net = [round(correlated_speedup(mean, rho, c, 7), 2) for c in (0.05, 0.10, 0.15, 0.20)]
    assert net == [3.08, 2.45, 2.03, 1.73]


@given(unit, st.integers(0, 8))
def test_equal_positions_are_the_constant_alpha_formula(alpha, k):
    assert independent_length([alpha] * k) == pytest.approx(expected_tokens(alpha, k) - 1, abs=1e-12)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8))
def test_both_frechet_bounds_are_reached(twentieths):
    """Build the extreme dependences on 20 equally likely cells: rejections stacked, and rejections side by side."""
    cells = np.arange(20)
    starts = np.cumsum([0, *[20 - n for n in twentieths]])
    stacked = [cells < n for n in twentieths]
    apart = [(cells - start) % 20 >= 20 - n for start, n in zip(starts, twentieths, strict=False)]
    lengths = [np.cumprod(passes, axis=0).sum(axis=0).mean() for passes in (apart, stacked)]
    a = [n / 20 for n in twentieths]
    assert frechet_bounds(a) == pytest.approx(tuple(lengths), abs=1e-12)


@given(st.lists(unit, max_size=8))
def test_independence_lies_between_the_bounds(a):
    low, high = frechet_bounds(a)
    assert low - 1e-12 <= independent_length(a) <= high + 1e-12


@given(st.floats(0.01, 1), st.integers(1, 10))
def test_equivalent_alpha_inverts_the_formula(alpha, k):
    assert equivalent_alpha(expected_tokens(alpha, k) - 1, k) == pytest.approx(alpha, abs=1e-9)


def test_equivalent_alpha_at_its_ends():
    assert equivalent_alpha(0, 4) == 0.0
    assert equivalent_alpha(4, 4) == 1.0


@given(st.floats(0.05, 50), st.floats(0.05, 50), st.integers(0, 10))
def test_beta_moments_agree_with_the_gamma_function(a, b, k):
    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    moments = [math.exp(log_beta(a + i, b) - log_beta(a, b)) for i in range(k + 1)]
    assert beta_moments(*beta_mean_rho(a, b), k) == pytest.approx(moments, rel=1e-9)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_beta_parameters_and_mean_rho_are_inverse(mean, rho):
    assert beta_mean_rho(*beta_parameters(mean, rho)) == pytest.approx((mean, rho))


def test_uniform_alpha_is_beta_1_1():
    assert beta_mean_rho(1, 1) == (1 / 2, 1 / 3)
    assert beta_moments(1 / 2, 1 / 3, 4) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])


@given(unit, length)
def test_without_correlation_the_model_is_the_plain_formula(mean, k):
    assert correlated_tokens(mean, 0.0, k) == pytest.approx(expected_tokens(mean, k), rel=1e-12)


@given(unit, length)
def test_full_correlation_accepts_all_or_nothing(mean, k):
    assert correlated_tokens(mean, 1.0, k) == pytest.approx(1 + k * mean, rel=1e-12)


@given(unit, unit, unit, length)
def test_correlation_never_lowers_the_tokens_per_round(mean, rho, other, k):
    low, high = sorted((rho, other))
    assert expected_tokens(mean, k) <= correlated_tokens(mean, low, k) + 1e-9
    assert correlated_tokens(mean, low, k) <= correlated_tokens(mean, high, k) + 1e-9


@given(st.floats(0.1, 0.9), st.floats(0, 1), st.integers(2, 8))
def test_solving_rho_inverts_the_model(mean, rho, k):
    found = solve_rho(mean, correlated_tokens(mean, rho, k) - 1, k)
    assert found == pytest.approx(rho, abs=1e-6)


def test_lengths_out_of_the_models_reach_have_no_rho():
    assert solve_rho(0.5, 0.7, 2) is None  # independence already gives .75
    assert solve_rho(0.5, 1.1, 2) is None  # all or nothing gives 1
    assert solve_rho(0.5, 0.75, 2) == 0.0
    assert solve_rho(0.5, 1.0, 2) == pytest.approx(1.0)
