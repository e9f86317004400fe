"""From a config and tensors to a transformers model in which every weight is a given one.

Knows transformers' way to convert names and shapes. Does not know files; a weight that is missing, left over or of
another shape is an error instead of a random number.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig
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
    return AutoConfig.from_pretrained(**where, local_files_only=True, trust_remote_code=False)


def outline(config: Any, name: str, tensors: int, parameters: int) -> Any:
    """Return the config's model without memory for its weights.

    Raise `UserError` where it cannot be the model of so many tensors with so many parameters in all: building that
    one might take all memory there is.
    """
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", 0)
    if not isinstance(layers, int) or layers > tensors:
        raise UserError(f"{name} has {tensors} tensors, but its config names {layers} layers: copy the model again.")
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    described = sum(p.numel() for p in model.parameters())
    if described > MOST_TIMES * parameters + MARGIN:
        raise UserError(
            f"{name} holds {parameters:,} numbers, but its config describes a model of {described:,}: copy the model "
            "again."
        )
    return model


def build(kind: Any, config: Any, tensors: Mapping[str, torch.Tensor], dtype: torch.dtype, name: str,
          spare: Iterable[str] = ()) -> Any:  # fmt: skip
    """Return a model of the class `kind` with these weights; raise `UserError` naming what does not fit.

    `spare` are the last parts of names that may be left over.
    """
    model, info = kind.from_pretrained(
        None, config=config, state_dict=dict(tensors), dtype=dtype, local_files_only=True, output_loading_info=True
    )
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        names = sorted(str(n) for n in info.get(what) or () if str(n).rsplit(".", 1)[-1] not in set(spare))
        if names:
            kind_of_fault = what.removesuffix("_keys")
            raise UserError(f"{name} has {len(names)} {kind_of_fault} weight(s), such as {names[0]}: copy it again.")
    return model.eval()


def set_end_tokens(model: Any, declared: Any) -> None:
    """Give the model the end tokens that are declared and no other default: none of those may act unseen."""
    rows = model.get_output_embeddings().weight.shape[0] if model.get_output_embeddings() is not None else None
    listed = declared if isinstance(declared, list) else [declared]
    ends = [t for t in listed if type(t) is int and t >= 0 and (rows is None or t < rows)]
    model.generation_config = GenerationConfig(eos_token_id=ends or None, pad_token_id=ends[0] if ends else None)
