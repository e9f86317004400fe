"""Side-by-side speed in one process: our plain and speculative decoding beside transformers' generate.

Everything is warmed up, taken in turn, synchronised, and given as the median of the repeats with its range; our own
runs take turns every few tokens.
Rates that are compared with transformers count the whole call, prefill included, on both sides; speedups of ours over
ours, and what is predicted of them, count decoding alone.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simulator.bench_table import table_lines
from simulator.clocks import Clock, clock_for
from simulator.cost.machine import MachineCost, measure_cost
from simulator.cost.waterfall import middle, of_costs
from simulator.errors import UserError
from simulator.loading import Pair
from simulator.measure import Spread, costs_by_repeat, in_turns, spread, tokens_per_second, trace_ratios
from simulator.metrics import from_rounds
from simulator.records import Run, RunConfig
from simulator.round_cost import cost
from simulator.text.prompts import DEFAULT_PROMPT
from simulator.theory.speedup import speedup

TOKENS = 200
REPEATS = 5
COMPARED_K = 4  # the k at which transformers' assisted generation is compared
TRACE_S = 30.0  # for comparing rounds with and without the trace, all repeats together
OFF = f"speculative k={COMPARED_K}, trace off"
KS = tuple(range(9))

Caller = Callable[[int], float]  # seed -> tokens per second


def run_bench(arguments: argparse.Namespace) -> int:
    """Carry out `bench`."""
    from simulator.commands import load, places

    if arguments.tokens < 1 or arguments.repeats < 1:
        raise UserError("--tokens and --repeats must be at least 1.")
    pair = load(arguments.target, arguments.draft, "model", arguments.device, arguments.dtype,
                arguments.accept_differing, **places(arguments))  # fmt: skip
    print_results(bench(pair, arguments.tokens, arguments.repeats), arguments.json)
    return 0


def bench(pair: Pair, tokens: int = TOKENS, repeats: int = REPEATS, ks: Sequence[int] = KS) -> dict[str, Any]:
    """Return the table of medians with ranges and the ratios that matter, ready for JSON."""
    clock = clock_for(pair.target.device)
    ids = pair.encode(DEFAULT_PROMPT)
    configs = {f"speculative k={k}" if k else "plain": RunConfig(k=k, max_new_tokens=tokens) for k in ks}
    configs[OFF] = RunConfig(k=COMPARED_K, max_new_tokens=tokens, detail=False)
    sources = {name: pair.source("model", config.sampling) if config.k else None for name, config in configs.items()}
    theirs = {
        "transformers plain": _theirs(pair, ids, tokens, clock, assisted=False),
        f"transformers assisted, {COMPARED_K} tokens": _theirs(pair, ids, tokens, clock, assisted=True),
    }
    runs: dict[str, list[Run]] = {name: [] for name in configs}
    rates: dict[str, list[float]] = {name: [] for name in theirs}
    for turn in range(repeats + 1):  # the first warms up and is not counted
        seed = max(turn - 1, 0)
        contenders = [(sources[name], replace(config, seed=seed)) for name, config in configs.items()]
        *_, (whole, _) = in_turns(pair.target.model, contenders, ids, clock=clock)
        called = {name: caller(seed) for name, caller in theirs.items()}
        if turn:
            for name, run in zip(configs, whole, strict=True):
                assert run is not None  # nothing stops it
                runs[name].append(run)
            for name, rate in called.items():
                rates[name].append(rate)
    rates |= {name: [_whole_rate(run) for run in each] for name, each in runs.items()}
    compared = [replace(configs[OFF], seed=seed) for seed in range(repeats)]
    traced = [ratio for config in compared for ratio in trace_ratios(
        pair.target.model, sources[OFF], ids, config, seconds=TRACE_S / repeats, clock=clock)]  # fmt: skip
    *_, machine = measure_cost(pair, ids, clock=clock)
    assert isinstance(machine, MachineCost)
    return {**_results(pair, rates, runs, ks, tokens), "trace_ratio": spread(traced).median, **_ceiling(machine)}


def _whole_rate(run: Run) -> float:
    """Return tokens per second with the reading of the prompt, as for transformers' calls."""
    return 1000 * len(run.tokens) / (run.prefill_ms + sum(r.round_ms for r in run.rounds))


