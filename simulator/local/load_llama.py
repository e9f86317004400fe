"""Plain Llama models straight from their files, for the CPU: no modelling code of transformers is imported for them.

Takes only what is exactly as expected; for anything else transformers looks closer, and says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from simulator.catalog import Entry
from simulator.drafts.base import Checkpoint
from simulator.local.folder_files import read_json, weight_files
from simulator.local.weights import read_safetensors

if TYPE_CHECKING:
    from simulator.models.llama import LlamaDecoder

COUNTS = {
    "head_dim", "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads",
    "num_hidden_layers", "num_key_value_heads", "vocab_size",
}  # fmt: skip
NEEDED = COUNTS | {
    "attention_bias", "hidden_act", "mlp_bias", "model_type", "rms_norm_eps", "rope_parameters", "tie_word_embeddings",
}  # fmt: skip
HARMLESS = {
    "architectures", "attention_dropout", "bos_token_id", "dtype", "eos_token_id", "initializer_range", "pad_token_id",
    "pretraining_tp", "transformers_version", "use_cache",
}  # fmt: skip


def load_llama(
    entry: Entry, device: str, dtype: str, checkpoint: Checkpoint, oracle: Callable[[], Any]
) -> LlamaDecoder | None:
    """Return the decoder of a plain Llama on the CPU in float32; None where this is not surely one.

    `oracle` loads transformers' own model of the same files. Raise `UserError` for weights that are not finite.
    """
    from simulator.models.llama import LlamaDecoder, is_plain_llama, weight_shapes

    if entry.weights != "safetensors" or (device, dtype) != ("cpu", "float32"):
        return None
    raw = read_json(entry.path / "config.json")
    if not _expected(raw):
        return None
    config = SimpleNamespace(**raw)
    tensors = read_safetensors(weight_files(entry.path), entry.name, checkpoint)
    if config.num_hidden_layers > len(tensors) or not is_plain_llama(config):
        return None
    if {key: tuple(tensor.shape) for key, tensor in tensors.items()} != weight_shapes(config):
        return None
    return LlamaDecoder(config, tensors, entry.name, oracle, checkpoint)


def _expected(raw: dict[str, Any]) -> bool:
    """Return whether a config has all the keys that are needed, none that may change the model, and sane values."""
    if not NEEDED <= raw.keys() <= NEEDED | HARMLESS or raw.get("pretraining_tp", 1) != 1:
        return False
    if any(type(raw[key]) is not int or raw[key] < 1 for key in COUNTS):
        return False
    rope = raw["rope_parameters"]
    real: tuple[Any, ...] = (raw["rms_norm_eps"], rope.get("rope_theta") if isinstance(rope, dict) else None)
    if any(type(value) not in (int, float) or not 0 < value < math.inf for value in real):
        return False
    even = raw["num_attention_heads"] % raw["num_key_value_heads"] == 0 and raw["head_dim"] % 2 == 0
    return bool(even)
