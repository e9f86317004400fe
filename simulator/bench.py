"""Side-by-side speed in one process: our plain and speculative decoding beside transformers' generate.

Everything is warmed up, taken in turn, synchronised, and given as the median of the repeats with its range.
Rates that are compared with transformers count the whole call, prefill included, on both sides.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simulator.cost import cost
from simulator.engine import Clock
from simulator.errors import UserError
from simulator.loading import Pair
from simulator.measure import Spread, clock_for, run_once, spread
from simulator.metrics import from_rounds
from simulator.prompts import DEFAULT_PROMPT
from simulator.records import Run, RunConfig
from simulator.theory import speedup

TOKENS = 200
REPEATS = 5
COMPARED_K = 4  # the k at which transformers' assisted generation is compared
KS = tuple(range(9))

Contender = Callable[[int], float]  # seed -> tokens per second


def run_bench(arguments: argparse.Namespace) -> int:
    """Carry out `bench`."""
    from simulator.commands import load

    if arguments.tokens < 1 or arguments.repeats < 1:
        raise UserError("--tokens and --repeats must be at least 1.")
    pair = load(arguments.target, arguments.draft, "model", arguments.device, arguments.dtype)
    print_results(bench(pair, arguments.tokens, arguments.repeats), arguments.json)
    return 0


def bench(pair: Pair, tokens: int = TOKENS, repeats: int = REPEATS, ks: Sequence[int] = KS) -> dict[str, Any]:
    """Return the table of medians with ranges and the ratios that matter, ready for JSON."""
    clock = clock_for(pair.target.device)
    ids = pair.encode(DEFAULT_PROMPT)
    runs: dict[str, list[Run]] = {}
    contenders = {
        **{f"speculative k={k}" if k else "plain": _ours(pair, ids, k, tokens, clock, runs, detail=True) for k in ks},
        f"speculative k={COMPARED_K}, trace off": _ours(pair, ids, COMPARED_K, tokens, clock, runs, detail=False),
        "transformers plain": _theirs(pair, ids, tokens, clock, assisted=False),
        f"transformers assisted, {COMPARED_K} tokens": _theirs(pair, ids, tokens, clock, assisted=True),
    }
    rates = _in_turn(contenders, repeats)
    return _results(pair, rates, runs, ks, tokens)


def _in_turn(contenders: dict[str, Contender], repeats: int) -> dict[str, list[float]]:
    """Return each contender's rate in every repeat; repeat r of all uses seed r. One uncounted turn comes first."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for seed in range(-1, repeats):
        for name, contender in contenders.items():
            rate = contender(max(seed, 0))
            if seed >= 0:
                rates[name].append(rate)
    return rates


def _ours(
    pair: Pair, ids: list[int], k: int, tokens: int, clock: Clock, runs: dict[str, list[Run]], detail: bool
) -> Contender:
    config = RunConfig(k=k, max_new_tokens=tokens, detail=detail)
    source = pair.source("model", config.sampling) if k else None
    name = f"k={k}" if detail else "trace off"

    def contender(seed: int) -> float:
        start = clock()
        run = run_once(pair.target.model, source, ids, replace(config, seed=seed), clock=clock)
        seconds = clock() - start
        runs.setdefault(name, []).append(run)
        return len(run.tokens) / seconds

    return contender


def _theirs(pair: Pair, ids: list[int], tokens: int, clock: Clock, assisted: bool) -> Contender:
    import torch
    from transformers import GenerationConfig

    target = pair.target.model.model
    plain: dict[str, Any] = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "pad_token_id": 0}
    target.generation_config = GenerationConfig(**plain)
    options: dict[str, Any] = {}
    if assisted:
        assert pair.draft is not None
        options["assistant_model"] = draft = pair.draft.model.model
        draft.generation_config = GenerationConfig(
            **plain, num_assistant_tokens=COMPARED_K, num_assistant_tokens_schedule="constant",
            assistant_confidence_threshold=0.0,
        )  # fmt: skip

    def contender(seed: int) -> float:
        torch.manual_seed(seed)
        prompt = torch.tensor([ids], device=pair.target.device)
        start = clock()
        with torch.inference_mode():
            out = target.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=tokens, **options)
        return float((out.shape[1] - len(ids)) / (clock() - start))

    return contender


