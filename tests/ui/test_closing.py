"""Closing the window, in whatever it is doing (SD-069): soon, without a word from Qt, nothing left alive."""

import gc
import os
import subprocess
import sys
import threading
import time
from operator import attrgetter
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer

from tests.ui.stub import Table, loader, stub_pair
from ui.main_window import MainWindow
from ui.session import Session
from ui.states import State

WITHIN_S = 5


def slow() -> Table:
    """Return a target that takes a while for each pass."""
    return Table(1, before=lambda: time.sleep(0.05))


@pytest.fixture
def busy(new_window, until, monkeypatch, tmp_path):
    """Bring a window into the named business."""

    def exporting(window):
        monkeypatch.setattr("ui.exporting.write_csv", lambda path, *_: (time.sleep(0.3), Path(path).touch()))
        monkeypatch.setattr("ui.exporting.metadata", lambda *_: {})
        window.session.next_round()
        until(lambda: window.session.rounds)
        window.files.exporter.export(tmp_path / "x.csv", window.session)

    def loading(window):
        monkeypatch.setattr("ui.session_busy.load_job", loader({"slow": stub_pair}, 1000, 0.02))
        window.session.load("slow", None)

    def experimenting(window):
        window.show_page("Exactness")
        page = next(view for view in window.views if view.title == "Exactness")
        window.session.next_round()
        until(lambda: window.session.rounds)
        page.answer("")
        page.draw(1_000_000)
        assert page.experiment.running

    begin = {
        "ready": lambda window: None, "drafting": lambda window: window.session.step(), "loading": loading,
        "playing": lambda window: window.session.play(True), "measuring": lambda window: window.session.measure(),
        "exporting": exporting, "experimenting": experimenting,
    }  # fmt: skip

    def make(name: str):
        window = new_window(pair=stub_pair(slow()))
        begin[name](window)
        return window

    return make


BUSINESS = ["ready", "drafting", "loading", "playing", "measuring", "exporting", "experimenting"]


@pytest.mark.parametrize("name", BUSINESS)
def test_closing_ends_everything_soon(busy, tmp_path, name):
    window, start = busy(name), time.monotonic()
    window.close()
    assert time.monotonic() - start < WITHIN_S
    assert window.ended
    assert not window.isVisible()
    window.close()  # twice quickly
    assert [f.name for f in tmp_path.iterdir()] == (["x.csv"] if name == "exporting" else [])  # no half file


@pytest.mark.parametrize("ask", ["setup.open_pair", "setup.edit_prompt", "files.export_csv", "files.open_trace"])
def test_closing_rejects_what_is_being_asked(busy, ask):
    window = busy("drafting")
    before = window.session.prompt, window.session.pair
    QTimer.singleShot(50, window, window.close)
    attrgetter(ask)(window)()  # returns when the dialog is gone
    assert not window.isVisible()
    assert (window.session.prompt, window.session.pair) == before


def test_a_library_that_heeds_no_stop_does_not_hold_the_window_up(new_window, monkeypatch):
    release, deaf = threading.Event(), threading.Event()
    monkeypatch.setattr("ui.session.CLOSE_S", 0.2)
    window = new_window(pair=None)
    load = {"deaf": lambda: (deaf.set(), release.wait(20), stub_pair())[-1]}
    monkeypatch.setattr("ui.session_busy.load_job", loader(load))
    window.session.load("deaf", None)
    assert deaf.wait(WITHIN_S)  # a job the thread has not begun would be dropped, and that is not what is tested
    start = time.monotonic()
    window.close()
    assert time.monotonic() - start < WITHIN_S
    assert not window.ended  # and the application leaves without waiting for the thread
    release.set()
    window.session.runner.close(20)


def test_settings_are_saved_once_and_damaged_ones_do_no_harm(new_session, qtbot):
    class Settings(dict):
        saved = 0

        def value(self, name, default=None):
            return self.get(name, default)

        def setValue(self, name, value):
            self.saved += 1
            self[name] = value

    for damage in ("", 3, "@ByteArray(\x01)"):
        settings = Settings(geometry=damage)
        window = MainWindow(new_session(pair=None), settings)
        qtbot.addWidget(window)
        window.close()
        window.close()
        assert settings.saved == 1


def test_twenty_windows_come_and_go(qtbot, until, monkeypatch):
    threads = threading.active_count()
    monkeypatch.setattr("ui.session_busy.load_job", loader({"stub": stub_pair}))
    for cycle in range(20):
        window = MainWindow(Session())
        window.show()
        window.session.configure(prompt="to be")
        window.session.load("stub", None)
        if cycle % 2:
            until(lambda window=window: window.session.state is State.READY)
            window.session.play(True)
            until(lambda window=window: window.session.rounds)
        window.close()
        assert window.ended
        window.session.deleteLater()
        window.deleteLater()
        qtbot.wait(1)
    gc.collect()
    assert threading.active_count() == threads


SCRIPT = """
import os, signal, sys, threading
{first}
from PySide6.QtCore import QTimer
import ui.app, ui.session
assert "torch" not in sys.modules, "torch before the window"

class Window(ui.app.MainWindow):
    def showEvent(self, event):
        super().showEvent(event)
        QTimer.singleShot(300, self, lambda: {close})

def load_job(*_, **__):
    def job(control):
        {work}
        yield
    return job

ui.session.load_job, ui.session.CLOSE_S, ui.app.MainWindow, ui.app.worker_threads = load_job, 1.0, Window, lambda: None
sys.exit(ui.app.main("dark"))
"""
WAITING = "[(control.checkpoint(), threading.Event().wait(0.01)) for _ in range(10**6)]"
DEAF = "threading.Event().wait()"
QUIET = "sys.stdout = sys.stderr = None"


@pytest.mark.parametrize(
    ("first", "close", "work"),
    [
        pytest.param("", "os.kill(os.getpid(), signal.SIGTERM)", WAITING, id="by signal, while loading"),
        pytest.param("", "self.close()", DEAF, id="while a library heeds no stop"),
        pytest.param(QUIET, "self.close()", WAITING, id="without a console"),
    ],
)
def test_the_application_leaves_with_status_0_and_says_nothing(tmp_path, first, close, work):
    script = SCRIPT.format(first=first, close=close, work=work)
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)}
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, timeout=120)
    said = [line for line in done.stderr.decode().splitlines() if "does not support propagateSizeHints" not in line]
    assert (done.returncode, done.stdout, said) == (0, b"", [])
