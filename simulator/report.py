"""The figures of finished runs as one JSON-ready object (the keys of `run --json`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.cost.verdict import formula_speedup
from simulator.loading import Pair
from simulator.measure import tokens_per_second
from simulator.metrics import from_rounds
from simulator.records import Run
from simulator.round_cost import cost
from simulator.text.token_text import StreamText


def report(runs: Sequence[Run], baselines: Sequence[Run], pair: Pair) -> dict[str, Any]:
    """Return the figures of one run, or pooled ones with an object per run under `runs`.

    `baselines` is empty or holds the plain run of each run. Values that were not measured are None.
    """
    if len(runs) == 1:
        return _figures(runs, baselines, pair)
    pooled = _figures(runs, baselines, pair)
    singles = [_figures([run], baselines[i : i + 1], pair) for i, run in enumerate(runs)]
    return {**pooled, "text": None, "tokens": None, "seed": None, "runs": singles}


def text_of(run: Run, pair: Pair) -> str:
    """Return the generated text, an unfinished character at its end as a visible mark."""
    stream = StreamText(pair.texts, run.prompt)
    stream.push(*run.tokens)
    return stream.shown


def _figures(runs: Sequence[Run], baselines: Sequence[Run], pair: Pair) -> dict[str, Any]:
    run, config = runs[0], runs[0].config
    rounds = [r for each in runs for r in each.rounds]
    plain = [r for each in baselines for r in each.rounds]
    figures = from_rounds(rounds)
    fitted = cost(plain, {config.k: rounds}) if config.k else None
    speed, base = tokens_per_second(rounds), tokens_per_second(plain)
    predicted = formula_speedup(figures, fitted, config.k, config.rule) if fitted is not None else None
    stops = {str(each.stop) for each in runs}
    return {
        "text": text_of(run, pair),
        "tokens": list(run.tokens),
        "rounds": figures.rounds,
        "drafted": figures.drafted,
        "tested": figures.tested,
        "accepted": figures.accepted,
        "emitted": figures.emitted,
        "acceptance_length": figures.acceptance_length,
        "draft_acceptance_rate": figures.draft_acceptance_rate,
        "tested_acceptance_rate": figures.tested_acceptance_rate,
        "alpha": figures.alpha,
        "per_position_unconditional": figures.per_position_unconditional,
        "per_position_conditional": figures.per_position_conditional,
        "c": fitted.c if fitted else None,
        "c_verify": fitted.c_verify if fitted else None,
        "tokens_per_second": speed,
        "baseline_tokens_per_second": base,
        "speedup_measured": speed / base if speed and base else None,
        "speedup_predicted": predicted,
        "stop_reason": stops.pop() if len(stops) == 1 else None,
        "device": pair.target.device,
        "dtype": pair.target.dtype,
        "seed": config.seed,
        "k": config.k,
        "rule": config.rule,
        "source": config.source,
        "prefill_ms": sum(each.prefill_ms for each in runs) / len(runs),
        "notices": list(dict.fromkeys(n for each in runs for n in each.notices)),
    }
