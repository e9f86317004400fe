"""What is known of the models on this computer while a pair is chosen: found, compared, suggested, free memory.

Knows: what to ask next, and that answers about another target are kept but not waited for. Does not know widgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from simulator.catalog import Entry
from simulator.loading import choose_dtype
from simulator.local.generation_defaults import Suggestion
from simulator.local.memory import needed_bytes
from simulator.local.survey import Devices, Found, Suggested, Suits, compare_job, devices_job, survey_job
from simulator.text.vocabulary import Diagnosis
from ui.asker import Asker


class Survey(QObject):
    """Asks, and keeps the answers."""

    changed = Signal()  # models, devices, or nothing is asked any more
    compared = Signal()  # some drafts with the target

    def __init__(self, asker: Asker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asker = asker
        self._looking = False
        self._compared: Path | None = None  # the target that drafts are being compared with
        self.entries: list[Entry] | None = None  # None: still being looked for
        self.free: dict[str, int | None] = {}  # by device
        self._all_devices = False
        self.left = 0  # drafts still to be compared
        self.problem = ""
        self._fits: dict[tuple[Path, Path], Diagnosis] = {}  # by target and draft
        self._suggestions: dict[Path, Suggestion | None] = {}
        asker.answered.connect(self._take)
        asker.ended.connect(self._end)

    def look(self, recent: Sequence[str]) -> None:
        """Find all models anew."""
        self._looking, self._compared, self.problem = True, None, ""
        self._asker.ask(survey_job(tuple(recent)))

    def compare(self, target: Entry | None, chosen: Entry | None) -> None:
        """Compare the target with all drafts that it was not compared with, the chosen one first."""
        if self._looking or target is None or target.problem or target.path == self._compared:
            return
        self._compared = target.path
        unknown = [e for e in self.entries or () if not e.problem and (target.path, e.path) not in self._fits]
        first = chosen.path if chosen else None
        unknown.sort(key=lambda e: (e.path != first, e.disk_bytes))  # then what is likely to draft
        self.left = len(unknown)
        self._asker.ask(compare_job(target, unknown))

    def fit(self, target: Entry | None, draft: Entry | None) -> Diagnosis | None:
        """Return how two vocabularies compare, None while it is not known."""
        return self._fits.get((target.path, draft.path)) if target and draft else None

    def suggestion(self, target: Entry | None) -> Suggestion | None:
        """Return the sampling that the target's folder suggests, if it does."""
        return self._suggestions.get(target.path) if target else None

    def place(self, device: str, dtype: str) -> tuple[str, str]:
        """Return where a model runs and as what when these are chosen."""
        gpu = next((name for name in self.free if name != "cpu"), "cpu")
        where = gpu if device == "auto" else device
        return where, choose_dtype(dtype, where)

    @staticmethod
    def needed(entry: Entry, dtype: str) -> int | None:
        """Return the bytes a model needs in a dtype as `place` returns it, None where nobody can say."""
        return None if entry.problem else needed_bytes(entry, dtype)

    def _take(self, answers: list[Any]) -> None:
        for answer in answers:
            if isinstance(answer, Found):
                self.entries = list({entry.path: entry for entry in answer.entries}.values())
            elif isinstance(answer, Devices):
                self.free, self._all_devices = answer.free, answer.complete
            elif isinstance(answer, Suggested):
                self._suggestions[answer.target] = answer.suggestion
            elif isinstance(answer, Suits):
                self._fits |= {(answer.target, draft): found for draft, found in answer.by_draft.items()}
                self.left = answer.left
        models = any(isinstance(answer, Found | Devices) for answer in answers)
        (self.changed if models else self.compared).emit()

    def _end(self, error: str, _details: str) -> None:
        looked = self._looking
        self._looking, self.problem, self.left = False, error, 0
        if not looked and not self._all_devices and not error:
            self._all_devices = True  # or as much as will ever be known
            self._asker.ask(devices_job())
        self.changed.emit()
