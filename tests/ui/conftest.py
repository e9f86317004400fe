"""Every test of the window cleans up behind itself; sessions and windows with a stub pair."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QTimer, QtMsgType
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QWidget

from tests.ui.stub import PROMPT, loader, stub_pair
from ui import theme
from ui.main_window import MainWindow
from ui.session import Session
from ui.states import State

HARMLESS = (
    "This plugin does not support",  # Qt's offscreen platform, of size hints and stacking
    "Mouse event",  # QtTest, of clicks that a plot lets through to its page
)


@pytest.fixture(autouse=True)
def leaves_nothing_behind(qapp, qtlog):
    """Fail a test that leaves a thread, a running timer or a window alive, or that made Qt complain."""
    before, windows = set(threading.enumerate()), set(_windows())
    yield
    for _ in range(2):  # the second time for what the first one set free
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QApplication.processEvents()
    threads = [t.name for t in set(threading.enumerate()) - before]
    left = {"threads": threads, "timers": _running_timers() and gc.collect() and _running_timers(),
            "windows": [repr(w) for w in _windows() if w not in windows],
            "messages": _complaints(qtlog.records)}  # fmt: skip
    assert not any(left.values()), left
    assert theme.current().name == "dark", "the theme is the application's: put it back"


def _complaints(records) -> list[str]:
    bad = (r.message for r in records if r.type is not QtMsgType.QtDebugMsg)
    return [message for message in bad if not message.startswith(HARMLESS)]


def _windows() -> list[QWidget]:
    return [w for w in QApplication.topLevelWidgets() if w.isVisible() or isinstance(w, QMainWindow | QDialog)]


def _running_timers() -> list[str]:
    timers = (o for o in gc.get_objects() if type(o) is QTimer)
    return [f"{t.interval()} ms of {t.parent()!r}" for t in timers if shiboken6.isValid(t) and t.isActive()]


@pytest.fixture
def until(qtbot):
    """Let the window live until something is true; patient, because other processes must not fail a test."""
    return lambda true: qtbot.waitUntil(lambda: bool(true()), timeout=60_000)


@pytest.fixture
def session():
    """A session with nothing loaded."""
    made = Session()
    yield made
    made.close()
    made.deleteLater()


@pytest.fixture
def new_session(monkeypatch, until):
    """Make sessions with a pair loaded (`pair=None`: nothing); closed after the test."""
    sessions = []

    def make(pair=stub_pair, prompt=PROMPT, **config) -> Session:
        session = Session()
        sessions.append(session)
        session.configure(prompt=prompt, **config)
        if pair is not None:
            monkeypatch.setattr("ui.session_busy.load_job", loader({"stub": pair}))
            session.load("stub", None)
            until(lambda: session.state is State.READY)
        return session

    yield make
    for session in sessions:
        session.close()
        session.deleteLater()


@pytest.fixture
def new_window(new_session, qtbot):
    """Make windows, shown, around sessions as `new_session` makes them."""

    def make(*args, size=(1280, 800), **kwargs) -> MainWindow:
        window = MainWindow(new_session(*args, **kwargs))
        qtbot.addWidget(window)
        assert window.views  # all pages, as a moment after the start
        window.resize(*size)
        window.show()
        qtbot.waitExposed(window)
        return window

    return make


@pytest.fixture
def shown_page(qtbot):
    """Show a page that has a thread of its own, at the room that a window of 1280 x 800 leaves it; ended after it."""
    pages = []

    def show(page: QWidget, before: Callable[[], object] = lambda: None) -> QWidget:
        qtbot.addWidget(page)
        page.resize(1150, 600)
        before()
        page.show()
        qtbot.waitExposed(page)
        pages.append(page)
        return page

    yield show
    assert all(page.shutdown() for page in pages)
