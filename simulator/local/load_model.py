"""From an entry to a model in memory, in steps that can be counted and stopped between, or to one sentence.

Knows the order: hash and read the files, build the outline, read the weights, build, put on the device. Weights come
from safetensors and GGUF only. Does not know pairs or tokenizers.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.catalog import Entry, safetensors_header
from simulator.drafts.base import Checkpoint, no_checkpoint
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.local.devices import reason
from simulator.local.folder_files import read_json, weight_files
from simulator.local.gguf_files import read_header
from simulator.local.gguf_headers import quick_headers
from simulator.local.load_llama import load_llama
from simulator.local.memory import ran_out
from simulator.local.weights import Step, detach_from_files, hashed_files, move, read_and_hash, read_safetensors
from simulator.text.tokens import MAP_BUFFERS

if TYPE_CHECKING:
    import torch

READ = 0.5  # the share of a load that reading and hashing the files counts as
COMPILING = "torch's compiler is at work, which takes minutes and cannot be stopped"


class Read(NamedTuple):
    """A model as it was read."""

    decoder: Any  # on its device
    ends: list[int]  # end tokens that it declares
    sha256: str  # of its files
    notice: str = ""  # a sentence about how it is computed, where there is one to say


def load_model(
    entry: Entry, device: str, dtype: str, checkpoint: Checkpoint, compiled: bool = False
) -> Generator[Step, None, Read]:
    """Yield steps; return the model. `compiled`: let torch's compiler fuse its small operations, where it can.

    Raise `UserError` with one sentence for anything that keeps the model from being loaded just as it was saved.
    """
    try:
        digest = yield from _scaled(read_and_hash(hashed_files(entry.path), checkpoint), 0, READ)

        def oracle() -> Any:
            return _last(_model(entry, dtype, no_checkpoint))

        llama = load_llama(entry, device, dtype, checkpoint, oracle)
        if llama is not None:
            ends = _ends(_declared_ends(entry, read_json(entry.path / "config.json")), llama.vocab)
            return Read(llama, ends, digest, _notice(entry.name, llama, compiled))
        model = yield from _scaled(_model(entry, dtype, checkpoint), READ, 1)
        from simulator.models.paths import compiled_decoder, decoder_for, is_lean

        ends = list(model.generation_config.eos_token_id or [])
        model = move(model, device, checkpoint)
        if compiled and not is_lean(model):
            yield COMPILING, 1.0
            checkpoint()
            decoder, notice = compiled_decoder(model, entry.name)
            return Read(decoder, ends, digest, notice)
        lean = decoder_for(model, entry.name, oracle, checkpoint)
        return Read(lean, ends, digest, _notice(entry.name, lean, compiled))
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


def _notice(name: str, decoder: Any, compiled: bool) -> str:
    """Return what a person should know about how a model is computed; mostly nothing."""
    import torch

    allowed, threads = torch.get_num_threads(), getattr(decoder, "threads", None)
    said = [f"{name} is not compiled: in float32 on the CPU its passes do not go through torch."] if compiled else []
    if threads is not None and allowed > 1:
        said.append(f"{name} decodes on {threads} of {allowed} threads, as many as were quickest.")
    return " ".join(said)


def _model(entry: Entry, dtype: str, checkpoint: Checkpoint) -> Generator[Step, None, Any]:
    import torch

    from simulator.models.build import build, outline, read_model_config, set_end_tokens

    kind = getattr(torch, dtype)
    gguf = entry.weights == "gguf"
    with quick_headers() if gguf else nullcontext():
        config = read_model_config(entry.path, gguf)
    checkpoint()
    sketch = outline(config, entry.name, _count(entry), entry.parameters or 0)
    tensors = yield from _tensors(entry, sketch, kind, checkpoint)
    spare = MAP_BUFFERS  # `tokens`' to read
    model = build(type(sketch), config, tensors, kind, entry.name, spare, checkpoint)
    detach_from_files(model, tensors.values(), checkpoint)
    if kind is torch.float16:
        _check_half(model, entry.name, checkpoint)
    rows = model.get_output_embeddings().weight.shape[0] if model.get_output_embeddings() is not None else None
    set_end_tokens(model, _ends(_declared_ends(entry, config), rows))
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


def _check_half(model: Any, name: str, checkpoint: Checkpoint) -> None:
    """Raise `UserError` where a weight is too large for float16, which ends at 65,504."""
    for key, weight in model.named_parameters():
        checkpoint()
        if not bool(weight.isfinite().all()):
            raise UserError(f"{name} has values in {key} that float16 cannot hold: choose float32 or bfloat16.")


def _declared_ends(entry: Entry, config: Any) -> Any:
    """Return the end token(s) of generation_config.json, else of the config: an id, a list of them, or None."""
    generation = read_json(entry.path / "generation_config.json")
    if generation:
        return generation.get("eos_token_id")
    if isinstance(config, dict):
        return config.get("eos_token_id")
    return getattr(config.get_text_config(decoder=True), "eos_token_id", None)


def _ends(declared: Any, rows: int | None) -> list[int]:
    """Return the declared end tokens that are ids and have a row."""
    listed = declared if isinstance(declared, list) else [declared]
    return [t for t in listed if type(t) is int and t >= 0 and (rows is None or t < rows)]


def _last(steps: Generator[Step, None, Any]) -> Any:
    """Return what the steps return."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


def _scaled(steps: Generator[Step, None, Any], begin: float, end: float) -> Generator[Step, None, Any]:
    """Pass steps on with their fractions between `begin` and `end`; return what they return."""
    while True:
        try:
            what, fraction = next(steps)
        except StopIteration as stop:
            return stop.value
        yield what, begin + (end - begin) * fraction
