"""What a token looks like to whoever only shows tokens, and token texts that a file has brought with it.

Knows: bytes and labels by id. Does not know: tokenizers (`token_text` has them), files, screens.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from simulator.text.glyphs import escape, mark_bytes, visible


class Texts(Protocol):
    """What is asked of token texts where no text is turned into tokens; `TokenTexts` is explained there."""

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that the token adds in the middle of a text."""

    def text(self, token_id: int) -> str:
        """Return the token's plain text."""

    def label(self, token_id: int) -> str:
        """Return the token in visible characters, different for every id."""

    def escaped(self, token_id: int) -> str:
        """Return the token's bytes as a JSON string in quotes."""

    def split(self, token_ids: Iterable[int], *, skip_special: bool = False) -> tuple[str, bytes]:
        """Return the text up to the last complete character, and the bytes of the one still open at the end."""


class SavedTexts:
    """The texts of some ids, as a file has them; any other id is shown by its number, '‹317›', and has no bytes."""

    def __init__(self, raw: Mapping[int, bytes] | None = None, labels: Mapping[int, str] | None = None) -> None:
        """Take the bytes of each known id, and the labels that are not simply those bytes made visible."""
        self._raw, self._labels = dict(raw or {}), dict(labels or {})

    def __len__(self) -> int:
        return len(self._raw)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the token's bytes, none for an id that is not known."""
        return self._raw.get(token_id, b"")

    def text(self, token_id: int) -> str:
        """Return the token's plain text, with bytes that are no whole character as '<F0 9F 99>'."""
        return mark_bytes(self.token_bytes(token_id))

    def label(self, token_id: int) -> str:
        """Return the token in visible characters."""
        if token_id not in self._labels:
            raw = self._raw.get(token_id)
            self._labels[token_id] = f"‹{token_id}›" if raw is None else visible(raw)
        return self._labels[token_id]

    def escaped(self, token_id: int) -> str:
        """Return the token's bytes as a JSON string in quotes (see `glyphs.escape`)."""
        return escape(self.token_bytes(token_id))

    def split(self, token_ids: Iterable[int], *, skip_special: bool = False) -> tuple[str, bytes]:
        """Return the text up to the last complete character, and the open bytes; special tokens are ordinary here."""
        raw = b"".join(map(self.token_bytes, token_ids))
        text, used = codecs.utf_8_decode(raw, "replace", False)
        return text, raw[used:]


NO_TEXTS = SavedTexts()


def texts_to_json(texts: Texts, token_ids: Iterable[int]) -> dict[str, Any]:
    """Return what `texts_from_json` needs for these ids; bytes as text that is ASCII in JSON and loses nothing."""
    ids = [int(i) for i in token_ids]
    raw = [texts.token_bytes(i) for i in ids]
    labels = [(i, texts.label(i), visible(each)) for i, each in zip(ids, raw, strict=True)]
    return {
        "ids": ids,
        "tokens": [each.decode("utf-8", "surrogateescape") for each in raw],
        "labels": {str(i): label for i, label, plain in labels if label != plain},
    }


def texts_from_json(value: Any) -> SavedTexts:
    """Return the texts of a file; raise ValueError where they are not as `texts_to_json` writes them."""
    if not isinstance(value, dict) or not all(isinstance(value.get(name), list) for name in ("ids", "tokens")):
        raise ValueError("its token texts are no texts")
    ids, tokens, labels = value["ids"], value["tokens"], value.get("labels")
    if len(ids) != len(tokens) or not isinstance(labels, dict):
        raise ValueError("its token texts do not belong to its ids")
    if not all(type(i) is int for i in ids) or not all(isinstance(t, str) for t in (*tokens, *labels.values())):
        raise ValueError("its token texts are no texts")
    raw = {i: token.encode("utf-8", "surrogateescape") for i, token in zip(ids, tokens, strict=True)}
    return SavedTexts(raw, {int(i): label for i, label in labels.items()})
