"""One position: acceptance and residual, worked examples and what is no pair of distributions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.theory.position import overlap, residual, tv


@st.composite
def pairs(draw):
    """Return p, q over 2 to 6 tokens, with zeros and equal entries likely."""
    size = draw(st.integers(2, 6))
    weights = st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any)
    p, q = (np.array(draw(weights), float) for _ in range(2))
    return p / p.sum(), q / q.sum()


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
