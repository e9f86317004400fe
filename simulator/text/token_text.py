"""What a token looks like: its bytes, its label, its escaped form, and the text that tokens make together.

Knows: transformers' fast tokenizers, and that a character may be spread over several tokens.
Does not know: models, traces, screens.

Bytes are the truth: nothing here decodes tokens one by one and glues the pieces, which destroys every emoji.
Fast tokenizers refuse a change of settings while another thread encodes ("Already borrowed"), so one lock serves all
encoding by all tokenizers, however many objects share one. What only looks up entries takes no lock: a label must not
wait for a text of a million characters.
"""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from simulator.text.glyphs import cut, escape, imitates_marks, mark_bytes, unescape, visible
from simulator.text.spelling import Spelling
from simulator.text.texts import Texts

__all__ = ["StreamText", "TokenTexts", "escape", "unescape"]

_LOCK = threading.RLock()


class TokenTexts:
    """The texts of one vocabulary: labels, bytes and escaped forms of its ids, and text to ids and back.

    Safe to use from several threads. No id raises: one without an entry is 'unused 151700' and has no bytes.
    """

    def __init__(self, tokenizer: Any, rows: int, bos_id: int | None = None):
        """Take a fast tokenizer, the width of the model's output, and the id that texts begin with (None: none)."""
        self.rows = rows
        self.bos_id = bos_id
        self._tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer
        with _LOCK:  # a tokenizer.json may ask for either
            self._backend.no_truncation()
            self._backend.no_padding()
        self._spelling = Spelling(tokenizer)
        self._special = frozenset(i for i, t in tokenizer.added_tokens_decoder.items() if t.special)
        self._entries: dict[int, str | None] = {}
        self._raw: dict[int, bytes] = {}
        self._labels: dict[int, str] = {}
        self._alike: tuple[frozenset[int], frozenset[bytes]] | None = None

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that the token adds in the middle of a text, just as the tokenizer decodes it."""
        if token_id not in self._raw:
            entry = self._entry(token_id)
            self._raw[token_id] = b"" if entry is None else self._spelling.raw(entry)
        return self._raw[token_id]

    def text(self, token_id: int) -> str:
        """Return the token's plain text, with bytes that are no whole character as '<F0 9F 99>'."""
        return mark_bytes(self.token_bytes(token_id))

    def label(self, token_id: int) -> str:
        """Return the token in visible characters, different for every id (see `glyphs.visible`).

        A special token stands in '⟦⟧'; where two ids would look the same the id is added: 'é #317'.
        """
        if token_id not in self._labels:
            self._labels[token_id] = self._make_label(token_id)
        return self._labels[token_id]

    def short(self, token_id: int, width: int) -> str:
        """Return the label in at most `width` characters, with '…' where it was cut; `shorts` keeps them apart."""
        return cut(self.label(token_id), width)

    def shorts(self, token_ids: Sequence[int], width: int) -> list[str]:
        """Return the short labels of one axis; different ids that a cut made alike end in their id: 'exam… #77'."""
        shown = [self.short(i, width) for i in token_ids]
        owners: dict[str, set[int]] = {}
        for text, i in zip(shown, token_ids, strict=True):
            owners.setdefault(text, set()).add(i)
        return [text if len(owners[text]) == 1 else f"{text} #{i}" for text, i in zip(shown, token_ids, strict=True)]

    def escaped(self, token_id: int) -> str:
        """Return the token's bytes as a JSON string in quotes, from which `unescape` gives them back (see `escape`)."""
        return escape(self.token_bytes(token_id))

    def is_special(self, token_id: int) -> bool:
        """Tell whether the token is special: never produced by ordinary typed text."""
        return token_id in self._special

    def encode(self, text: str, *, allow_special: bool = False) -> list[int]:
        """Return the ids of a text, `bos_id` first, exactly once.

        Unless `allow_special`, characters that spell a special token are ordinary text.
        """
        return self.begun(self.ids(text, allow_special))

    def ids(self, text: str, allow_special: bool) -> list[int]:
        """Return the ids of a text as `encode` does, without `bos_id`."""
        return list(self._encoded(text, allow_special, self._backend.encode_batch_fast).ids)

    def ends(self, text: str, *, allow_special: bool = False) -> list[int]:
        """Return for each token of the text, `bos_id` left out, the index behind its last character."""
        return [end for _, end in self._encoded(text, allow_special, self._backend.encode_batch).offsets]

    def _encoded(self, text: str, allow_special: bool, batch: Callable[..., Sequence[Any]]) -> Any:
        """Encode as a batch of one, because the call for a single text does not let other threads run meanwhile."""
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # no tokenizer takes half a pair
        with _LOCK:
            self._backend.encode_special_tokens = not allow_special
            return batch([whole], add_special_tokens=False)[0]

    def special_in(self, token_ids: Iterable[int]) -> list[int]:
        """Return the special tokens among the ids, in order."""
        return [i for i in token_ids if i in self._special]

    def begun(self, token_ids: list[int]) -> list[int]:
        """Return the ids with `bos_id` in front, where there is one and it does not stand there already."""
        return token_ids if self.bos_id is None or token_ids[:1] == [self.bos_id] else [self.bos_id, *token_ids]

    def decode(self, token_ids: Iterable[int], *, skip_special: bool = False) -> str:
        """Return the text of all ids in one decode; what is no UTF-8 is U+FFFD, ids without an entry add nothing."""
        ids = self._known(token_ids, skip_special)
        with _LOCK:
            return str(self._tokenizer.decode(ids, clean_up_tokenization_spaces=False))

    def split(self, token_ids: Iterable[int], *, skip_special: bool = False) -> tuple[str, bytes]:
        """Return the text up to the last complete character, and the bytes of the one still open at the end.

        The text is what `decode` returns, to the character, for the ids without the open bytes.
        """
        ids = self._known(token_ids, skip_special)
        if self._spelling.byte_level:
            raw = b"".join(map(self.token_bytes, ids))
            text, used = codecs.utf_8_decode(raw, "replace", False)
            return text, raw[used:]
        rest = self._open_run(ids)
        return self.decode(ids[: len(ids) - len(rest)]), rest

    def _open_run(self, ids: list[int]) -> bytes:
        """Return the bytes of an unfinished character at the end; in a byte fallback each is one token."""
        start = len(ids)
        while start and self._spelling.is_byte(self._entry(ids[start - 1])):
            start -= 1
        run = b"".join(map(self.token_bytes, ids[start:]))
        try:
            return run[codecs.utf_8_decode(run, "strict", False)[1] :]
        except UnicodeDecodeError:
            return b""  # the tokenizer gives up the whole run: nothing that comes can complete it

    def _known(self, token_ids: Iterable[int], skip_special: bool) -> list[int]:
        ids = (int(i) for i in token_ids)
        return [i for i in ids if self._entry(i) is not None and not (skip_special and i in self._special)]

    def _entry(self, token_id: int) -> str | None:
        if token_id not in self._entries:
            found = self._tokenizer.convert_ids_to_tokens(token_id) if 0 <= token_id < 2**32 else None
            self._entries[token_id] = found
        return self._entries[token_id]

    def _make_label(self, token_id: int) -> str:
        entry, raw = self._entry(token_id), self.token_bytes(token_id)
        if entry is None:
            return f"unused {token_id}"
        twins, spelled = self._look_alikes()
        if token_id in self._special:
            shown = f"⟦{visible(raw)}⟧"
        else:
            as_byte = self._spelling.is_byte(entry) and raw in spelled
            shown = f"<{raw.hex().upper()}>" if as_byte else visible(raw)
        return f"{shown} #{token_id}" if token_id in twins or imitates_marks(raw) else shown

    def _look_alikes(self) -> tuple[frozenset[int], frozenset[bytes]]:
        """Return the ids whose bytes another id of their kind has too, and the single bytes that text entries spell.

        One pass over the vocabulary (a quarter of a second for 150,000 entries), at the first label.
        """
        if self._alike is None:
            self._alike = self._survey()
        return self._alike

    def _survey(self) -> tuple[frozenset[int], frozenset[bytes]]:
        owners: dict[str, dict[bytes, int]] = {"text": {}, "byte": {}, "special": {}}
        twins: set[int] = set()
        for entry, token_id in self._tokenizer.get_vocab().items():
            kind = "special" if token_id in self._special else "byte" if self._spelling.is_byte(entry) else "text"
            first = owners[kind].setdefault(self._spelling.raw(entry), token_id)
            if first != token_id:
                twins |= {first, token_id}
        return frozenset(twins), frozenset(bytes([b]) for b in range(256) if bytes([b]) in owners["text"])


