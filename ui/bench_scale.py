"""What a long trace and a wide round cost the window: memory, scrubbing, files, frames, an hour of playing.

Knows how to fill a trace by repeating real rounds with fresh values. Times of the window are the GUI thread's own CPU
time; times of files are seconds on the wall, with the file system's cache warm.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from simulator.records import RoundTrace, Run, RunConfig, StopReason
from simulator.trace.columns import Columns, columns
from simulator.trace.packing import pack
from ui.bench import large_rounds, most_memory, timed
from ui.bench_turns import long_turns

TRACE_ROUNDS, TRACE_VOCAB, REAL = 100_000, 152_064, 40
SCRUBS = 60
WIDE_VOCAB, WIDE_K, WIDE_ROUNDS = 262_144, 16, 8
WARM, PLAYED, EVERY = 300, 600, 10  # rounds played before and while memory is watched, and between two looks at it
PER_HOUR = 3600  # rounds, at the speed that the window starts with


def at_scale(rounds: int = TRACE_ROUNDS, played: int = PLAYED) -> dict[str, Any]:
    """Return all figures, from one window of 1440 x 900."""
    from ui.app import new_application
    from ui.main_window import MainWindow
    from ui.session import Session

    app = new_application()
    session = Session()
    window = MainWindow(session)
    window.show()
    assert window.views  # all pages, as a moment after the start
    real = pack(large_rounds(TRACE_VOCAB, 4, REAL))
    found = {"trace_rounds": rounds, **growth(app, session, real, played), **long_trace(app, session, real, rounds)}
    run = Run(RunConfig(k=4), (0,), session.rounds[:], 0.0, StopReason.BUDGET)
    found |= files(run) | long_turns(app, window, run) | wide_frames(app, session)
    window.close()
    return found


def repeated(real: Columns, count: int, vocab: int = TRACE_VOCAB) -> Iterator[RoundTrace]:
    """Yield `count` rounds: the real ones again and again, every time with other tokens, probabilities and times."""
    rng = np.random.default_rng(0)
    for first in range(0, count, len(real)):
        arrays = {name: array.copy() for name, array in real.arrays().items()}
        shift, factor = int(rng.integers(vocab)), np.float32(rng.uniform(0.9, 1))
        for tokens in (arrays["ids"], arrays["emitted"], *(arrays["positions"][n] for n in ("token", "extra_token"))):
            tokens[:] = (tokens + shift) % vocab
        for probabilities in (arrays["p"], arrays["q"], *(arrays["positions"][n] for n in ("p", "q"))):
            probabilities *= factor
        arrays["rounds"]["round_ms"] *= rng.uniform(0.8, 1.2)
        packed = columns(arrays)
        for i in range(min(len(real), count - first)):
            yield replace(packed.round(i), index=first + i)


def add(session: Any, rounds: list[RoundTrace]) -> None:
    """Let the session have rounds as if the inference thread had left them."""
    session.rounds += rounds
    session.rounds_added.emit(rounds)


def growth(app: Any, session: Any, real: Columns, played: int) -> dict[str, float]:
    """Show rounds one by one; return what an hour of that adds to memory in MB, the trace included.

    Caches that are full after a while are filled first; then the resident memory is watched over `played` rounds.
    """
    sizes = []
    for trace in repeated(real, WARM + played):
        add(session, [trace])
        session.playback.seek(trace.index)
        app.processEvents()
        if trace.index >= WARM and trace.index % EVERY == 0:
            sizes.append(resident_mb())
    slope = float(np.polyfit(EVERY * np.arange(len(sizes)), sizes, 1)[0])  # MB a round
    per_round = session.rounds.nbytes / len(session.rounds)
    session.reset()
    return {"growth_mb_per_hour": round(slope * PER_HOUR, 1), "trace_bytes_per_round": round(per_round)}


def long_trace(app: Any, session: Any, real: Columns, count: int) -> dict[str, Any]:
    """Fill a trace; return its memory and what scrubbing through it costs."""
    before, batch = resident_mb(), []
    for trace in repeated(real, count):
        batch.append(trace)
        if len(batch) == 256 or trace.index == count - 1:
            add(session, batch)
            batch = []
    app.processEvents()
    found: dict[str, Any] = {"trace_memory_mb": round(resident_mb() - before, 1)}
    places = random.Random(0)
    ends = {0: 0, 1: count - 1}
    found["scrub_to_paint_ms"] = timed(
        app, SCRUBS, lambda i: session.playback.seek(ends.get(i, places.randrange(count))), lambda: None
    )
    return found


def files(run: Run) -> dict[str, float]:
    """Return the seconds to save and to open a run's trace; RuntimeError where it does not come back bit for bit."""
    from simulator.trace.file import load_trace, save_trace

    with tempfile.TemporaryDirectory() as folder:
        path, start = Path(folder) / "run.trace", time.perf_counter()
        save_trace(path, [run], {})
        saved = time.perf_counter()
        (loaded,), _ = load_trace(path)
        opened = time.perf_counter()
    if loaded != run:
        raise RuntimeError("the trace that was opened is not the one that was saved")
    return {"trace_save_s": round(saved - start, 2), "trace_open_s": round(opened - saved, 2)}


def wide_frames(app: Any, session: Any) -> dict[str, dict[str, float]]:
    """Return what a turn of the event loop costs the GUI thread in ms while wide rounds are shown one by one."""
    session.reset()
    frames = []
    for trace in large_rounds(WIDE_VOCAB, WIDE_K, WIDE_ROUNDS):
        add(session, [trace])
        session.playback.seek(trace.index)
        limit = time.monotonic() + 0.3  # with one change of the big numbers in it
        while time.monotonic() < limit:
            start = time.thread_time()
            app.processEvents()
            frames.append(1000 * (time.thread_time() - start))
            time.sleep(0.001)
    painted = [ms for ms in frames if ms > 1.0]  # the others found nothing to do
    return {"frame_ms_k16": {"median": round(median(painted), 2), "max": round(max(painted), 2)}}


def resident_mb() -> float:
    """Return the resident memory in MB, where only the peak is known that."""
    gc.collect()
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096 / 1e6
    except OSError:
        return most_memory() or 0.0
