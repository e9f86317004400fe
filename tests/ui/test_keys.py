"""The keyboard: the window's keys work wherever the focus is, and typing stays typing."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication

from ui.states import State
from ui.widgets.prompt_dialog import PromptDialog

KEYS = {
    "step": Qt.Key.Key_Space, "round": Qt.Key.Key_R, "play": Qt.Key.Key_P, "back": Qt.Key.Key_Backspace,
    "previous": Qt.Key.Key_Left, "next": Qt.Key.Key_Right, "stop": Qt.Key.Key_Escape, "measure": Qt.Key.Key_M,
}  # fmt: skip
OWN = {"previous", "next"}  # cards, ribbon and timeline move by themselves with the arrow keys


@pytest.fixture
def window(new_window, until, monkeypatch):
    """A window in the middle of a run, so that every key means something; what keys ask for is only noted."""
    window = new_window()
    for rounds in (1, 2, 3):
        window.session.next_round()
        until(lambda rounds=rounds: len(window.session.rounds) == rounds)
    window.session.seek(1)
    window.activateWindow()
    until(lambda: QApplication.activeWindow() is window)
    window.asked = []
    for name, action in window.menus.run.items():
        action.triggered.disconnect()
        action.triggered.connect(lambda _=False, name=name: window.asked.append(name))
    return window


def focus(window, name: str):
    places = {
        "cards": window.stage.cards, "ribbon": window.foot.ribbon, "timeline": window.foot.timeline,
        "a button": window.stage.theory.measure_button, "play": window.transport._buttons["play"],
        "the pair": window.top_line.pair, "a list": window.settings_bar.source,
        "a slider": window.stage.theory.sliders["alpha"]._slider,
        "a number": window.settings_bar._boxes["k"], "a slider's number": window.stage.theory.sliders["c"]._spin,
    }  # fmt: skip
    places[name].setFocus()
    assert places[name].hasFocus()
    return places[name]


@pytest.mark.parametrize("place", ["cards", "ribbon", "timeline", "a button", "play", "the pair", "a list", "a slider"])
def test_every_key_of_the_window_works_from_everywhere(window, qtbot, place):
    moves_itself = place in ("cards", "ribbon", "timeline", "a slider")
    for name, key in KEYS.items():
        widget = focus(window, place)
        window.asked.clear()
        qtbot.keyClick(widget, key)
        assert window.asked == ([] if moves_itself and name in OWN else [name])


@pytest.mark.parametrize("place", ["a number", "a slider's number"])
def test_typing_a_number_triggers_nothing(window, qtbot, place):
    for name in ("step", "round", "play", "back", "previous", "next", "measure"):
        qtbot.keyClick(focus(window, place), KEYS[name])
    assert window.asked == []


def test_typing_in_the_filters_triggers_nothing(window, qtbot, until):
    bar = window.settings_bar
    bar._filter_button.menu().popup(window.mapToGlobal(window.rect().center()))
    until(bar._filter_button.menu().isVisible)
    box = bar._boxes["top_k"]
    box.setFocus()
    qtbot.keyClicks(box, "r p m3")
    qtbot.keyClick(box, Qt.Key.Key_Backspace)
    assert window.asked == []
    bar._filter_button.menu().close()


def test_typing_in_a_dialog_triggers_nothing(window, qtbot, monkeypatch):
    typed = []

    def answer():
        dialog = window.findChild(PromptDialog)
        dialog._edit.clear()
        qtbot.keyClicks(dialog._edit, "r p m")
        typed.append(dialog._edit.toPlainText())
        dialog.accept()

    QTimer.singleShot(50, window, answer)
    window.setup.edit_prompt()
    assert typed == ["r p m"]
    assert window.asked == []
    assert window.session.prompt.text == "r p m"
    assert window.session.state is State.READY


def test_arrow_keys_on_the_cards_go_on_to_the_next_round(window, qtbot):
    """At the first and last card the arrow keys were dead."""
    session, cards = window.session, focus(window, "cards")
    session.seek(1, 1)
    qtbot.keyClick(cards, Qt.Key.Key_Right)
    assert (session.playback.cursor.round, session.playback.cursor.position) == (1, 2)
    for _ in range(6):
        qtbot.keyClick(cards, Qt.Key.Key_Right)
    assert session.playback.cursor.round == 2
    session.choose(1)
    qtbot.keyClick(cards, Qt.Key.Key_Left)
    assert session.playback.cursor.round == 1


def test_the_arrow_keys_elsewhere_go_by_rounds(new_window, until, qtbot):
    window = new_window()
    for rounds in (1, 2):
        window.session.next_round()
        until(lambda rounds=rounds: len(window.session.rounds) == rounds)
    window.activateWindow()
    until(lambda: QApplication.activeWindow() is window)
    button = focus(window, "a button")
    qtbot.keyClick(button, Qt.Key.Key_Left)
    assert window.session.playback.cursor.round == 0
    qtbot.keyClick(button, Qt.Key.Key_Right)
    assert window.session.playback.cursor.round == 1


def test_full_screen_comes_and_goes(window, qtbot, until):
    qtbot.keyClick(focus(window, "cards"), Qt.Key.Key_F11)
    until(window.isFullScreen)
    qtbot.keyClick(focus(window, "a button"), Qt.Key.Key_F11)
    until(lambda: not window.isFullScreen())


def test_escape_ends_what_is_going_on(new_window, until, qtbot):
    window = new_window()
    window.activateWindow()
    until(lambda: QApplication.activeWindow() is window)
    window.session.measure()
    qtbot.keyClick(focus(window, "cards"), Qt.Key.Key_Escape)
    assert window.session.state is State.READY
    window.session.play(True)
    until(lambda: window.session.rounds)
    qtbot.keyClick(focus(window, "cards"), Qt.Key.Key_Escape)
    assert (window.session.state, window.session.playback.playing) == (State.FINISHED, False)
