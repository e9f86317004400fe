"""What the trace keeps of a position: the largest bars and the figures of the whole vocabulary."""

import math

import numpy as np
import pytest

from simulator.reduction import KEPT, LONG, bars, shapes
from simulator.theory import overlap, tv
from tests.simulator.tiny import P, Q


def rows(n: int, vocab: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(vocab, 0.3), n).astype(np.float32)


def test_figures_of_the_golden_round():
    drafted, bonus = shapes(np.array([P, P], np.float32), np.array([Q], np.float32))
    assert (drafted.overlap, drafted.tv, drafted.p_max) == pytest.approx((0.7, 0.3, 0.5), abs=1e-7)
    assert drafted.entropy_p == pytest.approx(-sum(x * math.log(x) for x in P), abs=1e-6)
    assert drafted.entropy_q == pytest.approx(-sum(x * math.log(x) for x in Q), abs=1e-6)
    assert (bonus.overlap, bonus.tv, bonus.entropy_q) == (None, None, None)
    assert bonus.entropy_p == drafted.entropy_p


def test_figures_agree_with_theory_on_random_rows():
    p, q = rows(5, 500, 1), rows(4, 500, 2)
    for i, shape in enumerate(shapes(p, q)[:4]):
        assert shape.overlap == pytest.approx(overlap(p[i], q[i]), abs=1e-6)
        assert shape.tv == pytest.approx(tv(p[i], q[i]), abs=1e-6)


def test_equal_rows_overlap_exactly_and_disjoint_rows_never_below_0():
    p = rows(3, 1000, 3)
    assert [s.overlap for s in shapes(p, p)] == [1.0, 1.0, 1.0]
    over = np.array([[1 + 2e-7, 0]], np.float32)  # a float32 row may sum to a little more than 1
    [shape] = shapes(over, np.array([[0, 1]], np.float32))
    assert (shape.overlap, shape.tv) == (0.0, 1.0)


def test_a_certain_token_has_entropy_0_and_not_minus_0():
    [shape] = shapes(np.array([[0, 1, 0]], np.float32), np.array([[0, 1, 0]], np.float32))
    assert str(shape.entropy_p) == str(shape.entropy_q) == "0.0"


def test_bars_are_the_largest_of_p_and_q_in_order():
    p, q = rows(1, 400, 4)[0], rows(1, 400, 5)[0]
    kept = bars(p, q, ())
    height = np.maximum(p, q)
    assert kept.ids.tolist() == sorted(range(400), key=lambda i: (-height[i], i))[:KEPT]
    assert (kept.p == p[kept.ids]).all()
    assert (kept.q == q[kept.ids]).all()


@pytest.mark.parametrize("scale", [0.002, 0.3, 100.0])  # few high entries, some, none
def test_bars_of_a_long_row_are_the_largest_too(scale):
    p = np.random.default_rng(1).dirichlet(np.full(LONG + 1, scale)).astype(np.float32)
    kept = bars(p, None, ())
    assert kept.p.tolist() == sorted(p.tolist(), reverse=True)[:KEPT]


def test_the_named_tokens_are_always_among_the_bars_once_and_in_order():
    """They stood behind the others in the order of naming, and twice where drafted and extra were the same."""
    p = np.linspace(1, 2, 400, dtype=np.float32)
    p /= p.sum()
    kept = bars(p, None, (3, 7, 7, 399))
    assert kept.ids.tolist() == [*range(399, 367, -1), 7, 3]
    assert kept.q is None


def test_a_small_vocabulary_is_kept_whole():
    kept = bars(np.array(P, np.float32), np.array(Q, np.float32), (2, 0))
    assert kept.ids.tolist() == [0, 1, 2]  # max(p, q) = .5, .5, .3: equal ones by id
    assert kept.p.tolist() == pytest.approx(P)
