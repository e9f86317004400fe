"""Model folders that hold a tokenizer and a config and no weights, for the tests of the vocabulary doctor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from simulator.catalog import Entry, read_entry
from simulator.text.tokens import MAP_FILE
from tests.simulator.text_samples import spelled

LETTERS = tuple(bytes([c]) for c in range(0x21, 0x7F))  # 94 printable characters
ENTRIES = (*LETTERS, *(b" " + c for c in LETTERS[:32]))  # 126 entries; with two special ones 128
SPECIAL = ("<s>", "</s>")


def byte_level(entries: Sequence[bytes] = ENTRIES, special: Sequence[str] = SPECIAL) -> Tokenizer:
    """Return a vocabulary of just these entries in this order, spelled in GPT-2's alphabet; special tokens last."""
    backend = Tokenizer(models.BPE(vocab={spelled(e): i for i, e in enumerate(entries)}, merges=[]))
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in special])
    return backend


def sentencepiece(entries: Sequence[bytes] = ENTRIES, special: Sequence[str] = SPECIAL) -> Tokenizer:
    """Return the same vocabulary spelled in sentencepiece's way: "▁" for a blank, <0xNN> for a byte that is no text."""
    written = [e.decode().replace(" ", "▁") if e.isascii() else f"<0x{e.hex().upper()}>" for e in entries]
    backend = Tokenizer(models.BPE(vocab={e: i for i, e in enumerate(written)}, merges=[], byte_fallback=True))
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    backend.decoder = decoders.Sequence(parts)
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in special])
    return backend


def folder(path: Path, tokenizer: Tokenizer | None, rows: int = 128, mapped: object = None, **config: Any) -> Entry:
    """Write the folder, with `mapped` as its vocab_map.json where given; return its catalogue entry."""
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"architectures": ["Nothing"], "vocab_size": rows, **config}))
    if tokenizer is not None:
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(path)
    if mapped is not None:
        (path / MAP_FILE).write_text(json.dumps(mapped))
    return read_entry(path, path.name)


def buffers(path: Path, ids: Sequence[int], target_rows: int, *, names: Sequence[str] = ("d2t", "t2d")) -> None:
    """Write an EAGLE-3 map beside a weight that nobody may read: offsets by draft row, and a mask of the ids kept."""
    offsets = np.asarray(ids, np.int64) - np.arange(len(ids))
    mask = np.isin(np.arange(target_rows), ids)
    tensors = {"d2t": offsets, "t2d": mask, "weight": np.zeros((2, 2), np.float32)}
    save_file({n: t for n, t in tensors.items() if n in (*names, "weight")}, path / "model.safetensors")
