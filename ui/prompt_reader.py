"""Read a prompt in the background while it is typed: how many tokens, which, and whether a run can begin with them.

Knows: when to ask and whose answer counts. Does not know how anything looks. No Qt signal crosses a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.loading import Pair
from simulator.runner import Control, Job, Runner
from simulator.text.encoding import read, shorten
from simulator.text.prompts import Prompt, read_prompt

PAUSE_MS = 120  # after the last key
TICK_MS = 16
CLOSE_S = 0.1  # a text of a million characters is read to its end, but nobody waits for it


class PromptReader(QObject):
    """Answers for the newest prompt only."""

    found = Signal(object)  # a Reading
    shortened = Signal(object)  # a Prompt
    opened = Signal(str)  # the text of a file
    failed = Signal(str)  # a sentence

    def __init__(self, pair: Pair, new_tokens: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pair, self._new_tokens = pair, new_tokens
        self._runner = Runner()
        self._job = 0
        self._next: Prompt | None = None
        self._pause = QTimer(self, interval=PAUSE_MS, singleShot=True)
        self._pause.timeout.connect(self._ask)
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._poll)

    @property
    def busy(self) -> bool:
        """Return whether an answer is on its way."""
        return self._pause.isActive() or self._timer.isActive()

    def read(self, prompt: Prompt) -> None:
        """Ask how this prompt is read, once nothing has been typed for a moment."""
        self._next, self._job = prompt, 0
        self._pause.start()

    def shorten(self, prompt: Prompt, tokens: int) -> None:
        """Ask for the prompt with only its last tokens."""
        self._pause.stop()
        self._submit(_shorten_job(self._pair, prompt, tokens))

    def open(self, path: Path) -> None:
        """Ask for the text of a file, which may lie behind a slow network."""
        self._pause.stop()
        self._submit(_open_job(path))

    def close(self) -> None:
        """Ask for nothing more."""
        self._pause.stop()
        self._timer.stop()
        self._runner.close(CLOSE_S)

    def _ask(self) -> None:
        assert self._next is not None
        self._submit(_read_job(self._pair, self._next, self._new_tokens))

    def _submit(self, job: Job) -> None:
        self._job, _ = self._runner.submit(job)
        self._timer.start()

    def _poll(self) -> None:
        for event in self._runner.take():
            if event.job != self._job:
                continue
            if event.done:
                self._timer.stop()
            if event.error:
                self.failed.emit(event.error)
            elif event.value is not None:
                told = {Prompt: self.shortened, str: self.opened}.get(type(event.value), self.found)
                told.emit(event.value)


def _read_job(pair: Pair, prompt: Prompt, new_tokens: int) -> Job:
    def job(control: Control) -> Iterator[object]:
        yield read(pair, prompt, new_tokens)

    return job


def _open_job(path: Path) -> Job:
    def job(control: Control) -> Iterator[object]:
        yield read_prompt(path)

    return job


def _shorten_job(pair: Pair, prompt: Prompt, tokens: int) -> Job:
    def job(control: Control) -> Iterator[object]:
        yield shorten(pair, prompt, tokens)

    return job
