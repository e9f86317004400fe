"""Start the window: QApplication, palette, font, exception hook. torch is not imported before it is visible."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET
from simulator.runner import Runner
from simulator.text.prompts import DEFAULT_PROMPT
from ui import theme
from ui.main_window import MainWindow
from ui.session import Session

# How long the window waits for a thread that computes in Python: with Python's own 5 ms, dozens of times while a frame
# is painted, opening a long file held the window up for half a second.
SWITCH_S = 0.0005


def new_application(theme_name: str = "dark") -> QApplication:
    """Return the application with SpecScope's fonts and colours."""
    app = QApplication.instance() or QApplication(sys.argv[:1])
    app.setApplicationName("SpecScope")
    app.setOrganizationName("SpecScope")
    theme.load_fonts(app)
    theme.apply(app, theme_name)
    return app


def worker_threads() -> int:
    """Return how many threads torch gets while a window is open: all cores but one."""
    return max(1, (os.cpu_count() or 2) - 1)


def spare_collector(session: Session) -> None:
    """Leave what is there with the first pair out of Python's search for cycles, which stops all threads.

    With torch and the window that took a fifth of a second each time. A later pair is not kept by it: it may be large.
    """

    def freeze() -> None:
        session.pair_changed.disconnect(freeze)
        gc.freeze()

    session.pair_changed.connect(freeze)


def install_exception_hook(window: MainWindow) -> None:
    """Show what no one caught in the window's notice instead of losing it."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        details = "".join(traceback.format_exception(kind, error, trace))
        if window.notice.isVisible() and details in window.notice.text():
            return  # a paint handler fails sixty times a second; once is enough to say it
        if sys.stderr is not None:
            sys.stderr.write(details)
        what = f"{kind.__name__}: {(str(error).strip() or 'no further word').splitlines()[0]}"
        text = window.tr("Something went wrong that SpecScope did not expect: {what}")
        window.show_problem(text.format(what=what), details)

    sys.excepthook = hook


def main(theme_name: str | None = None, watch: Callable[[MainWindow], None] = lambda window: None) -> int:
    """Show the window, load the bundled pair in the background, run until it is closed; `watch` sees it first."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # started without a console; libraries write there at import
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    settings = QSettings("SpecScope", "SpecScope")
    app = new_application(theme_name or str(settings.value("theme", "dark")))
    session = Session(Runner(threads=worker_threads()))
    session.configure(prompt=DEFAULT_PROMPT)
    window = MainWindow(session, settings)
    install_exception_hook(window)
    spare_collector(session)
    watch(window)
    window.show()
    signal.signal(signal.SIGINT, lambda *_: window.close())
    signal.signal(signal.SIGTERM, lambda *_: window.close())
    QTimer.singleShot(0, window, lambda: session.load(DEFAULT_TARGET, DEFAULT_DRAFT))
    sys.setswitchinterval(SWITCH_S)
    status = app.exec()
    if not window.ended:
        os._exit(status)  # a library that heeds no stop would crash in the interpreter's shutdown
    return status
