"""Probabilities and draws where the logits are: the same rows and tokens as on the host, without a wait."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simulator.drafts.base import no_checkpoint
from simulator.drafts.model import ModelDraft
from simulator.models.table import TableModel
from simulator.records import Sampling
from simulator.sampling import BrokenLogitsError, distributions, draw, draw_there, on_host, probabilities
from tests.simulator.tiny import GREEDY, OnDevice, random_law

pytestmark = pytest.mark.usefixtures("asynchronous")

SAMPLINGS = [
    Sampling(), GREEDY, Sampling(temperature=0.6), Sampling(temperature=1e-300), Sampling(top_k=5),
    Sampling(temperature=1.5, top_p=0.8), Sampling(min_p=0.1),
    Sampling(temperature=0.8, top_k=50, top_p=0.9, min_p=0.01),
]  # fmt: skip
BROKEN = [math.nan, 1.0, 2.0], [1.0, math.inf, 2.0], [-math.inf] * 3, [1.0, math.inf, math.inf]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_are_those_of_the_host(sampling, dtype):
    logits = (3 * torch.randn(5, 2000, generator=torch.Generator().manual_seed(0))).to(dtype)
    logits[1, :1500] = -torch.inf
    logits[2, 7] = logits[2, 9] = 50  # equal maxima
    there, here = on_host(distributions(logits, sampling), "it"), probabilities(logits, sampling)
    assert there.dtype == here.dtype == np.float32
    assert ((there > 0) == (here > 0)).all()
    assert there == pytest.approx(here, rel=2e-6)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("row", BROKEN, ids=str)
def test_a_row_that_is_no_distribution_is_named_as_on_the_host(row, sampling):
    logits = torch.tensor([[1.0, 2.0, 3.0], row])
    with pytest.raises(BrokenLogitsError) as there:
        on_host(distributions(logits, sampling), "it", 3)
    with pytest.raises(BrokenLogitsError) as here:
        probabilities(logits, sampling, "it", 3)
    assert str(there.value) == str(here.value)
    assert "position 4" in str(there.value)


@given(st.integers(0, 10**6), st.floats(1e-6, 1 - 1e-6))
def test_a_draw_there_is_the_hosts(seed, u):
    """But for one uniform in 2**40 or so, which lies within the rounding of a threshold."""
    rng = np.random.default_rng(seed)
    row = rng.dirichlet(np.full(300, 0.1)).astype(np.float32)
    row[rng.random(300) < 0.3] = 0
    assert int(draw_there(torch.from_numpy(row), u)) == draw(row, u)


@pytest.mark.parametrize("u", [0.0, 1e-300, 0.5, 1 - 2**-53])
def test_a_token_of_weight_0_is_never_drawn_there(u):
    row = torch.zeros(50)
    row[[3, 20, 41]] = torch.tensor([1e-30, 0.7, 0.3])
    assert int(draw_there(row, u)) in (20, 41)  # a weight below 2**-53 counts as 0


def test_the_running_sum_does_not_depend_on_the_order_of_addition():
    """A device adds in pieces: in float64 alone the last bits, and with them now and then a token, would differ."""
    rng = np.random.default_rng(0)
    row = rng.dirichlet(np.full(152_064, 0.05)).astype(np.float32)
    rounded = ((torch.from_numpy(row).double() + 1) - 1).numpy()
    straight = rounded.cumsum()
    blocks = rounded.reshape(-1, 64)
    ends = np.concatenate([[0], blocks.sum(1).cumsum()[:-1]])
    assert (straight == (blocks.cumsum(1) + ends[:, None]).ravel()).all()
    assert (straight == straight[-1] - np.append(rounded[::-1].cumsum()[::-1][1:], 0)).all()


def test_a_broken_row_gives_a_token_that_exists():
    """A token beyond the table ends a device for the rest of the process."""
    assert int(draw_there(torch.full((9,), math.nan), 0.5)) == 8


@pytest.mark.parametrize("sampling", [Sampling(), GREEDY, Sampling(temperature=0.5, top_k=3)], ids=str)
@pytest.mark.parametrize("maps", [(None, None), ("shuffled", None), ("shuffled", "own")], ids=str)
def test_a_chain_proposes_what_the_host_does(sampling, maps):
    """Rows of other ids are drawn from in the target's order, and what is drawn is fed back as the draft's own."""
    rng = np.random.default_rng(5)
    to_target = rng.permutation(12)[:9] if maps[0] else None
    if to_target is not None:
        to_target[2] = -1
    feed = None
    if maps[1]:
        feed = rng.integers(0, 9, 12)
    law = random_law(9, 3)
    here = ModelDraft(TableModel(law, 9), sampling, 12, to_target, feed)
    there = ModelDraft(OnDevice(law, 9), sampling, 12, to_target, feed)
    known = [t for t in range(12) if here._feed[t] >= 0]
    text = [known[0], known[1]]
    for _ in range(20):
        u = rng.random(4)
        ours, theirs = there.propose(text, u, no_checkpoint), here.propose(text, u, no_checkpoint)
        assert ours.tokens == theirs.tokens
        assert ours.u == theirs.u
        assert ours.q == pytest.approx(theirs.q, rel=1e-6)
        assert here.model.length == there.model.length == len(text) + 3
        text += theirs.tokens[:2]
        for source in (here, there):
            source.commit(text)


def test_a_chain_names_the_position_of_a_broken_row():
    def law(context):
        return [math.nan] * 5 if len(context) == 4 else [0.2] * 5

    source = ModelDraft(OnDevice(law, 5), Sampling(), 5)
    with pytest.raises(BrokenLogitsError, match="position 3"):
        source.propose([1, 2], np.full(4, 0.5), no_checkpoint)


def test_what_a_broken_row_gives_is_never_read_where_the_draft_has_no_row_for_it():
    """The last id of the target, which a row of NaN gives, is often a filling; on a GPU an index of -1 is the end."""

    def law(context):
        assert all(token >= 0 for token in context), context
        return [math.nan] * 3 if len(context) == 3 else [0.3, 0.3, 0.4]

    source = ModelDraft(OnDevice(law, 3), Sampling(), 6, to_target=np.array([1, 2, 4]))
    with pytest.raises(BrokenLogitsError, match="table at position 2"):
        source.propose([1, 2], np.full(4, 0.5), no_checkpoint)


def test_a_chain_can_be_stopped_between_passes():
    passes, source = [], ModelDraft(OnDevice(random_law(5, 1), 5), Sampling(), 5)

    def checkpoint():
        passes.append(source.model.length)
        if len(passes) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        source.propose([1, 2], np.full(4, 0.5), checkpoint)
    assert passes == [0, 2, 3]
