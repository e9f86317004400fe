"""What one model folder or GGUF file holds, from its small JSON files and headers, and why it cannot be used.

Knows config.json, tokenizer.json, safetensors and GGUF headers. Reads no weights, imports no library for them.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any, Literal

from simulator.local.gguf_files import BLOCKS, TOKENS, gguf_problem, read_header

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
INNER = ("text_config", "thinker_config", "llm_config")  # where a config that also sees or hears keeps its decoder's


@dataclass(frozen=True, slots=True)
class Entry:
    """One model folder or GGUF file. `problem` is a sentence when it cannot be used, else None."""

    name: str
    path: Path
    architecture: str
    parameters: int | None
    vocab: int | None  # rows of the embedding
    max_length: int | None
    dtype: str  # as stored
    disk_bytes: int
    problem: str | None
    tokenizer_entries: int | None = None
    weights: Literal["safetensors", "gguf"] = "safetensors"

    @classmethod
    def unusable(cls, name: str, path: Path, problem: str) -> Entry:
        """Return the entry of something that could not even be described."""
        return cls(name, path, "?", None, None, None, "", 0, problem)


def read_entry(path: Path, name: str) -> Entry:
    """Describe one folder from its config.json, its tokenizer and the headers of its safetensors files."""
    config = read_config(path)
    parameters, dtype, size = None, "", 0
    try:
        problem = folder_problem(path)
        if problem is None:
            headers = [safetensors_header(f) for f in weight_files(path)]
            tensors = [t for h in headers for k, t in h.items() if k != "__metadata__"]
            parameters = sum(prod(t["shape"]) for t in tensors)
            dtype = ", ".join(sorted({t["dtype"] for t in tensors}))
        size = sum(f.stat().st_size for f in path.glob("*.safetensors") if f.is_file())
    except OSError as error:
        problem = f"{error.filename or path} could not be read: {error.strerror or error}."
    except ValueError as error:
        problem = str(error)
    return Entry(
        name=name, path=path, architecture=_architecture(config), parameters=parameters,
        vocab=figure(config, "vocab_size"), max_length=figure(config, "max_position_embeddings"), dtype=dtype,
        disk_bytes=size, problem=problem, tokenizer_entries=_tokenizer_entries(path) if problem is None else None,
    )  # fmt: skip


def read_gguf(path: Path, name: str) -> Entry:
    """Describe one GGUF file from its header."""
    try:
        header, size = read_header(path), path.stat().st_size
    except OSError as error:
        return Entry.unusable(name, path, f"{path} could not be read: {error.strerror or error}.")
    except ValueError as error:
        return Entry.unusable(name, path, str(error))
    problem = gguf_problem(path, header)
    if problem is None and find_spec("gguf") is None:
        problem = f"{path} needs the package gguf to be read: pip install gguf."
    kinds: dict[str, int] = {}
    for t in header.tensors:
        kinds[BLOCKS[t.kind][0]] = kinds.get(BLOCKS[t.kind][0], 0) + t.size
    return Entry(
        name=name, path=path, architecture=header.architecture, parameters=sum(prod(t.shape) for t in header.tensors),
        vocab=header.rows, max_length=header.number("context_length"),
        dtype=", ".join(sorted(kinds, key=lambda kind: -kinds[kind])), disk_bytes=size, problem=problem,
        tokenizer_entries=header.lengths.get(TOKENS), weights="gguf",
    )  # fmt: skip


def folder_problem(path: Path) -> str | None:
    """Return the sentence that says why the folder cannot be loaded, or None. Raise OSError as it comes."""
    if not path.exists():
        return f"There is no folder {path}: it is gone, or a link that leads nowhere."
    if not path.is_dir():
        return f"{path} is a file; give the folder that holds config.json and the weights, or a GGUF file."
    if not (path / "config.json").is_file():
        return f"{path} has no config.json, so it is not a transformers model folder."
    config = read_config(path)
    if not config:
        return f"{path / 'config.json'} is not readable JSON."
    if "auto_map" in config:
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
        return f"{path} lacks {', '.join(missing)}: copy the missing file(s)."
    if not any((path / f).is_file() for f in TOKENIZERS):
        return f"{path} has no tokenizer.json."
    return None


def weight_files(path: Path) -> list[Path]:
    """Return the safetensors files that make up the model: what the index names, else the one whole file, else all."""
    index = path / "model.safetensors.index.json"
    if index.is_file():
        return [path / name for name in _named_shards(index)]
    whole = path / "model.safetensors"
    return [whole] if whole.exists() or whole.is_symlink() else sorted(path.glob("*.safetensors"))


def gguf_files(folder: Path) -> list[Path]:
    """Return the GGUF files of a folder without other weights, in order of their names."""
    try:
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return []
        return sorted(f for f in folder.iterdir() if f.suffix.lower() == ".gguf")
    except OSError:  # no folder, or one that may not be read: whoever describes it says so
        return []


def _missing_shards(path: Path) -> list[str]:
    index = path / "model.safetensors.index.json"
    if index.is_file():
        try:
            return [f"{f}, which its index names" for f in _named_shards(index) if not (path / f).is_file()]
        except ValueError:
            return [f"a readable {index.name}"]
    files = [f.name for f in weight_files(path)]
    counts = {int(m[1]) for name in files if (m := re.search(r"-of-(\d{1,6})\.safetensors$", name))}
    numbers = {int(m[1]) for name in files if (m := re.search(r"-(\d{1,6})-of-\d+\.safetensors$", name))}
    return [f"shard {i} of {n}" for n in counts for i in range(1, min(n, 10_000) + 1) if i not in numbers][:3]


def _named_shards(index: Path) -> list[str]:
    """Return the file names in an index; raise ValueError where it is none, or names files outside the folder."""
    try:
        names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
        if not names or any(Path(n).name != n for n in names):
            raise ValueError
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"{index} is not a readable index: copy it again.") from error
    return names


def safetensors_header(file: Path) -> dict[str, Any]:
    """Return the header of a safetensors file: {tensor name: {dtype, shape, data_offsets}}; weights are not read.

    Raise ValueError with a sentence when the file is cut off or is no safetensors file. (huggingface_hub's reader of
    local headers does not compare them with the size of the file.)
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        prefix = stream.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else size
        if length > size - 8:
            raise ValueError(f"{file} is cut off or is not a safetensors file: copy it again.")
        try:
            header: dict[str, Any] = json.loads(stream.read(length))
            end = max((_end(t) for k, t in header.items() if k != "__metadata__"), default=0)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{file} has no readable safetensors header: copy it again.") from error
    if 8 + length + end != size:
        raise ValueError(f"{file} has {size:,} bytes where its header promises {8 + length + end:,}: copy it again.")
    return header


