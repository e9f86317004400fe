from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

import simulator.text.token_text as text_module
from simulator.text.glyphs import cut, unescape
from simulator.text.token_text import StreamText, TokenTexts
from tests.simulator.text_samples import HIDDEN, UNSEEN, byte_fallback, byte_level, spelled, word_pieces

LEVEL = byte_level(b"\xf0\x9f\x99", "<eos>", b"a\xf0\x9f", b"\x99\x82b", special=("<end>",))
FALLBACK = byte_fallback(" ab", "\n", "é")


def level_texts() -> TokenTexts:
    return TokenTexts(LEVEL, len(LEVEL))


def fallback_texts() -> TokenTexts:
    return TokenTexts(FALLBACK, len(FALLBACK))


def ids_of(tokenizer: object, *entries: str) -> list[int]:
    return [tokenizer.convert_tokens_to_ids(e) for e in entries]  # type: ignore[attr-defined]


# --- bytes


def test_the_samples_spell_bytes_as_the_library_does() -> None:
    for text in ("Hello, wörld! 🙂\n\t\0", "".join(map(chr, range(0x250)))):
        pieces = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
        assert "".join(piece for piece, _ in pieces) == spelled(text.encode())


def test_every_byte_of_a_byte_level_vocabulary_is_exact() -> None:
    texts = level_texts()
    assert [texts.token_bytes(i) for i in range(256)] == [bytes([b]) for b in range(256)]


def test_every_byte_of_a_byte_fallback_is_exact() -> None:
    texts = fallback_texts()
    ids = ids_of(FALLBACK, *(f"<0x{b:02X}>" for b in range(256)))
    assert [texts.token_bytes(i) for i in ids] == [bytes([b]) for b in range(256)]


def test_a_leading_blank_is_part_of_the_token() -> None:
    texts = fallback_texts()
    (word,) = ids_of(FALLBACK, "▁ab")
    assert texts.token_bytes(word) == b" ab"
    assert texts.text(word) == " ab"


def test_added_tokens_have_the_bytes_that_they_decode_to() -> None:
    tokenizer = byte_level(special=("<eos>", "<｜begin▁of▁text｜>", "two words"))
    texts = TokenTexts(tokenizer, 300)
    for content in ("<eos>", "<｜begin▁of▁text｜>", "two words"):
        assert texts.token_bytes(tokenizer.convert_tokens_to_ids(content)) == content.encode()


def test_word_pieces_have_the_text_that_they_add_in_the_middle() -> None:
    texts = TokenTexts(word_pieces(), 7)
    assert [texts.token_bytes(i) for i in (1, 3, 5)] == [b" the", b"s", b"."]
    assert texts.decode([1, 2, 3, 4, 5]) == "the cats sat."
    assert texts.split([1, 2, 3]) == ("the cats", b"")


# --- SD-060: one character over several tokens


def test_open_bytes_are_shown_as_bytes() -> None:
    texts = level_texts()
    assert texts.label(256) == "<F0 9F 99>"
    assert texts.label(0x82) == "<82>"
    assert texts.label(258) == "a<F0 9F>"
    assert texts.label(259) == "<99 82>b"
    assert texts.text(256) == "<F0 9F 99>"


@pytest.mark.parametrize(
    ("parts", "whole"),
    [([b"\xf0\x9f\x99", b"\x82"], "🙂"), ([b"\xc4", b"\x8f"], "ď"), ([b"\xe4", b"\xb8", b"\xad"], "中")],
)
def test_a_character_appears_when_complete_and_never_as_a_replacement(parts: list[bytes], whole: str) -> None:
    tokenizer = byte_level(b"\xf0\x9f\x99")
    texts = TokenTexts(tokenizer, 300)
    ids = ids_of(tokenizer, *map(spelled, parts))
    stream = StreamText(texts)
    for i, token in enumerate(ids):
        assert stream.text == ""
        assert "\ufffd" not in stream.shown
        assert stream.open_bytes == b"".join(parts[:i])
        stream.push(token)
    assert stream.text == stream.shown == whole == texts.decode(ids)
    assert stream.open_bytes == b""


def test_a_character_from_byte_fallback_appears_when_complete() -> None:
    texts = fallback_texts()
    ids = ids_of(FALLBACK, "a", "<0xF0>", "<0x9F>", "<0x99>", "<0x82>", "b")
    stream = StreamText(texts)
    seen = []
    for token in ids:
        stream.push(token)
        seen.append(stream.shown)
    assert seen == ["a", "a<F0>", "a<F0 9F>", "a<F0 9F 99>", "a🙂", "a🙂b"]
    assert stream.text == texts.decode(ids)


