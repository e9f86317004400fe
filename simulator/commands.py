"""The commands without a window: `run`, `models` and what `python main.py` does where there is no display.

Knows how to turn arguments into runs and runs into files and JSON. Does not know Qt.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from simulator import catalog
from simulator.errors import UserError
from simulator.export import check_writable, write_csv
from simulator.loading import SOURCES, Pair, Progress, content_hash, load_pair
from simulator.measure import clock_for, run_once
from simulator.parameters import check
from simulator.prompts import DEFAULT_PROMPT
from simulator.records import Run, RunConfig, Sampling
from simulator.report import report, text_of
from simulator.trace import save_trace
from simulator.verify import RULES

HEADLESS_CSV = "specscope-rounds.csv"
HEADLESS_PICTURE = "specscope-stage.png"


def run(arguments: argparse.Namespace) -> int:
    """Carry out `run`: every prompt with every seed, then the files, then the figures."""
    config = _config(arguments)
    prompts = _prompts(arguments)
    for path in (arguments.csv, arguments.trace):
        if path:
            check_writable(Path(path))
    pair = load(arguments.target, arguments.draft, arguments.source, arguments.device, arguments.dtype)
    config = replace(config, end_tokens=pair.end_tokens)
    runs, baselines = _all_runs(pair, prompts, config, arguments.seeds, arguments.baseline, quiet=arguments.json)
    meta = metadata(pair, prompts, config, sys.argv)
    if arguments.csv:
        write_csv(Path(arguments.csv), runs, pair.texts, meta)
    if arguments.trace:
        save_trace(Path(arguments.trace), runs, meta)
    result = report(runs, baselines, pair)
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False, allow_nan=False))
    else:
        _print_figures(result)
    return 0


def load(target: str | None, draft: str | None, source: str, device: str = "auto", dtype: str = "auto") -> Pair:
    """Return the loaded pair; the bundled models where none are named, no draft where the source needs none."""
    if source not in SOURCES:
        raise UserError(f"There is no draft source '{source}'; choose one of {', '.join(SOURCES)}.")
    if target is not None and draft is None and source == "model":
        raise UserError("With --target, also name a draft model with --draft, or use --source ngram.")
    draft = None if source != "model" else draft or catalog.DEFAULT_DRAFT
    last = None
    for last in load_pair(target or catalog.DEFAULT_TARGET, draft, device=device, dtype=dtype):
        if isinstance(last, Progress):
            print(last.text, file=sys.stderr)
    assert isinstance(last, Pair)
    return last


def models() -> int:
    """Print every model on this computer, its figures, and the reason where it cannot be used."""
    entries = catalog.scan()
    if not entries:
        print(f"No models found in {catalog.BUNDLED} or {catalog.hub_cache()}.")
    for e in entries:
        size = f"{e.parameters / 1e6:.2f} M" if e.parameters else "-"
        print(e.name)
        print(f"  {e.architecture}, {size} parameters, vocabulary {e.vocab or '-'}, context {e.max_length or '-'}")
        print(f"  stored in {e.dtype or '-'}, {e.disk_bytes / 1e6:.1f} MB; {e.problem or 'usable'}")
    return 0


def without_display() -> int:
    """Say that there is no display, run the bundled pair, and leave a CSV in the working folder."""
    print("There is no display, so SpecScope runs the bundled pair without its window.")
    for name in (HEADLESS_CSV, HEADLESS_PICTURE):
        check_writable(Path(name))
    pair = load(None, None, "model")
    config = RunConfig(end_tokens=pair.end_tokens)
    runs, baselines = _all_runs(pair, [DEFAULT_PROMPT], config, 1, baseline=True, quiet=False)
    write_csv(Path(HEADLESS_CSV), runs, pair.texts, metadata(pair, [DEFAULT_PROMPT], config, sys.argv))
    _print_figures(report(runs, baselines, pair))
    print(f"Every round is in {Path(HEADLESS_CSV).resolve()}.")
    return 0


def _config(arguments: argparse.Namespace) -> RunConfig:
    if arguments.rule not in RULES:
        raise UserError(f"There is no rule '{arguments.rule}'; choose one of {', '.join(RULES)}.")
    if arguments.seeds < 1:
        raise UserError(f"--seeds is {arguments.seeds}, but at least one seed must run.")
    sampling = Sampling(
        check("temperature", arguments.temperature), int(check("top_k", arguments.top_k)),
        check("top_p", arguments.top_p), check("min_p", arguments.min_p),
    )  # fmt: skip
    return RunConfig(
        k=int(check("k", arguments.k)), sampling=sampling, rule=arguments.rule, source=arguments.source,
        seed=int(check("seed", arguments.seed)), max_new_tokens=int(check("max_new_tokens", arguments.max_new_tokens)),
    )  # fmt: skip


def _prompts(arguments: argparse.Namespace) -> list[str]:
    prompts = [*arguments.prompt, *(_read(Path(f)) for f in arguments.prompt_file)] or [DEFAULT_PROMPT]
    if any(not p for p in prompts):
        raise UserError("A prompt is empty: give at least one character after --prompt.")
    return prompts


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"The prompt file {path} is not UTF-8 text (byte {error.start}): save it as UTF-8.") from error
    except OSError as error:
        raise UserError(f"The prompt file {path} could not be read: {error.strerror or error}.") from error


def _all_runs(
    pair: Pair, prompts: Sequence[str], config: RunConfig, seeds: int, baseline: bool, quiet: bool
) -> tuple[list[Run], list[Run]]:
    """Return the runs and, if asked for, the plain run beside each; a short uncounted run warms the models up."""
    model, clock = pair.target.model, clock_for(pair.target.device)
    source = pair.source(config.source, config.sampling)
    runs: list[Run] = []
    baselines: list[Run] = []
    for text in prompts:
        ids = pair.encode(text)
        if not runs:
            run_once(model, source, ids, replace(config, max_new_tokens=min(8, config.max_new_tokens)))
        for seed in range(config.seed, config.seed + seeds):
            here = replace(config, seed=seed)
            runs.append(run_once(model, source, ids, here, clock=clock))
            if baseline:
                baselines.append(run_once(model, None, ids, replace(here, k=0), clock=clock))
            if not quiet:
                print(f"--- seed {seed}\n{text}{text_of(runs[-1], pair)}")
    return runs, baselines


def metadata(pair: Pair, prompts: Sequence[str], config: RunConfig, command: Sequence[str]) -> dict[str, Any]:
    """Return what the file beside a CSV says of its making: command, parameters, models, versions, device."""
    loaded = {"target": pair.target, **({"draft": pair.draft} if pair.draft else {})}
    return {
        "command": list(command),
        "parameters": {**asdict(config), "end_tokens": sorted(config.end_tokens)},
        "prompts": list(prompts),
        "models": {
            role: {"name": m.entry.name, "folder": str(m.entry.path), "sha256": content_hash(m.entry.path),
                   "device": m.device, "dtype": m.dtype}
            for role, m in loaded.items()
        },
        "versions": {name: version(name) for name in ("torch", "transformers", "numpy")}
        | {"python": platform.python_version(), "specscope": _own_version()},
        "machine": {"system": platform.platform(), "processor": platform.processor() or platform.machine()},
    }  # fmt: skip


def _own_version() -> str:
    try:
        return version("specscope")
    except ImportError:  # run from a folder that was never installed
        return "not installed"


def _print_figures(result: dict[str, Any]) -> None:
    """Print the figures for people, one a line; unmeasured ones are left out."""
    for key, value in result.items():
        if key not in ("text", "tokens", "runs") and value is not None:
            shown = f"{value:.4g}" if isinstance(value, float) else value
            print(f"{key:>28}  {shown}")
