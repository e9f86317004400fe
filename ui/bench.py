"""What the window costs: start-up, memory, slider to curve, round to Stage at a large vocabulary; GUI-thread time.

Knows how to drive the window and read clocks. The rounds are made up here (random logits at V = 262,144 through the
real engine): what they say does not matter to a stopwatch. Memory: `memory_ready_mb` is the window with the bundled
pair, ready to step; `memory_rounds_mb` the window with ROUNDS rounds of that vocabulary, random models included.
What a long trace and a wide round cost is measured by `bench_scale`, in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from simulator.records import RoundTrace

VOCAB = 262_144
ROUNDS = 60
SLIDES = 120
ROOT = Path(__file__).resolve().parent.parent


def ui_bench(json_only: bool = False) -> int:
    """Print the window's figures for people, then as one JSON line."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    results = {"start_to_window_s": start_up("window"), "start_to_ready_s": start_up("ready"),
               "memory_ready_mb": most_memory(of_children=True), **in_window(),
               "memory_rounds_mb": most_memory(), **at_scale()}  # fmt: skip
    if not json_only:
        for name, value in results.items():
            print(f"{name:32} {value}")
    print(json.dumps(results))
    return 0


def at_scale() -> dict[str, Any]:
    """Return what `bench_scale` measures, in a process that has done nothing else."""
    code = "from ui.bench_scale import at_scale; import json; print(json.dumps(at_scale()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=900)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def start_up(until: str, repeats: int = 3) -> float:
    """Return the median seconds of a whole process that opens the window and leaves `until` "window" or "ready"."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        code = f"from ui.bench import open_and_leave; open_and_leave({until!r})"
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, timeout=120)
        times.append(time.perf_counter() - start)
    return round(median(times), 2)


def most_memory(of_children: bool = False) -> float | None:
    """Return the most resident memory so far in MB, of this process or of the largest it started; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    who = resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return round(resource.getrusage(who).ru_maxrss * unit / 1e6, 1)


def open_and_leave(until: str) -> None:
    """Open SpecScope as the command does; leave once the window is painted, or once a first round is possible."""
    from PySide6.QtCore import QTimer

    from ui.app import main
    from ui.main_window import MainWindow
    from ui.states import State

    def watch(window: MainWindow) -> None:
        timer = QTimer(window, interval=5)
        there = window.isVisible if until == "window" else lambda: window.session.state is State.READY
        timer.timeout.connect(lambda: os._exit(0) if there() else None)  # leaving is not what is timed
        timer.start()

    main(watch=watch)


def in_window() -> dict[str, Any]:
    """Return the medians, 95th percentiles and maxima of what repaints cost in a window of 1440 x 900."""
    from ui.app import new_application
    from ui.main_window import MainWindow
    from ui.session import Session

    app = new_application()
    session = Session()
    window = MainWindow(session)
    window.show()
    assert window.views  # all pages are there when the timing begins
    rounds = list(large_rounds(VOCAB, 4, ROUNDS))
    session.rounds += rounds
    session.rounds_added.emit(rounds)
    alpha, plot = window.stage.theory.sliders["alpha"], window.stage.theory.plot
    slide = timed(app, SLIDES, lambda i: alpha.setValue(0.2 + 0.6 * i / SLIDES), plot.redraw_now)
    show = timed(app, ROUNDS, lambda i: session.playback.seek(i), lambda: None)
    window.close()
    return {"slider_to_paint_ms": slide, "round_to_paint_ms": show, "round_vocabulary": VOCAB}


def large_rounds(vocab: int, k: int, count: int) -> Iterator[RoundTrace]:
    """Yield rounds of the real engine over random distributions of a large vocabulary."""
    from simulator.drafts.model import ModelDraft
    from simulator.engine import speculate
    from simulator.records import RunConfig

    config = RunConfig(k=k, max_new_tokens=(k + 1) * count + 1)
    source = ModelDraft(Noise(2, vocab), config.sampling, vocab)
    events = speculate(Noise(1, vocab), source, [0], config)
    return islice((e for e in events if isinstance(e, RoundTrace)), count)


class Noise:
    """A model of random logits that mostly agrees with another seed's, at no cost worth mentioning."""

    max_length = None

    def __init__(self, seed: int, vocab: int) -> None:
        self.name, self.vocab, self._seed, self.length = f"noise {seed}", vocab, seed, 0

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> Any:
        """Return logits that depend on the position alone."""
        import torch

        rows = []
        for place in range(self.length, self.length + len(tokens)):
            shared, own = (torch.Generator().manual_seed(31 * place + s) for s in (0, self._seed))
            rows.append(4 * torch.randn(self.vocab, generator=shared) + torch.randn(self.vocab, generator=own))
        self.length += len(tokens)
        return torch.stack(rows[-(keep or len(rows)) :])

    def rollback(self, n: int) -> None:
        """Forget the last n positions."""
        self.length -= n

    def reset(self) -> None:
        """Forget everything."""
        self.length = 0


def timed(app: Any, count: int, act: Callable[[int], object], finish: Callable[[], object]) -> dict[str, float]:
    """Return median, 95th percentile and maximum of the GUI thread's time from an act to all that it repaints."""
    idle = median(_cost(app, lambda: None) for _ in range(10))
    costs = sorted(_cost(app, lambda i=i: (act(i), finish())) - idle for i in range(count))
    return {"median": round(median(costs), 2), "p95": round(costs[int(0.95 * count)], 2), "max": round(costs[-1], 2)}


def _cost(app: Any, act: Callable[[], object]) -> float:
    """Return the GUI thread's ms for an act and the 40 ms of events after it, in which all that is due is painted."""
    start, limit = time.thread_time(), time.monotonic() + 0.04
    act()
    while time.monotonic() < limit:
        app.processEvents()
        time.sleep(0.001)  # not counted: a sleeping thread uses no time
    return 1000 * (time.thread_time() - start)