def _end(tensor: dict[str, Any]) -> int:
    """Return where a tensor ends; raise ValueError where its description is none."""
    if not isinstance(tensor["dtype"], str) or not all(type(n) is int and n >= 0 for n in tensor["shape"]):
        raise ValueError
    end = tensor["data_offsets"][1]
    if type(end) is not int:
        raise ValueError
    return end


def read_config(path: Path) -> dict[str, Any]:
    """Return a folder's config.json, {} where there is no readable one."""
    return _json(path / "config.json")


def figure(config: dict[str, Any], name: str) -> int | None:
    """Return a whole number of a config, or of the decoder's part inside it."""
    if type(config.get(name)) is int:
        return int(config[name])
    inner = (config[k] for k in INNER if isinstance(config.get(k), dict))
    return next((found for part in inner if (found := figure(part, name)) is not None), None)


def _architecture(config: dict[str, Any]) -> str:
    names = config.get("architectures")
    return str(names[0] if isinstance(names, Sequence) and names else config.get("model_type", "?"))


def _tokenizer_entries(path: Path) -> int | None:
    """Return how many entries the tokenizer has, None where only a library could say."""
    file = next((path / f for f in TOKENIZERS if (path / f).is_file()), path)
    if file.suffix != ".json":
        return None
    stat = file.stat()
    return _counted(file, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _counted(file: Path, _size: int, _changed: int) -> int | None:
    found = _json(file)
    try:
        vocab = found["model"]["vocab"] if file.name == "tokenizer.json" else found  # a list of pairs for Unigram
        ids = set(vocab.values()) if isinstance(vocab, dict) else set(range(len(vocab)))
        return (
            len(ids | {t["id"] for t in found.get("added_tokens", [])}) if file.name == "tokenizer.json" else len(ids)
        )
    except (LookupError, TypeError, AttributeError):
        return None


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
