"""A model's weights from its safetensors files: hashed as they are read, checked, and free of the files afterwards.

Knows files and tensors. Does not know models; a generator yields how far it is, so that reading can stop anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.drafts.base import Checkpoint, no_checkpoint
from simulator.errors import UserError
from simulator.local.folder_files import weight_files

if TYPE_CHECKING:
    import torch

BLOCK = 1 << 24  # bytes read between two looks at whether to stop
HASHED = (".json", ".model", ".jinja")  # beside the weights

Step = tuple[str, float]  # the file being read, and the fraction of all bytes that have been


def hashed_files(place: Path) -> list[Path]:
    """Return the files whose contents make a model what it is: config, tokenizer and weights."""
    if not place.is_dir():
        return [place]
    return sorted({*weight_files(place), *(f for f in place.iterdir() if f.suffix in HASHED and f.is_file())})


def read_and_hash(files: Sequence[Path], checkpoint: Checkpoint) -> Generator[Step, None, str]:
    """Read the files once, which also brings them into the system's cache; return the SHA-256 of names and contents."""
    digest = hashlib.sha256()
    total, done = sum(f.stat().st_size for f in files) or 1, 0
    block = bytearray(BLOCK)
    for file in files:
        digest.update(file.name.encode("utf-8", "surrogateescape"))
        with file.open("rb", buffering=0) as stream:
            while n := stream.readinto(block):
                checkpoint()
                digest.update(memoryview(block)[:n])
                done += n
                yield file.name, done / total
    return digest.hexdigest()


def read_safetensors(files: Iterable[Path], name: str, checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    """Return the tensors by name, still lying in the mapped files; raise `UserError` for one that is not finite."""
    from safetensors import safe_open

    tensors: dict[str, torch.Tensor] = {}
    for file in files:
        with safe_open(file, "pt") as opened:
            for key in opened.keys():  # noqa: SIM118 (no mapping)
                checkpoint()
                tensors[key] = opened.get_tensor(key)
                check_finite(tensors[key], key, name)
    return tensors


def check_finite(tensor: torch.Tensor, key: str, name: str) -> None:
    """Raise `UserError` naming the tensor where a value is not finite; types that torch cannot ask are let through."""
    if tensor.is_floating_point() and tensor.dtype.itemsize > 1 and not bool(tensor.isfinite().all()):
        raise UserError(f"{name} has values in {key} that are not finite: the weights are damaged.")


def move(model: Any, device: str, checkpoint: Checkpoint) -> Any:
    """Return the model on the device; weights shared by two layers stay shared."""
    for part in (*model.parameters(), *model.buffers()):
        checkpoint()
        part.data = part.data.to(device)
    return model.to(device)


def detach_from_files(model: Any, tensors: Iterable[torch.Tensor], checkpoint: Checkpoint = no_checkpoint) -> None:
    """Copy what still lies in a mapped file: a file changed or cut later must not change, or kill, what runs."""
    mapped = {t.untyped_storage().data_ptr() for t in tensors}
    for part in (*model.parameters(), *model.buffers()):
        checkpoint()
        if part.untyped_storage().data_ptr() in mapped:
            part.data = part.data.clone()


def content_hash(place: Path) -> str:
    """Return the SHA-256 over a model's config, tokenizer and weights as they lie on the disk now."""
    steps = read_and_hash(hashed_files(place), no_checkpoint)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return str(stop.value)
