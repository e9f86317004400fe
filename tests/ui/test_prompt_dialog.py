"""The prompt dialog: what is typed comes back to the character, is read in the background, and says what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QMimeData, QSettings, Qt
from PySide6.QtWidgets import QDialogButtonBox

from simulator.commands import metadata
from simulator.text.chat import Chat
from simulator.text.encoding import SHOWN
from simulator.text.prompts import Prompt, presets
from simulator.text.token_text import TokenTexts
from tests.simulator.text_samples import byte_level
from tests.ui.stub import PROMPT, VOCAB, Table, pair_with_start_token, stub_pair
from ui.prompt_memory import KEPT, recent, remember
from ui.states import State
from ui.widgets.prompt_dialog import PromptDialog
from ui.widgets.prompt_edit import LONGEST

CHATML = (
    "{% for m in messages %}{{ '<u>' + m['role'] + '\n' + m['content'] + '<eos>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<u>assistant\n' }}{% endif %}"
)
REFUSING = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML


def chat_pair(template: str = CHATML):
    """Return a stub pair whose tokenizer has a chat template."""
    tokenizer = byte_level(special=("<eos>", "<u>"))
    tokenizer.chat_template = template
    pair = stub_pair(Table(1, VOCAB + 1), Table(2, VOCAB + 1))
    return replace(pair, texts=TokenTexts(tokenizer, VOCAB + 1), chat=Chat(tokenizer, "stub-1"))


@pytest.fixture
def opened(qtbot, until):
    """Open dialogs and wait for their first answer; closed after the test."""
    dialogs = []

    def make(prompt=PROMPT, pair=None, **options) -> PromptDialog:
        dialog = PromptDialog(prompt, pair, **options)
        qtbot.addWidget(dialog)
        dialogs.append(dialog)
        dialog.show()
        settle(dialog)
        return dialog

    def settle(dialog) -> None:
        until(lambda: dialog._reader is None or not dialog._reader.busy)

    make.settle = settle
    yield make
    for dialog in dialogs:
        dialog.reject()
        until(lambda d=dialog: d._reader is None or not d._reader._runner._thread.is_alive())


def ok(dialog) -> bool:
    return dialog._buttons.button(QDialogButtonBox.StandardButton.Ok).isEnabled()


@pytest.mark.parametrize(
    "text",
    ["", "a", "tail \n", "\n\n", "no\u00a0break", "a\r\nb", "🙂 e\u0301 中", "\u2028 line", "tab\tend", "\u202eabc"],
)
def test_a_prompt_comes_back_to_the_character(opened, text):
    assert opened(text).prompt == Prompt(text)


def test_typed_no_break_spaces_and_line_ends_stay_what_they_are(opened, qtbot):
    """Qt's plain text turns no-break spaces into blanks, and Shift+Return types a line separator."""
    edit = opened("")._edit
    edit.insertPlainText("a\u00a0b")
    qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert edit.text == "a\u00a0b\n\n"


def test_the_tokens_are_those_that_a_run_begins_with(opened):
    dialog = opened("to be<eos>", chat_pair())
    assert "special tokens: ⟦<u>⟧ × 2, ⟦<eos>⟧" in dialog._tokens.figures
    ids = dialog._pair.encode(dialog.prompt)
    assert dialog._tokens.figures.startswith(f"{len(ids)} tokens")
    assert list(dialog._reading.head) == [dialog._pair.texts.label(i) for i in ids]
    assert [text for _, text in dialog._tokens._strip.chips()][: len(ids)] == [dialog._pair.texts.label(i) for i in ids]


def test_without_a_template_the_chat_is_off_grey_and_says_why(opened):
    dialog = opened(PROMPT, stub_pair())
    assert (dialog._chat.isEnabled(), dialog._chat.text()) == (False, "Chat template: off")
    assert "has no chat template" in dialog._reason.text()
    assert not dialog._system.isVisible()
    assert dialog.prompt == Prompt(PROMPT)


