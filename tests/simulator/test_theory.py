"""Closed forms: published values to the printed digits, slow exact oracles, and the edges where formulas break."""

import inspect
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import theory
from simulator.theory import (
    best_k,
    beta_mean_rho,
    beta_moments,
    beta_parameters,
    break_even_alpha,
    correlated_speedup,
    correlated_tokens,
    equivalent_alpha,
    expected_tokens,
    frechet_bounds,
    independent_length,
    operations_factor,
    overlap,
    residual,
    solve_rho,
    speedup,
    tv,
)

settings.register_profile("no deadline", deadline=None)  # a busy machine is no failure
settings.load_profile("no deadline")

unit = st.floats(0, 1)
cost = st.floats(0, 3)
length = st.integers(0, 12)
near_one = st.integers(1, 2**20).map(lambda n: 1.0 - n * 2.0**-53)

# A published draft, block 7: acceptance of each position on its own, and what it reports per round.
PUBLISHED = [0.714, 0.619, 0.553, 0.508, 0.474, 0.446, 0.423]
REPORTED = 3.16


@st.composite
def pairs(draw):
    """Return p, q over 2 to 6 tokens, with zeros and equal entries likely."""
    size = draw(st.integers(2, 6))
    weights = st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any)
    p, q = (np.array(draw(weights), float) for _ in range(2))
    return p / p.sum(), q / q.sum()


def exact_tokens(alpha: float, k: int) -> Fraction:
    """Return the closed form in rational arithmetic, where nothing cancels."""
    a = Fraction(alpha)
    return Fraction(k + 1) if a == 1 else (1 - a ** (k + 1)) / (1 - a)


# One position


@pytest.mark.parametrize(
    ("p", "q", "alpha"),
    [([0.5, 0.3, 0.2], [0.4, 0.4, 0.2], 0.9), ([0.5, 0.3, 0.2], [0.2, 0.5, 0.3], 0.7)],
)
def test_worked_examples(p, q, alpha):
    assert overlap(p, q) == pytest.approx(alpha, abs=1e-15)
    assert tv(p, q) == pytest.approx(1 - alpha, abs=1e-15)
    assert residual(p, q) == pytest.approx([1, 0, 0], abs=0)


@given(pairs())
def test_the_rule_emits_p(pair):
    p, q = pair
    accept = np.divide(p, q, out=np.ones_like(p), where=q > 0).clip(max=1)
    law = residual(p, q)
    emitted = q * accept + (0 if law is None else tv(p, q) * law)
    assert emitted == pytest.approx(p, abs=1e-12)


@given(pairs())
def test_overlap_and_tv_are_complementary_and_symmetric(pair):
    p, q = pair
    assert overlap(p, q) + tv(p, q) == pytest.approx(1, abs=1e-12)
    assert (overlap(p, q), tv(p, q)) == (overlap(q, p), tv(q, p))


@pytest.mark.parametrize("p", [[0.7, 0.2, 0.1], [0.0, 1.0, 0.0]])
def test_there_is_no_residual_where_p_equals_q(p):
    assert overlap(p, p) == pytest.approx(1)
    assert tv(p, p) == 0
    assert residual(p, p) is None


def test_one_hot_draft_is_accepted_with_p_of_its_token():
    p, q = [0.5, 0.3, 0.2], [0.0, 1.0, 0.0]
    assert overlap(p, q) == 0.3
    assert residual(p, q) == pytest.approx([5 / 7, 0, 2 / 7])


def test_positions_are_scored_row_by_row():
    p = np.array([[[0.5, 0.5], [1.0, 0.0]]])
    q = np.array([[[0.25, 0.75], [0.0, 1.0]]])
    assert overlap(p, q).tolist() == [[0.75, 0.0]]
    assert tv(p, q).tolist() == [[0.25, 1.0]]


def test_float32_distributions_are_summed_in_float64():
    p = np.full(262_144, 1 / 262_144, np.float32)
    assert overlap(p, p) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("p", "q", "sentence"),
    [
        ([0.5, 0.5], [0.2, 0.3, 0.5], r"one shape, not \(2,\) and \(3,\)"),
        ([0.5, 0.6], [0.5, 0.5], r"p must sum to 1, not to 1\.1"),
        ([0.5, 0.5], [0.5, math.nan], r"q must lie in 0\.\.1, not nan"),
        ([0.5, 0.5], [1.25, -0.25], r"q must lie in 0\.\.1, not 1\.25"),
        (1.0, 1.0, "arrays of one shape"),
    ],
)
def test_what_is_no_pair_of_distributions_is_refused(p, q, sentence):
    for function in (overlap, tv, residual):
        with pytest.raises(ValueError, match=sentence):
            function(p, q)


def test_residual_of_several_positions_is_refused():
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        residual(np.eye(2), np.eye(2)[::-1])


# Tokens per round and speedup


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