class StreamText:
    """The text of a growing sequence of tokens, in whole characters only.

    `text` never holds the U+FFFD of a half-received character; the bytes of that one are in `open_bytes`, and `shown`
    has them as a mark. After a rejection `rewind` leaves no trace of what was taken back.
    """

    def __init__(self, texts: Texts, after: Sequence[int] = (), *, skip_special: bool = False):
        """Begin behind the tokens `after` (the prompt), whose text is not repeated."""
        self._texts = texts
        self._before = tuple(after)
        self._skip = skip_special
        self._offset = len(texts.split(self._before, skip_special=skip_special)[0])
        self._ids: list[int] = []
        self._state: tuple[str, bytes] | None = None

    def push(self, *token_ids: int) -> None:
        """Append tokens."""
        self._ids.extend(token_ids)
        self._state = None

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens only; raise ValueError where there are fewer."""
        if not 0 <= length <= len(self._ids):
            raise ValueError(f"Cannot rewind to {length} tokens: there are {len(self._ids)}.")
        del self._ids[length:]
        self._state = None

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the tokens pushed and not taken back."""
        return tuple(self._ids)

    @property
    def text(self) -> str:
        """Return the complete characters."""
        return self._split()[0]

    @property
    def open_bytes(self) -> bytes:
        """Return the bytes of the character that is still incomplete, at most three."""
        return self._split()[1]

    @property
    def shown(self) -> str:
        """Return the text with a visible mark such as '<F0 9F 99>' for open bytes at its end."""
        return self.text + mark_bytes(self.open_bytes)

    def _split(self) -> tuple[str, bytes]:
        if self._state is None:
            text, rest = self._texts.split((*self._before, *self._ids), skip_special=self._skip)
            self._state = text[self._offset :], rest
        return self._state
