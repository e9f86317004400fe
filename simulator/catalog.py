"""Which models are on this computer, and why an entry cannot be used.

Knows folders and the small JSON files and headers in them; reads no weights and never asks the network.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.errors import UserError

BUNDLED = Path(__file__).resolve().parent.parent / "models_cache"
DEFAULT_TARGET = "shakespeare-target-6m"
DEFAULT_DRAFT = "shakespeare-draft-400k"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True, slots=True)
class Entry:
    """One model folder. `problem` is a sentence when it cannot be used, else None."""

    name: str
    path: Path
    architecture: str
    parameters: int | None
    vocab: int | None
    max_length: int | None
    dtype: str  # as stored
    disk_bytes: int
    problem: str | None


def scan(folder: Path = BUNDLED) -> list[Entry]:
    """Return an entry for every folder in `folder` and every complete snapshot in the hub cache, by name."""
    local = [read_entry(f, f.name) for f in sorted(folder.iterdir()) if _is_model_folder(f)] if folder.is_dir() else []
    return local + hub_entries()


def _is_model_folder(folder: Path) -> bool:
    return folder.is_dir() and not folder.name.startswith((".", "__"))


def hub_cache() -> Path:
    """Return the hub cache folder that huggingface_hub would use, without importing it."""
    home = os.environ.get("HF_HOME", os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "huggingface"))
    return Path(os.path.expanduser(os.environ.get("HF_HUB_CACHE", os.path.join(home, "hub"))))


def hub_entries() -> list[Entry]:
    """Return the newest snapshot of each model in the hub cache, named by its hub id."""
    found = []
    for repo in sorted(hub_cache().glob("models--*")):
        snapshots = sorted((repo / "snapshots").glob("*/config.json"), key=lambda f: f.stat().st_mtime)
        if snapshots:
            found.append(read_entry(snapshots[-1].parent, repo.name.removeprefix("models--").replace("--", "/")))
    return found


def find(wanted: str) -> Entry:
    """Return the entry for a name from `scan`, a folder, or a hub id in the local cache; raise `UserError` if none."""
    path = Path(os.path.expanduser(wanted))  # this one and os.path.exists take any name, however odd or long
    if os.path.exists(path):
        return read_entry(path, path.name or str(path))
    known = {entry.name: entry for entry in scan()}
    if wanted in known:
        return known[wanted]
    names = ", ".join(sorted(known)) or "none"
    raise UserError(
        f"There is no model '{wanted}': it is neither a folder, nor in models_cache, nor in the local hub cache. "
        f"Models on this computer: {names}."
    )


def read_entry(path: Path, name: str) -> Entry:
    """Describe one folder from its config.json and the headers of its safetensors files."""
    config = _read_config(path)
    weights = sorted(path.glob("*.safetensors")) if path.is_dir() else []
    problem = folder_problem(path)
    parameters, dtype = None, ""
    if problem is None:
        try:
            headers = [safetensors_header(f) for f in weights]
        except (OSError, ValueError) as error:
            problem = str(error)
        else:
            parameters = sum(_size(t["shape"]) for h in headers for k, t in h.items() if k != "__metadata__")
            dtype = ", ".join(sorted({t["dtype"] for h in headers for k, t in h.items() if k != "__metadata__"}))
    return Entry(
        name=name, path=path, architecture=(config.get("architectures") or [config.get("model_type", "?")])[0],
        parameters=parameters, vocab=config.get("vocab_size"), max_length=config.get("max_position_embeddings"),
        dtype=dtype, disk_bytes=sum(f.stat().st_size for f in weights if f.is_file()), problem=problem,
    )  # fmt: skip


def folder_problem(path: Path) -> str | None:
    """Return the sentence that says why the folder cannot be loaded, or None."""
    if not path.exists():
        return f"There is no folder {path}."
    if not path.is_dir():
        return f"{path} is a file; give the folder that holds config.json and the weights."
    if not (path / "config.json").is_file():
        return f"{path} has no config.json, so it is not a transformers model folder."
    if not _read_config(path):
        return f"{path / 'config.json'} is not readable JSON."
    if "auto_map" in _read_config(path):
        return f"{path} needs Python code from the model folder, which SpecScope does not run."
    if not list(path.glob("*.safetensors")):
        pickled = sorted(f.name for pattern in PICKLES for f in path.glob(pattern))
        if pickled:
            return (
                f"{path} holds only pickled weights ({pickled[0]}), which can run code when opened; convert them with "
                "transformers' save_pretrained to model.safetensors."
            )
        return f"{path} holds no weights (*.safetensors)."
    missing = _missing_shards(path)
    if missing:
        return f"{path} lacks {', '.join(missing)}, which its index names: copy the missing file(s)."
    if not any((path / f).is_file() for f in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        return f"{path} has no tokenizer.json."
    return None


def _missing_shards(path: Path) -> list[str]:
    index = path / "model.safetensors.index.json"
    if not index.is_file():
        return []
    try:
        named = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError):
        return [f"a readable {index.name}"]
    return sorted(f for f in named if not (path / f).is_file())


def safetensors_header(file: Path) -> dict[str, Any]:
    """Return the header of a safetensors file: {tensor name: {dtype, shape, data_offsets}}; weights are not read.

    Raise ValueError with a sentence when the file is cut off or is no safetensors file.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        prefix = stream.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else size
        if length > size - 8:
            raise ValueError(f"{file} is cut off or is not a safetensors file: copy it again.")
        try:
            header: dict[str, Any] = json.loads(stream.read(length))
            end = max((t["data_offsets"][1] for k, t in header.items() if k != "__metadata__"), default=0)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{file} has no readable safetensors header: copy it again.") from error
    if 8 + length + end != size:
        raise ValueError(f"{file} has {size:,} bytes where its header promises {8 + length + end:,}: copy it again.")
    return header


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads((path / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def _size(shape: list[int]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total
