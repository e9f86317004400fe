"""What single turns of the event loop cost while a long trace is opened, looked at, saved, ended and closed.

Knows how to drive the window. A turn is one call of `processEvents`, or one act of the person's, in ms of the GUI
thread's own CPU time: what other threads do meanwhile is theirs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from simulator.records import Run, RunFinished, StopReason
from simulator.trace.file import save_trace
from ui.states import State

REPEATS = 5
SETTLE_S = 0.4  # behind an act: with one change of the big numbers in it
PATIENCE_S = 60.0
PAGES = ("Exactness", "Acceptance", "Cost", "Race", "Worth it?", "Runs", "Stage")


class Turns:
    """Acts in a window, each with the longest turn of what follows it."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._longest: dict[str, list[float]] = {}

    def __call__(self, name: str, act: Callable[[], object], done: Callable[[], bool] = lambda: True) -> None:
        """Note the longest turn from an act until `done`, and a moment longer; RuntimeError where it is never done."""
        longest, start = _cost(act), time.monotonic()
        settled: float | None = None
        while settled is None or time.monotonic() < settled:
            longest = max(longest, _cost(self._app.processEvents))
            time.sleep(0.001)  # not counted: a sleeping thread uses no time
            if settled is None and done():
                settled = time.monotonic() + SETTLE_S
            if time.monotonic() - start > PATIENCE_S:
                raise RuntimeError(f"{name}: nothing came of it in {PATIENCE_S:.0f} s")
        self._longest.setdefault(name, []).append(longest)

    def figures(self) -> dict[str, dict[str, float]]:
        """Return median and maximum of each act's longest turns."""
        return {name: {"median": round(median(ms), 1), "max": round(max(ms), 1)} for name, ms in self._longest.items()}


def long_turns(app: Any, window: Any, run: Run, repeats: int = REPEATS) -> dict[str, Any]:
    """Return the longest turns in ms by what was done with a run, which is put into a file for it."""
    turns = Turns(app)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "0.trace"
        save_trace(path, [replace(run, stop=StopReason.STOPPED)], {})
        for repeat in range(repeats):
            path = path.rename(path.with_name(f"{repeat}.trace"))  # another file's runs are other rows of the table
            _look(turns, window, path)
    return {"turn_ms": turns.figures()}


def _look(turns: Turns, window: Any, path: Path) -> None:
    session, runs, desk = window.session, window.pages.view("Runs"), window.pages.view("Runs").desk
    known = len(desk.runs)
    turns("open", lambda: window.files.open(path), lambda: len(desk.runs) > known and not runs.busy)
    for title in PAGES:
        turns(f"page {title}", lambda title=title: window.show_page(title))  # type: ignore[misc]
    window.show_page("Runs")
    turns("row", lambda: runs.choose(desk.runs[known]))
    turns("regroup", lambda: runs.regroup("seed"), lambda: not runs.busy)
    window.show_page("Stage")
    again = path.with_name("again")
    turns("save", lambda: window.files.exporter.save(again, session), lambda: not window.files.exporter.busy)
    turns("end", lambda: _end(session), lambda: len(desk.runs) > known + 1 and not runs.busy)
    turns("close", session.close_file)


def _end(session: Any) -> None:
    """Let the run go on for one round, and end, as if the inference thread had left that."""
    session._enter(State.RUNNING)
    last = session.rounds[-1]
    session.rounds.append(replace(last, index=last.index + 1))
    session.rounds_added.emit(session.rounds[-1:])
    session._finish(RunFinished(StopReason.BUDGET))


def _cost(act: Callable[[], object]) -> float:
    start = time.thread_time()
    act()
    return 1000 * (time.thread_time() - start)
