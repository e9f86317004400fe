"""Counts every acceptance figure of the run on screen; of a long run on a thread of its own.

Knows: that a run which grows meanwhile is counted again, and one that was put away is not told. Does not know: pages.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Signal

from simulator.acceptance.beyond import Evidence, of_acceptance
from simulator.acceptance.body import Acceptance
from simulator.acceptance.from_runs import of_runs
from simulator.records import Run
from simulator.runner import Control
from ui.asker import Asker
from ui.run_counter import AT_ONCE


class Counted(NamedTuple):
    """What was counted, None where no round emitted anything, and how long it took."""

    acceptance: Acceptance | None
    evidence: Evidence | None
    seconds: float


def counted(source: str, run: Run) -> Counted:
    """Count a run, which must not change meanwhile."""
    start = time.monotonic()
    found = of_runs(source, [run]) if any(r.emitted for r in run.rounds) else None
    evidence = of_acceptance(found) if found is not None else None
    return Counted(found, evidence, time.monotonic() - start)


class RunFigures(QObject):
    """Counts the run that it was given last."""

    told = Signal(object)  # Counted
    failed = Signal(str, str)  # a sentence, and details or ""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._next: tuple[str, Run] | None = None
        self._asker = Asker(self)
        self._asker.answered.connect(self._tell)
        self._asker.ended.connect(self._go_on)

    @property
    def busy(self) -> bool:
        """Return whether a run is being counted."""
        return self._asker.busy

    def count(self, source: str, run: Run) -> None:
        """Count this run, a long one once what is being counted is told: asked for often, it would never be."""
        if self.busy:
            self._next = source, run
        elif len(run.rounds) <= AT_ONCE:
            self.told.emit(counted(source, run))
        else:
            self._begin(source, run)

    def drop(self) -> None:
        """Tell nothing more of what was given so far."""
        self._next = None
        self._asker.drop()

    def close(self, timeout: float) -> bool:
        """Stop, and wait for the thread to end, at most `timeout` seconds; return whether it ended."""
        self._next = None
        return self._asker.close(timeout)

    def _begin(self, source: str, run: Run) -> None:
        def job(control: Control) -> Iterator[Counted]:
            yield counted(source, run)

        self._asker.ask(job)

    def _tell(self, found: list[Any]) -> None:
        for each in found:
            self.told.emit(each)

    def _go_on(self, error: str, details: str) -> None:
        following, self._next = self._next, None
        if error:
            self.failed.emit(error, details)
        if following is not None and not self.busy:
            self.count(*following)
