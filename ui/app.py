"""Start the window: QApplication, palette, font, exception hook. torch is not imported before it is visible."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET
from simulator.prompts import DEFAULT_PROMPT
from simulator.runner import Runner
from ui import theme
from ui.main_window import MainWindow
from ui.session import Session


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


def install_exception_hook(window: MainWindow) -> None:
    """Show what no one caught in the window's notice instead of losing it."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        details = "".join(traceback.format_exception(kind, error, trace))
        if sys.stderr is not None:
            sys.stderr.write(details)
        window.show_problem(f"Something went wrong that SpecScope did not expect: {kind.__name__}: {error}", details)

    sys.excepthook = hook


def main(theme_name: str | None = None) -> int:
    """Show the window, load the bundled pair in the background, run until it is closed."""
    if sys.stderr is None or sys.stdout is None:  # started without a console; libraries write there at import
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    settings = QSettings("SpecScope", "SpecScope")
    app = new_application(theme_name or str(settings.value("theme", "dark")))
    session = Session(Runner(threads=worker_threads()))
    session.configure(prompt=DEFAULT_PROMPT)
    window = MainWindow(session, settings)
    install_exception_hook(window)
    window.show()
    signal.signal(signal.SIGINT, lambda *_: window.close())
    signal.signal(signal.SIGTERM, lambda *_: window.close())
    QTimer.singleShot(0, window, lambda: session.load(DEFAULT_TARGET, DEFAULT_DRAFT))
    return app.exec()
