"""The Beta model fitted to rounds, and the control of its predictions at other draft lengths."""

import numpy as np
import pytest

from simulator.acceptance.correlation import control, fit_beta
from simulator.theory import beta_moments, correlated_tokens, expected_tokens

N = 10_000_000


def expected_histogram(mean, rho, k, n=N):
    """Return the rounds by accepted tokens that a Beta law gives in the mean."""
    survival = np.append(beta_moments(mean, rho, k), 0.0)
    return tuple(round(n * share) for share in survival[:-1] - survival[1:])


@pytest.mark.parametrize(("mean", "rho", "k"), [(0.6, 0.3, 4), (0.534, 0.79, 7), (0.9, 0.05, 4), (0.3, 0.5, 2)])
def test_the_fit_finds_the_law_that_made_the_rounds(mean, rho, k):
    fit = fit_beta({k: expected_histogram(mean, rho, k)})
    assert fit.mean == pytest.approx(mean, abs=2e-3)
    assert fit.rho == pytest.approx(rho, abs=4e-3)
    assert fit.chance < 1e-6


def test_constant_alpha_shows_no_correlation():
    fit = fit_beta({4: expected_histogram(0.7, 0.0, 4, 1000)})
    assert fit.rho < 0.02
    assert fit.mean == pytest.approx(0.7, abs=0.01)
    assert fit.chance > 0.05


def test_under_constant_alpha_correlation_is_called_as_rarely_as_stated():
    """A check must be able to fail and must not cry wolf: at 5 %, of 60 honest samples 3 in the mean."""
    rng = np.random.default_rng(5)
    law = np.array([0.4, 0.24, 0.144, 0.0864, 0.1296])
    called = sum(fit_beta({4: rng.multinomial(400, law).tolist()}).chance < 0.05 for _ in range(60))
    assert called <= 10
    strong = np.diff(np.append(0, 1 - beta_moments(0.6, 0.4, 4)[1:]), append=1)
    assert all(fit_beta({4: rng.multinomial(400, strong).tolist()}).chance < 0.05 for _ in range(10))


@pytest.mark.parametrize("by_length", [{}, {1: (3, 4)}, {4: (0, 0, 0, 0, 9)}, {4: (9, 0, 0, 0, 0)}, {0: (5,)}])
def test_rounds_that_cannot_tell_mean_and_correlation_apart_have_no_fit(by_length):
    assert fit_beta(by_length) is None


def test_where_alpha_differs_between_rounds_the_fit_at_four_foretells_every_other_k():
    """Mean .6 with rho .4: the best constant alpha misses by 6 % in the mean, the fitted law by rounding."""
    made = control({k: expected_histogram(0.6, 0.4, k) for k in range(1, 9)})
    assert [p.k for p in made.points] == list(range(1, 9))
    assert made.correlated_error < 2e-3
    assert made.independent_error > 0.05
    assert made.correlated_error <= made.independent_error / 2
    assert made.points[7].measured == pytest.approx(correlated_tokens(0.6, 0.4, 8), abs=1e-3)
    assert made.points[7].independent == pytest.approx(expected_tokens(made.alpha, 8))


def test_the_bundled_pair_is_within_its_noise():
    """Twelve runs at each k of a bundled pair: both laws miss by less than the measured intervals are wide."""
    counted = {
        1: (253, 427), 2: (234, 125, 208), 3: (202, 133, 61, 118), 4: (205, 113, 54, 42, 71),
        5: (201, 105, 66, 41, 23, 34), 6: (187, 97, 59, 46, 19, 18, 21), 8: (173, 101, 54, 40, 24, 14, 12, 4, 7),
    }  # fmt: skip
    made = control(counted, alpha=0.5987624)
    assert (round(made.fit.mean, 3), round(made.fit.rho, 3)) == (0.577, 0.075)
    assert round(made.independent_error, 4) == 0.0127
    assert round(made.correlated_error, 4) == 0.0198
    assert max(made.independent_error, made.correlated_error) < made.noise


def test_without_rounds_at_the_fitted_k_there_is_no_control():
    assert control({3: (5, 5, 5, 5)}) is None
