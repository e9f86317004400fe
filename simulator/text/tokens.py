"""What a model folder's small files say of its vocabulary: tokens as bytes, rows, the map of a reduced one.

Knows tokenizer.json, config.json, vocab_map.json and the d2t / t2d buffers of EAGLE-3 folders. Reads no other weights,
loads no torch, runs no code from the folder, opens no pickle; judges nothing (see `vocabulary`).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from tokenizers import Tokenizer

from simulator.errors import UserError
from simulator.local.folder_files import TOKENIZERS, figure, read_config, read_json, safetensors_header
from simulator.local.gguf_files import tokens_of_gguf
from simulator.local.model_files import Entry
from simulator.text.spelling import Spelling

Tokens = dict[int, bytes]  # id -> the bytes it stands for
Ids = NDArray[np.int64]

FILES, VOCABULARIES = 2_000, 8  # remembered; a vocabulary of 150,000 entries takes 20 MB
_contents: dict[Any, bytes] = {}  # by the stamps of the files
_vocabularies: dict[bytes, Tokens] = {}  # by contents, never by name
MAP_FILE = "vocab_map.json"
MAP_BUFFERS = ("d2t", "t2d")


def tokens_of(entry: Entry) -> Tokens:
    """Return the bytes that each id of the entry stands for, special tokens included; not to be changed.

    "Ġthe" of a byte-level vocabulary and "▁the" of a sentencepiece one are both b" the". The one place that asks a
    tokenizer for its contents. Raise `UserError` where there is no tokenizer that can be read.
    """
    file = entry.path if entry.weights == "gguf" else entry.path / "tokenizer.json"
    stamp = _stamp(file), *(_stamp(entry.path / name) for name in (*TOKENIZERS[1:], "tokenizer_config.json"))
    known = _vocabularies.get(_contents.get(stamp, b""))
    if known is None:
        contents, known = _read(entry, file, repr(stamp).encode())
        _remember(_contents, stamp, contents, FILES)
        _remember(_vocabularies, contents, known, VOCABULARIES)
    return known


def _read(entry: Entry, file: Path, stamp: bytes) -> tuple[bytes, Tokens]:
    """Return what tells a vocabulary from others, and the vocabulary."""
    if entry.weights == "gguf":
        return stamp, _inside_gguf(file)
    declared = read_json(entry.path / "tokenizer_config.json").get("added_tokens_decoder", {})
    try:
        if not file.is_file():
            return stamp, _with_declared(_spelled(_converted(entry.path)), declared)
        text = file.read_text("utf-8")
        contents = hashlib.sha256(f"{json.dumps(declared)}\n{text}".encode()).digest()
        known = _vocabularies.get(contents)  # models of one family share it
        return contents, known or _with_declared(_spelled(Tokenizer.from_str(text)), declared)
    except BaseException as error:  # tokenizers raises a bare Exception, or crashes as a PanicException
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        what = "could not be read" if file.is_file() else "is missing, and no other tokenizer there can be read"
        raise UserError(f"{file} {what}: copy the tokenizer of this model there. ({reason})") from error


def _stamp(file: Path) -> tuple[object, ...]:
    """Return what changes whenever a file does."""
    try:
        stat = file.stat()
    except OSError:
        return (file,)
    return file, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _remember(where: dict[Any, Any], key: object, value: object, most: int) -> None:
    """Keep a value, and of all no more than the newest."""
    where.pop(key, None)
    where[key] = value
    while len(where) > most:
        where.pop(next(iter(where)), None)


def _with_declared(tokens: Tokens, declared: dict[str, Any]) -> Tokens:
    """Add the tokens that older folders declare in tokenizer_config.json alone."""
    return {int(i): str(token["content"]).encode() for i, token in declared.items()} | tokens


def _inside_gguf(file: Path) -> Tokens:
    try:
        found = tokens_of_gguf(file)
    except OSError as error:
        raise UserError(f"{file} could not be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise UserError(str(error)) from error
    return {i: raw for i, raw in found.items() if raw != b"[PAD%d]" % i}  # the converter's names for rows of no token


class _Backend:
    """What `Spelling` asks of a transformers tokenizer, on a bare one: transformers takes seconds to import."""

    def __init__(self, backend: Tokenizer) -> None:
        self.backend_tokenizer = backend

    def convert_tokens_to_string(self, entries: list[str]) -> str:
        decoder = self.backend_tokenizer.decoder
        return str(decoder.decode(entries)) if decoder is not None else " ".join(entries)


def _spelled(backend: Tokenizer) -> Tokens:
    spelling = Spelling(_Backend(backend))
    added = backend.get_added_tokens_decoder() if spelling.byte_level else {}  # these stand for just what they spell
    vocab = backend.get_vocab(with_added_tokens=True)
    return {i: added[i].content.encode() if i in added else spelling.raw(entry) for entry, i in vocab.items()}


def _converted(folder: Path) -> Tokenizer:
    """Return the fast tokenizer that transformers makes of tokenizer.model, or of vocab.json and merges.txt."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    backend: Tokenizer = tokenizer.backend_tokenizer
    return backend


def rows_of(entry: Entry) -> tuple[int | None, int | None]:
    """Return the rows of the input embedding and of the output layer by config.json; None where it does not say."""
    config = read_config(entry.path)
    rows = figure(config, "vocab_size") or entry.vocab
    return rows, figure(config, "draft_vocab_size") or rows


def map_of(entry: Entry) -> Ids | None:
    """Return the target id of each draft row (-1: none) where the folder holds a map, else None.

    Two forms: `vocab_map.json`, a list of target ids; or the buffers of EAGLE-3 folders among the safetensors:
    `d2t` [draft rows], where row j stands for the target id j + d2t[j], and `t2d` [target rows], a mask of the ids
    kept. Raise `UserError` where the map is damaged or its parts contradict each other.
    """
    file = entry.path / MAP_FILE
    if file.is_file():
        return _listed(file)
    found = _buffers(entry.path)
    if not found:
        return None
    kept = np.flatnonzero(found["t2d"]) if "t2d" in found else None
    if "d2t" not in found:
        return kept
    offsets = found["d2t"].astype(np.int64).ravel()
    ids = np.arange(len(offsets)) + offsets
    if kept is not None and not np.array_equal(np.sort(ids), kept):
        raise UserError(f"The vocabulary map in {entry.path} contradicts itself: d2t and t2d name different ids.")
    return ids


def _listed(file: Path) -> Ids:
    try:
        listed = json.loads(file.read_text("utf-8"))
        if not isinstance(listed, list) or not all(type(i) is int for i in listed):
            raise ValueError("no list of whole numbers")
        return np.array(listed, np.int64)
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"{file} is not a list of target ids, one for each row of the draft: {error}.") from error


def _buffers(folder: Path) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for file in sorted(folder.glob("*.safetensors")):
        try:
            names = [n for n in safetensors_header(file) if n.rsplit(".", 1)[-1] in MAP_BUFFERS]
            if names:
                with safe_open(file, framework="numpy") as tensors:
                    found |= {n.rsplit(".", 1)[-1]: tensors.get_tensor(n) for n in names}
        except Exception as error:  # ours for a damaged header, safetensors' own for the rest
            raise UserError(str(error)) from error
    return found
