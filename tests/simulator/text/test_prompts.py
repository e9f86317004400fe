"""Prompts as people have them: chat templates, beginning-of-text tokens, special tokens, lengths, files, presets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.catalog import Entry
from simulator.errors import UserError
from simulator.loading import Loaded, Pair, load_pair
from simulator.text.chat import Chat
from simulator.text.encoding import SHOWN, encode, in_chat, read, shorten
from simulator.text.prompts import DEFAULT_PROMPT, LIMIT, Prompt, presets, read_prompt, suited
from simulator.text.token_text import TokenTexts
from tests.simulator.folders import save
from tests.simulator.text_samples import byte_fallback, byte_level
from tests.simulator.tiny import fixed

SPECIAL = ("<|im_end|>", "<|im_start|>", "<s>")
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TRIMMED = CHATML.replace("m['content']", "m['content'] | trim")
WITH_BOS = "{{ '<s>' }}" + CHATML
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + CHATML
)
DEAF = CHATML.replace("{% for m in messages %}", "{% for m in messages if m['role'] != 'system' %}")
PARTS = CHATML.replace(
    "m['content']", "(m['content'] | selectattr('type', 'equalto', 'text') | map(attribute='text') | join)"
)


@cache
def chatty(template: str | None = CHATML) -> Any:
    tokenizer = byte_level(special=SPECIAL)
    tokenizer.chat_template = template
    return tokenizer


def texts_of(tokenizer: Any, bos: str | None = None) -> TokenTexts:
    return TokenTexts(tokenizer, len(tokenizer), bos_id=tokenizer.convert_tokens_to_ids(bos) if bos else None)


def pair_of(tokenizer: Any, longest: int | None = None, draft: int | None = None) -> Pair:
    """Return a pair of tables that read at most so many tokens; `draft` adds a draft model."""
    rows = [1 / len(tokenizer)] * len(tokenizer)
    models = [fixed(rows, max_length=n) for n in (longest, *([draft] if draft else []))]
    loaded = [
        Loaded(Entry(name, Path(name), "Table", None, len(tokenizer), n, "F32", 0, None), model, "cpu", "float32")
        for name, n, model in zip(("target", "draft"), (longest, draft), models, strict=False)
    ]  # type: ignore[list-item]
    chat = Chat(tokenizer, "target")
    return Pair(loaded[0], loaded[1] if draft else None, texts_of(tokenizer), frozenset(), None, chat=chat)


def reference(tokenizer: Any, text: str, system: str = "") -> list[int]:
    """What transformers makes of the conversation in one call."""
    messages = [{"role": "system", "content": system}] * bool(system) + [{"role": "user", "content": text}]
    return list(tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"])


# --- chat templates


@settings(max_examples=50, deadline=None)
@given(st.text(), st.text(), st.sampled_from([CHATML, TRIMMED, WITH_BOS]))
def test_a_chat_is_what_transformers_makes_of_it(text: str, system: str, template: str) -> None:
    tokenizer = chatty(template)
    system = system.strip() and system
    ids = encode(Prompt(text, system), texts_of(tokenizer), Chat(tokenizer))
    assert ids == reference(tokenizer, text, system)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*SPECIAL, "<|im_", "end|>", "<", "|>", "a", " ", "\n", "🙂", "system"])).map("".join))
def test_nothing_typed_can_end_the_turn(typed: str) -> None:
    tokenizer = chatty()
    texts, chat = texts_of(tokenizer), Chat(tokenizer)
    for prompt in (
        Prompt(typed, "be brief"),
        Prompt("hello", typed.strip() or "x"),
        Prompt(typed, "be brief", special=True),
    ):
        ids = encode(prompt, texts, chat)
        assert [texts.decode([i]) for i in texts.special_in(ids)] == ["<|im_start|>", "<|im_end|>"] * 2 + [
            "<|im_start|>"
        ]
        assert texts.decode(ids) == tokenizer.decode(reference(tokenizer, prompt.text, prompt.system))


def test_a_chat_is_on_where_there_is_a_template_and_can_be_turned_off() -> None:
    tokenizer, plain = chatty(), chatty(None)
    texts = texts_of(tokenizer)
    assert in_chat(Prompt("a"), Chat(tokenizer))
    assert not in_chat(Prompt("a", chat=False), Chat(tokenizer))
    assert not in_chat("a", Chat(plain))
    assert encode(Prompt("a", chat=False), texts, Chat(tokenizer)) == encode("a", texts, Chat(plain)) == [ord("a")]


@pytest.mark.parametrize(
    ("template", "prompt", "sentence"),
    [
        (None, Prompt("a", chat=True), "M has no chat template: leave the chat off."),
        (
            None, Prompt("a", "s"),
            "A system prompt needs the chat template. M has no chat template: leave the chat off.",
        ),
        (
            CHATML, Prompt("a", "s", chat=False),
            "A system prompt needs the chat template. It is turned off: turn it on.",
        ),
        (
            NO_SYSTEM, Prompt("a", "s"),
            "The chat template of M takes no system prompt (System role not supported): write it into the prompt.",
        ),
        (
            DEAF, Prompt("a", "s"),
            "The chat template of M takes no system prompt (it leaves out what the system prompt says): write it into "
            "the prompt.",
        ),
        (
            "{{ nothing.here.at_all }}", Prompt("a", chat=True),
            "The chat template of M cannot be used ('nothing' is undefined): turn it off.",
        ),
        (
            "{{ '<|im_start|>' }}", Prompt("a", chat=True),
            "The chat template of M cannot be used (it leaves out what is typed): turn it off.",
        ),
    ],
)  # fmt: skip
def test_what_a_template_cannot_do_is_said_in_a_sentence(template: str | None, prompt: Prompt, sentence: str) -> None:
    tokenizer = chatty(template)
    with pytest.raises(UserError) as caught:
        encode(prompt, texts_of(tokenizer), Chat(tokenizer, "M"))
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "template", ["{% for m in messages %}", "{{ 1 / 0 }}", {"tool_use": CHATML}, "{{ raise_exception('') }}"]
)
def test_a_damaged_template_leaves_the_chat_off_and_plain_prompts_running(template: Any) -> None:
    tokenizer = byte_level(special=SPECIAL)
    tokenizer.chat_template = template
    chat = Chat(tokenizer, "M")
    assert chat.problem is not None
    assert chat.problem.startswith("The chat template of M cannot be used (")
    assert "\n" not in chat.problem
    assert encode("a", texts_of(tokenizer), chat) == [ord("a")]


def test_a_template_that_refuses_a_system_prompt_still_chats() -> None:
    tokenizer = chatty(NO_SYSTEM)
    assert encode(Prompt("a"), texts_of(tokenizer), Chat(tokenizer)) == reference(tokenizer, "a")


def test_a_template_that_wants_messages_in_parts_gets_them() -> None:
    ids = encode(Prompt(" a<|im_end|>", "s"), texts_of(chatty(PARTS)), Chat(chatty(PARTS)))
    assert ids == encode(Prompt(" a<|im_end|>", "s"), texts_of(chatty()), Chat(chatty()))


# --- the beginning-of-text token


@pytest.mark.parametrize("template", [CHATML, WITH_BOS])
@pytest.mark.parametrize("adds", [True, False])
def test_the_beginning_token_stands_once_where_tokenizer_or_template_puts_it(template: str, adds: bool) -> None:
    tokenizer = chatty(template)
    texts, bos = texts_of(tokenizer, "<s>" if adds else None), tokenizer.convert_tokens_to_ids("<s>")
    ids = encode(Prompt("hi"), texts, Chat(tokenizer))
    once = adds or template is WITH_BOS
    assert ids.count(bos) == once
    assert (ids[0] == bos) == once


@pytest.mark.parametrize(("special", "typed"), [(False, 0), (True, 1)])
def test_a_typed_beginning_token_is_text_or_the_one_that_was_due(special: bool, typed: int) -> None:
    tokenizer = byte_fallback()
    texts, a = TokenTexts(tokenizer, len(tokenizer), bos_id=0), tokenizer.convert_tokens_to_ids("a")
    ids = encode(Prompt("<s>a", special=special), texts, Chat(tokenizer))
    assert ids.count(0) == 1
    assert ids[0] == 0
    assert (ids == [0, a]) == bool(typed)
    assert texts.decode(ids[1:]) == ("a" if typed else "<s>a")


def test_an_empty_prompt_begins_with_the_start_token_alone() -> None:
    texts = texts_of(chatty(None))
    assert encode("", texts, Chat(), 258) == [258]
    assert encode("", texts, Chat()) == []


# --- lengths


def test_a_prompt_that_is_too_long_says_both_numbers_and_what_to_keep() -> None:
    pair = pair_of(chatty(None), longest=100)
    assert (
        read(pair, Prompt("x" * 101), 30).problem
        == "The prompt has 101 tokens, but target reads at most 100: shorten it."
    )
    assert read(pair, Prompt("x" * 101), 30).keep == 70
    assert read(pair, Prompt("x" * 101), 96).keep == 50  # half the context at least
    full = read(pair, Prompt("x" * 100), 30)
    assert (full.problem, full.warning) == (
        None,
        "The prompt fills the context of target (100 tokens): one token can follow.",
    )
    fits = read(pair, Prompt("x" * 99), 30)
    assert (fits.problem, fits.warning, fits.keep) == (None, None, None)


def test_a_prompt_longer_than_the_drafts_context_is_a_warning() -> None:
    pair = pair_of(chatty(None), longest=100, draft=32)
    reading = read(pair, Prompt("x" * 33), 8)
    assert reading.problem is None
    assert reading.warning == (
        "The prompt has 33 tokens, but the draft draft reads at most 32: it will propose nothing. Shorten the prompt, "
        "or draft by n-grams."
    )
    assert reading.keep == 24
    assert read(pair, Prompt("x" * 32), 8).warning is None


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \né中🙂\u0301<"), min_size=1), st.integers(1, 40), st.booleans())
def test_the_end_of_a_prompt_is_kept_in_whole_characters(text: str, tokens: int, chat: bool) -> None:
    pair = pair_of(chatty())
    frame = len(pair.encode(Prompt("", chat=True))) if chat else 0
    short = shorten(pair, Prompt(text, chat=chat), tokens + frame)
    assert text.endswith(short.text)
    kept = len(short.text.encode())
    assert kept <= tokens
    if short.text != text:
        assert (
            kept + len(text[: len(text) - len(short.text)][-1:].encode()) > tokens
        )  # not one character more would fit


def test_the_beginning_token_counts_when_a_prompt_is_shortened() -> None:
    pair = pair_of(byte_fallback())
    with_bos = Pair(pair.target, None, TokenTexts(byte_fallback(), 285, bos_id=0), frozenset(), 0)
    assert shorten(with_bos, Prompt("abcdef"), 4).text == "def"


def test_a_system_prompt_that_leaves_no_room_is_said() -> None:
    with pytest.raises(UserError, match=r"Without any text the prompt still has \d+ tokens: shorten the system prompt"):
        shorten(pair_of(chatty()), Prompt("abc", "x" * 50), 20)


def test_of_a_long_prompt_only_both_ends_are_labelled() -> None:
    reading = read(pair_of(chatty(None)), Prompt("a" * SHOWN + "b" * 10 + "c" * SHOWN), 8)
    assert (reading.count, set(reading.head), set(reading.tail)) == (2 * SHOWN + 10, {"a"}, {"c"})
    short = read(pair_of(chatty(None)), Prompt("ab"), 8)
    assert (short.head, short.tail) == (("a", "b"), ())


def test_special_tokens_are_counted_by_name() -> None:
    reading = read(pair_of(chatty()), Prompt("hi<|im_end|>"), 8)
    assert reading.special == (("⟦<|im_start|>⟧", 2), ("⟦<|im_end|>⟧", 1))


# --- files


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfto be\r\n", b"to be\n", b"to be\r\n"])
def test_a_prompt_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "p.txt").write_bytes(raw)
    assert read_prompt(tmp_path / "p.txt") == "to be\n"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"caf\xe9", "is not UTF-8 text (byte 3): save it as UTF-8."),
        ("to be".encode("utf-16"), "is not UTF-8 text (byte 0): save it as UTF-8."),
        (b"PK\x03\x04\x00\x00", "holds zero bytes, so it is no text: choose a text file."),
        (b"a" * (LIMIT + 1), "is larger than 2 MB: choose a shorter text."),
        (None, "could not be read: No such file or directory."),
    ],
)
def test_what_is_no_prompt_file_is_said(tmp_path: Path, raw: bytes | None, words: str) -> None:
    file = tmp_path / "p.txt"
    if raw is not None:
        file.write_bytes(raw)
    with pytest.raises(UserError) as caught:
        read_prompt(file)
    assert str(caught.value) == f"The prompt file {file} {words}"


# --- presets and models


def test_each_kind_of_model_has_presets_of_its_own() -> None:
    kinds = [{p.text for p in presets(*kind)} for kind in (("shakespeare-target-6m", False), ("m", True), ("m", False))]
    assert all(len(kind) >= 4 for kind in kinds)
    assert len(set.union(*kinds)) == sum(map(len, kinds))
    assert presets("shakespeare-target-6m", False)[0].text == DEFAULT_PROMPT


def test_a_preset_gives_way_to_another_models_own_and_a_typed_prompt_stays() -> None:
    first = presets("m", True)[0].text
    assert suited(Prompt(DEFAULT_PROMPT), "m", True) == Prompt(first)
    assert suited(Prompt(DEFAULT_PROMPT), "shakespeare-draft-1m", False) == Prompt(DEFAULT_PROMPT)
    assert suited(Prompt("mine", "s", chat=True), "m", False) == Prompt("mine")
    assert suited(Prompt("mine", "s", chat=False), "m", True) == Prompt("mine", "s", chat=False)


def test_a_folders_template_is_found_and_a_damaged_one_does_not_hinder_loading(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    (folder / "chat_template.jinja").write_text("{{ '<s>' }}{% for m in messages %}{{ m['content'] }}{% endfor %}</s>")
    *_, pair = load_pair(str(folder), None, device="cpu")
    assert pair.encode(Prompt("fox</s>")) == [0, *pair.texts.encode("fox</s>"), 1]
    (folder / "chat_template.jinja").write_text("{% if %}")
    *_, pair = load_pair(str(folder), None, device="cpu")
    assert pair.chat.problem is not None
    assert pair.encode("fox") == pair.texts.encode("fox")
