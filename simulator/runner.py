"""The one inference thread: it runs jobs (generators) and leaves what they yield in a deque.

Knows threads, stop, pause and step. Does not know models, Qt, or what a job is about.

Loading and running share the thread because inference mode and the current CUDA device belong to a
thread, and because two runs must not share a cache. The window polls `take()` on a timer: no signal
crosses a thread.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from simulator.engine import Stopped
from simulator.errors import UserError


class Control:
    """What the person wants of the running job: stop it, or let it do so many rounds."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._stopped = False
        self._started, self._allowed = 0, 0

    def stop(self) -> None:
        """Ask the job to end at its next checkpoint."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def allow_up_to(self, rounds: int) -> None:
        """Let the job start rounds until it has started this many in all; fewer than it has started = pause."""
        with self._condition:
            if rounds != self._allowed:  # asked sixty times a second: the thread is woken only for something new
                self._allowed = rounds
                self._condition.notify_all()

    def checkpoint(self) -> None:
        """Raise `Stopped` when a stop was asked for; called between forward passes."""
        if self._stopped:
            raise Stopped

    def wait_for_permit(self) -> None:
        """Block until one more round is allowed; raise `Stopped` on a stop."""
        with self._condition:
            self._condition.wait_for(lambda: self._stopped or self._started < self._allowed)
            self._started += 1
        self.checkpoint()


Job = Callable[[Control], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something a job yielded, or its end. `job` tells whose it is: answers to old questions are dropped."""

    job: int
    value: Any = None
    done: bool = False
    error: str | None = None  # a sentence
    details: str | None = None  # the traceback of an unexpected error


class Runner:
    """A long-lived daemon thread that works through submitted jobs in order."""

    def __init__(self, threads: int | None = None) -> None:
        self._jobs: deque[tuple[int, Job, Control]] = deque()
        self._events: deque[JobEvent] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._last = 0
        self._current: Control | None = None
        self._threads = threads
        self._thread = threading.Thread(target=self._loop, name="inference", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> tuple[int, Control]:
        """Stop whatever is running or waiting, then run the job; return its number and its control."""
        control = Control()
        with self._wake:
            self._last += 1
            for _, _, waiting in self._jobs:
                waiting.stop()
            if self._current is not None:
                self._current.stop()
            self._jobs.append((self._last, job, control))
            self._wake.notify_all()
            return self._last, control

    def take(self, most: int = 256) -> list[JobEvent]:
        """Return up to `most` events that have come since the last call, oldest first; never blocks."""
        taken: list[JobEvent] = []
        while self._events and len(taken) < most:
            taken.append(self._events.popleft())
        return taken

    def close(self, timeout: float = 5.0) -> bool:
        """Stop everything and wait for the thread, at most `timeout` seconds; return whether it ended."""
        with self._wake:
            self._closing = True
            for _, _, waiting in self._jobs:
                waiting.stop()
            if self._current is not None:
                self._current.stop()
            self._wake.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        while True:
            with self._wake:
                self._current = None
                self._wake.wait_for(lambda: self._jobs or self._closing)
                if self._closing:
                    return
                number, job, self._current = self._jobs.popleft()
                control = self._current
            self._limit_threads()
            self._events.append(self._run(number, job, control))

    def _limit_threads(self) -> None:
        """Leave a core to the window; only with the first job, for importing torch slows whatever else starts."""
        threads, self._threads = self._threads, None
        if threads is not None:
            with suppress(Exception):  # without torch the job says so, in a sentence; this thread must live
                import torch

                torch.set_num_threads(threads)

    def _run(self, number: int, job: Job, control: Control) -> JobEvent:
        """Run one job to its end and return the event that says how it ended."""
        try:
            control.checkpoint()  # a job that was overtaken while it waited does nothing
            for value in job(control):
                self._events.append(JobEvent(number, value))
        except Stopped:
            return JobEvent(number, done=True)
        except UserError as error:
            return JobEvent(number, done=True, error=str(error))
        except BaseException as error:  # the thread must outlive any fault of a job, a library's exit() too
            return JobEvent(number, done=True, error=_sentence(error), details=traceback.format_exc())
        return JobEvent(number, done=True)


def _sentence(error: BaseException) -> str:
    """Return an unexpected error as one sentence; out-of-memory gets its own."""
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return "The device ran out of memory; the models that were loaded before are unchanged. Choose a smaller model."
    first_line = (str(error).strip() or "no further word").splitlines()[0]
    return f"Something went wrong that SpecScope did not expect: {type(error).__name__}: {first_line}"
