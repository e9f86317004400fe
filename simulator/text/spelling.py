"""How the entries of a vocabulary spell bytes.

Knows: the decoders of transformers' fast tokenizers, GPT-2's byte map, `<0xNN>` byte fallback.
Does not know: ids, labels, locks (the caller serialises access to the tokenizer).
"""

from __future__ import annotations

import json
import re
from typing import Any

_FALLBACK = re.compile("<0x([0-9A-Fa-f]{2})>")


def _byte_map() -> dict[str, int]:
    """Return GPT-2's map from the 256 characters of a byte-level vocabulary to the bytes they stand for."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = sorted(set(range(256)) - set(plain))
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(moved)}


_BYTES = _byte_map()


class Spelling:
    """One tokenizer's way from entry to bytes, as its own decoder has it.

    `byte_level`: every character of an entry stands for one byte. `byte_fallback`: entries are text,
    and `<0xNN>` are single bytes. Neither: entries are text only.
    """

    def __init__(self, tokenizer: Any):
        """Take a fast tokenizer."""
        kinds = _decoder_kinds(tokenizer.backend_tokenizer.decoder)
        self.byte_level = "ByteLevel" in kinds and kinds <= {"ByteLevel", "Fuse"}
        self.byte_fallback = "ByteFallback" in kinds
        self._tokenizer = tokenizer

    def raw(self, entry: str) -> bytes:
        """Return the bytes that an entry adds in the middle of a text."""
        if self.byte_level:
            return entry_bytes(entry)
        if self.is_byte(entry):
            return bytes([int(entry[3:5], 16)])
        # Behind an anchor, because decoders strip the blank that a text begins with.
        return str(self._tokenizer.convert_tokens_to_string(["a", entry])).removeprefix("a").encode()

    def is_byte(self, entry: str | None) -> bool:
        """Tell whether an entry is a single byte of a byte fallback."""
        return self.byte_fallback and entry is not None and _FALLBACK.fullmatch(entry) is not None


def entry_bytes(entry: str) -> bytes:
    """Return the bytes that an entry of a byte-level vocabulary stands for."""
    try:
        return bytes([_BYTES[c] for c in entry])
    except KeyError:  # an added token with a character outside the map: the decoder takes it as it stands
        return entry.encode()


def _decoder_kinds(decoder: Any) -> set[str]:
    """Return the names of a decoder's parts, from its own state (that of the whole tokenizer takes a second)."""
    try:
        state = json.loads(decoder.__getstate__()) if decoder is not None else {}
    except Exception:  # a decoder written in Python has no state; tokenizers raises a bare Exception
        return set()
    return {part["type"] for part in state.get("decoders", [state]) if "type" in part}