def test_with_a_template_the_chat_is_on_and_can_be_turned_off(opened):
    dialog = opened(Prompt(PROMPT, "be brief"), chat_pair())
    assert (dialog._chat.text(), dialog._special.isEnabled()) == ("Chat template: on", False)
    assert dialog.prompt == Prompt(PROMPT, "be brief")
    dialog._chat.click()
    assert dialog.prompt == Prompt(PROMPT, "", chat=False)
    assert (dialog._special.isEnabled(), dialog._system.isVisible()) == (True, False)
    opened.settle(dialog)
    assert dialog._tokens.figures.startswith(f"{len(PROMPT)} tokens")
    dialog._chat.click()
    assert dialog.prompt == Prompt(PROMPT, "be brief")


def test_a_refused_system_prompt_is_greyed_with_the_reason(opened):
    dialog = opened(PROMPT, chat_pair(REFUSING))
    assert dialog._chat.isChecked()
    assert not dialog._system.isEnabled()
    assert "no system role" in dialog._reason.text()


def test_special_tokens_are_tokens_only_when_asked_for(opened):
    dialog = opened("x<eos>", stub_pair())
    assert dialog._reading.count == 6
    dialog._special.click()
    opened.settle(dialog)
    assert (dialog._reading.count, dialog._reading.special) == (2, (("⟦<eos>⟧", 1),))
    assert dialog.prompt == Prompt("x<eos>", special=True)


@pytest.mark.parametrize(("pair", "allowed"), [(stub_pair, False), (pair_with_start_token, True)])
def test_an_empty_prompt_is_allowed_only_behind_a_beginning_token(opened, pair, allowed):
    dialog = opened("", pair())
    assert ok(dialog) == allowed
    assert ("no token to begin a text with" in dialog._tokens.trouble) != allowed


def test_a_prompt_that_is_too_long_is_cut_to_its_end_on_request(opened, until):
    pair = stub_pair(Table(1), Table(2))
    pair.target.model.max_length = 100
    dialog = opened("".join(f"{i:03d} " for i in range(60)), pair, new_tokens=40)
    assert not ok(dialog)
    assert "has 240 tokens, but stub-1 reads at most 100" in dialog._tokens.trouble
    assert dialog._tokens._keep.text() == "Keep the last 60 tokens"
    dialog._tokens._keep.click()
    until(lambda: ok(dialog))
    assert dialog.prompt.text == "".join(f"{i:03d} " for i in range(45, 60))
    assert dialog._tokens.trouble == ""
    assert not dialog._tokens._keep.isVisible()


def test_a_file_becomes_the_prompt_or_the_dialog_says_why_not(opened, until, tmp_path):
    dialog = opened("old", stub_pair())
    (tmp_path / "good.txt").write_bytes("\ufeffné\u00a0\r\n".encode())
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    dialog.take_file(tmp_path / "good.txt")
    until(lambda: dialog.prompt.text == "né\u00a0\n")
    opened.settle(dialog)
    dialog.take_file(tmp_path / "bad.txt")
    until(lambda: "is not UTF-8 text" in dialog._tokens.trouble)
    assert dialog.prompt.text == "né\u00a0\n"


def test_a_very_long_text_is_kept_whole_and_shown_at_both_ends(opened, until):
    text = "first" + "x" * 300_000 + "last"
    dialog = opened(text, stub_pair())
    assert dialog.prompt.text == text
    assert dialog._edit.held
    assert len(dialog._edit.toPlainText()) < LONGEST
    assert len(list(dialog._tokens._strip._items())) == 2 * SHOWN + 1
    dialog._clear.click()
    assert (dialog.prompt.text, dialog._edit.held) == ("", False)
    mime = QMimeData()
    mime.setText(text)
    dialog._edit.insertFromMimeData(mime)
    assert dialog.prompt.text == text


def pasted(dialog, text: str) -> None:
    mime = QMimeData()
    mime.setText(text)
    dialog._edit.insertFromMimeData(mime)


@pytest.mark.parametrize("text", ["a" * 4_001, "\n" * 2_000, "ab cd\n" * 4_000, "模型é🦙 " * 1_000])
def test_a_text_that_qt_lays_out_slowly_is_held_whole_however_it_came(opened, text):
    """One line of 50,000 letters took a sixth of a second at every key."""
    dialog = opened("🦙 before|behind")
    assert not dialog._edit.held
    cursor = dialog._edit.textCursor()
    cursor.setPosition(len("🦙 before|") + 1)  # in halves of surrogate pairs
    dialog._edit.setTextCursor(cursor)
    pasted(dialog, text)
    assert dialog._edit.held
    assert dialog.prompt.text == "🦙 before|" + text + "behind"
    assert len(dialog._edit.toPlainText()) < 3_000


