"""Token labels made safe to draw: nothing invisible, nothing that turns its neighbours around.

Knows: Unicode categories. Does not know: tokenizers (labels arrive ready, this is the last guard before paint).
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

EMPTY = "∅"
NEWLINE = "⏎"
_MARKS = {"\n": NEWLINE, "\t": "⇥", "\r": "␍", "\x7f": "␡"}
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


@lru_cache(maxsize=65_536)
def safe(label: str) -> str:
    """Return the label with control, format, private and odd blank characters made visible; never empty."""
    text = "".join(_visible(c) for c in label)
    if text and unicodedata.category(text[0]).startswith("M"):
        text = "◌" + text  # a combining mark alone would sit on its left neighbour
    return text or EMPTY


def elided(text: str, limit: int = 24) -> str:
    """Return the text, cut to `limit` characters with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def quoted(label: str, limit: int = 24) -> str:
    """Return the label as it stands inside a sentence: safe, cut, in quotes, and not reordering its surroundings."""
    text = elided(safe(label), limit)
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        text = f"{_ISOLATE}{text}{_END_ISOLATE}"
    return f"'{text}'"


def _visible(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if character == " " or unicodedata.category(character)[0] not in "CZ":
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"<U+{code:04X}>"
