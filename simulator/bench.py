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
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simulator.cost.machine import MachineCost, measure_cost
from simulator.cost.waterfall import of_costs
from simulator.engine import Clock
from simulator.errors import UserError
from simulator.loading import Pair
from simulator.measure import Spread, clock_for, in_turns, spread, tokens_per_second
from simulator.metrics import from_rounds
from simulator.records import Run, RunConfig
from simulator.round_cost import cost, predicted_speedup, round_costs
from simulator.text.prompts import DEFAULT_PROMPT
from simulator.theory import speedup

TOKENS = 200
REPEATS = 5
COMPARED_K = 4  # the k at which transformers' assisted generation is compared
OFF = f"speculative k={COMPARED_K}, trace off"
KS = tuple(range(9))
FIGURES = (
    "ratio_plain", "ratio_assisted", "trace_ratio", "alpha", "c", "c_verify", "fixed", "step_ms",
    "prediction_mean_abs_error", "formula_mean_abs_error", "waterfall_largest_rest", "bandwidth_gb_per_second",
    "copy_gb_per_second", "product_gb_per_second", "read_mb_per_token", "bandwidth_fraction", "knee_width",
    "c_verify_behind_knee",
)  # fmt: skip

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
    *_, machine = measure_cost(pair, ids, clock=clock)
    assert isinstance(machine, MachineCost)
    return {**_results(pair, rates, runs, ks, tokens), **_ceiling(machine)}


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
    fitted, costs = cost(by_k[0], by_k), round_costs(by_k[0], by_k)
    assert fitted is not None
    alpha = from_rounds([r for k in ks if k for r in by_k[k]]).alpha
    assert alpha is not None
    decoding = {k: [tokens_per_second(run.rounds) or 0.0 for run in of_k[k]] for k in ks}
    without = [tokens_per_second(run.rounds) or 0.0 for run in runs[OFF]]
    measured = {k: _ratio(decoding[k], decoding[0]).median for k in ks if k and k in costs}  # no k beyond --tokens
    formula = {k: float(speedup(alpha, fitted.c, k, fitted.c_verify, fitted.fixed)) for k in measured}
    lengths = {k: spread([len(run.tokens) / len(run.rounds) for run in of_k[k]]).median for k in measured}
    predicted = {k: predicted_speedup(costs, k, lengths[k]) for k in measured}
    falls = [of_costs(alpha, costs, k, lengths[k], measured[k]) for k in measured]
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
        "trace_ratio": _ratio(decoding[COMPARED_K], without).median,
        "speedup_measured": measured, "speedup_predicted": predicted, "speedup_formula": formula,
        "prediction_mean_abs_error": _mean_abs_error(predicted, measured),
        "formula_mean_abs_error": _mean_abs_error(formula, measured),
        "waterfall_largest_rest": max(fall.rest_share for fall in falls),
        "tokens_per_round": lengths,
        "round_cost": {k: {"draft": each.draft, "verify": each.verify, "other": each.other}
                       for k, each in costs.items()},
        "prefill_ms": {k: spread([run.prefill_ms for run in of_k[k]]).median for k in ks},
        "alpha": alpha, "step_ms": fitted.step_ms, "c": fitted.c, "c_verify": fitted.c_verify, "fixed": fitted.fixed,
        "python": platform.python_version(), "machine": platform.machine(),
    }  # fmt: skip


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
        print(f"{results['target']} <- {results['draft']}, {results['device']} {results['dtype']}, T = 1, "
              f"{results['tokens']} tokens")  # fmt: skip
        print(f"{'':38}{'tokens/s':>9}  (lowest .. highest)")
        for name, (middle, low, high) in results["table"].items():
            print(f"{name:38}{middle:9.1f}  ({low:.1f} .. {high:.1f})")
        for name in FIGURES:
            print(f"{name:38}{results[name]:9.3f}" if results[name] is not None else f"{name:38}{'-':>9}")
        print("decoding alone, prefill apart; predicted: from the measured parts of a round; formula: mean alpha, line")
        print(" k   measured  predicted    formula  prefill, ms")
        for k, measured in results["speedup_measured"].items():
            predicted, formula = results["speedup_predicted"][k], results["speedup_formula"][k]
            print(f"{k:2d} {measured:9.2f}x {predicted:9.2f}x {formula:9.2f}x {results['prefill_ms'][k]:12.1f}")
        print(" tokens in one pass:  " + "  ".join(f"{n}: {ms:.2f} ms" for n, ms in results["verify_ms"].items()))
        sys.stdout.flush()
    print(json.dumps(results))
