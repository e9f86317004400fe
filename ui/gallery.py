"""Every page in fixed states, with real rounds of the bundled pair, saved as PNG.

Knows: which pages, states and sizes there are. Does not know: how a state is reached (`poses`). The pictures of the
README and of the design reviews come from here. Runs offscreen unless told otherwise.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from simulator.errors import UserError
from simulator.files import check_file

STATES = ("empty", "loading", "ready", "drafted", "verified", "rejected", "accepted", "measured", "error")
PAGES = ("stage", "exactness", "acceptance", "cost", "race", "worth", "runs")
LIMIT_S = 120.0  # a state that is not reached by then is an error


def shot(page: str, out: str, size: str, theme_name: str, state: str = "measured") -> int:
    """Save one page as a PNG of the given size; raise `UserError` for a page, size, state or file that cannot be."""
    if page not in (*PAGES, "pair"):
        raise UserError(f"There is no page '{page}' to picture; choose one of {', '.join(PAGES)}, pair.")
    if page != "pair" and state not in STATES:
        raise UserError(f"There is no state '{state}'; choose one of {', '.join(STATES)}.")
    width, height = _parse_size(size)
    if Path(out).suffix.lower() != ".png":
        raise UserError(f"The picture {out} must have a name that ends in .png.")
    check_file(Path(out))
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if page == "pair":
        from ui.pair_gallery import picture_pair

        picture_pair(out, width, height, theme_name, state)
        return 0
    return _shoot(page, out, width, height, theme_name, state)


def _parse_size(size: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{2,5})x(\d{2,5})", size)
    if not match:
        raise UserError(f"The size '{size}' is not of the form 1600x1000.")
    width, height = int(match[1]), int(match[2])
    if not (640 <= width <= 7680 and 400 <= height <= 4320):
        raise UserError(f"The size {size} is outside 640x400 to 7680x4320.")
    return width, height


def _shoot(page: str, out: str, width: int, height: int, theme_name: str, state: str) -> int:
    from PySide6.QtCore import QCoreApplication, QEvent

    from simulator.runner import Runner
    from ui.app import new_application, worker_threads
    from ui.main_window import MainWindow
    from ui.poses import POSES, bring_to
    from ui.session import Session

    app = new_application(theme_name)
    session = Session(Runner(threads=worker_threads()))  # as the window that it pictures
    window = MainWindow(session)
    assert window.views  # all pages, before anything happens
    window.resize(width, height)
    window.show()
    problems: list[str] = []
    session.problem.connect(lambda sentence, _: problems.append(sentence))
    try:
        wait = partial(_wait, app, problems, state)
        begun = state in ("empty", "loading", "error")
        bring_to(session, window, "ready" if page == "race" and not begun else state, wait)  # it needs no rounds
        if page in POSES:
            POSES[page](session, window, state, wait)
        settle = time.monotonic() + 0.6  # the big numbers change at most four times a second
        wait(lambda: time.monotonic() > settle)
        if not window.grab().save(out, "PNG"):
            raise UserError(f"The picture {out} could not be written.")
    finally:
        window.close()
        for each in (window, session):
            each.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return 0


def _wait(app, problems: list[str], state: str, until: Callable[[], object]) -> None:
    """Let the window live until something is true; raise `UserError` on a problem, or when it takes too long."""
    limit = time.monotonic() + LIMIT_S
    while not until():
        app.processEvents()
        time.sleep(0.002)
        if problems and state != "error":
            raise UserError(problems[0])
        if time.monotonic() > limit:
            raise UserError(f"The state '{state}' was not reached within {LIMIT_S:g} s.")
