"""Whatever fails, wherever: one readable notice, and the window goes on working (SD-073)."""

import sys
import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt

from simulator.records import StopReason
from tests.ui.stub import VOCAB, Table, loader, stub_pair
from ui.app import install_exception_hook
from ui.states import State


class Faulty(Table):
    """A target that can be told to fail: by an exception, or by logits that are no distribution."""

    fault: BaseException | str | None = None

    def extend(self, tokens, keep=None):
        if isinstance(self.fault, BaseException):
            raise self.fault
        logits = super().extend(tokens, keep)
        return logits * np.nan if self.fault else logits


@pytest.fixture
def target():
    return Faulty(1)


@pytest.fixture
def window(new_window, target):
    return new_window(pair=stub_pair(target))


@pytest.fixture
def hooked(window):
    """The window with the application's exception hook; tests put back what pytest-qt listens with."""
    before = sys.excepthook
    install_exception_hook(window)
    yield window
    sys.excepthook = before


def works(window, until) -> bool:
    """Tell whether a new run does rounds, after the fault."""
    window.session.reset()
    window.session.next_round()
    until(lambda: window.session.playback.cursor.round == 0)
    return window.transport._buttons["step"].isEnabled()


def test_broken_logits_are_one_sentence_and_the_next_run_works(window, target, until):
    session = window.session
    session.next_round()
    until(lambda: len(session.rounds) == 1)
    target.fault = "nan"
    session.play(True)
    until(window.notice.isVisible)
    assert window.notice.text().startswith("The logits of stub-1 at position 1 of this round are not a distribution")
    assert "\n" not in window.notice.text()
    assert not session.playback.playing
    assert len(session.rounds) == 1
    target.fault = None
    session.next_round()
    until(lambda: len(session.rounds) == 2)  # the run goes on where it was, too
    assert works(window, until)


@pytest.mark.parametrize("fault", [ZeroDivisionError("division by zero"), SystemExit(3), MemoryError(), KeyError("x")])
def test_a_fault_of_a_pass_is_told_with_its_trace_and_the_thread_lives(window, target, until, fault):
    """A library that calls exit() took the inference thread with it, and the window waited for ever."""
    target.fault = fault
    window.session.step()
    until(window.notice.isVisible)
    assert ("memory" if isinstance(fault, MemoryError) else type(fault).__name__) in window.notice._title.text()
    assert "Traceback" in window.notice._details.text()
    assert window.session.state is State.READY
    target.fault = None
    assert works(window, until)


def test_a_fault_while_measuring_ends_it_and_gives_the_run_back(window, target, until):
    session = window.session
    session.next_round()
    until(lambda: len(session.rounds) == 1)
    target.fault = "nan"
    session.measure()
    until(lambda: session.state is State.RUNNING)
    assert window.notice.isVisible()
    assert not window.progress.isVisible()
    assert session.sweep is None
    target.fault = None
    assert works(window, until)


def test_a_fault_while_loading_keeps_the_old_pair(window, until, monkeypatch):
    monkeypatch.setattr("ui.session_busy.load_job", loader({"bad": lambda: OSError("libcuda is missing")}))
    window.session.load("bad", None)
    until(window.notice.isVisible)
    assert "libcuda is missing" in window.notice.text()
    assert works(window, until)


def test_an_exception_in_a_slot_is_shown(hooked, until, monkeypatch):
    def broken(*_):
        raise ValueError("of a slot\nwith a second line")

    plot = hooked.stage.theory.plot
    with monkeypatch.context() as patch:
        patch.setattr(plot, "set_model", broken)
        hooked.stage.theory.sliders["alpha"].setValue(0.31)
    assert hooked.notice._title.text().endswith("ValueError: of a slot")
    assert "Traceback" in hooked.notice._details.text()
    assert works(hooked, until)


def test_an_exception_in_a_paint_handler_is_shown_once_and_painting_goes_on(hooked, qtbot, until, monkeypatch, capsys):
    """A failing paint handler took the process down, or filled the log sixty times a second."""
    cards = hooked.stage.cards
    with monkeypatch.context() as patch:
        patch.setattr(type(cards), "_paint_empty", lambda *_: 1 / 0)
        for _ in range(20):
            cards.update()
            qtbot.wait(5)
        until(hooked.notice.isVisible)
    assert "ZeroDivisionError" in hooked.notice.text()
    assert capsys.readouterr().err.count("Traceback") == 1
    cards.grab()
    assert works(hooked, until)


def test_a_dismissed_error_can_be_told_again(hooked, qtbot):
    for _ in range(2):
        try:
            raise RuntimeError("again")
        except RuntimeError:
            sys.excepthook(*sys.exc_info())
        assert hooked.notice.isVisible()
        qtbot.mouseClick(hooked.notice._dismiss, Qt.MouseButton.LeftButton)
        assert not hooked.notice.isVisible()


def test_a_file_that_cannot_be_written_is_a_notice(window, until, monkeypatch, tmp_path):
    window.session.next_round()
    until(lambda: len(window.session.rounds) == 1)
    for ask in (window.files.export_csv, window.files.save_trace, window.save_picture):
        window.notice.hide()
        path = str(tmp_path / "no" / "such" / "x.csv")
        monkeypatch.setattr("ui.main_window.QFileDialog.getSaveFileName", lambda *_, path=path: (path, ""))
        ask()
        assert window.notice.isVisible()
        assert path in window.notice.text()
    assert works(window, until)


def test_notices_of_a_run_are_all_shown(new_window, until):
    """Of several notices only the last one could be read."""
    pair = stub_pair(draft=Table(2, before=lambda: None))
    pair.draft.model.max_length = len("to be, or not") + 2
    window = new_window(pair=pair, max_new_tokens=12)
    window.session.set_speed(0)
    window.session.play(True)
    until(lambda: window.session.state is State.FINISHED)
    assert window.session.finished.stop is StopReason.BUDGET
    assert window.notice.text() == "The draft's context is full: from here on the target decodes alone."


def test_widgets_are_touched_by_the_main_thread_alone(new_window, until, monkeypatch):
    callers = set()
    window = new_window(pair=stub_pair(Table(1, VOCAB)))
    for name in ("rounds_added", "cursor_changed", "state_changed", "progress_changed", "run_started"):
        getattr(window.session, name).connect(lambda *_: callers.add(threading.current_thread()))
    window.session.next_round()
    until(lambda: len(window.session.rounds) == 1)
    assert callers == {threading.main_thread()}
