"""What the inference thread can be asked to do: load a pair, decode a run, measure a sweep.

Each function returns a `runner.Job`: a generator function that takes the job's control.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from simulator.clocks import clock_for
from simulator.cost.machine import measure_cost
from simulator.engine import speculate
from simulator.exactness.sequence import compare_greedy, compare_sequences
from simulator.loading import Pair, load_pair
from simulator.measure import sweep
from simulator.records import RoundTrace, RunConfig, RunFinished
from simulator.runner import Control, Job
from simulator.text.prompts import Prompt


def load_job(target: str, draft: str | None, **options: Any) -> Job:
    """Load a pair: yields Progress and at last the Pair."""

    def job(control: Control) -> Iterator[Any]:
        return load_pair(target, draft, checkpoint=control.checkpoint, **options)

    return job


def run_job(
    pair: Pair, prompt: Prompt | str | tuple[int, ...], config: RunConfig, earlier: Sequence[RoundTrace] = ()
) -> Job:
    """Decode from the prompt (or its token ids), or go on behind the earlier rounds; one permit a round."""

    def job(control: Control) -> Iterator[Any]:
        ids = list(prompt) if isinstance(prompt, tuple) else pair.encode(prompt)
        source = pair.source(config.source, config.sampling)
        events = speculate(
            pair.target.model, source, ids, replace(config, end_tokens=pair.end_tokens),
            checkpoint=control.checkpoint, clock=clock_for(pair.target.device), earlier=earlier,
        )  # fmt: skip
        for event in events:
            yield event
            last = isinstance(event, RunFinished) or (isinstance(event, RoundTrace) and event.stop is not None)
            if not last:
                control.wait_for_permit()

    return job


SWEEP_TOKENS = 64


def sweep_job(pair: Pair, prompt: Prompt | str, config: RunConfig) -> Job:
    """Measure k = 0..8 against plain decoding; yields Sweep records."""

    def job(control: Control) -> Iterator[Any]:
        ids = pair.encode(prompt)
        settings = replace(config, end_tokens=frozenset(), max_new_tokens=SWEEP_TOKENS)  # equal work at every k
        source = pair.source(config.source, config.sampling)
        clock = clock_for(pair.target.device)
        return sweep(pair.target.model, source, ids, settings, checkpoint=control.checkpoint, clock=clock)

    return job


def cost_job(pair: Pair, prompt: Prompt | str) -> Job:
    """Measure what the Cost page shows beside a sweep: verify time by width, bandwidth, peak; yields a MachineCost."""

    def job(control: Control) -> Iterator[Any]:
        return measure_cost(pair, pair.encode(prompt), control.checkpoint)

    return job


SEEDS = 300  # texts of each kind; with fewer a lossy rule hides in the noise, with more one waits


def compare_job(pair: Pair, prompt: Prompt | str, config: RunConfig, tokens: int) -> Job:
    """Compare whole texts with plain decoding: the first tokens of SEEDS seeds, or, with tokens = 0, greedy text."""

    def job(control: Control) -> Iterator[Any]:
        ids = pair.encode(prompt)
        settings = replace(config, end_tokens=pair.end_tokens)
        if not tokens:
            settings = replace(settings, sampling=replace(settings.sampling, temperature=0.0))
        source = pair.source(config.source, settings.sampling)
        parts = pair.target.model, source, ids, settings
        if tokens:
            return compare_sequences(*parts, tokens, SEEDS, control.checkpoint)
        return iter([compare_greedy(*parts, control.checkpoint)])

    return job
