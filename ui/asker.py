"""Questions answered on a thread of their own, polled by a timer; no Qt signal crosses a thread.

Knows: which question is the last one; answers to earlier ones are dropped. Does not know what is asked.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from simulator.runner import Control, Job, Runner

TICK_MS = 100  # text that changes more often cannot be read
ANSWERS = 64  # taken a tick at most


class Asker(QObject):
    """Runs one job at a time; asking anew stops the one before."""

    answered = Signal(list)  # what the job has yielded since the last tick
    ended = Signal(str, str)  # the job is over: "" or why it failed in a sentence, and details or ""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner: Runner | None = None
        self._job, self._control = 0, None
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self.poll)

    @property
    def busy(self) -> bool:
        """Return whether an answer is awaited."""
        return self._control is not None

    def ask(self, job: Job) -> None:
        """Run this job; what an earlier one still says is dropped."""
        self._runner = self._runner or Runner()
        self._job, self._control = self._runner.submit(job)
        self._timer.start()

    def drop(self) -> None:
        """Stop asking, without waiting for the thread to notice."""
        control: Control | None = self._control
        if control is not None:
            control.stop()
        self._job, self._control = 0, None
        self._timer.stop()

    def close(self, timeout: float) -> bool:
        """Stop, and wait for the thread to end, at most `timeout` seconds; return whether it ended."""
        self.drop()
        return self._runner is None or self._runner.close(timeout)

    def poll(self) -> None:
        """Take over what the thread has left."""
        events = [event for event in self._runner.take(ANSWERS) if event.job == self._job] if self._runner else []
        job, answers = self._job, [event.value for event in events if event.value is not None]
        if answers:
            self.answered.emit(answers)
        for event in events:
            if event.done and self._job == job:  # whoever was told may have asked something new
                self.drop()
                self.ended.emit(event.error or "", event.details or "")
