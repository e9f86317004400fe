"""The table of runs: its columns with their definitions, as values to show and as CSV.

Knows: what each column means and how it is written to a file. Does not know: how it looks on screen.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from simulator.export import guard, meta_path
from simulator.files import plain, write_together
from simulator.grids.brief import Brief
from simulator.grids.figures import Account, Group, GroupFigures, single

DEFINITIONS: dict[str, str] = {
    "row": "group: pooled over the runs with the same settings; run: a single one",
    "models": "target ← draft, device and dtype",
    "prompt": "the prompt's text; blank where a group is pooled over several",
    "seed": "number that determines every random draw of a run; blank where a group is pooled over several",
    "k": "draft length: tokens that the draft proposes before the target looks; 0 = plain decoding",
    "temperature": "divides the logits of target and draft alike; 0 = greedy",
    "source": "draft source; plain where nothing is drafted",
    "rule": "acceptance rule; plain where nothing is drafted",
    "runs": "finished runs in this row",
    "tokens": "emitted tokens: accepted, residual, bonus and plain",
    "rounds": "target passes that emitted them",
    "tokens_per_round": "measured: emitted tokens / rounds, all rounds of the row",
    "interval_low": "low end of the 95 % interval of tokens_per_round (ratio of means, one observation a run)",
    "interval_high": "its high end",
    "formula": "tokens per round if every test passed independently with chance alpha: "
    "(1 - alpha^(n+1)) / (1 - alpha), averaged over the rounds with n the tokens that each drafted (k, or fewer at the "
    "end); Leviathan et al. 2022, Eq. 1; the ratio rule only",
    "correlated": "the same when alpha differs between contexts (Beta model): its mean is sum min(p, q) at first "
    "positions, its correlation rho is fitted to the other k only, never to this row; needs another k >= 2",
    "alpha": "mean of sum min(p, q) over tested positions: the ratio rule's chance to accept a tested token",
    "rho": "correlation of acceptance inside a round, fitted to the other k >= 2 of the same settings",
    "tokens_per_second": "emitted tokens / seconds of decoding; prefill is not counted",
    "speedup": "tokens per second / those of the plain run with the same prompt, seed and temperature, made next to it "
    "in the same sitting; of a group the median; blank where there is no such plain run",
    "speedup_low": "lowest speedup of the group's runs",
    "speedup_high": "highest speedup of the group's runs",
    "predicted": "speedup by Leviathan's formula with alpha of this row and the measured c, c_verify and fixed cost of "
    "these runs, over the rounds as they were drafted; blank where no plain run was measured",
    "stop": "why the run ended, or all reasons of a group",
    "text": "what a single run wrote",
}


def cells(group: Group, figures: GroupFigures, run: Brief | None = None) -> dict[str, Any]:
    """Return one row's values by column; None where there is none."""
    family, _ = group
    low, high = figures.interval or (None, None)
    ratio, prompt = figures.speedup, family.prompt if run is None else run.prompt
    return {
        "row": "group" if run is None else "run", "models": family.models,
        "prompt": prompt and prompt.text,
        "seed": family.seed if run is None else run.setting.seed, "k": figures.k,
        "temperature": family.sampling.temperature, "source": family.source, "rule": family.rule,
        "runs": figures.runs, "tokens": figures.tokens, "rounds": figures.rounds,
        "tokens_per_round": figures.tokens_per_round, "interval_low": low, "interval_high": high,
        "formula": figures.formula, "correlated": figures.correlated, "alpha": figures.alpha, "rho": figures.rho,
        "tokens_per_second": figures.tokens_per_second, "speedup": ratio and ratio.median,
        "speedup_low": ratio and ratio.low, "speedup_high": ratio and ratio.high, "predicted": figures.predicted,
        "stop": ", ".join(figures.stops), "text": None if run is None else run.text,
    }  # fmt: skip


def write_table(path: Path, runs: Sequence[Brief], by: str, meta: Mapping[str, Any]) -> None:
    """Write groups and single runs as CSV, and a file of definitions beside it: both or neither.

    Raises `ExportError` where a file cannot be written.
    """
    about = plain({"schema": "specscope-runs", "schema_version": 1, **meta, "definitions": DEFINITIONS})
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def explain(file: BinaryIO) -> None:
        file.write(text.encode("utf-8", "replace"))

    write_together({path: lambda file: _write_rows(file, runs, by), meta_path(path): explain})


def rows(runs: Sequence[Brief], by: str = "") -> Iterator[dict[str, Any]]:
    """Yield the groups in order of their settings, then every single run, as `cells`."""
    account = Account(by)
    ratios = []
    for run in runs:
        ratios.append(account.speedup_of(run))
        account.add(run)
    for group in sorted(account.tallies, key=in_order):
        yield cells(group, account.figures(group))
    for run, ratio in zip(runs, ratios, strict=True):
        yield cells(account.group(run), single(run, ratio), run)


def in_order(group: Group) -> tuple[Any, ...]:
    """Return what groups are ordered by: settings first, then prompt and seed, then k."""
    family, k = group
    s = family.sampling
    return (family.models, s.temperature, s.top_k, s.top_p, s.min_p, family.max_new_tokens,
            family.prompt.text if family.prompt else "", family.seed or 0, k > 0, family.source, family.rule,
            k)  # fmt: skip


def _write_rows(file: BinaryIO, runs: Sequence[Brief], by: str) -> None:
    text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
    try:
        writer = csv.DictWriter(text, DEFINITIONS, lineterminator="\r\n")
        writer.writeheader()
        for row in rows(runs, by):
            writer.writerow({name: _cell(value) for name, value in row.items()})
    finally:
        text.detach()  # flushes; the caller syncs and closes the file


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return guard(value)
    return "" if value is None else repr(value)