@pytest.mark.parametrize("make", [level_texts, fallback_texts])
def test_after_a_rejection_no_trace_of_the_discarded_half_is_left(make: object) -> None:
    texts = make()  # type: ignore[operator]
    c4, half, other = (
        next(i for i in range(len(LEVEL)) if texts.token_bytes(i) == b) for b in (b"\xc4", b"\x8f", b"\x8d")
    )
    stream = StreamText(texts)
    stream.push(c4, half)
    assert stream.text == "ď"
    stream.rewind(1)
    assert (stream.text, stream.open_bytes, stream.shown) == ("", b"\xc4", "<C4>")
    stream.push(other)
    assert stream.text == "č" == texts.decode(stream.ids)


def test_a_text_cut_in_mid_character_ends_in_a_visible_mark() -> None:
    stream = StreamText(level_texts())
    stream.push(ord("a"), 256)
    assert (stream.text, stream.shown) == ("a", "a<F0 9F 99>")


def test_bytes_that_can_never_be_completed_do_not_hold_the_text_up() -> None:
    texts = level_texts()
    stream = StreamText(texts)
    stream.push(256, ord("x"))
    assert stream.text == texts.decode([256, ord("x")]) == "\ufffdx"


def test_a_stream_behind_a_prompt_neither_repeats_it_nor_loses_the_blank() -> None:
    texts = fallback_texts()
    prompt, more = ids_of(FALLBACK, "a"), ids_of(FALLBACK, "▁ab")
    stream = StreamText(texts, prompt)
    stream.push(*more)
    assert stream.text == " ab"
    assert texts.decode(more) == "ab"  # what decoding the tail alone would have made of it


def test_special_tokens_can_be_left_out_of_the_text() -> None:
    texts = fallback_texts()
    ids = ids_of(FALLBACK, "a", "<0xC4>", "</s>", "<0x8F>", "</s>")
    assert texts.decode(ids, skip_special=True) == "aď"
    stream = StreamText(texts, skip_special=True)
    stream.push(*ids)
    assert stream.text == "aď"


def test_a_stream_cannot_be_rewound_to_what_was_never_there() -> None:
    stream = StreamText(level_texts())
    stream.push(65)
    for length in (-1, 2):
        with pytest.raises(ValueError, match="there are 1"):
            stream.rewind(length)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, len(LEVEL) + 3)), st.lists(st.integers(0, len(LEVEL) - 1), max_size=5))
def test_byte_level_text_and_open_bytes_are_the_decode_of_all_ids(ids: list[int], prompt: list[int]) -> None:
    texts = level_texts()
    text, rest = texts.split(ids)
    assert text + rest.decode("utf-8", "replace") == LEVEL.decode(ids) == texts.decode(ids)
    assert len(rest) <= 3
    stream = StreamText(texts, prompt)
    stream.push(*ids)
    before, _ = texts.split(prompt)
    assert before + stream.text + stream.open_bytes.decode("utf-8", "replace") == LEVEL.decode([*prompt, *ids])


FEW_BYTES = [2 + b for b in (0x20, 0x41, 0x82, 0x99, 0x9F, 0xC4, 0xE4, 0xF0, 0xFF)]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*FEW_BYTES, *range(len(FALLBACK) + 2)])))
def test_byte_fallback_text_and_open_bytes_are_the_decode_of_all_ids(ids: list[int]) -> None:
    text, rest = fallback_texts().split(ids)
    known = [i for i in ids if i < len(FALLBACK)]
    assert text == FALLBACK.decode(known[: len(known) - len(rest)])
    assert len(rest) <= 3
    assert ("<0x%02X>" * len(rest)) % tuple(rest) == "".join(
        FALLBACK.convert_ids_to_tokens(known[len(known) - len(rest) :])
    )


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_streams_byte_by_byte_without_a_replacement_in_between(text: str) -> None:
    stream = StreamText(level_texts())
    for byte in text.encode():
        stream.push(byte)
        assert text.startswith(stream.text)
        assert "\ufffd" not in stream.shown or "\ufffd" in text
    assert stream.text == text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 255), min_size=1), st.lists(st.integers(0, 255)), st.data())
def test_a_rewound_stream_is_as_if_the_rest_had_never_been(
    kept: list[int], gone: list[int], data: st.DataObject
) -> None:
    stream, fresh = StreamText(level_texts()), StreamText(level_texts())
    stream.push(*kept, *gone)
    assert stream.shown is not None
    stream.rewind(len(kept))
    more = data.draw(st.lists(st.integers(0, 255), max_size=4))
    stream.push(*more)
    fresh.push(*kept, *more)
    assert (stream.text, stream.open_bytes, stream.ids) == (fresh.text, fresh.open_bytes, fresh.ids)


