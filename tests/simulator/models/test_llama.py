"""The lean path is the same function as transformers' own, whatever the shape and however the text is cut."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from simulator.drafts.model import ModelDraft
from simulator.engine import autoregress, speculate
from simulator.models import llama, products
from simulator.models.hf import HFModel
from simulator.models.llama import LlamaDecoder
from simulator.models.paths import decoder_for
from simulator.records import RoundTrace, RunConfig, Sampling

SHAPES = {
    "plain": {},
    "grouped queries": {"num_key_value_heads": 2},
    "one key head": {"num_key_value_heads": 1},
    "wide heads": {"head_dim": 16},
    "untied": {"tie_word_embeddings": False},
    "other base": {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
}


def build(seed: int = 0, **changes) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    shape = dict(
        vocab_size=128, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=2048, tie_word_embeddings=True, initializer_range=0.4,
    )  # fmt: skip
    return LlamaForCausalLM(LlamaConfig(**{**shape, **changes})).eval()


def ids(n: int, seed: int = 1) -> list[int]:
    return torch.randint(128, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def decoder(model, name: str) -> LlamaDecoder:
    made = decoder_for(model, name)
    assert isinstance(made, LlamaDecoder)
    return made


@pytest.fixture(params=SHAPES)
def changes(request):
    return SHAPES[request.param]


@pytest.fixture(params=[products.Plain, products.Panels, products.SharedPanels, products.Packed])
def both(request, changes, monkeypatch):
    """Return the oracle and the lean path over two copies of one model, with each kind of products."""
    if request.param is products.Packed and not torch.backends.mkldnn.is_available():
        pytest.skip("this torch has no oneDNN")
    monkeypatch.setattr(llama, "weight", lambda rows, model_bytes, room: request.param(rows))
    return HFModel(build(**changes), "oracle"), decoder(build(**changes), "lean")


def test_logits_equal_the_oracles_for_every_cut(both):
    oracle, lean = both
    text = ids(60)
    for low, high in ((0, 1), (1, 2), (2, 9), (9, 10), (10, 40), (40, 60)):
        assert torch.allclose(lean.extend(text[low:high]), oracle.extend(text[low:high]), atol=1e-4)
        oracle.rollback(0)
    assert lean.length == oracle.length == 60


def test_logits_after_every_rollback_equal_a_fresh_pass(both):
    _, lean = both
    text = ids(30)
    lean.extend(text[:20])
    for n in (1, 4, 7):
        lean.extend(ids(9, seed=n))
        lean.rollback(9)
        again = lean.extend(text[20:25])
        lean.rollback(5)
        fresh = lean.model(torch.tensor([text[:25]])).logits[0, 20:]
        assert torch.allclose(again, fresh, atol=1e-4)


def test_logits_stay_as_they_were_when_more_is_read(both):
    _, lean = both
    lean.extend(ids(20))
    first = lean.extend([5, 6, 7])
    before = first.clone()
    lean.extend([8, 9, 10])
    assert torch.equal(first, before)


def test_the_models_own_forward_is_unchanged_by_fusing(both):
    oracle, lean = both
    text = torch.tensor([ids(20)])
    with torch.inference_mode():
        assert torch.equal(lean.model(text).logits, oracle.model(text).logits)


def test_what_a_token_reads_is_every_weight_but_an_untied_table(both):
    _, lean = both
    table = lean.model.get_input_embeddings().weight
    untied = not lean.config.tie_word_embeddings
    assert lean.read_parameters == sum(p.numel() for p in lean.model.parameters()) - untied * table.numel()


@pytest.mark.parametrize("tied", [True, False])
def test_two_whole_copies_of_the_weights_are_never_held(tied):
    """Twice the memory was held for a model that nobody asked for; what fits once ran out of memory."""
    model = build(num_hidden_layers=3, tie_word_embeddings=tied)
    tensors, left = dict(model.state_dict()), []
    LlamaDecoder(model.config, tensors, "lean", lambda: None, lambda: left.append(set(tensors)))
    assert [{int(key.split(".")[2]) for key in keys} for keys in left] == [{0, 1, 2}, {1, 2}, {2}]
    assert tensors == {}
    decoder_for(model, "lean", lambda: None)
    assert all(weight.is_meta for weight in model.parameters())


def test_the_oracle_is_loaded_once_and_only_when_asked_for():
    asked = []
    lean = decoder_for(build(), "lean", lambda: asked.append(1) or "anew")
    assert asked == []
    assert (lean.model, lean.model, asked) == ("anew", "anew", [1])


def test_caches_and_tables_grow_with_the_text(monkeypatch):
    monkeypatch.setattr(llama, "FIRST_CAPACITY", 8)
    oracle, lean = HFModel(build(), "oracle"), decoder(build(), "lean")
    text = ids(50)
    for token in text:
        last = lean.extend([token])
    assert torch.allclose(last, oracle.extend(text, keep=1), atol=1e-4)


@pytest.mark.parametrize("k", range(9))
def test_greedy_speculation_equals_greedy_decoding_of_the_oracle(k):
    config = RunConfig(k=k, sampling=Sampling(temperature=0), max_new_tokens=64)
    draft = decoder(build(seed=0, num_hidden_layers=1), "draft")
    source = ModelDraft(draft, config.sampling, 128)

    def text(events) -> list[int]:
        return [t for e in events if isinstance(e, RoundTrace) for t in e.emitted]

    lean = text(speculate(decoder(build(), "lean"), source, ids(5), config))
    assert lean == text(autoregress(HFModel(build(), "oracle"), ids(5), config))


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_bias": True},
        {"mlp_bias": True},
        {"hidden_act": "gelu"},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}},
    ],
)
def test_what_the_lean_path_does_not_compute_goes_through_transformers(changes):
    model = build(**changes)
    assert isinstance(decoder_for(model, "general"), HFModel)


def test_half_precision_goes_through_transformers():
    assert isinstance(decoder_for(build().bfloat16(), "half"), HFModel)
