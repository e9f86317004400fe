"""Sliders, buttons, figures and notices: each shows what it is told, and asks once."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from tests.ui.rounds import REJECTED, label
from ui import theme
from ui.widgets.figures import Figure, Figures
from ui.widgets.labelled_slider import LabelledSlider
from ui.widgets.notice import Notice, ProgressNotice
from ui.widgets.reveal import Reveal
from ui.widgets.round_cards import RoundCards
from ui.widgets.timeline import Timeline
from ui.widgets.token_ribbon import TokenRibbon
from ui.widgets.transport_bar import AS_COMPUTED, TransportBar


@pytest.fixture
def slider(qtbot):
    widget = LabelledSlider("acceptance", "alpha", 0, 1, 2, 0.01, "Chance that a draft is kept.", default=0.7)
    qtbot.addWidget(widget)
    return widget


def test_slider_and_number_follow_each_other_without_recursion(slider):
    """SD-067: slider and spin box set each other in circles, and 0.30000000000000004 showed up in labels."""
    heard = []
    slider.value_changed.connect(heard.append)
    for i in range(500):
        (slider._slider, slider._spin)[i % 2].setValue(i * 37 % 101 if i % 2 == 0 else (i * 37 % 101) / 100)
    assert len(heard) == 500
    assert slider.value() == heard[-1] == round(499 * 37 % 101 / 100, 2)
    assert slider._slider.value() == round(100 * slider.value())
    assert slider._spin.value() == slider.value()
    assert all(len(repr(v)) <= 4 for v in heard)


def test_the_signal_is_emitted_only_on_change(slider, qtbot):
    with qtbot.assertNotEmitted(slider.value_changed):
        slider.setValue(0.7)
        slider.setValue(0.7000001)
        slider.setValue(float("nan"))
    with qtbot.waitSignal(slider.value_changed) as caught:
        slider.setValue(7)
    assert caught.args == [1.0]


def test_no_step_drifts(slider):
    slider.setValue(0)
    for i in range(1, 101):
        slider._slider.triggerAction(slider._slider.SliderAction.SliderSingleStepAdd)
        assert slider.value() == round(i / 100, 2)


def test_a_typed_value_between_two_steps_stays(qtbot):
    widget = LabelledSlider("cost", "c", 0, 1, 3, 0.05, "")
    qtbot.addWidget(widget)
    widget._spin.setValue(0.123)
    assert widget.value() == 0.123
    assert widget._slider.value() == 2


def test_whole_numbers_stay_whole(qtbot):
    widget = LabelledSlider("draft length", "k", 0, 16, 0, 1, "", default=4)
    qtbot.addWidget(widget)
    widget._slider.setValue(5)
    assert isinstance(widget.value(), int)
    assert widget._spin.text() == "5"


def test_double_click_on_the_name_resets(slider, qtbot):
    slider.setValue(0.2)
    qtbot.mouseDClick(slider._label, Qt.MouseButton.LeftButton)
    assert slider.value() == 0.7


def test_a_slider_refuses_an_empty_range():
    with pytest.raises(ValueError, match=r"minimum 1 must be below maximum 1"):
        LabelledSlider("x", "", 1, 1)


def test_transport_buttons_follow_the_state_they_are_told(qtbot):
    bar = TransportBar()
    qtbot.addWidget(bar)
    bar.set_state({"step", "play"}, False)
    assert {n for n, b in bar._buttons.items() if b.isEnabled()} == {"step", "play"}
    with qtbot.waitSignal(bar.play_toggled) as caught:
        qtbot.mouseClick(bar._buttons["play"], Qt.MouseButton.LeftButton)
    assert caught.args == [True]
    assert bar._buttons["play"].text() == "Play"  # it changes when told, not when clicked
    bar.set_state({"play"}, True)
    assert bar._buttons["play"].text() == "Pause"


def test_the_speed_is_asked_for_once_and_can_be_set_silently(qtbot):
    bar = TransportBar()
    qtbot.addWidget(bar)
    with qtbot.assertNotEmitted(bar.speed_changed):
        bar.set_speed(5)
    assert bar.speed() == 5
    with qtbot.waitSignal(bar.speed_changed) as caught:
        bar._speed.setCurrentIndex(bar._speed.count() - 1)
    assert caught.args == [AS_COMPUTED]


def test_figures_show_text_and_definition(qtbot):
    grid = Figures()
    qtbot.addWidget(grid)
    grid.set_figures([Figure("2.75", "tokens per round", "emitted / rounds", "both"), Figure("n/a", "alpha", "")])
    grid.set_figures([Figure("2.80", "tokens per round", "emitted / rounds", "both")])
    first, second = grid._cells
    assert first._value.text() == "2.80"
    assert first.toolTip() == "emitted / rounds"
    assert second.isHidden()


def test_a_notice_shows_copies_and_goes(qtbot):
    """SD-073: errors vanished without a word; here they stay readable until dismissed."""
    notice = Notice()
    qtbot.addWidget(notice)
    assert notice.isHidden()
    notice.show_error("The target could not be loaded.", "<b>not bold</b>")
    assert not notice.isHidden()
    notice.copy()
    assert QApplication.clipboard().text() == "The target could not be loaded.\n<b>not bold</b>"
    with qtbot.waitSignal(notice.dismissed):
        qtbot.mouseClick(notice._dismiss, Qt.MouseButton.LeftButton)
    assert notice.isHidden()


def test_cancel_answers_at_once_and_is_ready_the_next_time(qtbot):
    notice = ProgressNotice()
    qtbot.addWidget(notice)
    notice.set_progress("Loading", 0.3)
    with qtbot.waitSignal(notice.cancelled):
        qtbot.mouseClick(notice._cancel, Qt.MouseButton.LeftButton)
    notice.set_progress("Loading", 0.4)
    assert not notice._cancel.isEnabled()
    notice.hide()
    notice.set_progress("Loading", None)
    assert notice._cancel.isEnabled()
    notice.hide()


def test_every_widget_survives_a_change_of_theme_and_font(qtbot):
    """SD-074: hard-coded colours became unreadable when the theme was switched at run time."""
    app, font = QApplication.instance(), QFont(QApplication.font())
    widgets = [RoundCards(), TokenRibbon(label), Timeline(), TransportBar(), Figures(), Notice(), ProgressNotice()]
    try:
        for widget in widgets:
            qtbot.addWidget(widget)
        widgets[0].set_round(REJECTED, Reveal.all_of(REJECTED), label)
        widgets[4].set_figures([Figure("1", "one", "")])
        widgets[5].show_info("Something")
        for name in ("light", "dark"):
            theme.apply(app, name)
            app.setFont(theme.text_font(20 if name == "light" else 8))
            for widget in widgets:
                widget.grab()
        assert theme.current().text in widgets[4]._cells[0]._value.styleSheet() + theme.current().text
    finally:
        app.setFont(font)
