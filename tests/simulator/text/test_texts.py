"""Token texts that a file brings with it: what the tokenizer said is what is read back, for any bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.text.texts import NO_TEXTS, SavedTexts, texts_from_json, texts_to_json
from simulator.text.token_text import StreamText, TokenTexts
from tests.simulator.text_samples import UNSEEN, byte_fallback, byte_level

EMOJI = "🦆".encode()


def through_a_file(texts: TokenTexts, ids: list[int]) -> SavedTexts:
    return texts_from_json(json.loads(json.dumps(texts_to_json(texts, ids))))


@pytest.mark.parametrize("tokenizer", [byte_level(*UNSEEN, " the"), byte_fallback(" the", "a")])
def test_every_token_reads_back_as_the_tokenizer_has_it(tokenizer: Any) -> None:
    """Bytes that are no character, specials, twins and ids without an entry included."""
    rows = len(tokenizer) + 2
    texts = TokenTexts(tokenizer, rows)
    saved = through_a_file(texts, list(range(rows)))
    assert len(saved) == rows
    for i in range(rows):
        for what in ("token_bytes", "text", "label", "escaped"):
            assert getattr(saved, what)(i) == getattr(texts, what)(i), (i, what)


def test_a_text_is_the_same_up_to_the_open_character() -> None:
    texts = TokenTexts(byte_level(), 257)
    saved = through_a_file(texts, list(range(257)))
    ids = [*b"to ", *EMOJI, *b"be", *EMOJI[:3]]
    assert saved.split(ids) == texts.split(ids) == ("to 🦆be", EMOJI[:3])
    for known in (texts, saved):
        stream = StreamText(known, b"to")
        stream.push(*ids[2:])
        assert stream.shown == " 🦆be<F0 9F A6>"


def test_an_unknown_id_is_its_number_which_no_token_can_imitate() -> None:
    saved = SavedTexts({1: "‹317›".encode()})
    assert saved.label(317) == NO_TEXTS.label(317) == "‹317›"
    assert saved.label(1) != saved.label(317)
    assert (saved.text(317), saved.token_bytes(317), saved.escaped(317)) == ("", b"", '""')


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"ids": [1], "tokens": [], "labels": {}}, {"ids": ["1"], "tokens": ["a"], "labels": {}},
     {"ids": [1], "tokens": [2], "labels": {}}, {"ids": [1], "tokens": ["a"], "labels": []},
     {"ids": [True], "tokens": ["a"], "labels": {}}, {"ids": [1], "tokens": ["a"], "labels": {"x": "a"}},
     {"ids": [1], "tokens": ["\ud800"], "labels": {}}],
)  # fmt: skip
def test_texts_of_another_form_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"texts|surrogates|int\(\)"):
        texts_from_json(value)