def _theirs(pair: Pair, ids: list[int], tokens: int, clock: Clock, assisted: bool) -> Caller:
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
    assisted, ours = f"transformers assisted, {COMPARED_K} tokens", f"speculative k={COMPARED_K}"
    of_k = {k: runs[f"speculative k={k}" if k else "plain"] for k in ks}
    by_k = {k: [r for run in of_k[k] for r in run.rounds] for k in ks}
    fitted, repeats = cost(by_k[0], by_k), costs_by_repeat(of_k)
    assert fitted is not None
    alpha = from_rounds([r for k in ks if k for r in by_k[k]]).alpha
    assert alpha is not None
    decoding = {k: [tokens_per_second(run.rounds) or 0.0 for run in of_k[k]] for k in ks}
    measured = {k: _ratio(decoding[k], decoding[0]).median for k in ks if k and k in repeats[0]}  # no k beyond --tokens
    formula = {k: float(speedup(alpha, fitted.c, k, fitted.c_verify, fitted.fixed)) for k in measured}
    lengths = {k: spread([len(run.tokens) / len(run.rounds) for run in of_k[k]]).median for k in measured}
    falls = {k: middle([of_costs(alpha, costs, k) for costs in repeats]) for k in measured}
    predicted = {k: fall.predicted for k, fall in falls.items()}
    return {
        "target": pair.target.entry.name, "draft": pair.draft.entry.name if pair.draft else None,
        "device": pair.target.device, "dtype": pair.target.dtype, "tokens": tokens, "threads": _threads(pair),
        "table": {name: _rounded(spread(values)) for name, values in rates.items()},
        "plain_tokens_per_second": spread(rates["plain"]).median,
        "speculative_tokens_per_second": {k: spread(rates[f"speculative k={k}"]).median for k in ks if k},
        "transformers_plain_tokens_per_second": spread(rates["transformers plain"]).median,
        "transformers_assisted_tokens_per_second": spread(rates[assisted]).median,
        "ratio_plain": _ratio(rates["plain"], rates["transformers plain"]).median,
        "ratio_assisted": _ratio(rates[ours], rates[assisted]).median,
        "speedup_measured": measured, "speedup_predicted": predicted, "speedup_formula": formula,
        "prediction_mean_abs_error": _mean_abs_error(predicted, measured),
        "formula_mean_abs_error": _mean_abs_error(formula, measured),
        "waterfall_largest_rest": max(fall.rest_share for fall in falls.values()),
        "tokens_per_round": lengths,
        "round_cost": {k: {part: spread([getattr(costs[k], part) for costs in repeats]).median
                           for part in ("draft", "verify", "other")} for k in repeats[0]},
        "prefill_ms": {k: spread([run.prefill_ms for run in of_k[k]]).median for k in ks},
        "alpha": alpha, "step_ms": fitted.step_ms, "c": fitted.c, "c_verify": fitted.c_verify, "fixed": fitted.fixed,
        "python": platform.python_version(), "machine": platform.machine(),
    }  # fmt: skip


def _threads(pair: Pair) -> dict[str, int | None]:
    """Return on how many threads each model decodes, of those that torch has."""
    import torch

    from simulator.models.threads import threads_of

    loaded = {"target": pair.target, **({"draft": pair.draft} if pair.draft else {})}
    return {role: threads_of(each.model) for role, each in loaded.items()} | {"torch": torch.get_num_threads()}


def _ceiling(found: MachineCost) -> dict[str, Any]:
    """Return what memory allows, what a plain step makes of it, and the passes by width."""
    single = {t.width: t.ms.median for t in found.times}
    bend = found.knee
    return {
        "bandwidth_gb_per_second": found.machine.bandwidth / 1e9,
        "bandwidth_fraction": found.bandwidth_fraction,
        "copy_gb_per_second": found.machine.copy / 1e9, "product_gb_per_second": found.machine.product / 1e9,
        "peak_gflop_per_second": found.machine.peak / 1e9, "read_mb_per_token": found.read_bytes / 1e6,
        "verify_ms": single, "knee_width": bend.width if bend else None,
        "c_verify_behind_knee": bend.slope_ms / single[1] if bend else None,
    }  # fmt: skip


def _mean_abs_error(predicted: dict[int, float], measured: dict[int, float]) -> float:
    """Return the mean of |predicted / measured - 1| over all k."""
    return sum(abs(predicted[k] / measured[k] - 1) for k in measured) / len(measured)


def _ratio(a: Sequence[float], b: Sequence[float]) -> Spread:
    """Return the spread of a / b, repeat by repeat, so that a drifting machine cancels."""
    return spread([x / y for x, y in zip(a, b, strict=True)])


def _rounded(s: Spread) -> list[float]:
    return [round(s.median, 2), round(s.low, 2), round(s.high, 2)]


def print_results(results: dict[str, Any], json_only: bool = False) -> None:
    """Print the table for people, then one JSON line."""
    if not json_only:
        print("\n".join(table_lines(results)), end="\n\n", flush=True)
    print(json.dumps(results))
