"""A small grid over the stub pair, and a process that runs it until it is killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simulator.grids.grid import Grid
from simulator.grids.run import grid_job, run_grid
from simulator.runner import Control
from simulator.text.prompts import Prompt
from tests.ui.stub import stub_pair

PROMPTS = Prompt("to be, or "), Prompt("not to be: ")
GRID = Grid(PROMPTS, (0, 1), (0, 1, 2, 4), max_new_tokens=12)
LONG = Grid(PROMPTS, tuple(range(12)), (0, 1, 3), max_new_tokens=8)  # 72 runs


def hashed_pair(content: str = "weights"):
    """Return the stub pair with content hashes, as loaded models have them."""
    pair = stub_pair()
    target, draft = (replace(each, sha256=f"{content} of {each.entry.name}") for each in (pair.target, pair.draft))
    return replace(pair, target=target, draft=draft)


def finish(path: Path, grid: Grid = GRID, sees=lambda event: None, content: str = "weights") -> None:
    """Run what is left of a grid into its file."""
    for event in grid_job(hashed_pair(content), grid, path)(Control()):
        sees(event)


def child(path: str, started) -> None:
    """Run the long grid in a process of its own, telling when it begins."""
    import torch

    torch.set_num_threads(1)
    started.set()
    finish(Path(path), LONG)


def briefs(grid: Grid = GRID):
    """Return all runs of a grid."""
    return list(run_grid(stub_pair(), grid))
