"""Every page in fixed states, with real rounds of the bundled pair, saved as PNG.

The pictures of the README and of the design reviews come from here. Runs offscreen unless told otherwise.
"""

from __future__ import annotations

import os
import re
import tempfile
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
        if page == "exactness":
            pose_exactness(window, state, wait)
        if page == "acceptance":
            pose_acceptance(session, window, state, wait)
        if page == "cost":
            pose_cost(window, state, wait)
        if page == "race":
            pose_race(session, window, state, wait)
        if page == "worth":
            pose_worth(session, window, state, wait)
        if page == "runs":
            pose_runs(session, window, state, wait)
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


def bring_to(session, window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Drive the session to a named state, as a person would."""
    from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET
    from simulator.text.prompts import DEFAULT_PROMPT
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
    for _ in range(("ready", "drafted", "verified").index(state) if state in ("drafted", "verified") else 0):
        _press(session, session.step, wait)
    if state == "measured":
        session.measure()
        wait(lambda: session.state is not State.MEASURING)
        window.stage.theory.snap()
    if state in ("rejected", "accepted", "measured"):
        _find_round(session, state == "accepted", wait)


def pose_exactness(window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Show the laboratory: asked up to "drafted", answered in "verified", drawn by a wrong or the right rule behind."""
    page = next(view for view in window.views if view.title == "Exactness")
    window.show_page(page.title)
    if state in ("verified", "rejected", "accepted", "measured"):
        page.answer("residual" if state == "verified" else "")
    rules = {"rejected": ("resample", 100_000), "accepted": ("exact", 1_000_000), "measured": ("exact", 1_000_000)}
    if state in rules:
        rule, draws = rules[state]
        page.rule.choose(rule)
        page.draw(draws)
        wait(lambda: page.experiment.tally.draws > draws // 8 if state == "measured" else not page.experiment.running)


def pose_acceptance(session, window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Show a run's rates up to "verified", then what independence misses, the cut vocabulary, and published numbers."""
    from ui.session import State

    page = next(view for view in window.views if view.title == "Acceptance")
    window.show_page(page.title)
    if state not in ("verified", "rejected", "accepted", "measured"):
        return
    session.set_speed(0)
    session.play(True)
    wait(lambda: session.state is State.FINISHED and session.playback.at_end)
    tabs = {"verified": page.rates, "measured": page.rates, "rejected": page.addup, "accepted": page.beyond}
    page.tabs.setCurrentWidget(tabs[state])
    if state == "rejected":
        page.read_rows()
        wait(lambda: session.state is not State.MEASURING)
        page.addup.choose(session.pair.target.model.vocab // 8)


def pose_cost(window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Show the costs, measured where the sweep is."""
    page = next(view for view in window.views if view.title == "Cost")
    window.show_page(page.title)
    if state == "measured":
        page.measure()
        wait(lambda: page.found is not None)


def pose_race(session, window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Show a race: being measured in "drafted", finished from "verified" on, in the middle of it in "measured".

    "accepted" is greedy; "rejected" too, in bfloat16, where rounding parts the two texts.
    """
    from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET
    from simulator.records import Sampling
    from ui.session import State

    page = next(view for view in window.views if view.title == "Race")
    window.show_page(page.title)
    if state not in ("drafted", "verified", "rejected", "accepted", "measured"):
        return
    if state == "rejected":
        session.load(DEFAULT_TARGET, DEFAULT_DRAFT, dtype="bfloat16")
        wait(lambda: session.state is State.READY)
    session.configure(max_new_tokens=120, sampling=Sampling(float(state not in ("rejected", "accepted"))))
    page.measure()
    if state == "drafted":
        wait(lambda: page.tracks.underway is not None and page.tracks.underway.speculative)
        return
    wait(lambda: page.race is not None and session.state is not State.MEASURING)
    page.pause()
    page.seek(page.race.ms * (0.6 if state == "measured" else 1.0))


def pose_worth(session, window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Show a finished run's text as read in all states from "drafted" on, and one of its tokens behind "drafted"."""
    from ui.session import State

    page = next(view for view in window.views if view.title == "Worth it?")
    window.show_page(page.title)
    if state not in ("drafted", "verified", "rejected", "accepted", "measured"):
        return
    session.configure(max_new_tokens=200)
    session.set_speed(0)
    session.play(True)
    wait(lambda: session.state is State.FINISHED and session.playback.at_end)
    page.analyse_run()
    wait(lambda: session.state is not State.MEASURING)
    if state != "drafted":
        page.choose(12)
        wait(lambda: session.state is not State.MEASURING)


def pose_runs(session, window, state: str, wait: Callable[[Callable[[], object]], None]) -> None:
    """Show a small grid: going on in "drafted", paused in "verified", complete behind, two of its runs chosen.

    "accepted" is greedy, so that the two texts agree.
    """
    from simulator.grids.grid import Grid
    from simulator.text.prompts import DEFAULT_PROMPT, PRESETS, Prompt

    page = next(view for view in window.views if view.title == "Runs")
    window.show_page(page.title)
    if state not in ("drafted", "verified", "rejected", "accepted", "measured"):
        return
    prompts = Prompt(DEFAULT_PROMPT), Prompt(PRESETS[1])
    temperature = 0.0 if state == "accepted" else 1.0
    grid = Grid(prompts, (0, 1), (0, 1, 2, 3, 4, 6), (temperature,), max_new_tokens=48)
    with tempfile.TemporaryDirectory() as folder:
        page.desk.start(grid, Path(folder) / "grid.jsonl")
        wait(lambda: len(page.desk.runs) >= (8 if state in ("drafted", "verified") else page.desk.going.wanted))
        if state == "verified":
            page.desk.pause()
        if state == "drafted":
            return
        wait(lambda: not page.desk.running and sum(len(g.runs) for g in page.model.groups) == len(page.desk.runs))
    page.choose(*(r for r in page.desk.runs if r.setting.k in (2, 4) and (r.setting.prompt, r.setting.seed) == (0, 0)))


def _press(session, button: Callable[[], None], wait: Callable[[Callable[[], object]], None]) -> None:
    """Press a button and wait until the cursor has moved."""
    at = session.playback.cursor
    button()
    wait(lambda: session.playback.cursor != at)


def _find_round(session, accepted: bool, wait: Callable[[Callable[[], object]], None]) -> None:
    """Go on until a round was fully accepted, or rejected behind two accepted tokens; the next seed where none is."""
    from simulator.records import Kind
    from ui.session import State

    wanted, least = (Kind.BONUS, 0) if accepted else (Kind.RESIDUAL, 2)
    for _ in range(400):
        if session.state is State.FINISHED and session.playback.at_end:
            session.configure(seed=session.config.seed + 1)
        _press(session, session.next_round, wait)
        trace = session.playback.round
        if trace.index >= 3 and trace.extra is not None and trace.extra.kind is wanted and trace.accepted >= least:
            return
    raise UserError("In 400 rounds none was as the picture needs it; choose another state.")
