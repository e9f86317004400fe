"""Several runs as lines of text, one run a line under a head, for the command line.

Knows: the objects of `report`. Does not know: how they were computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PROMPT = 32  # characters of a prompt that are shown
HEAD = ("prompt", "seed", "tokens", "rounds", "tokens/round", "alpha", "accepted", "tokens/s", "speedup", "stop")
LEFT = (0, 9)  # columns of text


def run_lines(result: Mapping[str, Any], prompts: Sequence[str]) -> list[str]:
    """Return the table of several runs, prompt by prompt; nothing for a single one.

    result: what `report` returned for len(prompts) times the same seeds. A dash stands where nothing was measured.
    """
    runs = result.get("runs", ())
    if not runs:
        return []
    seeds = len(runs) // len(prompts)
    rows = [HEAD, *(_row(run, prompts[i // seeds]) for i, run in enumerate(runs))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return ["", *("  ".join(_cells(row, widths)).rstrip() for row in rows), "", f"all {len(runs)} runs together"]


def _row(run: Mapping[str, Any], prompt: str) -> tuple[str, ...]:
    shown = " ".join(prompt.split())
    share = run["draft_acceptance_rate"]
    return (
        shown if len(shown) <= PROMPT else f"{shown[: PROMPT - 3].rstrip()}...", str(run["seed"]), str(run["emitted"]),
        str(run["rounds"]), _number(run["acceptance_length"], ".2f"), _number(run["alpha"], ".3f"),
        "-" if share is None else f"{run['accepted']}/{run['drafted']}", _number(run["tokens_per_second"], ".0f"),
        _number(run["speedup_measured"], ".2f"), run["stop_reason"] or "-",
    )  # fmt: skip


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [c.ljust(w) if i in LEFT else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
