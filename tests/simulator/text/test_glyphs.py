from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.text.glyphs import cut, escape, imitates_marks, one_line, unescape, visible
from tests.simulator.text_samples import HIDDEN


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("", "‹empty›"),
        (" ", "·"),
        ("  ", "··"),
        ("a", "a"),
        (" a", "·a"),
        ("\n", "⏎"),
        ("\n\n", "⏎⏎"),
        ("\t", "⇥"),
        ("\r", "␍"),
        ("\r\n", "␍⏎"),
        ("\0", "␀"),
        ("\x1b[31m", "␛[31m"),
        ("\x7f", "␡"),
        ("\x85", "‹U+0085›"),
        ("\u00a0", "‹U+00A0›"),
        ("\u200b", "‹U+200B›"),
        ("\u202eabc", "‹U+202E›abc"),
        ("\u2066", "‹U+2066›"),
        ("\ufeff", "‹U+FEFF›"),
        ("\u3000", "‹U+3000›"),
        ("\u3164", "‹U+3164›"),
        ("❤\ufe0f", "❤‹U+FE0F›"),
        ("\ufffd", "‹U+FFFD›"),
        ("\u0301", "◌\u0301"),
        ("·", "‹U+00B7›"),
        ("‹U+202E›", "‹U+2039›U+202E‹U+203A›"),
        ("⏎", "‹U+23CE›"),
        ("'\"\\", "'\"\\"),
        ("=1", "=1"),
        ("🙂", "🙂"),
        ("中文", "中文"),
        ("\U000e0041", "‹U+E0041›"),
    ],
)
def test_what_cannot_be_seen_has_a_mark(text: str, label: str) -> None:
    assert visible(text.encode()) == label


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("models/a b-é-模型-🦙", "models/a b-é-模型-🦙"),
        ("👩\u200d💻 نمی\u200cخواهم", "👩\u200d💻 نمی\u200cخواهم"),
        ("a\nb\tc", "a⏎b⇥c"),
        ("\u202egpj\u2028", "‹U+202E›gpj‹U+2028›"), ("\udcff\x00\x7f", "‹U+DCFF›␀␡"), ("", ""),
    ],
)  # fmt: skip
def test_a_name_stays_readable_on_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_typed_brackets_do_not_make_a_special_token() -> None:
    assert visible("⟦<eos>⟧".encode()) == "‹U+27E6›<eos>‹U+27E7›"


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=8), st.binary(max_size=8))
def test_different_bytes_never_look_the_same_unless_told_so(a: bytes, b: bytes) -> None:
    if a != b and visible(a) == visible(b):
        assert imitates_marks(a) or imitates_marks(b)


@settings(max_examples=400, deadline=None)
@given(
    st.text(alphabet=st.characters(), max_size=6) | st.text("<>F09 ‹›U+2E·⏎…◌⟦e\u0301é", max_size=6), st.integers(1, 9)
)
def test_visible_text_holds_nothing_unseen_at_any_width(text: str, width: int) -> None:
    shown = visible(text.encode("utf-8", "replace"))
    assert shown
    assert all(unicodedata.category(c)[0] not in "C" for c in shown)
    assert not HIDDEN & (set(shown) - {" "})
    short = cut(shown, width)
    assert len(short) <= width
    assert short == shown or short.endswith("…")


# --- escaped form


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        (b"", '""'),
        (b"007", '"007"'),
        (b"=1", '"=1"'),
        (b'"\\', r'"\"\\"'),
        (b"\n\0", r'"\n\u0000"'),
        ("é🙂".encode(), r'"\u00e9\ud83d\ude42"'),
        (b"\xf0\x9f", r'"\udcf0\udc9f"'),
        ("🙂".encode() + b"\x82", r'"\ud83d\ude42\udc82"'),
    ],
)
def test_the_escaped_form_is_a_json_string(raw: bytes, form: str) -> None:
    assert escape(raw) == form
    assert unescape(form) == raw


@settings(max_examples=500, deadline=None)
@given(st.binary())
def test_any_bytes_survive_the_escaped_form(raw: bytes) -> None:
    form = escape(raw)
    assert unescape(form) == raw
    assert form.isascii()
    assert form.isprintable()
    assert form[0] == form[-1] == '"'


@pytest.mark.parametrize("text", ["", "abc", "1", "null", "[]", '"a', r'"\ud83d"', r'"\udc01"'])
def test_what_is_no_escaped_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (JSON's own, ours and the codec's all serve)
        unescape(text)
