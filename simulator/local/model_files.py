"""What one model folder or GGUF file holds, from its small JSON files and headers; reads no weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any, Literal

from simulator.local.folder_files import TOKENIZERS, figure, read_config, read_json, safetensors_header, weight_files
from simulator.local.gguf_files import BLOCKS, TOKENS, gguf_problem, read_header
from simulator.local.obstacles import HEAD_WEIGHTS, folder_problem, head_sentence
from simulator.text.glyphs import one_line


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

    def __post_init__(self) -> None:
        """Keep name and problem on one line, whatever the folder is called; `path` is as it is."""
        object.__setattr__(self, "name", one_line(self.name))
        object.__setattr__(self, "problem", self.problem and one_line(self.problem))

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
            if any(name.startswith(HEAD_WEIGHTS) for header in headers for name in header):
                problem = head_sentence(path, "an EAGLE or Medusa")
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


def gguf_files(folder: Path) -> list[Path]:
    """Return the GGUF files of a folder without other weights, in order of their names."""
    try:
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return []
        return sorted(f for f in folder.iterdir() if f.suffix.lower() == ".gguf")
    except OSError:  # no folder, or one that may not be read: whoever describes it says so
        return []


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
    found = read_json(file)
    try:
        vocab = found["model"]["vocab"] if file.name == "tokenizer.json" else found  # a list of pairs for Unigram
        ids = set(vocab.values()) if isinstance(vocab, dict) else set(range(len(vocab)))
        return (
            len(ids | {t["id"] for t in found.get("added_tokens", [])}) if file.name == "tokenizer.json" else len(ids)
        )
    except (LookupError, TypeError, AttributeError):
        return None
