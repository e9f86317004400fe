"""What the trace keeps of a position: the largest bars and the figures of the whole vocabulary."""

import math

import numpy as np
import pytest

from simulator.reduction import KEPT, bars, shapes
from simulator.theory.position import overlap, tv
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


NOTHING = np.zeros((0, 400), np.float32)  # the q of rows behind which nothing was drafted


def test_bars_are_the_largest_of_p_and_q_in_order_at_every_position():
    p, q = rows(3, 400, 4), rows(2, 400, 5)
    for i, kept in enumerate(bars(p, q, [(), (), ()])):
        height = np.maximum(p[i], q[i]) if i < 2 else p[i]
        assert kept.ids.tolist() == sorted(range(400), key=lambda t: (-height[t], t))[:KEPT]
        assert (kept.p == p[i, kept.ids]).all()
        assert (kept.q is None) == (i == 2)
        assert kept.q is None or (kept.q == q[i, kept.ids]).all()


@pytest.mark.parametrize("scale", [0.002, 0.3, 100.0])  # few high entries, some, none
@pytest.mark.parametrize("vocab", [KEPT, KEPT + 1, 8193])
def test_bars_of_every_kind_of_row_are_the_largest(scale, vocab):
    p = np.random.default_rng(1).dirichlet(np.full(vocab, scale), 2).astype(np.float32)
    for i, kept in enumerate(bars(p, p[:0], [(), ()])):
        assert kept.p.tolist() == sorted(p[i].tolist(), reverse=True)[:KEPT]


def test_the_named_tokens_are_always_among_the_bars_once_and_in_order():
    """They stood behind the others in the order of naming, and twice where drafted and extra were the same."""
    p = np.linspace(1, 2, 400, dtype=np.float32)
    p /= p.sum()
    named, other = bars(np.array([p, p]), NOTHING, [(3, 7, 7, 399), ()])
    assert named.ids.tolist() == [*range(399, 367, -1), 7, 3]
    assert (named.p == p[named.ids]).all()
    assert named.q is None
    assert other.ids.tolist() == [*range(399, 367, -1)]


def test_of_equal_tokens_the_first_are_kept():
    """Which of the zeros behind a filter stood among the bars was left to chance."""
    p = np.zeros((1, 400), np.float32)
    p[0, [7, 300]] = 0.5
    [kept] = bars(p, p, [(5, 399)])
    assert kept.ids.tolist() == [7, 300, *(i for i in range(31) if i != 7), 399]


def test_a_named_token_in_the_tail_brings_its_own_p_and_q():
    p, q = rows(1, 400, 6), rows(1, 400, 7)
    token = int(np.maximum(p, q)[0].argmin())
    [kept] = bars(p, q, [(token,)])
    assert kept.ids.tolist()[-1] == token
    assert (kept.p[-1], kept.q[-1]) == (p[0, token], q[0, token])


def test_a_small_vocabulary_is_kept_whole():
    [kept] = bars(np.array([P], np.float32), np.array([Q], np.float32), [(2, 0)])
    assert kept.ids.tolist() == [0, 1, 2]  # max(p, q) = .5, .5, .3: equal ones by id
    assert kept.p.tolist() == pytest.approx(P)
