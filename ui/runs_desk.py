"""The runs that the window has: those that ended on the Stage, those of grid files, and the grid that is going on.

Knows: each run once, what is running, what was paused. Does not know how anything looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from simulator.errors import UserError
from simulator.export import check_writable
from simulator.grids.brief import Brief
from simulator.grids.file import GridFile
from simulator.grids.grid import Grid, count
from simulator.grids.run import grid_job, pair_name
from simulator.records import StopReason
from simulator.text.prompts import Prompt, presets
from ui.grid_files import GridFiles
from ui.run_counter import RunCounter
from ui.session import Session
from ui.states import CAN_RUN, State

CLOSE_S = 1.5


@dataclass
class Going:
    """The grid that is being run, or was paused or opened."""

    grid: Grid
    path: Path
    done: int = 0

    @property
    def wanted(self) -> int:
        """Return how many runs it has in all."""
        return count(self.grid)


class RunsDesk(QObject):
    """Owns the runs; tells of new ones and of every change of the grid."""

    added = Signal(list)  # of Brief
    changed = Signal()  # grid, what is running, what may be done
    noted = Signal(str)  # a sentence worth knowing

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.runs: list[Brief] = []
        self._known: set[tuple[Any, ...]] = set()
        self.going: Going | None = None
        self.running = False
        self._files = GridFiles(self)
        self._files.opened.connect(self._take_opened)
        self._files.written.connect(lambda path: self.noted.emit(self.tr("Written to {path}.").format(path=path)))
        self._files.failed.connect(session.problem)
        self._counter = RunCounter(self)
        self._counter.counted.connect(lambda run: self._add([run]))
        self._counter.failed.connect(session.problem)
        session.answered.connect(self._take_answer)
        session.run_finished.connect(self._take_finished)
        session.state_changed.connect(self._follow_state)
        if session.state is State.FINISHED:  # the run at whose end this was made
            self._take_finished()

    @property
    def free(self) -> bool:
        """Return whether a grid can begin now."""
        return self._session.state in CAN_RUN and self._session.pair is not None

    @property
    def counting(self) -> bool:
        """Return whether a run that has ended is still being counted."""
        return self._counter.busy

    @property
    def left(self) -> bool:
        """Return whether the grid has runs that are not finished."""
        return self.going is not None and self.going.done < self.going.wanted

    def start(self, grid: Grid, path: Path) -> None:
        """Run a grid into its file, or what is left of it."""
        if self.free:
            self.going = Going(grid, path)
            self._session.ask(grid_job(self._session.pair, grid, path))
            self.running = self._session.state is State.MEASURING
            self.changed.emit()

    def pause(self) -> None:
        """Stop behind the runs that are finished; the one in hand is made again later."""
        if self.running:
            self._session.cancel()

    def resume(self) -> None:
        """Go on with the grid that was paused or opened."""
        if self.going is not None:
            self.start(self.going.grid, self.going.path)

    def open(self, path: Path) -> None:
        """Read a grid's file, to look at and to go on with.

        Raises `UserError` while another file is read or written, or a grid is running: it would take that one's place.
        """
        self._check_files()
        if self.running:
            raise UserError(self.tr("A grid is running: pause it before you open another one."))
        self.noted.emit("")
        self._files.open(path)

    def take_run(self, run: Brief, path: Path) -> None:
        """Take a run out of a trace file."""
        self._add([run], path)

    def export(self, path: Path, by: str) -> None:
        """Write all runs as CSV; raise `UserError` where that cannot be."""
        self._check_files()
        if self.counting:
            raise UserError(self.tr("The run that has just ended is still being counted: export again in a moment."))
        check_writable(path)
        grids = [self.going.grid] if self.going is not None else []
        self._files.write(path, list(self.runs), by, {"grids": grids, "rows_by": by or "settings"})

    def speeds(self) -> dict[int, float]:
        """Return tokens per second by k, from the Stage's measurement and this pair's runs, as far as known."""
        s = self._session
        found = {p.k: p.tokens_per_second.median for p in s.sweep.points} if s.sweep else {}
        mine = [r for r in self.runs if s.pair is not None and r.models == pair_name(s.pair)]
        return found | {r.setting.k: r.tokens_per_second for r in mine if r.tokens_per_second}

    def prompts(self) -> list[Prompt]:
        """Return the prompts to offer: the toolbar's, then those that suit the target."""
        s = self._session
        own = [s.prompt] if s.prompt.text else []
        known = presets(s.pair.target.entry.name, s.pair.chat.problem is None)
        texts = {prompt.text for prompt in own}
        return [*own, *(Prompt(p.text) for p in known if p.text not in texts)]

    def close(self) -> bool:
        """Wait for the threads that read, write and count; return whether they ended in time."""
        return all([self._files.close(CLOSE_S), self._counter.close(CLOSE_S)])

    # --- what comes ---

    def _take_answer(self, answer: object) -> None:
        if self.running and isinstance(answer, GridFile):
            self._take_file(answer)
        elif self.running and isinstance(answer, Brief):
            self.going.done += 1
            self._add([answer], self.going.path)
            self.changed.emit()

    def _take_opened(self, file: GridFile) -> None:
        if not self.running:
            self.going = Going(file.grid, file.path)
            self._take_file(file)

    def _take_file(self, file: GridFile) -> None:
        self.going.done = len(file.runs)
        self._add(file.runs, file.path)
        self.noted.emit(" ".join(file.notices))
        self.changed.emit()

    def _take_finished(self) -> None:
        """Take the run that ended on the Stage, unless it was stopped."""
        s, run = self._session, self._session.run
        if run is not None and run.rounds and run.stop not in (StopReason.STOPPED, StopReason.ERROR):
            if s.opened is None:
                self._counter.count(run, pair_name(s.pair), s.prompt, s.texts)
            elif len(run.rounds) > len(s.opened.run.rounds):  # went on here: among the file's, for so are its times
                self._counter.count(run, s.opened.group, s.opened.prompt or s.prompt, s.texts)

    def _add(self, runs: Iterable[Brief], where: Path | None = None) -> None:
        new = []
        for run in runs:
            key = where, run.models, run.prompt, run.setting, run.sampling, run.max_new_tokens
            if key not in self._known:
                self._known.add(key)
                new.append(run)
        if new:
            self.runs += new
            self.added.emit(new)
            self.changed.emit()  # there is something to export now

    def _follow_state(self) -> None:
        self.running = self.running and self._session.state is State.MEASURING
        self.changed.emit()

    def _check_files(self) -> None:
        if self._files.busy:
            raise UserError(self.tr("Another file is still being read or written: wait until that is done."))
