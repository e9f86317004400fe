"""Plain Llama models straight from their files."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from simulator.catalog import BUNDLED, find
from simulator.drafts.base import no_checkpoint
from simulator.loading import load
from simulator.local.load_llama import load_llama
from simulator.models.hf import HFModel
from simulator.models.llama import LlamaDecoder

DRAFT = BUNDLED / "shakespeare-draft-400k"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(DRAFT, tmp_path / "small"))


def small(folder, device="cpu", dtype="float32"):
    return load_llama(find(str(folder)), device, dtype, no_checkpoint, lambda: None)


def change(folder, **values):
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | values), "utf-8")


def test_it_computes_what_transformers_computes_from_the_same_files():
    loaded = load(find(str(DRAFT)), "cpu", "float32")
    assert isinstance(loaded.model, LlamaDecoder)
    oracle = HFModel(loaded.model.model, "oracle")
    ids = list(range(5, 60))
    assert torch.allclose(loaded.model.extend(ids), oracle.extend(ids), atol=1e-4)
    assert loaded.ends == tuple(loaded.model.model.generation_config.eos_token_id)


def test_the_bundled_pair_loads_without_transformers_modelling_code():
    code = (
        "import sys; from simulator.loading import load_pair; list(load_pair(device='cpu'));"
        "print({'torch._dynamo', 'transformers.modeling_utils', 'transformers.models.llama.modeling_llama'}"
        " & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    "values",
    [
        {"hidden_act": "gelu"}, {"attention_bias": True}, {"rope_parameters": {"rope_type": "linear", "factor": 2.0}},
        {"rope_parameters": None}, {"model_type": "mistral"}, {"quantization_config": {}}, {"auto_map": {}},
        {"num_hidden_layers": 10**12}, {"num_hidden_layers": True}, {"rms_norm_eps": "1e-6"}, {"head_dim": 0},
        {"rope_parameters": {"rope_theta": 0}}, {"rope_parameters": {"rope_theta": None}}, {"num_key_value_heads": 0},
        {"max_position_embeddings": None}, {"num_hidden_layers": 3}, {"num_hidden_layers": "2"},
        {"vocab_size": 2047}, {"tie_word_embeddings": False},
    ],
    ids=str,
)  # fmt: skip
def test_anything_unexpected_is_left_to_transformers(folder, values):
    assert small(folder) is not None
    change(folder, **values)
    assert small(folder) is None


def test_another_device_or_dtype_is_left_to_transformers(folder):
    assert small(folder, dtype="bfloat16") is None
    assert small(folder, device="cuda") is None


def test_what_runs_does_not_change_with_the_file(folder):
    decoder = small(folder)
    before = decoder.extend([5, 6]).clone()
    (folder / "model.safetensors").write_bytes(b"\0" * (folder / "model.safetensors").stat().st_size)
    decoder.reset()
    assert (decoder.extend([5, 6]) == before).all()
