"""From a config and tensors to a transformers model in which every weight is a given one.

Knows transformers' way to convert names and shapes. Does not know files; a weight that is missing, left over or of
another shape is an error instead of a random number.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig
from transformers import __version__ as version
from transformers import logging as transformers_logging

from simulator.errors import UserError

MOST_TIMES = 4  # a model larger than this many times its weights has a wrong config; packed formats stay below
MARGIN = 1_000_000

transformers_logging.disable_progress_bar()
logging.getLogger("transformers").setLevel(logging.ERROR)  # what matters of its warnings is an error here


def read_model_config(path: Path, gguf: bool) -> Any:
    """Return the config in a folder or GGUF file; code from it is never run, the network never asked."""
    where = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name} if gguf else {
        "pretrained_model_name_or_path": path}  # fmt: skip
    try:
        config = AutoConfig.from_pretrained(**where, local_files_only=True, trust_remote_code=False)
    except ValueError as error:
        if gguf or "does not recognize this architecture" not in str(error):
            raise
        raise UserError(
            f"{path} is of a kind that transformers {version} does not know: update transformers, or choose another "
            "model."
        ) from error
    config._attn_implementation = config._experts_implementation = None  # what the folder wishes may be code to fetch
    return config


def outline(config: Any, name: str, tensors: int, parameters: int) -> Any:
    """Return the config's model without memory for its weights.

    Raise `UserError` where it cannot be the model of so many tensors with so many parameters in all: building that
    one might take all memory there is.
    """
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", 0)
    if not isinstance(layers, int) or layers > tensors:
        raise UserError(f"{name} has {tensors} tensors, but its config names {layers} layers: copy the model again.")
    if type(config) not in AutoModelForCausalLM._model_mapping:
        raise UserError(f"{name} ({config.model_type}) is no model that goes on with a text: choose a language model.")
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    described = sum(p.numel() for p in model.parameters())
    if described > MOST_TIMES * parameters + MARGIN:
        raise UserError(
            f"{name} holds {parameters:,} numbers, but its config describes a model of {described:,}: copy the model "
            "again."
        )
    return model


class _Watched:
    """A tensor that asks whether to stop before transformers takes it, on whichever of its threads."""

    def __init__(self, tensor: torch.Tensor, checkpoint: Callable[[], None]) -> None:
        self._tensor, self._checkpoint = tensor, checkpoint

    def __getitem__(self, index: Any) -> torch.Tensor:
        self._checkpoint()
        return self._tensor[index]


def build(kind: Any, config: Any, tensors: Mapping[str, torch.Tensor], dtype: torch.dtype, name: str,
          spare: Iterable[str] = (), checkpoint: Callable[[], None] = lambda: None) -> Any:  # fmt: skip
    """Return a model of the class `kind` with these weights; raise `UserError` naming what does not fit.

    `spare` are the last parts of names that may be left over.
    """
    watched = {key: _Watched(tensor, checkpoint) for key, tensor in tensors.items()}
    model, info = kind.from_pretrained(
        None, config=config, state_dict=watched, dtype=dtype, local_files_only=True, output_loading_info=True,
        ignore_mismatched_sizes=True,  # so that they are told by name, and refused here
    )  # fmt: skip
    for key, given, described in sorted(info.get("mismatched_keys") or (), key=str):
        raise UserError(
            f"{name} holds {key} with the shape {list(given)}, but its config describes {list(described)}: config.json "
            "and the weights belong to different models, copy both again."
        )
    for what in ("missing_keys", "unexpected_keys"):
        names = sorted(str(n) for n in info.get(what) or () if str(n).rsplit(".", 1)[-1] not in set(spare))
        if names:
            kind_of_fault = what.removesuffix("_keys")
            raise UserError(f"{name} has {len(names)} {kind_of_fault} weight(s), such as {names[0]}: copy it again.")
    return model.eval()


def set_end_tokens(model: Any, ends: list[int]) -> None:
    """Give the model these end tokens and no other default: none of those may act unseen."""
    model.generation_config = GenerationConfig(eos_token_id=ends or None, pad_token_id=ends[0] if ends else None)
