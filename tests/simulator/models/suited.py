"""Architectures that the static path takes, and the path over them called or replayed."""

from __future__ import annotations

import torch

from simulator.models.hf import HFModel
from simulator.models.passes import Eager, Recorded
from simulator.models.static import StaticModel, static_decoder
from tests.simulator.models.families import FAMILIES, Family
from tests.simulator.models.recording import FakeGraphs

CLOSE = 1e-4  # largest difference of a float32 logit
GEMMA = Family("Gemma", "2 full attention, tied head", "GemmaForCausalLM", "GemmaConfig",
               dict(head_dim=8, tie_word_embeddings=True), embedding=0.15, seed=5)  # fmt: skip
WHOLE = ("Llama", "Qwen2", "Qwen3", "Qwen3-MoE", "Phi-3", "GPT-2", "GPT-NeoX", "OLMo 2", "DeepSeek-V3")
SUITED = [GEMMA, *(family for family in FAMILIES if family.name in WHOLE)]
BY_NAME = {family.name: family for family in (*FAMILIES, GEMMA)}


def ids(n: int, seed: int = 1) -> list[int]:
    return torch.randint(128, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def recorded(plain: HFModel) -> StaticModel:
    """Return the static path whose passes are replays; `graphs` counts them."""
    graphs = FakeGraphs()
    made = static_decoder(plain, Recorded(graphs))
    assert isinstance(made, StaticModel)
    made.graphs = graphs
    return made


def eager(plain: HFModel) -> StaticModel:
    made = static_decoder(plain, Eager())
    assert isinstance(made, StaticModel)
    return made


def llama() -> HFModel:
    return HFModel(BY_NAME["Llama"].build(), "Llama")
