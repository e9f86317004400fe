"""How bytes and characters that cannot be seen are shown, and how bytes are written so that they can be read back.

Knows: UTF-8, Unicode categories, JSON strings. Does not know: tokens, tokenizers, screens.

The marks are unforgeable: a character that serves as a mark is itself shown by its number, and a real blank
stands only inside marks, so two different strings never become the same visible one
(but for `imitates_marks`, which the caller settles by adding a number).
"""

from __future__ import annotations

import json
import re
import unicodedata

EMPTY = "‹empty›"
CUT = "…"
_INVALID = re.compile("[\udc80-\udcff]+")  # what "surrogateescape" makes of bytes that are no UTF-8
_BYTE_MARK = re.compile("<[0-9A-F]{2}>")
_UNITS = re.compile(r"‹[^›]*›|<[0-9A-F]{2}(?: [0-9A-F]{2})*>|.", re.DOTALL)
_CONTROLS = {" ": "·", "\n": "⏎", "\t": "⇥"} | {chr(c): chr(0x2400 + c) for c in range(0x20) if c not in (9, 10)}
_MARKS = _CONTROLS | {"\x7f": "␡"}
# Printable by category, and yet nothing to see: fillers, joiners, an empty Braille cell, the replacement character.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffd")
_TAKEN = frozenset(_MARKS.values()) | frozenset("‹›⟦⟧◌") | _UNSEEN
_JOINERS = "\u200c\u200d"  # inside words of many scripts and emoji; they move nothing
_SELECTORS = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))


def visible(raw: bytes) -> str:
    """Return the bytes as text without a single blank, control or unseen character; never empty.

    Blanks become '·', a newline '⏎', a tab '⇥', other controls their picture ('␀'), anything else that cannot be seen
    or that turns its neighbours around its number ('‹U+202E›'), and bytes that are no UTF-8 '<F0 9F 99>'.
    """
    text = raw.decode("utf-8", "surrogateescape")
    if text and unicodedata.category(text[0]).startswith("M"):
        return "◌" + _shown(text)  # a combining mark alone would sit on its left neighbour
    return _shown(text) or EMPTY


def one_line(text: str) -> str:
    """Return a sentence or name on one line: whatever breaks it, turns it around or cannot be printed is marked."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS else _glyph(c) for c in text)


def mark_bytes(raw: bytes) -> str:
    """Return the text of the bytes, with those that are no UTF-8 as '<F0 9F 99>' instead of U+FFFD."""
    return _INVALID.sub(_hex, raw.decode("utf-8", "surrogateescape"))


def imitates_marks(raw: bytes) -> bool:
    """Tell whether other bytes can look just like these: typed '<F0>', or letters with separate accents."""
    text = raw.decode("utf-8", "surrogateescape")
    return _BYTE_MARK.search(text) is not None or not unicodedata.is_normalized("NFC", text)


def cut(shown: str, width: int) -> str:
    """Return visible text in at most `width` (at least 1) characters, ending in '…' where cut, no mark torn apart."""
    if len(shown) <= width:
        return shown
    kept = ""
    for unit in _UNITS.findall(shown):
        if len(kept) + len(unit) > width - len(CUT):
            break
        kept += unit
    return kept + CUT


def escape(raw: bytes) -> str:
    r"""Return any bytes as one JSON string in its quotes, all ASCII.

    Bytes that are no UTF-8 are written as Python's "surrogateescape" has them: 0xF0 is `\udcf0`. Valid UTF-8 holds no
    such code, so the form is unambiguous; the quotes keep `007`, `NA`, `=1` and the empty text what they are in
    spreadsheets and data frames.
    """
    return json.dumps(raw.decode("utf-8", "surrogateescape"))


def unescape(text: str) -> bytes:
    """Return the bytes that `escape` was given; raise ValueError where the text is no such form."""
    value = json.loads(text)
    if not isinstance(value, str):
        raise ValueError(f"{text!r} is not an escaped token: a JSON string in double quotes is expected.")
    return value.encode("utf-8", "surrogateescape")


def _shown(text: str) -> str:
    marked = "".join(c if "\udc80" <= c <= "\udcff" else _glyph(c) for c in text)
    return _INVALID.sub(_hex, marked)


def _glyph(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    code = ord(character)
    selector = any(first <= code <= last for first, last in _SELECTORS)
    if character.isprintable() and character not in _TAKEN and not selector:
        return character
    return f"‹U+{code:04X}›"


def _hex(found: re.Match[str]) -> str:
    return f"<{found.group().encode('utf-8', 'surrogateescape').hex(' ').upper()}>"
