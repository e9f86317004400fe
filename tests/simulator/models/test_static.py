"""The path of a GPU, run on the CPU: logits, texts and traces of the growing cache, replayed without Python."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from simulator.drafts.model import ModelDraft
from simulator.models import static
from simulator.models.hf import HFModel
from simulator.models.passes import Eager
from simulator.models.static import UNREAD, WIDEST, StaticModel, static_decoder
from simulator.records import Sampling
from tests.simulator.models.families import Family
from tests.simulator.models.suited import BY_NAME, CLOSE, SUITED, eager, ids, recorded
from tests.simulator.models.suited import llama as build_llama
from tests.simulator.tiny import GREEDY, play, untimed

pytestmark = pytest.mark.usefixtures("asynchronous")


@pytest.fixture(scope="module", params=SUITED, ids=lambda family: family.name)
def plain(request) -> HFModel:
    return HFModel(request.param.build(), request.param.name)


@pytest.fixture
def llama() -> HFModel:
    return build_llama()


@pytest.mark.parametrize("way", [eager, recorded], ids=["called", "replayed"])
def test_logits_equal_the_oracles_for_every_cut(plain, way):
    model, text = way(plain), ids(90)
    plain.reset()
    for low, high in ((0, 1), (1, 2), (2, 4), (4, 9), (9, 10), (10, 27), (27, 32), (32, 90)):
        ours, theirs = model.extend(text[low:high]), plain.extend(text[low:high])
        assert ours.dtype == torch.float32
        assert ours.shape == theirs.shape
        assert (ours - theirs).abs().max() < CLOSE, (low, high)
    assert model.length == plain.length == 90


@pytest.mark.parametrize("way", [eager, recorded], ids=["called", "replayed"])
def test_logits_after_every_rollback_equal_a_fresh_pass(plain, way):
    """What was taken back stays in memory; here it is made loud."""
    model, text = way(plain), ids(40)
    model.extend(text[:20], keep=1)
    for n in range(1, 10):
        model.extend(ids(9, seed=n))
        model.rollback(9)
        with torch.inference_mode():
            for layer in model._cache.layers:
                layer.keys[:, :, 20:], layer.values[:, :, 20:] = 1e4, -1e4
        again = model.extend(text[20 : 20 + n])
        model.rollback(n)
        plain.reset()
        assert (again - plain.extend(text[: 20 + n])[20:]).abs().max() < CLOSE, n
        assert model.length == 20


def test_each_width_is_recorded_once_and_its_input_buffer_never_moves(llama):
    model, text = recorded(llama), ids(128)
    model.extend(text[:60], keep=1)
    before, replayed, at = model.graphs.recorded, model.graphs.replayed, {}
    for turn in range(3):
        for n in range(1, 7):
            model.extend(ids(n, seed=turn))
            at.setdefault(n, set()).add(model._inputs[n].data_ptr())
            model.rollback(n - 1)
    assert model.graphs.recorded - before == 4  # 2, 3, 5 and 6: the probe asked for 1, 4 and 8
    assert model.graphs.replayed - replayed == 18
    assert all(len(addresses) == 1 for addresses in at.values())


def test_prompts_are_called_and_never_recorded(llama):
    model = recorded(llama)
    before = model.graphs.recorded
    for n in (UNREAD + 1, 8, 31, WIDEST + 1):
        assert model.extend(ids(n), keep=1).shape == (1, 128)
        model.reset()
    model.extend(ids(WIDEST + 1))
    assert model.graphs.recorded == before


def test_logits_once_given_are_not_changed_by_later_passes(llama):
    model = recorded(llama)
    first = model.extend([1, 2, 3])
    kept = first.clone()
    model.extend([4, 5, 6])
    assert torch.equal(first, kept)


@pytest.mark.parametrize("way", [eager, recorded], ids=["called", "replayed"])
def test_memory_grows_with_the_text_and_short_texts_read_little_again(llama, monkeypatch, way):
    monkeypatch.setattr(static, "FIRST_WINDOW", 8)
    model, text = way(llama), ids(50)
    llama.reset()
    for i in range(0, 50, 2):
        theirs = llama.extend(text[i : i + 2])
        assert (model.extend(text[i : i + 2]) - theirs).abs().max() < CLOSE
    assert [layer.keys.shape[2] for layer in model._cache.layers] == [64, 64]
    assert (model._window.capacity, model._window.size) == (64, 64)
    model.reset()
    model.extend(text[:2])
    assert (model._window.capacity, model._window.size) == (64, 8)


def test_greedy_speculation_is_the_oracles_plain_text_with_the_oracles_trace(plain):
    noisy = HFModel(BY_NAME[plain.name].build(noise=0.05), "noisy")
    prompt, settings = ids(5), dict(sampling=GREEDY, max_new_tokens=16)
    expected = play(plain, None, prompt, k=0, **settings)
    target, draft = recorded(plain), recorded(noisy)
    accepted = drafted = 0
    for k in range(9):
        theirs = play(plain, ModelDraft(noisy, GREEDY, 128), prompt, k=k, **settings)
        ours = play(target, ModelDraft(draft, GREEDY, 128), prompt, k=k, **settings)
        assert ours.tokens == theirs.tokens == expected.tokens, k
        assert_same_traces(ours, theirs)
        accepted += sum(r.accepted for r in ours.rounds)
        drafted += sum(r.drafted for r in ours.rounds)
    assert 0 < accepted < drafted


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.7, top_k=30, top_p=0.9, min_p=0.02)])
def test_sampled_traces_are_the_oracles(plain, sampling):
    noisy = HFModel(BY_NAME[plain.name].build(noise=0.05), "noisy")
    settings = dict(sampling=sampling, max_new_tokens=40, k=4, seed=3)
    theirs = play(plain, ModelDraft(noisy, sampling, 128), ids(5), **settings)
    ours = play(recorded(plain), ModelDraft(recorded(noisy), sampling, 128), ids(5), **settings)
    assert_same_traces(ours, theirs)


def assert_same_traces(ours, theirs) -> None:
    """Compare every token, verdict and uniform exactly, every probability to rounding."""
    for mine, other in zip(untimed(ours.rounds), untimed(theirs.rounds), strict=True):
        assert (mine[0], mine[1], mine[3], mine[4]) == (other[0], other[1], other[3], other[4])
        for (a, _), (b, _) in zip(mine[2], other[2], strict=True):
            assert (a.drafted is None, a.extra is None) == (b.drafted is None, b.extra is None)
            if a.drafted and b.drafted:
                assert (a.drafted.token_id, a.drafted.verdict) == (b.drafted.token_id, b.drafted.verdict)
                assert (a.drafted.u_draft, a.drafted.u_accept) == (b.drafted.u_draft, b.drafted.u_accept)
                assert [a.drafted.p, a.drafted.q] == pytest.approx([b.drafted.p, b.drafted.q], abs=1e-4)
            if a.extra and b.extra:
                assert (a.extra.token_id, a.extra.kind) == (b.extra.token_id, b.extra.kind)


def test_the_models_other_callers_keep_their_attention(llama):
    before = llama.model(torch.tensor([ids(20)])).logits
    model = recorded(llama)
    model.extend(ids(20))
    assert llama.model.config._attn_implementation == "sdpa"
    assert torch.equal(llama.model(torch.tensor([ids(20)])).logits, before)


def test_half_precision_weights_give_float32_logits():
    for family in SUITED:
        half = HFModel(family.build().to(torch.bfloat16), family.name)
        assert recorded(half).extend([1, 2]).dtype == torch.float32, family.name


def test_one_compiled_pass_for_one_token_and_one_for_several():
    """One takes tens of seconds; one for every width, or for every layer, would take minutes."""
    graphs = []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward

    odd = dict(head_dim=12)  # no width: equal sizes would be taken for the same
    llama = HFModel(Family("odd", "", "LlamaForCausalLM", "LlamaConfig", odd, seed=1).build(), "odd")
    torch._dynamo.reset()
    compiler = partial(torch.compile, backend=backend, fullgraph=True, dynamic=True)
    model = static_decoder(llama, Eager(), compiler)
    assert isinstance(model, StaticModel)
    text = ids(30)
    llama.reset()
    for low, high in ((0, 1), (1, 3), (3, 8), (8, 17), (17, 20), (20, 26), (26, 27)):
        assert (model.extend(text[low:high]) - llama.extend(text[low:high])).abs().max() < CLOSE
    assert len(graphs) == 2
    torch._dynamo.reset()


def test_a_draft_on_its_device_asks_for_one_prompt_and_no_token(llama, monkeypatch):
    """A draw on the host waits for every pass of the draft."""
    model = recorded(llama)
    source = ModelDraft(model, Sampling(), 128)
    asked, extend = [], model.extend
    monkeypatch.setattr(model, "extend", lambda tokens, keep=None: asked.append(len(tokens)) or extend(tokens, keep))
    proposal = source.propose(ids(5), np.full(4, 0.5), lambda: None)
    assert asked == [5]
    assert len(proposal.tokens) == 4
    assert model.length == 8