@given(st.one_of(unit, near_one), length)
def test_tokens_agree_with_rational_arithmetic(alpha, k):
    """The closed form is 0/0 at alpha = 1, and just below it a double-precision quotient loses all its digits.

    Guards the slip where a speedup curve jumped or became NaN at the right end of the alpha axis.
    """
    assert expected_tokens(alpha, k) == pytest.approx(float(exact_tokens(alpha, k)), rel=1e-14)


def test_speedup_is_smooth_where_alpha_reaches_one():
    assert abs(speedup(1 - 1e-9, 0.1, 5) - speedup(1, 0.1, 5)) < 1e-6
    steps = 1 - np.arange(1000) * 2.0**-53
    assert np.all(np.diff(expected_tokens(steps, 5)) <= 0)


@given(unit, unit, length)
def test_tokens_rise_with_alpha_and_with_k_within_their_bounds(a, b, k):
    low, high = sorted((a, b))
    assert expected_tokens(low, k) <= expected_tokens(high, k) <= k + 1
    assert 1 <= expected_tokens(a, k) <= expected_tokens(a, k + 1)


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


# Operations, best k, break-even


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


# Positions that differ


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


# alpha ~ Beta


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


def test_correlated_curves_take_their_k_in_any_order():
    tokens = correlated_tokens(0.5, 1 / 3, [2, 0, 1])
    assert tokens == pytest.approx([1 + 1 / 2 + 1 / 3, 1, 1 + 1 / 2])
    assert correlated_speedup(0.5, 1 / 3, 0.1, [2, 0, 1], 0.1) == pytest.approx(tokens / [1.4, 1, 1.2])


@given(st.floats(0.1, 0.9), st.floats(0, 1), st.integers(2, 8))
def test_solving_rho_inverts_the_model(mean, rho, k):
    found = solve_rho(mean, correlated_tokens(mean, rho, k) - 1, k)
    assert found == pytest.approx(rho, abs=1e-6)


def test_lengths_out_of_the_models_reach_have_no_rho():
    assert solve_rho(0.5, 0.7, 2) is None  # independence already gives .75
    assert solve_rho(0.5, 1.1, 2) is None  # all or nothing gives 1
    assert solve_rho(0.5, 0.75, 2) == 0.0
    assert solve_rho(0.5, 1.0, 2) == pytest.approx(1.0)


# The door


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: expected_tokens(1.2, 3), r"alpha must lie in 0\.\.1, not 1\.2\."),
        (lambda: expected_tokens([0.5, math.nan], 3), "alpha .* not nan"),
        (lambda: expected_tokens(1 + 1e-8, 3), r"not 1\.00000001"),
        (lambda: expected_tokens(0.5, -1), "k must be a whole number of at least 0, not -1"),
        (lambda: expected_tokens(0.5, 2.5), r"k .* not 2\.5"),
        (lambda: speedup(0.5, -0.1, 3), r"c must be finite and at least 0, not -0\.1"),
        (lambda: speedup(0.5, 0.1, 3, c_verify=math.inf), "c_verify .* not inf"),
        (lambda: speedup(0.5, 0.1, 3, fixed=-2.0), "fixed .* not -2"),
        (lambda: operations_factor(0.5, 3, c_hat=-1.0), "c_hat .* not -1"),
        (lambda: best_k(0.5, 0.1, k_max=-3), "k_max .* not -3"),
        (lambda: best_k(0.5, math.nan), "c .* not nan"),
        (lambda: break_even_alpha(-1.0), "c .* not -1"),
        (lambda: independent_length([0.5, 1.5]), r"not 1\.5"),
        (lambda: frechet_bounds([[0.5]]), r"shape \(1, 1\)"),
        (lambda: equivalent_alpha(5, 4), "not 5 with k = 4"),
        (lambda: equivalent_alpha(0, 0), "k at least 1"),
        (lambda: beta_mean_rho(0, 1), "A of the Beta law .* not 0"),
        (lambda: beta_mean_rho(1, math.inf), "B of the Beta law .* not inf"),
        (lambda: beta_parameters(0.5, 0.0), r"rho .* not 0\.0"),
        (lambda: beta_parameters(1.0, 0.5), r"mean .* not 1\.0"),
        (lambda: beta_moments(0.5, -0.5, 3), r"rho .* not -0\.5"),
        (lambda: correlated_tokens(0.5, 0.5, -4), "k .* not -4"),
        (lambda: solve_rho(0.5, 3.5, 3), r"not 3\.5 with k = 3"),
        (lambda: solve_rho(2.0, 1.0, 3), "mean .* not 2"),
    ],
)
def test_impossible_input_is_refused_by_name_and_value(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_every_public_function_documents_itself_and_its_source():
    public = [f for n, f in inspect.getmembers(theory, inspect.isfunction) if f.__module__ == theory.__name__]
    for function in (f for f in public if not f.__name__.startswith("_")):
        assert "Source: " in inspect.getdoc(function), function.__name__
        assert "ValueError" in inspect.getdoc(function), function.__name__


def test_theory_and_metrics_load_neither_torch_nor_qt():
    code = (
        "import sys, simulator.theory, simulator.metrics; print({'torch', 'PySide6', 'pyqtgraph'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
