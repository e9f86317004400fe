"""From an entry to a model in memory, in steps that can be counted and stopped between, or to one sentence.

Knows the order: hash and read the files, build the outline, read the weights, build, put on the device. Weights come
from safetensors and GGUF only. Does not know pairs or tokenizers.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from simulator.catalog import Entry, safetensors_header
from simulator.drafts.base import Checkpoint
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.local.gguf_files import read_header
from simulator.local.memory import ran_out
from simulator.local.model_files import weight_files
from simulator.local.weights import Step, detach_from_files, hashed_files, read_and_hash, read_safetensors
from simulator.text.tokens import MAP_BUFFERS

if TYPE_CHECKING:
    import torch

LONGEST = 240  # characters of a library's own words
READ = 0.5  # the share of a load that reading and hashing the files counts as


def load_model(entry: Entry, device: str, dtype: str, checkpoint: Checkpoint) -> Generator[Step, None, tuple[Any, str]]:
    """Yield steps; return the transformers model on its device and the SHA-256 of its files.

    Raise `UserError` with one sentence for anything that keeps the model from being loaded just as it was saved.
    """
    try:
        digest = yield from _scaled(read_and_hash(hashed_files(entry.path), checkpoint), 0, READ)
        model = yield from _scaled(_model(entry, dtype, checkpoint), READ, 1)
        checkpoint()
        return model.to(device), digest
    except (UserError, Stopped):
        raise
    except Exception as error:
        if ran_out(error):
            raise UserError(
                f"Memory ran out while {entry.name} was loaded on {device} in {dtype}; what was loaded before is "
                "unchanged. Choose a smaller model or dtype."
            ) from error
        raise UserError(
            f"{entry.name} could not be loaded from {entry.path}: copy it again. ({reason(error)})"
        ) from error


def reason(error: BaseException) -> str:
    """Return what a library's error says, on one line and not too long; its kind where it says nothing."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= LONGEST else said[:LONGEST] + " ..."


def _model(entry: Entry, dtype: str, checkpoint: Checkpoint) -> Generator[Step, None, Any]:
    import torch

    from simulator.models.build import build, outline, read_model_config, set_end_tokens

    kind = getattr(torch, dtype)
    config = read_model_config(entry.path, entry.weights == "gguf")
    checkpoint()
    sketch = outline(config, entry.name, _count(entry), entry.parameters or 0)
    tensors = yield from _tensors(entry, sketch, kind, checkpoint)
    model = build(type(sketch), config, tensors, kind, entry.name, MAP_BUFFERS)  # the buffers are `tokens`' to read
    checkpoint()
    detach_from_files(model, tensors.values())
    if kind is torch.float16:
        _check_half(model, entry.name)
    set_end_tokens(model, _declared_ends(entry, config))
    return model


def _tensors(
    entry: Entry, sketch: Any, dtype: torch.dtype, checkpoint: Checkpoint
) -> Generator[Step, None, dict[str, torch.Tensor]]:
    if entry.weights == "safetensors":
        return read_safetensors(weight_files(entry.path), entry.name, checkpoint)
    from simulator.local.gguf_weights import read_gguf_weights

    return (yield from read_gguf_weights(entry.path, sketch, dtype, entry.name, checkpoint))


def _count(entry: Entry) -> int:
    if entry.weights == "gguf":
        return len(read_header(entry.path).tensors)
    return sum(len(safetensors_header(f)) for f in weight_files(entry.path))


def _check_half(model: Any, name: str) -> None:
    """Raise `UserError` where a weight is too large for float16, which ends at 65,504."""
    broken = next((n for n, w in model.named_parameters() if not bool(w.isfinite().all())), None)
    if broken:
        raise UserError(f"{name} has values in {broken} that float16 cannot hold: choose float32 or bfloat16.")


def _declared_ends(entry: Entry, config: Any) -> Any:
    """Return the end token(s) of generation_config.json, else of the config: an id, a list of them, or None."""
    try:
        generation = json.loads((entry.path / "generation_config.json").read_text("utf-8"))
        return generation.get("eos_token_id")
    except (OSError, ValueError, AttributeError, RecursionError):
        return getattr(config.get_text_config(decoder=True), "eos_token_id", None)


def _scaled(steps: Generator[Step, None, Any], begin: float, end: float) -> Generator[Step, None, Any]:
    """Pass steps on with their fractions between `begin` and `end`; return what they return."""
    while True:
        try:
            what, fraction = next(steps)
        except StopIteration as stop:
            return stop.value
        yield what, begin + (end - begin) * fraction