CLUSTERS = ["👨‍👩‍👧‍👦", "🇫🇷", "👍🏽", "中文模型", "e\u0301", "क्षि", "ที่", "\u202eabc", "a\u200bb"]


@pytest.mark.parametrize("text", CLUSTERS)
@pytest.mark.parametrize("tokenizer", [LEVEL, FALLBACK], ids=["byte level", "byte fallback"])
def test_joined_characters_come_whole_and_bytes_stay_visible_until_then(tokenizer: Any, text: str) -> None:
    """SD-060: emoji of several joined characters, flags, accents of their own, scripts of three bytes a letter."""
    texts = TokenTexts(tokenizer, len(tokenizer))
    ids = texts.encode(text)
    assert b"".join(map(texts.token_bytes, ids)) == text.encode()
    for cut_at in range(len(ids) + 1):  # the prompt may end in the middle of a character, and the run finish it
        stream = StreamText(texts, ids[:cut_at])
        begun = texts.split(ids[:cut_at])[0]
        for token in ids[cut_at:]:
            stream.push(token)
            assert "\ufffd" not in stream.shown
        assert begun + stream.shown == text
    for token in ids:
        assert texts.label(token).isprintable() or len(texts.token_bytes(token)) > 1


# --- SD-061: tokens one cannot see


def test_every_id_has_its_own_visible_label() -> None:
    tokenizer = byte_level(*UNSEEN, "<eos>", special=("<end>", " <eos>", "<pad>"))
    texts = TokenTexts(tokenizer, len(tokenizer) + 5)
    labels = [texts.label(i) for i in range(len(tokenizer) + 5)]
    assert len(set(labels)) == len(labels)
    assert all(label.isprintable() and label.strip() and not HIDDEN & (set(label) - {" "}) for label in labels)


def test_a_special_token_differs_from_the_same_characters_as_text() -> None:
    special, ordinary = byte_level(special=("<eos>",)), byte_level("<eos>", special=("<end>",))
    labels = [TokenTexts(t, 300).label(t.convert_tokens_to_ids("<eos>")) for t in (special, ordinary)]
    assert labels == ["⟦<eos>⟧", "<eos>"]


def test_ids_that_would_look_the_same_have_their_number() -> None:
    tokenizer = byte_level(" a", special=(" b",))
    tokenizer.add_tokens([" a"])  # the same bytes as the ordinary entry, in another spelling
    texts = TokenTexts(tokenizer, 300)
    same = [i for i in range(len(tokenizer)) if texts.token_bytes(i) == b" a"]
    assert [texts.label(i) for i in same] == [f"·a #{i}" for i in same]
    assert len(same) == 2


def test_bytes_of_a_fallback_do_not_look_like_the_letters_they_spell() -> None:
    texts = fallback_texts()
    labels = [
        texts.label(i) for i in ids_of(FALLBACK, "a", "<0x61>", "\n", "<0x0A>", "▁", "<0x20>", "<0x0D>", "<0xC4>")
    ]
    assert labels == ["a", "<61>", "⏎", "<0A>", "·", "<20>", "␍", "<C4>"]


def test_text_that_imitates_a_mark_has_its_number() -> None:
    tokenizer = byte_level("<F0>", "e\u0301", "é", "<F0 9F>")
    texts = TokenTexts(tokenizer, 300)
    assert texts.label(256) == "<F0> #256"
    assert texts.label(0xF0) == "<F0>"
    assert texts.label(257) == "e\u0301 #257"
    assert texts.label(258) == "é"
    assert texts.label(259) == "<F0·9F>"


def test_ids_without_an_entry_are_unused_and_never_an_error() -> None:
    """SD-016: sister models pad the output layer to 152,064 and 151,936 rows over 151,665 entries."""
    texts = TokenTexts(LEVEL, 152_064)
    for token in (151_700, 152_063, 999_999, -1, 2**40):
        assert texts.label(token) == f"unused {token}"
        assert (texts.token_bytes(token), texts.text(token), texts.escaped(token)) == (b"", "", '""')
    assert texts.decode([65, 151_700, 66]) == "AB"
    assert texts.split([151_700, 0xC4, 151_701, 0x8F]) == ("ď", b"")


def test_a_gap_in_the_vocabulary_is_unused() -> None:
    texts = TokenTexts(byte_fallback(), 400)
    assert texts.label(399) == "unused 399"


