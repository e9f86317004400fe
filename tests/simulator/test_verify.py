"""The acceptance rule, number by number."""

import numpy as np
import pytest

from simulator.exactness.laws import tokens_per_round
from simulator.records import Kind
from simulator.verify import RULES, TOKEN_RULES, Outcome, accept_probability, chances, exact, residual
from tests.simulator.tiny import NEVER, P, Q


def rounds(p, q, tokens, u_accept, u_extra=0.5):
    """Judge a round in which every position has the same p and q."""
    n = len(tokens)
    return exact(np.array([p] * (n + 1)), np.array([q] * n).reshape(n, len(p)), tokens, u_accept, u_extra)


def test_golden_accept_probabilities_and_residual():
    assert [accept_probability(p, q) for p, q in zip(P, Q, strict=True)] == pytest.approx([1, 0.6, 2 / 3], abs=1e-12)
    left = residual(np.array(P), np.array(Q))
    assert left == pytest.approx([0.3, 0, 0], abs=1e-12)  # its mass is TV
    assert [accept_probability(p, q) for p, q in ((0.5, 0.4), (0.3, 0.4), (0.2, 0.2))] == [1, 0.3 / 0.4, 1]


def test_tiny_probabilities_keep_their_ratio():
    f = np.float32
    assert accept_probability(f(1e-8), f(2e-8)) == pytest.approx(0.5, rel=1e-6)
    assert accept_probability(f(3.5e-8), f(1e-3)) == pytest.approx(3.5e-5, rel=1e-6)
    assert accept_probability(f(0), f(1e-30)) == 0
    assert accept_probability(5e-324, 5e-324) == 1


@pytest.mark.parametrize("name", sorted(TOKEN_RULES))
def test_a_subnormal_q_overflows_no_rule(name):
    p, q = np.array([[0.25, 0.75]] * 2), np.array([[1.0, 5e-324]])
    for token in (0, 1):
        (chance,) = chances(name, p, q, [token]) if name in RULES else TOKEN_RULES[name].chances(p, q, [token])
        assert 0 <= chance <= 1
    assert tokens_per_round(name, p[0], q[0], 3) >= 1
    assert accept_probability(0.75, 5e-324) == 1


@pytest.mark.parametrize("q", [0.0, -0.1])
def test_a_token_that_the_draft_could_not_have_drawn_is_a_fault(q):
    with pytest.raises(ValueError, match="q > 0"):
        accept_probability(0.5, q)


def test_u_must_lie_below_the_accept_probability():
    p, q = (0.5, 0.5), (0.0, 1.0)  # accept probability exactly .5
    assert rounds(p, q, [1], [0.5]) == Outcome(0, 1, 0, Kind.RESIDUAL)
    assert rounds(p, q, [1], [np.nextafter(0.5, 0)]).accepted == 1
    assert rounds((1.0, 0.0), q, [1], [0.0]).accepted == 0  # p = 0 is never accepted, even at u = 0
    assert rounds(P, P, [0, 1, 2], [NEVER] * 3).accepted == 3  # p = q always is


def test_the_first_rejection_ends_the_round_with_a_token_of_the_residual():
    assert rounds(P, Q, [0, 1, 2], [0.9, 0.7, 0.0]) == Outcome(1, 2, 0, Kind.RESIDUAL)
    for u_extra in (0.0, 0.3, 0.999):
        assert rounds(P, Q, [1, 1], [0.6, 0.0], u_extra) == Outcome(0, 1, 0, Kind.RESIDUAL)


def test_full_acceptance_draws_the_bonus_from_p_of_the_last_row():
    p = np.array([P, P, (0.0, 0.0, 1.0)])
    assert exact(p, np.array([Q, Q]), [0, 1], [0.9, 0.5], 0.1) == Outcome(2, 2, 2, Kind.BONUS)
    assert [rounds(P, Q, [0], [0.9], u).extra for u in (0.0, 0.49, 0.51, 0.81)] == [0, 0, 1, 2]


def test_a_round_without_drafts_draws_a_plain_token_from_p():
    assert rounds(P, Q, [], [], 0.6) == Outcome(0, 0, 1, Kind.PLAIN)


@pytest.mark.parametrize("p", [(0.7, 0.2, 0.1), (0.0, 1.0, 0.0)])
def test_p_equal_q_leaves_no_residual_and_no_nan(p):
    assert residual(np.array(p), np.array(p)).tolist() == [0, 0, 0]
    for token in np.flatnonzero(p):
        assert rounds(p, p, [token], [NEVER]) == Outcome(1, 1, rounds(p, p, [], [], 0.5).extra, Kind.BONUS)


def test_a_rejection_that_exists_only_in_rounding_falls_back_to_p():
    """p below q by one bit and nowhere above: 0 / 0 once made every entry of the residual NaN."""
    q = np.array([0.7, 0.3], np.float32)
    p = np.nextafter(q, np.float32(0))
    outcome = exact(np.array([p, p]), q[None], [0], [NEVER], 0.9)
    assert outcome == Outcome(0, 1, 1, Kind.RESIDUAL)
    assert accept_probability(p[0], q[0]) > 0.999


def test_greedy_rows_accept_the_targets_own_token_only():
    p, q = np.array([(0, 1, 0)] * 2), np.array([(1, 0, 0)])
    assert exact(p, q, [0], [0.0], 0.99) == Outcome(0, 1, 1, Kind.RESIDUAL)
    assert exact(p, p[:1], [1], [NEVER], 0.99) == Outcome(1, 1, 1, Kind.BONUS)


def test_a_one_hot_draft_is_accepted_with_p_and_replaced_by_p_without_it():
    p, q = np.array(P), np.array([0.0, 1.0, 0.0])
    assert accept_probability(p[1], q[1]) == 0.3
    left = residual(p, q)
    assert left / left.sum() == pytest.approx([0.714286, 0, 0.285714], abs=1e-6)


def test_judging_changes_neither_p_nor_q():
    """A prompt-lookup sampler once zeroed the draft's token inside the target's own array."""
    p, q = np.array([P] * 3), np.array([[0.0, 1.0, 0.0]] * 2)
    before = p.tobytes(), q.tobytes()
    for u in (0.0, 0.5, 0.99):
        exact(p, q, [1, 1], [u, u], u)
    assert (p.tobytes(), q.tobytes()) == before


def test_rows_of_the_wrong_shape_are_refused_at_the_door():
    with pytest.raises(AssertionError, match=r"\(2, 3\)"):
        exact(np.array([P, P]), np.array([Q, Q]), [0, 1], [0.5, 0.5], 0.5)
