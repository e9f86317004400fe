"""Each rule's closed form is what its code does, branch by branch; and the printed numbers of the reference."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings

from simulator.exactness.laws import account, draft_law, law, tokens_per_round
from simulator.exactness.rules import CARDS, Lossless
from simulator.verify import block, exact, lenience, token_rule, typical
from tests.simulator.distributions import enumerated, pairs
from tests.simulator.tiny import P, Q

NAMES = tuple(CARDS)
GOLDEN = np.array(P), np.array(Q)


def code_of(name):
    """Return the function that runs: for the ratio and the block rule the engine's own."""
    return {"exact": exact, "block": block}.get(name) or token_rule(name)


@settings(max_examples=1000, deadline=None, database=None)
@given(pairs())
@example((np.eye(3)[0], np.eye(3)[0]))
@example((np.eye(3)[0], np.eye(3)[1]))
@example((np.array([0.7, 0.2, 0.1]), np.array([0.7, 0.2, 0.1])))
@example(GOLDEN)
def test_the_closed_form_of_every_rule_is_the_enumeration_of_its_code(pair):
    p, q = pair
    for name in NAMES:
        drafts = draft_law(name, q)
        emitted, acceptance = enumerated(code_of(name), token_rule(name).chance(p, q), drafts, p, q)
        closed = law(name, p, q)
        assert closed.emitted == pytest.approx(emitted, abs=1e-12), name
        assert closed.acceptance == pytest.approx(acceptance, abs=1e-12), name
        assert closed.tv == pytest.approx(np.abs(emitted - p).sum() / 2, abs=1e-12), name


@settings(max_examples=200, deadline=None, database=None)
@given(pairs())
def test_parameters_reach_both_the_code_and_the_closed_form(pair):
    p, q = pair
    for name, make, value in (("lenience", lenience, 0.2), ("lenience", lenience, 1.0), ("typical", typical, 0.4)):
        rule = make(value)
        drafts = draft_law(name, q)
        refill_cuts = np.maximum(p - value * q, 0)
        emitted, acceptance = enumerated_with(rule, drafts, p, q, refill_cuts)
        closed = law(name, p, q, value)
        assert closed.emitted == pytest.approx(emitted, abs=1e-12)
        assert closed.acceptance == pytest.approx(acceptance, abs=1e-12)


def enumerated_with(rule, drafts, p, q, refill):
    """Enumerate a rule whose replacement weights are known."""
    chance, emitted, accepted = rule.chance(p, q), np.zeros(len(p)), 0.0
    for x in np.flatnonzero(drafts):
        emitted[x] += drafts[x] * chance[x]
        accepted += drafts[x] * chance[x]
        weights = rule.weights(p, q, x)
        emitted += drafts[x] * (1 - chance[x]) * weights / weights.sum()
    assert rule.refill(p, q) == pytest.approx(refill if rule.refill(p, q) is not p else p)
    return emitted, accepted


@settings(max_examples=300, deadline=None, database=None)
@given(pairs())
def test_the_account_of_a_token_adds_up_to_its_law(pair):
    p, q = pair
    for name in NAMES:
        closed = law(name, p, q)
        for token in range(len(p)):
            parts = account(name, p, q, token)
            assert parts.kept + parts.replaced == pytest.approx(closed.emitted[token], abs=1e-12), (name, token)


@settings(max_examples=300, deadline=None, database=None)
@given(pairs())
def test_what_is_called_lossless_is_p_to_the_last_bit(pair):
    p, q = pair
    for name, card in CARDS.items():
        if card.lossless is Lossless.YES:
            assert law(name, p, q).emitted.tobytes() == p.tobytes()
            assert law(name, p, q).tv == 0


@settings(max_examples=300, deadline=None, database=None)
@given(pairs())
def test_argmax_is_lossless_where_p_is_one_hot(pair):
    p, q = pair
    greedy = np.eye(len(p))[p.argmax()]
    assert law("argmax", greedy, q).tv == 0


