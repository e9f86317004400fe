"""A GGUF file as a model that transformers knows: its config, and its blocks turned into numbers one by one.

Knows transformers' tables of GGUF names and the `gguf` package's arithmetic. Reading the header is `gguf_files`' part.
"""

from __future__ import annotations

from collections.abc import Generator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.drafts.base import Checkpoint
from simulator.errors import UserError
from simulator.local.gguf_files import Tensor, read_header
from simulator.local.gguf_headers import quick_headers
from simulator.local.weights import Step, check_finite

if TYPE_CHECKING:
    import torch

WIDE = 1 << 14  # bytes of a row that are worth a call
ROPE = "rope_freqs.weight"  # factors of the rotary frequencies


def read_gguf_weights(
    file: Path, model: Any, dtype: torch.dtype, name: str, checkpoint: Checkpoint
) -> Generator[Step, None, dict[str, torch.Tensor]]:
    """Return the tensors by transformers' names, in the dtype; `model` (without memory) says what they are called.

    Raise `UserError` for values that are not finite. Tensors that the model has no place for keep the file's names,
    so that they are found and refused.
    """
    import torch
    from transformers.modeling_gguf_pytorch_utils import TENSOR_PROCESSORS, TensorProcessor, get_gguf_hf_weights_map

    header = read_header(file)
    processor = TENSOR_PROCESSORS.get(header.architecture, TensorProcessor)(config=model.config.to_dict())
    with quick_headers():
        names = get_gguf_hf_weights_map(model, processor)
    made: dict[str, torch.Tensor] = {}
    parsed = {"tensors": made}  # where the experts' processors put what they join
    data = np.memmap(file, np.uint8, "r")
    for i, tensor in enumerate(header.tensors):
        checkpoint()
        numbers = _numbers(data, tensor)
        result = processor.process(
            weights=numbers, name=tensor.name, tensor_key_mapping=names, parsed_parameters=parsed
        )
        if tensor.name == ROPE:
            _check_rope(numbers, name)
        elif result.name is not None:
            value = torch.from_numpy(np.require(result.weights, np.float32, ["C", "W"]))
            check_finite(value, tensor.name, name)
            made[names.get(result.name, result.name)] = value.to(dtype)
        yield file.name, (i + 1) / len(header.tensors)
    return made


def _numbers(data: np.ndarray[Any, Any], tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor's float32 numbers, in its shape."""
    from gguf import GGMLQuantizationType, dequantize

    raw = data[tensor.start : tensor.start + tensor.size]
    rows = prod(tensor.shape[:-1])
    while rows % 2 == 0 and len(raw) // rows < WIDE:  # blocks stand alone, and the package takes 16 rows at a time
        rows //= 2
    with np.errstate(all="ignore"):  # damaged scales overflow; what comes out is looked at
        result = dequantize(raw.reshape(rows, -1), GGMLQuantizationType(tensor.kind))
    numbers: np.ndarray[Any, Any] = np.asarray(result, np.float32).reshape(tensor.shape)
    return numbers


def _check_rope(factors: np.ndarray[Any, Any], name: str) -> None:
    """Raise `UserError` where the file scales its rotary frequencies: transformers does not read that from a GGUF."""
    if not bool((factors == 1).all()):
        raise UserError(
            f"{name} scales its positions ({ROPE}), which transformers does not read from a GGUF file, so it would run "
            "wrongly: choose the model as safetensors."
        )
