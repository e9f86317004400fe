"""Bring the window to a named state, as a person would: the session first, then the page that is pictured.

Knows: what each page shows in which state. Does not know: sizes, themes, files (`gallery`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET
from simulator.errors import UserError
from simulator.grids.grid import Grid
from simulator.records import Kind, Sampling
from simulator.text.prompts import DEFAULT_PROMPT, PRESETS, Prompt
from ui.main_window import MainWindow
from ui.session import Session
from ui.states import State

Wait = Callable[[Callable[[], object]], None]  # lets the window live until something is true


def bring_to(session: Session, window: MainWindow, state: str, wait: Wait) -> None:
    """Drive the session to a named state, as a person would."""
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


def pose_exactness(_session: Session, window: MainWindow, state: str, wait: Wait) -> None:
    """Show the laboratory: asked up to "drafted", answered in "verified", drawn by a wrong or the right rule behind."""
    page = _shown(window, "Exactness")
    if state in ("verified", "rejected", "accepted", "measured"):
        page.answer("residual" if state == "verified" else "")
    rules = {"rejected": ("resample", 100_000), "accepted": ("exact", 1_000_000), "measured": ("exact", 1_000_000)}
    if state in rules:
        rule, draws = rules[state]
        page.rule.choose(rule)
        page.draw(draws)
        wait(lambda: page.experiment.tally.draws > draws // 8 if state == "measured" else not page.experiment.running)


def pose_acceptance(session: Session, window: MainWindow, state: str, wait: Wait) -> None:
    """Show a run's rates up to "verified", then what independence misses, the cut vocabulary, and published numbers."""
    page = _shown(window, "Acceptance")
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


def pose_cost(_session: Session, window: MainWindow, state: str, wait: Wait) -> None:
    """Show the costs, measured where the sweep is."""
    page = _shown(window, "Cost")
    if state == "measured":
        page.measure()
        wait(lambda: page.found is not None)


def pose_race(session: Session, window: MainWindow, state: str, wait: Wait) -> None:
    """Show a race: being measured in "drafted", finished from "verified" on, in the middle of it in "measured".

    "accepted" is greedy; "rejected" too, in bfloat16, where rounding parts the two texts.
    """
    page = _shown(window, "Race")
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


def pose_worth(session: Session, window: MainWindow, state: str, wait: Wait) -> None:
    """Show a finished run's text as read in all states from "drafted" on, and one of its tokens behind "drafted"."""
    page = _shown(window, "Worth it?")
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


def pose_runs(session: Session, window: MainWindow, state: str, wait: Wait) -> None:
    """Show a small grid: going on in "drafted", paused in "verified", complete behind, two of its runs chosen.

    "accepted" is greedy, so that the two texts agree.
    """
    page = _shown(window, "Runs")
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


def _shown(window: MainWindow, title: str) -> QWidget:
    """Bring a page to the front and return it."""
    window.show_page(title)
    return next(view for view in window.views if view.title == title)


def _press(session: Session, button: Callable[[], None], wait: Wait) -> None:
    """Press a button and wait until the cursor has moved."""
    at = session.playback.cursor
    button()
    wait(lambda: session.playback.cursor != at)


def _find_round(session: Session, accepted: bool, wait: Wait) -> None:
    """Go on until a round was fully accepted, or rejected behind two accepted tokens; the next seed where none is."""
    wanted, least = (Kind.BONUS, 0) if accepted else (Kind.RESIDUAL, 2)
    for _ in range(400):
        if session.state is State.FINISHED and session.playback.at_end:
            session.configure(seed=session.config.seed + 1)
        _press(session, session.next_round, wait)
        trace = session.playback.round
        if trace.index >= 3 and trace.extra is not None and trace.extra.kind is wanted and trace.accepted >= least:
            return
    raise UserError("In 400 rounds none was as the picture needs it; choose another state.")


POSES = {
    "exactness": pose_exactness, "acceptance": pose_acceptance, "cost": pose_cost, "race": pose_race,
    "worth": pose_worth, "runs": pose_runs,
}  # fmt: skip
