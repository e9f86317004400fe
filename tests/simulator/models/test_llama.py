"""The lean path is the same function as transformers' own, whatever the shape and however the text is cut."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from simulator.drafts.model import ModelDraft
from simulator.engine import autoregress, speculate
from simulator.models import llama, small
from simulator.models.hf import HFModel
from simulator.models.llama import LlamaDecoder, decoder_for, suits
from simulator.models.small import SmallDecoder
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


LEAN = (LlamaDecoder, SmallDecoder.of)


@pytest.fixture(params=LEAN, ids=("LlamaDecoder", "SmallDecoder"))
def decoder(request):
    return request.param


@pytest.fixture(params=SHAPES)
def both(request, decoder):
    """Return the oracle and a lean path over two copies of one model: fusing rearranges its weights."""
    changes = SHAPES[request.param]
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


def test_the_models_own_forward_is_unchanged_by_fusing(both):
    oracle, lean = both
    text = torch.tensor([ids(20)])
    with torch.inference_mode():
        assert torch.equal(lean.model(text).logits, oracle.model(text).logits)


def test_fusing_holds_no_second_copy_of_the_weights():
    model = build()
    lean = LlamaDecoder(model, "lean")
    attention = model.model.layers[0].self_attn
    assert attention.k_proj.weight.untyped_storage().data_ptr() == lean._layers[0].qkv.untyped_storage().data_ptr()


def test_caches_and_tables_grow_with_the_text(monkeypatch, decoder):
    for module in (llama, small):
        monkeypatch.setattr(module, "FIRST_CAPACITY", 8)
    oracle, lean = HFModel(build(), "oracle"), decoder(build(), "lean")
    text = ids(50)
    for token in text:
        last = lean.extend([token])
    assert torch.allclose(last, oracle.extend(text, keep=1), atol=1e-4)


@pytest.mark.parametrize("k", range(9))
def test_greedy_speculation_equals_greedy_decoding_of_the_oracle(k, decoder):
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
    assert not suits(model)
    assert isinstance(decoder_for(model, "general"), HFModel)


def test_half_precision_goes_through_transformers():
    assert not suits(build().bfloat16())


def test_only_small_models_take_the_numpy_path(monkeypatch):
    assert isinstance(decoder_for(build(), "small"), SmallDecoder)
    monkeypatch.setattr(llama, "MOST_PARAMETERS", 100)
    assert isinstance(decoder_for(build(), "larger"), LlamaDecoder)
