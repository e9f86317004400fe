"""Logits to probabilities, and probabilities and a uniform to a token."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import UserError
from simulator.records import Sampling
from simulator.sampling import BrokenLogitsError, checked, draw, one_hot, probabilities
from tests.simulator.tiny import cdf, pieces

INF = math.inf


def row(logits, dtype=torch.float64, **sampling) -> list[float]:
    return probabilities(torch.tensor([logits], dtype=dtype), Sampling(**sampling))[0].tolist()


def from_p(p, **sampling) -> list[float]:
    with np.errstate(divide="ignore"):
        return row(np.log(p).tolist(), **sampling)


@pytest.mark.parametrize("temperature", [1e-3, 1e-12, 1e-30, 1e-40, 1e-300, 5e-324])
def test_any_low_temperature_is_the_limit_and_not_nan(temperature):
    """Temperatures below float32's range became 0 on the way: 0 / 0 put NaN in every row."""
    assert row([1, 2, 3], temperature=temperature) == [0, 0, 1]
    assert row([1, 3, 3, -INF], temperature=temperature) == [0, 0.5, 0.5, 0]
    assert row([1e9, 2e9, 3e9], temperature=temperature) == [0, 0, 1]


def test_temperature_1_and_half_precision_logits():
    assert row([1, 2, 3]) == pytest.approx([0.090031, 0.244728, 0.665241], abs=1e-6)
    assert row([100, 200, 300], torch.float16, temperature=1e-3) == [0, 0, 1]
    assert row([60000, -60000], torch.float16) == [1, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_probabilities_are_float32_from_the_logits_on(dtype):
    uniform = probabilities(torch.zeros(1, 152064, dtype=dtype), Sampling())
    assert uniform.dtype == np.float32
    assert uniform.sum(dtype=np.float64) == pytest.approx(1, abs=1e-6)


def test_greedy_is_one_hot_on_the_lowest_of_equal_maxima_whatever_the_filters():
    assert row([1, 2, 2], temperature=0) == [0, 1, 0]
    assert row([1, 2, 2], temperature=0, top_k=1, top_p=0.1, min_p=0.9) == [0, 1, 0]
    assert from_p([0.3, 0.5, 0.2], temperature=0) == [0, 1, 0]
    assert row([-INF, -INF, -5], temperature=0) == [0, 0, 1]


def test_top_k_and_top_p_renormalise_what_they_keep():
    p = [0.4, 0.3, 0.2, 0.1]
    assert from_p(p, top_k=2) == pytest.approx([4 / 7, 3 / 7, 0, 0])
    assert from_p(p, top_k=9) == pytest.approx(p)
    assert from_p(p, top_p=0.65) == pytest.approx([4 / 7, 3 / 7, 0, 0])  # the set that reaches .65
    assert from_p(p, top_p=1e-9) == [1, 0, 0, 0]
    assert from_p(p, top_k=3, top_p=0.75) == pytest.approx([4 / 7, 3 / 7, 0, 0])  # top-p of what top-k left: .78


def test_min_p_keeps_its_boundary_and_comes_after_the_temperature():
    p = [0.5, 0.3, 0.15, 0.05]
    assert from_p(p, min_p=0.2) == pytest.approx([0.526316, 0.315789, 0.157895, 0], abs=1e-6)
    assert from_p(p, min_p=0.2, temperature=2) == pytest.approx([0.378996, 0.293569, 0.207585, 0.119849], abs=1e-6)
    assert row([3, 3, 3 - 2], min_p=1) == [0.5, 0.5, 0]
    assert np.array(row([0, math.log(0.25)], min_p=0.25)).all()  # p = min-p max p, exactly in float32, is kept


def test_every_row_is_filtered_alike():
    """A rule that reached only the bonus position would keep the fourth token of the others."""
    with np.errstate(divide="ignore"):
        logits = torch.from_numpy(np.log([[0.5, 0.3, 0.15, 0.05]] * 4))
    rows = probabilities(logits, Sampling(min_p=0.2))
    assert (rows == rows[0]).all()
    assert (rows[:, 3] == 0).all()


@pytest.mark.parametrize("broken", [[math.nan] * 5, [0, 1, INF, 2, 3], [-INF] * 5, [0, 1, math.nan, -INF, 2]])
@pytest.mark.parametrize("temperature", [0, 1])
def test_broken_logits_are_refused_by_model_and_position(broken, temperature):
    """All-NaN logits once came out of an argmax as a token id."""
    logits = torch.tensor([[0.0] * 5, broken, [0.0] * 5])
    with pytest.raises(BrokenLogitsError, match=r"logits of toy at position 2 of this round"):
        probabilities(logits, Sampling(temperature=temperature), "toy")
    with pytest.raises(UserError, match=r"position 5"):
        probabilities(logits, Sampling(temperature=temperature), "toy", first=4)


def test_minus_infinity_on_some_tokens_is_probability_0():
    assert row([0, -INF, 0]) == [0.5, 0, 0.5]


@pytest.mark.parametrize(
    "wrong", [{"temperature": -1}, {"temperature": math.nan}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.5}, {"min_p": 2}]
)
def test_settings_outside_their_limits_are_refused_by_name(wrong):
    with pytest.raises(UserError, match=next(iter(wrong)).replace("_", "-")):
        checked(Sampling(**wrong))


def test_one_hot_rows():
    assert one_hot(np.array([1, 0]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert one_hot(np.array([], dtype=np.int64), 3).shape == (0, 3)


weights = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=8).filter(any)


@given(weights)
def test_a_draw_selects_each_token_for_its_share_of_the_uniforms(values):
    """Integrated over the pieces of [0, 1) between the thresholds; the weights need not be normalised."""
    share = np.zeros(len(values))
    for u, width in pieces(*cdf(values)):
        share[draw(np.array(values, np.float32), u)] += width
    assert share == pytest.approx(np.array(values) / np.sum(values), abs=1e-12)


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("values", [[0, 0, 3, 0], [0, 1e-30, 0], [1, 0, 0], [0, 0, 1]])
def test_a_token_without_weight_is_never_drawn(values, u):
    assert values[draw(np.array(values, np.float32), u)] > 0


def test_a_draw_at_a_threshold_takes_the_token_above_it():
    assert [draw(np.array([0.25, 0.25, 0.5]), u) for u in (0.0, 0.25 - 1e-12, 0.25, 0.5, 1 - 2**-53)] == [0, 0, 1, 2, 2]


def test_the_last_tokens_of_a_large_vocabulary_can_be_drawn():
    """A float32 running sum over 262,144 probabilities ends at .9996 and would never reach them."""
    row = np.full(262_144, 1 / 262_144, np.float32)
    assert draw(row, 1 - 2**-53) == 262_143
    assert draw(row, 0.5) == 131_072