def test_long_labels_are_cut_and_marks_are_not_torn() -> None:
    tokenizer = byte_level("x" * 500, " " * 30, "ab\u202ecd")
    texts = TokenTexts(tokenizer, 300)
    assert texts.label(256) == "x" * 500
    assert texts.short(256, 10) == "x" * 9 + "…"
    assert texts.short(257, 4) == "···…"
    assert texts.short(258, 8) == "ab…"
    assert texts.short(258, 12) == "ab‹U+202E›cd"
    assert cut("<F0 9F 99>b", 8) == "…"


def test_labels_of_one_axis_that_a_cut_made_alike_are_told_apart() -> None:
    tokenizer = byte_level("example", "exam", "examine")
    texts = TokenTexts(tokenizer, 300)
    assert texts.shorts([256, 257, 258, 256, 65], 4) == ["exa… #256", "exam", "exa… #258", "exa… #256", "A"]


def test_every_token_is_reversible_from_its_escaped_form() -> None:
    for texts, size in ((level_texts(), len(LEVEL)), (fallback_texts(), len(FALLBACK))):
        assert all(unescape(texts.escaped(i)) == texts.token_bytes(i) for i in range(size))


# --- text to ids


def test_the_beginning_token_stands_once() -> None:
    texts = TokenTexts(FALLBACK, len(FALLBACK), bos_id=0)
    a = FALLBACK.convert_tokens_to_ids("a")
    assert texts.encode("a") == [0, a]
    assert texts.encode("<s>a", allow_special=True) == [0, a]
    assert texts.encode("") == [0]
    assert fallback_texts().encode("a") == [a]
    assert fallback_texts().encode("") == []


def test_typed_special_tokens_are_text_unless_asked_for() -> None:
    texts = level_texts()
    end = LEVEL.convert_tokens_to_ids("<end>")
    typed = texts.encode("x<end>")
    assert end not in typed
    assert texts.decode(typed) == "x<end>"
    assert texts.encode("x<end>", allow_special=True) == [ord("x"), end]
    assert texts.encode("x<end>") == typed
    assert texts.is_special(end)
    assert not texts.is_special(65)


@pytest.mark.parametrize("text", ["a\udcffb", "\ud83d", "\ud83d\ude42"])
def test_half_a_surrogate_pair_in_the_prompt_is_no_error(text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert level_texts().decode(level_texts().encode(text)) == whole


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_text_survives_encode_and_decode(text: str) -> None:
    texts = level_texts()
    assert texts.decode(texts.encode(text)) == text


# --- one tokenizer, many threads; size


def test_threads_that_change_the_tokenizers_settings_do_not_collide() -> None:
    """SD-077: fast tokenizers refuse a change of settings while another thread encodes ('Already borrowed')."""
    views = [TokenTexts(LEVEL, 300), TokenTexts(LEVEL, 300)]
    text, failures = "to be or not to be <end> " * 40, []
    expected = {special: views[0].encode(text, allow_special=special) for special in (False, True)}

    def work(n: int) -> None:
        try:
            for turn in range(30):
                special = (turn + n) % 2 == 0
                assert views[n % 2].encode(text, allow_special=special) == expected[special]
                assert views[n % 2].label(turn + n)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_label_does_not_wait_for_a_long_text_to_be_read() -> None:
    """SD-077: the window stood still for seconds while a text of a million characters was encoded elsewhere."""
    texts, other = TokenTexts(LEVEL, 300), TokenTexts(LEVEL, 300)
    text, order = "to be or not to be " * 40_000, []
    reader = threading.Thread(target=lambda: order.append(("read", len(other.encode(text)))))
    reader.start()
    while not other_is_encoding():
        time.sleep(0.001)
    order.append(("label", texts.label(65)))
    reader.join()
    assert order == [("label", "A"), ("read", len(text))]


def other_is_encoding() -> bool:
    """Tell whether some thread holds the lock of encoding."""
    free = text_module._LOCK.acquire(blocking=False)
    if free:
        text_module._LOCK.release()
    return not free


def test_labels_of_a_large_vocabulary_are_cheap() -> None:
    """The survey of a vocabulary runs once, in linear time; the limit is ten times what it takes on an idle machine."""
    words = [f"w{i}".encode() for i in range(50_000)]
    texts = TokenTexts(byte_level(*words), 60_000)
    start = time.process_time()
    labels = [texts.label(i) for i in range(1000)]
    assert time.process_time() - start < 1.5
    again = time.process_time()
    assert [texts.label(i) for i in range(1000)] == labels
    assert time.process_time() - again < 0.1