def _results(
    pair: Pair, rates: dict[str, list[float]], runs: dict[str, list[Run]], ks: Sequence[int], tokens: int
) -> dict[str, Any]:
    assisted, off = f"transformers assisted, {COMPARED_K} tokens", f"speculative k={COMPARED_K}, trace off"
    ours = f"speculative k={COMPARED_K}"
    by_k = {k: [r for run in runs[f"k={k}"][1:] for r in run.rounds] for k in ks}  # the first run was the warm-up
    fitted = cost(by_k[0], by_k)
    assert fitted is not None
    alpha = from_rounds([r for k in ks if k for r in by_k[k]]).alpha
    assert alpha is not None
    measured = {k: _ratio(rates[f"speculative k={k}"], rates["plain"]).median for k in ks if k}
    predicted = {k: float(speedup(alpha, fitted.c, k, fitted.c_verify, fitted.fixed)) for k in ks if k}
    errors = [abs(predicted[k] / measured[k] - 1) for k in measured]
    return {
        "target": pair.target.entry.name, "draft": pair.draft.entry.name if pair.draft else None,
        "device": pair.target.device, "dtype": pair.target.dtype, "tokens": tokens,
        "table": {name: _rounded(spread(values)) for name, values in rates.items()},
        "plain_tokens_per_second": spread(rates["plain"]).median,
        "speculative_tokens_per_second": {k: spread(rates[f"speculative k={k}"]).median for k in ks if k},
        "transformers_plain_tokens_per_second": spread(rates["transformers plain"]).median,
        "transformers_assisted_tokens_per_second": spread(rates[assisted]).median,
        "ratio_plain": _ratio(rates["plain"], rates["transformers plain"]).median,
        "ratio_assisted": _ratio(rates[ours], rates[assisted]).median,
        "trace_ratio": _ratio(rates[ours], rates[off]).median,
        "speedup_measured": measured, "speedup_predicted": predicted,
        "prediction_mean_abs_error": sum(errors) / len(errors),
        "alpha": alpha, "step_ms": fitted.step_ms, "c": fitted.c, "c_verify": fitted.c_verify, "fixed": fitted.fixed,
        "python": platform.python_version(), "machine": platform.machine(),
    }  # fmt: skip


def _ratio(a: Sequence[float], b: Sequence[float]) -> Spread:
    """Return the spread of a / b, repeat by repeat, so that a drifting machine cancels."""
    return spread([x / y for x, y in zip(a, b, strict=True)])


def _rounded(s: Spread) -> list[float]:
    return [round(s.median, 2), round(s.low, 2), round(s.high, 2)]


def print_results(results: dict[str, Any], json_only: bool = False) -> None:
    """Print the table for people, then one JSON line."""
    if not json_only:
        print(f"{results['target']} <- {results['draft']}, {results['device']} {results['dtype']}, T = 1, "
              f"{results['tokens']} tokens")  # fmt: skip
        print(f"{'':38}{'tokens/s':>9}  (lowest .. highest)")
        for name, (middle, low, high) in results["table"].items():
            print(f"{name:38}{middle:9.1f}  ({low:.1f} .. {high:.1f})")
        for name in ("ratio_plain", "ratio_assisted", "trace_ratio", "alpha", "c", "c_verify", "fixed", "step_ms",
                     "prediction_mean_abs_error"):  # fmt: skip
            print(f"{name:38}{results[name]:9.3f}")
        print(" k   measured  predicted")
        for k, measured in results["speedup_measured"].items():
            print(f"{k:2d} {measured:9.2f}x {results['speedup_predicted'][k]:9.2f}x")
        sys.stdout.flush()
    print(json.dumps(results))
