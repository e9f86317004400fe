"""The table of `bench` for people: every figure with its unit and what it means.

Knows the keys of the results. Does not know how anything was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

WIDTH = 100  # columns that no line exceeds unless a model's name is very long
NAME, KEY = 34, 26  # columns of the first column: of rates, of figures
FIGURES: tuple[tuple[str, str, str], ...] = (  # key in the JSON line, unit, meaning
    ("ratio_plain", "times", "our plain / transformers' plain generate"),
    ("ratio_assisted", "times", "our speculative / transformers' assisted, both k = 4"),
    ("trace_ratio", "times", "a round without the trace / the same round with it, k = 4"),
    ("alpha", "", "mean acceptance of a tested token, sum min(p, q)"),
    ("c", "steps", "a draft step, in plain target steps"),
    ("c_verify", "steps", "each further position that the target verifies"),
    ("fixed", "steps", "what a speculative round costs whatever k is"),
    ("step_ms", "ms", "a plain target step: pass, sampling, trace"),
    ("prediction_mean_abs_error", "%", "predicted against measured speedup, mean over k"),
    ("formula_mean_abs_error", "%", "the formula's against measured speedup, mean over k"),
    ("waterfall_largest_rest", "%", "largest unexplained rest of a waterfall / measured speedup"),
    ("bandwidth_gb_per_second", "GB/s", "the ceiling: the larger of copy and product"),
    ("copy_gb_per_second", "GB/s", "a large copy, bytes read and written"),
    ("product_gb_per_second", "GB/s", "a matrix-vector product of the weights' size"),
    ("read_mb_per_token", "MB", "what a pass over one token reads: weights, keys and values"),
    ("bandwidth_fraction", "%", "of the ceiling used by a pass over one token"),
    ("knee_width", "tokens", "up to this width a pass takes as long as over one token"),
    ("c_verify_behind_knee", "passes", "each further token of a wider pass"),
)


def table_lines(results: dict[str, Any]) -> list[str]:
    """Return the lines of the table: rates, figures, speedups by k, passes by width."""
    return [*_head(results), "", *_rates(results), "", *_figures(results), "", *_speedups(results), "",
            *_passes(results)]  # fmt: skip


def _head(results: dict[str, Any]) -> Iterator[str]:
    threads = results.get("threads") or {}
    counts = ", ".join(f"{who} {n}" for who, n in threads.items() if n is not None)
    yield f"target {results['target']}, draft {results['draft']}"
    yield (f"on {results['device']} in {results['dtype']}, T = 1, {results['tokens']} tokens a run"
           + (f"; threads: {counts}" if counts else ""))  # fmt: skip


def _rates(results: dict[str, Any]) -> Iterator[str]:
    yield f"{'Whole calls, prompt included':{NAME}}{'tokens/s':>10}   lowest .. highest of the repeats"
    for name, (middle, low, high) in results["table"].items():
        yield f"{name:{NAME}}{middle:10.1f}{low:9.1f} .. {high:.1f}"


def _figures(results: dict[str, Any]) -> Iterator[str]:
    yield "Figures, named as in the JSON line; a step is one plain target step, times are ratios"
    for key, unit, meaning in FIGURES:
        value = results[key]
        yield f"{key:{KEY}}{_number(value, unit):>8} {unit if value is not None else '':7}{meaning}"


def _speedups(results: dict[str, Any]) -> Iterator[str]:
    measured: dict[int, float] = results["speedup_measured"]
    yield "Speedup over our plain decoding (decoding alone, medians of the repeats)"
    yield "predicted: from the measured parts of a round; formula: from alpha, c, c_verify, fixed"
    heads = (("k", 3), ("tokens/round", 14), ("measured", 10), ("predicted", 11), ("off", 7), ("formula", 9),
             ("off", 7), ("prompt, ms", 12))  # fmt: skip
    yield "".join(f"{head:>{width}}" for head, width in heads)
    best = max(measured, key=measured.__getitem__, default=None)
    for k, ratio in measured.items():
        guesses = "".join(
            f"{results[name][k]:{width}.2f}x{100 * (results[name][k] / ratio - 1):+6.1f}%"
            for name, width in (("speedup_predicted", 10), ("speedup_formula", 8))
        )
        mark = "" if k != best else "  <- fastest" if ratio > 1 else "  <- best, no gain"
        length, prompt = results["tokens_per_round"][k], results["prefill_ms"][k]
        yield f"{k:3d}{length:14.2f}{ratio:9.2f}x{guesses}{prompt:12.1f}{mark}"


def _passes(results: dict[str, Any]) -> Iterator[str]:
    times: dict[int, float] = results["verify_ms"]
    yield "One target pass by the number of tokens in it, ms"
    yield from _columns([(f"{n}", f"{ms:.2f}") for n, ms in times.items()])


def _columns(cells: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield pairs of lines, each cell's first text over its second, broken before WIDTH."""
    wide = 2 + max((len(text) for cell in cells for text in cell), default=0)
    row = (WIDTH - 8) // wide
    for i in range(0, len(cells), row):
        part = cells[i : i + row]
        yield f"{'tokens':8}" + "".join(f"{top:>{wide}}" for top, _ in part)
        yield f"{'ms':8}" + "".join(f"{foot:>{wide}}" for _, foot in part)


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "%":
        return f"{100 * value:.1f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3f}"
