"""The verdict: what pays is what was measured, and each named change is exactly the one that turns it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cost.verdict import K_MAX, RATIO_RULES, Verdict, alpha_of, formula_speedup, verdict
from simulator.cost.waterfall import from_sweep
from simulator.exactness.rules import CARDS
from simulator.measure import MeasuredPoint, Spread, Sweep
from simulator.metrics import from_accepted_counts
from simulator.round_cost import Cost, RoundCost
from simulator.theory.speedup import best_k, speedup

ALPHAS, COSTS = st.floats(0, 1), st.floats(0, 2)


def judged(alpha=0.6, c=0.2, c_verify=0.27, fixed=0.24) -> Verdict:
    return Verdict(False, 2, Spread(0.9, 0.9, 0.9), 2.0, alpha, Cost(10.0, c, c_verify, fixed), None)


def swept(speeds: dict[int, tuple[float, float, float]], whole: set[int], **figures) -> Sweep:
    """Return a complete sweep with (median, low, high) of the speedup by k; `whole`: the k drafted in full."""
    points = tuple(
        MeasuredPoint(k, Spread(*s), Spread(2.0, 2.0, 2.0), Spread(9.0, 9.0, 9.0)) for k, s in speeds.items()
    )
    rounds = {k: RoundCost(k, 9, 0.2 * k, 1.0, 0.1, 2.0, k) for k in {0} | whole}
    counted = replace(from_accepted_counts([2, 1, 0, 1], 2), **{"alpha": 0.6, **figures})
    return Sweep(points, 1.0, Cost(10.0, 0.1, 0.1, 0.1) if whole else None, counted, (rounds,))


@given(ALPHAS, COSTS, COSTS, COSTS)
def test_each_ceiling_is_the_cost_at_which_the_best_draft_is_even(alpha, c, c_verify, fixed):
    """Only k = 1 was asked: with a fixed cost of 1 and alpha .9 a longer draft pays where it said that none does."""
    v = judged(alpha, c, c_verify, fixed)
    for name, most in v.ceilings.items():
        costs = {"c": c, "c_verify": c_verify, "fixed": fixed}
        if most < 0:
            fastest = max(speedup(alpha, k=k, **{**costs, name: 0.0}) for k in range(1, K_MAX + 1))
            assert fastest <= 1
        else:
            fastest = max(speedup(alpha, k=k, **{**costs, name: most}) for k in range(1, K_MAX + 1))
            assert fastest == pytest.approx(1, rel=1e-9)


def test_a_fixed_cost_is_shared_by_the_tokens_of_a_longer_draft():
    v = judged(0.9, 0.1, 0.1, 1.0)
    assert speedup(0.9, 0.1, 1, 0.1, 1.0) < 1
    assert v.promised == best_k(0.9, 0.1, 0.1, 1.0, k_max=16)
    assert v.promised[1] > 1.7
    assert v.ceilings["c"] > 0.1


@given(ALPHAS, COSTS, COSTS, COSTS)
def test_no_lever_makes_anything_slower(alpha, c, c_verify, fixed):
    v = judged(alpha, c, c_verify, fixed)
    assert all(speed >= v.promised[1] - 1e-12 for _, speed in v.levers.values())


@pytest.mark.parametrize(
    ("spread", "pays"),
    [((1.8, 1.7, 1.9), True), ((0.7, 0.6, 0.8), False), ((1.01, 0.97, 1.04), None), ((0.99, 0.9, 1.1), None),
     ((1.6, 0.8, 1.9), True), ((1.01, 1.005, 1.02), True), ((1.0, 1.0, 1.0), False)],
)  # fmt: skip
def test_what_pays_is_what_was_measured_and_even_is_said_where_the_repeats_disagree(spread, pays):
    assert verdict(swept({0: (1, 1, 1), 2: spread}, {2})).pays is pays


def test_only_draft_lengths_that_were_drafted_in_full_are_judged():
    """With 3 tokens to decode, k = 5 drafts 2: it won by noise, and the advice was a k that nobody had measured."""
    speeds = {0: (1, 1, 1), 1: (1.3, 1.3, 1.3), 2: (1.2, 1.2, 1.2), 5: (2.1, 2.1, 2.1)}
    assert verdict(swept(speeds, {1, 2})).k == 1


def test_without_a_drafted_round_there_is_no_verdict():
    assert verdict(None) is None
    assert verdict(swept({0: (1, 1, 1), 2: (0.9, 0.9, 0.9)}, set())) is None
    assert verdict(swept({0: (1, 1, 1), 2: (0.9, 0.9, 0.9)}, {2}, alpha=None)) is None
    assert verdict(Sweep((), 0.5)) is None


def test_the_share_of_rounds_that_drafted_is_known():
    v = verdict(swept({0: (1, 1, 1), 2: (1.2, 1.2, 1.2)}, {2}, rounds=40, undrafted=30))
    assert v.drafted == 0.25


@pytest.mark.parametrize("rule", sorted(name for name, card in CARDS.items() if card.runs))
def test_the_mean_alpha_is_that_of_the_rule(rule):
    """`always` keeps every token: with sum min(p, q) as its alpha, its waterfall put 1.8 times down to correlation."""
    sweep = swept({0: (1, 1, 1), 2: (1.2, 1.2, 1.2)}, {2}, alpha=0.6, tested_acceptance_rate=1.0)
    ratio = CARDS[rule].acceptance == CARDS["exact"].acceptance or rule == "block"
    assert (rule in RATIO_RULES) is ratio
    alpha = 0.6 if ratio else 1.0
    assert alpha_of(sweep.figures, rule) == alpha
    assert verdict(sweep, rule).alpha == alpha
    assert from_sweep(sweep, 2, rule).alpha == alpha
    assert alpha_of(None, rule) is None


@given(ALPHAS, COSTS, COSTS, COSTS, st.integers(1, 16))
def test_where_every_round_drafts_the_promise_is_the_formulas(alpha, c, c_verify, fixed, k):
    figures = replace(from_accepted_counts([2, 1, 0, 1], 2), alpha=alpha)
    promised = formula_speedup(figures, Cost(10.0, c, c_verify, fixed), k)
    assert promised == pytest.approx(speedup(alpha, c, k, c_verify, fixed))


def test_rounds_that_drafted_nothing_are_promised_nothing():
    """Prompt lookup was promised 1.4 times on texts in which nine rounds of ten found no match."""
    figures = replace(from_accepted_counts([2, 1, 0, 1], 2), alpha=0.5, rounds=40, undrafted=30)
    cost = Cost(10.0, 0.0, 0.1, 0.05)
    assert formula_speedup(figures, cost, 2) == pytest.approx((0.25 * 1.75 + 0.75) / (0.25 * 1.25 + 0.75))
    assert formula_speedup(replace(figures, undrafted=40), cost, 2) == 1
    assert formula_speedup(replace(figures, alpha=None), cost, 2) is None
    assert formula_speedup(replace(figures, alpha=0.5, tested_acceptance_rate=1.0, undrafted=0), cost, 2, "always") == (
        pytest.approx(3 / 1.25)
    )
