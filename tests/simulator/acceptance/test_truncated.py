"""A cut draft vocabulary: the two TVs, which one adds up, and alpha twice from the same rounds."""

import numpy as np
import pytest

from simulator.acceptance.body import agreement_of
from simulator.acceptance.from_runs import of_runs
from simulator.acceptance.truncated import frequency_order, pooled, truncate
from simulator.theory.position import overlap, tv
from tests.simulator.acceptance.test_rounds_csv import a_run

P, Q = np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.5, 0.3]])


def test_two_of_three_tokens_by_hand():
    """Kept are tokens 1 and 2, scaled to .625 and .375: accepted .3 + .2, outside .5, TV over the two .25."""
    t = truncate(P, Q, frequency_order(Q[0]))
    assert t.n.tolist() == [1, 2, 3]
    assert t.acceptance == pytest.approx([0.3, 0.5, 0.7])
    assert t.outside == pytest.approx([0.7, 0.5, 0.0])
    assert t.tv_draft == pytest.approx([0.35, 0.25, 0.3])
    assert (t.acceptance + t.tv_all) == pytest.approx([1, 1, 1])


def test_only_the_tv_over_all_tokens_adds_up_with_the_acceptance():
    """TV over the draft's tokens alone leaves out half of the target's mass outside them."""
    rng = np.random.default_rng(3)
    p, q = (rng.dirichlet(np.full(50, 0.3), 8) for _ in range(2))
    order = frequency_order(q.mean(axis=0))
    t = truncate(p, q, order)
    for i, n in enumerate(t.n):
        kept = order[:n]
        cut = np.zeros_like(q)
        cut[:, kept] = q[:, kept] / q[:, kept].sum(axis=1, keepdims=True)
        assert t.acceptance[i] == pytest.approx(overlap(p, cut).mean())
        assert t.tv_all[i] == pytest.approx(tv(p, cut).mean())
        own = 0.5 * np.abs(p[:, kept] - cut[:, kept]).sum(axis=1).mean()
        assert t.tv_draft[i] == pytest.approx(own)
        assert t.acceptance[i] + own == pytest.approx(1 - t.outside[i] / 2)


def test_blocks_pool_to_the_whole():
    rng = np.random.default_rng(4)
    p, q = (rng.dirichlet(np.ones(20), 6) for _ in range(2))
    order = frequency_order(q.mean(axis=0))
    whole, parts = truncate(p, q, order), pooled([truncate(p[:2], q[:2], order), truncate(p[2:], q[2:], order)])
    assert parts.acceptance == pytest.approx(whole.acceptance)
    assert parts.outside == pytest.approx(whole.outside)
    assert parts.positions == 6


def test_a_draft_without_mass_on_the_kept_tokens_proposes_nothing():
    t = truncate([[0.5, 0.5, 0.0]], [[0.0, 0.0, 1.0]], [0, 1, 2])
    assert t.acceptance == pytest.approx([0, 0, 0])
    assert t.outside == pytest.approx([0.5, 0, 0])


# Alpha twice


def test_alpha_from_the_distributions_agrees_with_alpha_from_honest_verdicts():
    """At level .001 at most 6 of 1,000 honest samples are called a disagreement (chance of more: 8e-5)."""
    rng = np.random.default_rng(0)
    overlaps = rng.beta(4, 3, 500)
    verdicts = rng.random((1000, 500)) < overlaps
    called = sum(not agreement_of(overlaps.tolist(), int(n)).agree for n in verdicts.sum(axis=1))
    assert called <= 6


def test_a_wrong_rule_does_not_agree():
    """Judged by equality with a draw from p, .31 of the drafts pass where the ratio test passes .70."""
    accepted = int((np.random.default_rng(1).random(500) < float((P * Q).sum())).sum())
    found = agreement_of([float(overlap(P[0], Q[0]))] * 500, accepted)
    assert not found.agree
    assert found.z < -10


def test_without_chance_they_agree_only_if_equal():
    assert agreement_of([1.0, 0.0, 1.0], 2).agree
    assert not agreement_of([1.0, 0.0, 1.0], 1).agree


def test_tested_positions_only_are_compared():
    a = of_runs("", [a_run([3, 1, 0, 2])])
    assert (a.agreement.tested, a.agreement.accepted) == (9, 6)
    assert a.agreement.expected == pytest.approx(4 * 0.9 + 3 * 0.5 + 2 * 0.25)
    assert a.figures["alpha"] == pytest.approx(a.agreement.expected / 9)
