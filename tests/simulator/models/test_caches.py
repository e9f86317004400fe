"""How caches go back, layer by layer, and how models that are odd in some other way are read."""

import pytest
import torch
from transformers import DynamicCache, Phi3Config, Phi3ForCausalLM

from simulator.errors import UserError
from simulator.models.caches import REACH, Cut, CutWindow, Replay, kind_of, lengths
from simulator.models.hf import HFModel
from simulator.models.probe import rollback_fault
from simulator.models.table import TableModel
from tests.simulator.models.families import FAMILIES, SIZES

BY_NAME = {family.name: family for family in FAMILIES}


def model(name: str) -> HFModel:
    return HFModel(BY_NAME[name].build(), name)


def fresh(model: HFModel, tokens) -> torch.Tensor:
    """Return the logits [n, vocab] of one pass over the tokens without a cache."""
    with torch.inference_mode():
        return model.model(input_ids=torch.tensor([list(tokens)]), use_cache=False).logits[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Llama", Cut), ("DeepSeek-V3", Cut), ("Mistral", CutWindow), ("Gemma 3", CutWindow), ("LFM2", CutWindow),
     ("Mamba-2", Replay), ("Qwen3.5", Replay), ("Falcon-H1", Replay)],
)  # fmt: skip
def test_each_cache_has_its_kind(name, kind):
    assert model(name)._kind is kind


def test_a_layer_class_that_is_not_known_has_no_kind():
    """DeepSeek-V4's window layer can be cropped like its parent, but its compressor is not."""
    cache = DynamicCache(config=BY_NAME["Llama"].build().config)
    assert kind_of(cache) is Cut
    cache.layers[0].__class__ = type("Compressed", (type(cache.layers[0]),), {})
    assert kind_of(cache) is None


@pytest.mark.parametrize("name", ["Llama", "Mistral", "LFM2", "Mamba-2", "Jamba"])
def test_a_draft_may_go_back_over_many_short_passes(name):
    """A draft reads its proposals one by one: k passes are undone by one rollback."""
    drafting, text = model(name), [3, 14, 15, 92, 65]
    drafting.extend(text)
    drafting.rollback(0)
    for token in range(16):
        drafting.extend([token])
    drafting.rollback(15)
    logits = drafting.extend([7, 8])
    assert (logits - fresh(drafting, [*text, 0, 7, 8])[-2:]).abs().max() < 1e-4


@pytest.mark.parametrize("name", ["Mistral", "LFM2", "Mamba-2"])
def test_an_empty_cache_can_be_rolled_back_by_nothing_and_a_full_one_to_nothing(name):
    """Cropping a window that was never used raised an error about None."""
    empty = model(name)
    empty.rollback(0)
    empty.extend([1, 2, 3])
    empty.rollback(3)
    assert empty.length == 0
    assert (empty.extend([4, 5]) - fresh(empty, [4, 5])).abs().max() < 1e-4


@pytest.mark.parametrize("name", ["Mistral", "Mamba-2"])
def test_going_back_further_than_was_kept_is_a_fault(name):
    reader = model(name)
    for _ in range(3):
        reader.extend(list(range(REACH + 1)))
    reader.rollback(0)
    reader.extend([1, 2])
    with pytest.raises(AssertionError, match="3 tokens to take back"):
        reader.rollback(3)


def test_a_long_prompt_leaves_no_copies_behind():
    """Each pass over a piece of the prompt would leave a copy of all states, and each window all of the prompt."""
    recurrent, window = model("Mamba-2"), model("Mistral")
    for reader in (recurrent, window):
        for _ in range(5):
            reader.extend(list(range(REACH + 1)))
    assert len(recurrent._memory._snapshots) <= 2
    assert window._cache.layers[0].keys.shape[-2] < 2 * (REACH + 1)


def test_the_length_is_asserted_against_the_layers(monkeypatch):
    """A crop that does nothing left rejected tokens in the sequence."""
    reader = model("Llama")
    reader.extend([1, 2, 3])
    assert lengths(reader._cache) == {3}
    monkeypatch.setattr(DynamicCache, "crop", lambda cache, n: None)
    with pytest.raises(AssertionError, match="holds"):
        reader.rollback(1)


def test_a_model_that_keeps_state_elsewhere_is_found_out():
    """One engine loaded such models and let rejected tokens poison the state."""
    assert rollback_fault(TableModel(lambda context: [0.2, 0.5, 0.3] if context[-1] else [0.6, 0.3, 0.1], 3), 3) is None
    seen = []

    def counting(context):
        seen.append(context)
        return [1.0, 2.0, len(seen) % 5]

    fault = rollback_fault(TableModel(counting, 3, are_logits=True), 3)
    assert fault is not None
    assert "logits" in fault


def test_logits_that_are_not_finite_are_left_to_the_sampling():
    broken = BY_NAME["Llama"].build()
    with torch.no_grad():
        broken.lm_head.weight.fill_(torch.nan)
    assert HFModel(broken, "broken").vocab == SIZES["vocab_size"]


def test_a_model_without_output_embeddings_and_without_logits_to_keep_is_read():
    """The vocabulary was taken from a layer that some models do not name."""
    odd = BY_NAME["Qwen3-Omni"].build()
    odd.get_output_embeddings = lambda: None
    reader = HFModel(odd, "odd")
    assert (reader.vocab, reader.max_length) == (SIZES["vocab_size"], SIZES["max_position_embeddings"])
    assert reader.extend([1, 2, 3], keep=1).shape == (1, reader.vocab)


def test_rescaled_positions_are_not_used():
    """Behind its first range a longrope model answers by how the text was cut into passes."""
    rope = dict(rope_type="longrope", short_factor=[1.0] * 4, long_factor=[4.0] * 4, rope_theta=1e4,
                original_max_position_embeddings=32)  # fmt: skip
    long = Phi3ForCausalLM(Phi3Config(**SIZES, rope_parameters=rope, original_max_position_embeddings=32))
    assert HFModel(long, "long").max_length == 32


def test_a_model_without_logits_is_refused(monkeypatch):
    headless = BY_NAME["Llama"].build().model
    with pytest.raises(UserError, match="cannot be read in pieces"):
        HFModel(headless, "headless")