def test_pasting_piece_by_piece_ends_in_a_held_text_too(opened):
    dialog = opened("")
    for _ in range(6):
        pasted(dialog, "some words in a line\n" * 160)
    assert dialog._edit.held
    assert dialog.prompt.text == "some words in a line\n" * 160 * 6


def test_the_answer_for_an_older_text_is_dropped(opened):
    dialog = opened("a", stub_pair())
    for text in ("ab", "abc" * 50_000, "four"):
        dialog._edit.set_text(text)
        dialog._reader._ask()  # without the pause
    opened.settle(dialog)
    assert dialog._reading.prompt.text == "four"
    assert dialog._tokens.figures.startswith("4 tokens")


def test_presets_suit_the_model_and_own_prompts_come_first(opened):
    own = Prompt("mine", "be brief")
    dialog = opened(PROMPT, chat_pair(), recent=[own])
    titles = [dialog._presets.itemText(i) for i in range(dialog._presets.count())]
    assert titles[1] == "Yours: mine"
    assert len(titles) == 2 + len(presets("stub-1", chat=True))
    dialog._choose(1)
    assert dialog.prompt == own
    dialog._choose(2)
    assert dialog.prompt == Prompt(presets("stub-1", chat=True)[0].text)


# --- from one start to the next


def test_own_prompts_are_remembered_per_model(tmp_path):
    settings = QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat)
    for i in range(KEPT + 3):
        remember(settings, "a/b", True, Prompt(f"p{i}", "s"))
    remember(settings, "a/b", True, Prompt("p5", "s"))
    remember(settings, "a/b", True, Prompt(presets("a/b", chat=True)[0].text))
    remember(settings, "a/b", True, Prompt("  "))
    kept = [p.text for p in recent(settings, "a/b")]
    assert (kept[:2], len(kept), len(set(kept))) == (["p5", "p10"], KEPT, KEPT)
    assert recent(settings, "other") == []
    assert recent(None, "a/b") == []


@pytest.mark.parametrize("damage", ["", "{", "[1]", '["x"]', '[{"text": 3}]', '[{"strange": 1}]', "null", "7"])
def test_a_damaged_memory_is_empty(tmp_path, damage):
    settings = QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat)
    settings.setValue("prompts/m", damage)
    assert recent(settings, "m") == []


# --- in the window


def test_the_window_shows_whether_the_chat_is_on(new_window):
    window = new_window(pair=chat_pair)
    assert window.top_line.prompt.text() == f"Chat · Prompt: {PROMPT}"
    window.session.configure(prompt=Prompt(PROMPT, "be brief"))
    assert window.top_line.prompt.text() == f"Chat, system prompt · Prompt: {PROMPT}"
    window.session.configure(prompt=Prompt(PROMPT, chat=False))
    assert window.top_line.prompt.text() == f"Chat off · Prompt: {PROMPT}"


def test_a_run_begins_with_the_chat_and_the_export_says_so(new_session, until, monkeypatch):
    monkeypatch.setattr("simulator.commands.content_hash", lambda folder: "")  # the stub lies in none
    session = new_session(pair=chat_pair, prompt=Prompt("hi", "be brief"))
    session.step()
    until(lambda: session.started is not None)
    assert list(session.started.prompt) == session.pair.encode(Prompt("hi", "be brief"))
    assert session.pair.texts.decode(session.started.prompt).endswith("hi<eos><u>assistant\n")
    meta = metadata(session.pair, [session.prompt], session.config, [])
    assert meta["prompts"] == ["hi"]
    assert meta["prompt_settings"] == [{"chat": True, "system": "be brief", "special": False}]


def test_a_prompt_that_the_template_refuses_disables_the_run_and_says_why(new_session):
    session = new_session(pair=lambda: chat_pair(REFUSING), prompt=Prompt("hi", "be brief"))
    assert "takes no system prompt (no system role)" in session.obstacle
    session.step()
    assert session.state is State.READY
    session.configure(prompt=Prompt("hi"))
    assert session.obstacle is None