@pytest.mark.parametrize(
    ("name", "emitted", "acceptance"),
    [
        ("exact", (0.5, 0.3, 0.2), 0.7),
        ("resample", (0.35, 0.39, 0.26), 0.7),
        ("equality", (0.5, 0.3, 0.2), 0.31),
        ("equality-fresh", (0.445, 0.357, 0.198), 0.31),
        ("equality-or-ratio", (0.35, 0.39, 0.26), 0.7 + 0.3 * 0.2 + 0.2 * 0.1),
        ("one-hot", (0.5, 0.3, 0.2), 0.3),
        ("softmax", (0.4, 0.6, 0), 0.6),
        ("argmax", (1, 0, 0), 0),
        ("block", (0.5, 0.3, 0.2), 0.7),
        ("always", (0.2, 0.5, 0.3), 1),
    ],
)
def test_the_golden_round_under_every_rule(name, emitted, acceptance):
    closed = law(name, *GOLDEN)
    assert closed.emitted == pytest.approx(emitted, abs=1e-12)
    assert closed.acceptance == pytest.approx(acceptance, abs=1e-12)


def test_the_first_worked_example():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    assert token_rule("exact").chance(p, q) == pytest.approx([1, 0.75, 1])
    assert law("exact", p, q).acceptance == pytest.approx(0.9)
    assert token_rule("exact").refill(p, q) == pytest.approx([0.1, 0, 0])
    assert law("resample", p, q).tv == pytest.approx(0.05)


@settings(max_examples=300, deadline=None, database=None)
@given(pairs())
def test_lenience_never_lifts_a_token_above_p_over_l(pair):
    p, q = pair
    for l in (0.1, 0.5, 0.9, 1.0):  # noqa: E741
        assert np.all(law("lenience", p, q, l).emitted <= p / l + 1e-12)
    assert law("lenience", p, q, 1.0).tv < 1e-12


@settings(max_examples=300, deadline=None, database=None)
@given(pairs())
def test_equality_accepts_no_more_than_the_ratio_and_equal_or_ratio_no_less(pair):
    alpha = {name: law(name, *pair).acceptance for name in NAMES}
    assert alpha["equality"] <= alpha["exact"] + 1e-12
    assert alpha["equality-or-ratio"] >= alpha["exact"] - 1e-12
    assert alpha["lenience"] >= alpha["exact"] - 1e-12
    assert alpha["one-hot"] <= pair[0].max()


# Tokens per round


def brute_block_tokens(p, q, k):
    """Sum over all drafts the chance to keep the first i: slow and obvious."""
    total = 1.0
    for i in range(1, k + 1):
        for draft in itertools.product(np.flatnonzero(q), repeat=i):
            carried = 1.0
            for x in draft:
                carried = min(1.0, carried * p[x] / q[x])
            total += np.prod(q[list(draft)]) * carried
    return total


@settings(max_examples=60, deadline=None, database=None)
@given(pairs())
def test_block_tokens_are_the_sum_over_all_drafts(pair):
    for k in (1, 2, 3, 4):
        assert tokens_per_round("block", *pair, k) == pytest.approx(brute_block_tokens(*pair, k), abs=1e-12)


@settings(max_examples=100, deadline=None, database=None)
@given(pairs())
def test_a_block_keeps_at_least_as_many_tokens_as_the_ratio(pair):
    for k in range(1, 9):
        assert tokens_per_round("block", *pair, k) >= tokens_per_round("exact", *pair, k) - 1e-5
    assert tokens_per_round("block", *pair, 1) == pytest.approx(tokens_per_round("exact", *pair, 1), abs=1e-12)


def test_a_block_really_gains_on_the_golden_round():
    assert tokens_per_round("exact", *GOLDEN, 2) == pytest.approx(1 + 0.7 + 0.49)
    assert tokens_per_round("block", *GOLDEN, 2) > 2.2


def test_putting_near_values_together_costs_less_than_a_millionth():
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(40))
    assert tokens_per_round("block", p, q, 3) == pytest.approx(brute_block_tokens(p, q, 3), abs=1e-6)


def test_tokens_per_round_of_the_other_rules_follow_their_acceptance():
    assert tokens_per_round("always", *GOLDEN, 4) == 5
    assert tokens_per_round("equality", *GOLDEN, 2) == pytest.approx(1 + 0.31 + 0.31**2)
    assert tokens_per_round("argmax", *GOLDEN, 3) == 1
