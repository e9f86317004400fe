"""Makes the runs of a grid one after another, and keeps each as soon as it is finished.

Knows: what is still to do, and how long it may take. Does not know: threads, the window, figures.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulator.clocks import clock_for
from simulator.commands import metadata
from simulator.drafts.base import Checkpoint, no_checkpoint
from simulator.errors import UserError
from simulator.grids.brief import Brief, brief_of, models_of
from simulator.grids.file import Appender, GridFile, check_same, create, open_grid
from simulator.grids.grid import Grid, Setting, checked_grid
from simulator.loading import Pair, Progress
from simulator.measure import WARM_UP_TOKENS, run_once
from simulator.records import StopReason
from simulator.runner import Control, Job


def run_grid(
    pair: Pair, grid: Grid, done: Collection[Setting] = (), *, sitting: int = 1, checkpoint: Checkpoint = no_checkpoint,
) -> Iterator[Brief]:  # fmt: skip
    """Yield every run of the grid that is not done yet; a run that a checkpoint stops is not yielded.

    A short uncounted run of each draft source warms up. Raise `UserError` where a run cannot be made: then and before.
    """
    left = [s for s in grid.settings() if s not in done]
    clock = clock_for(pair.target.device)
    ids = [pair.encode(text) for text in grid.prompts]
    warm: set[str] = set()
    for setting in left:
        config = grid.config(setting, pair.end_tokens)
        source = pair.source(setting.source, config.sampling) if setting.k else None
        parts = pair.target.model, source, ids[setting.prompt]
        if setting.source not in warm:
            warm.add(setting.source)
            short = min(WARM_UP_TOKENS, config.max_new_tokens)
            run_once(*parts, replace(config, max_new_tokens=short), checkpoint=checkpoint, clock=clock)
        run = run_once(*parts, config, checkpoint=checkpoint, clock=clock)
        if run.stop is StopReason.STOPPED:
            return
        yield brief_of(run, pair_name(pair), grid.prompts[setting.prompt], setting.prompt, pair.texts, sitting)


def pair_name(pair: Pair) -> str:
    """Return what its runs carry as `Brief.models`."""
    target, draft = pair.target, pair.draft
    return models_of(target.entry.name, draft.entry.name if draft else None, target.device, target.dtype)


def begin(path: Path, grid: Grid, meta: dict[str, Any]) -> GridFile:
    """Return the file to write to: a new one, or the one that is there if it holds this grid of these models."""
    if not path.exists():
        return create(path, grid, meta)
    file = open_grid(path)
    check_same(file, grid, meta)
    return file


def check_prompts(pair: Pair, grid: Grid) -> None:
    """Raise `UserError` naming the first prompt that this pair cannot go on from."""
    limit = pair.target.model.max_length
    for number, text in enumerate(grid.prompts, 1):
        n = len(pair.encode(text))  # says itself what a chat template cannot do
        if not n:
            raise UserError(f"Prompt {number} is empty, and this model has no token to begin a text with: type one.")
        if limit is not None and n > limit:
            raise UserError(f"Prompt {number} has {n} tokens, but {pair.target.entry.name} reads {limit}: shorten it.")


def grid_job(pair: Pair, grid: Grid, path: Path, now: Callable[[], float] = time.monotonic) -> Job:
    """Run what is left of a grid into its file; yields Progress, the GridFile as it was, and each finished Brief."""

    def job(control: Control) -> Iterator[Any]:
        whole = checked_grid(grid)
        check_prompts(pair, whole)
        yield Progress("Reading the models' content hashes ...", 0.0)
        meta = metadata(pair, (), whole.config(whole.settings()[0]), sys.argv)
        about = {name: meta[name] for name in ("command", "models", "versions", "machine")}
        file = begin(path, whole, about)
        yield file
        control.checkpoint()
        with Appender(file) as appender:
            number, total, start = len(file.runs), len(whole.settings()), now()
            first = number
            yield _progress(number, total, 0.0)
            for run in run_grid(pair, whole, file.done, sitting=file.sitting + 1, checkpoint=control.checkpoint):
                appender.add(run)
                number += 1
                yield run
                yield _progress(number, total, (now() - start) / (number - first) * (total - number))

    return job


def _progress(number: int, total: int, seconds: float) -> Progress:
    left = f", about {duration(seconds)} left" if seconds else ""
    return Progress(f"Grid: {number:,} of {total:,} runs finished{left}.", number / total)


def duration(seconds: float) -> str:
    """Return a span of time in the unit that suits it: 40 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
