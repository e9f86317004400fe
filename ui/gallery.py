"""Every page in fixed states, with real rounds of the bundled pair, saved as PNG.

The pictures of the README and of the design reviews come from here. Runs offscreen unless told otherwise.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from simulator.errors import UserError
from simulator.export import check_writable

STATES = ("empty", "loading", "ready", "drafted", "verified", "rejected", "accepted", "measured", "error")
PAGES = ("stage",)
LIMIT_S = 120.0  # a state that is not reached by then is an error


def shot(page: str, out: str, size: str, theme_name: str, state: str = "measured") -> int:
    """Save one page as a PNG of the given size; raise `UserError` for a page, size, state or file that cannot be."""
    if page not in PAGES:
        raise UserError(f"There is no page '{page}' to picture; choose one of {', '.join(PAGES)}.")
    if state not in STATES:
        raise UserError(f"There is no state '{state}'; choose one of {', '.join(STATES)}.")
    width, height = _parse_size(size)
    if Path(out).suffix.lower() != ".png":
        raise UserError(f"The picture {out} must have a name that ends in .png.")
    check_writable(Path(out))
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    return _shoot(out, width, height, theme_name, state)


def _parse_size(size: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{2,5})x(\d{2,5})", size)
    if not match:
        raise UserError(f"The size '{size}' is not of the form 1600x1000.")
    width, height = int(match[1]), int(match[2])
    if not (640 <= width <= 7680 and 400 <= height <= 4320):
        raise UserError(f"The size {size} is outside 640x400 to 7680x4320.")
    return width, height


def _shoot(out: str, width: int, height: int, theme_name: str, state: str) -> int:
    from ui.app import new_application
    from ui.main_window import MainWindow
    from ui.session import Session

    app = new_application(theme_name)
    session = Session()
    window = MainWindow(session)
    window.resize(width, height)
    window.show()
    problems: list[str] = []
    session.problem.connect(lambda sentence, _: problems.append(sentence))

    def wait(until: Callable[[], object]) -> None:
        limit = time.monotonic() + LIMIT_S
        while not until():
            app.processEvents()
            time.sleep(0.002)
            if problems and state != "error":
                raise UserError(problems[0])
            if time.monotonic() > limit:
                raise UserError(f"The state '{state}' was not reached within {LIMIT_S:g} s.")

    try:
        bring_to(session, window, state, wait)
        settle = time.monotonic() + 0.6  # the big numbers change at most four times a second
        wait(lambda: time.monotonic() > settle)
        if not window.grab().save(out, "PNG"):
            raise UserError(f"The picture {out} could not be written.")
    finally:
        window.close()
    return 0


def bring_to(session, window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Drive the session to a named state, as a person would."""
    from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET
    from simulator.prompts import DEFAULT_PROMPT
    from simulator.records import Kind
    from ui.session import State

    session.configure(prompt=DEFAULT_PROMPT, k=5, seed=11)
    if state == "empty":
        return
    if state == "error":
        session.load(str(Path("no") / "such" / "folder"), None)
        wait(lambda: session.state is State.EMPTY)
        return
    session.load(DEFAULT_TARGET, DEFAULT_DRAFT)
    if state == "loading":
        wait(lambda: session.state is State.LOADING)
        return
    wait(lambda: session.state is State.READY)
    if state == "ready":
        return
    if state in ("drafted", "verified"):
        for _ in range(1 if state == "drafted" else 2):
            at = session.playback.cursor
            session.step()
            wait(lambda at=at: session.playback.cursor != at)
        return
    if state == "measured":
        session.measure()
        wait(lambda: session.state is not State.MEASURING)
        window.stage.theory.snap()
    wanted = Kind.BONUS if state == "accepted" else Kind.RESIDUAL

    def telling() -> bool:
        trace = session.playback.round
        return trace is not None and trace.extra.kind is wanted and (wanted is Kind.BONUS or trace.accepted >= 2)

    for _ in range(40):
        at = session.playback.cursor
        session.next_round()
        wait(lambda at=at: session.playback.cursor != at)
        if telling() and session.playback.cursor.round >= 3:
            return
