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
from simulator.clocks import clock_for
from simulator.engine import checked_prompt
from simulator.errors import UserError
from simulator.export import check_writable, write_csv
from simulator.loading import SOURCES, Pair, Progress, choose_device, choose_dtype, content_hash, load_pair
from simulator.local.memory import free_bytes
from simulator.local.models_table import table
from simulator.measure import run_once
from simulator.parameters import check
from simulator.records import Run, RunConfig, Sampling
from simulator.report import report, text_of
from simulator.run_table import run_lines
from simulator.text.encoding import in_chat
from simulator.text.prompts import Prompt, as_prompt, presets, read_prompt
from simulator.text.vocabulary import describe, diagnose
from simulator.trace.file import save_trace
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
    pair = load(arguments.target, arguments.draft, arguments.source, arguments.device, arguments.dtype,
                arguments.accept_differing, **places(arguments))  # fmt: skip
    prompts = prompts or [replace(default_prompt(pair), system=arguments.system, chat=arguments.chat)]
    config = replace(config, end_tokens=pair.end_tokens)
    runs, baselines = _all_runs(pair, prompts, config, arguments.seeds, arguments.baseline, quiet=arguments.json)
    meta = metadata(pair, prompts, config, sys.argv)
    if arguments.csv:
        write_csv(Path(arguments.csv), runs, pair.texts, meta)
    if arguments.trace:
        save_trace(Path(arguments.trace), runs, meta, texts=pair.texts)
    result = report(runs, baselines, pair)
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(run_lines(result, [p.text for p in prompts])))
        _print_figures(result)
    return 0


def load(target: str | None, draft: str | None, source: str, device: str = "auto", dtype: str = "auto",
         accept_differing: bool = False, **places: Any) -> Pair:  # fmt: skip
    """Return the loaded pair; the bundled models where none are named, no draft where the source needs none."""
    if source not in SOURCES:
        raise UserError(f"There is no draft source '{source}'; choose one of {', '.join(SOURCES)}.")
    if target is not None and draft is None and source == "model":
        raise UserError("With --target, also name a draft model with --draft, or use --source ngram.")
    draft = None if source != "model" else draft or catalog.DEFAULT_DRAFT
    last, said = None, ""
    job = load_pair(
        target or catalog.DEFAULT_TARGET, draft, device=device, dtype=dtype, accept_differing=accept_differing,
        **places,
    )  # fmt: skip
    for last in job:
        if isinstance(last, Progress) and last.text != said:
            said = last.text
            print(said, file=sys.stderr)
    assert isinstance(last, Pair)
    for loaded in (last.target, last.draft):
        if loaded is not None and loaded.notice:
            print(loaded.notice, file=sys.stderr)
    return last


def places(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return where and in which dtype one of the two models goes, where not both do, and whether they are compiled."""
    names = ("target_device", "draft_device", "target_dtype", "draft_dtype")
    return {name: getattr(arguments, name) for name in names} | {"compiled": arguments.compile}


def models(device: str = "auto", dtype: str = "auto") -> int:
    """Print every model on this computer, its figures against the free memory, and the reason if it cannot be used."""
    if device != "cpu":
        device = choose_device(device)
    dtype = choose_dtype(dtype, device)
    entries = catalog.scan()
    if not entries:
        print(f"No models found in {catalog.BUNDLED} or {catalog.hub_cache()}.")
        return 0
    print("\n".join(table(entries, device, dtype, free_bytes(device))))
    return 0


def compare(target: str, draft: str) -> int:
    """Print how two vocabularies compare; raise `UserError` with the verdict where the pair cannot be used."""
    found = diagnose(catalog.find(target), catalog.find(draft))
    for line in describe(found):
        print(line)
    if not found.usable:
        raise UserError(found.sentence)
    print(found.sentence)
    return 0


def without_display() -> int:
    """Say that there is no display, run the bundled pair, and leave a CSV in the working folder."""
    print("There is no display, so SpecScope runs the bundled pair without its window.")
    for name in (HEADLESS_CSV, HEADLESS_PICTURE):
        check_writable(Path(name))
    pair = load(None, None, "model")
    config = RunConfig(end_tokens=pair.end_tokens)
    prompt = default_prompt(pair)
    runs, baselines = _all_runs(pair, [prompt], config, 1, baseline=True, quiet=False)
    write_csv(Path(HEADLESS_CSV), runs, pair.texts, metadata(pair, [prompt], config, sys.argv))
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


def _prompts(arguments: argparse.Namespace) -> list[Prompt]:
    """Return the prompts that were given, none for the model's own."""
    texts = [*arguments.prompt, *(read_prompt(Path(f)) for f in arguments.prompt_file)]
    if any(not text for text in texts):
        raise UserError("A prompt is empty: give at least one character after --prompt.")
    settings = {"system": arguments.system, "chat": arguments.chat, "special": arguments.parse_special}
    return [Prompt(text, **settings) for text in texts]


def default_prompt(pair: Pair) -> Prompt:
    """Return the prompt for a model where none is given."""
    return Prompt(presets(pair.target.entry.name, pair.chat.problem is None)[0].text)


def _all_runs(
    pair: Pair, prompts: Sequence[Prompt], config: RunConfig, seeds: int, baseline: bool, quiet: bool
) -> tuple[list[Run], list[Run]]:
    """Return the runs and, if asked for, the plain run beside each; a short uncounted run warms the models up."""
    model, clock = pair.target.model, clock_for(pair.target.device)
    source = pair.source(config.source, config.sampling)
    runs: list[Run] = []
    baselines: list[Run] = []
    every = [checked_prompt(pair.encode(prompt), model) for prompt in prompts]  # a wrong one before any has run
    for prompt, ids in zip(prompts, every, strict=True):
        if not runs:
            run_once(model, source, ids, replace(config, max_new_tokens=min(8, config.max_new_tokens)))
        for seed in range(config.seed, config.seed + seeds):
            here = replace(config, seed=seed)
            runs.append(run_once(model, source, ids, here, clock=clock))
            if baseline:
                baselines.append(run_once(model, None, ids, replace(here, k=0), clock=clock))
            if not quiet:
                seam = "\n" if in_chat(prompt, pair.chat) else ""
                print(f"--- seed {seed}\n{prompt.text}{seam}{text_of(runs[-1], pair)}")
    return runs, baselines


def metadata(pair: Pair, prompts: Sequence[Prompt | str], config: RunConfig, command: Sequence[str]) -> dict[str, Any]:
    """Return what the file beside a CSV says of its making: command, parameters, models, versions, device."""
    loaded = {"target": pair.target, **({"draft": pair.draft} if pair.draft else {})}
    return {
        "command": list(command),
        "parameters": {**asdict(config), "end_tokens": sorted(config.end_tokens)},
        "prompts": [as_prompt(p).text for p in prompts],
        "prompt_settings": [
            {"chat": in_chat(p, pair.chat), "system": as_prompt(p).system, "special": as_prompt(p).special}
            for p in prompts
        ],
        "models": {
            role: {"name": m.entry.name, "folder": str(m.entry.path), "sha256": m.sha256 or content_hash(m.entry.path),
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
