"""Measured throughput: clocks that wait for the device, warm-up, and the sweep over k against plain decoding.

Prefill is never inside a decoding time. Tokens are counted as emitted. Speedups compare runs that share
prompt, seed, temperature and dtype, taken in turn so that a drifting machine hits them all alike.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from simulator.clocks import Clock
from simulator.drafts.base import Checkpoint, DraftSource, no_checkpoint
from simulator.engine import speculate
from simulator.metrics import AcceptanceFigures, from_rounds
from simulator.models.base import LanguageModel
from simulator.records import RoundTrace, Run, RunConfig, RunFinished, RunStarted, StopReason
from simulator.round_cost import Cost, RoundCost, cost, run_costs
from simulator.trace.store import summary_of

WARM_UP_TOKENS = 8
TURN = 25  # tokens that a run decodes before the next one has its turn: a machine's slow second hits them all alike

Contender = tuple[DraftSource | None, RunConfig]


def run_once(
    target: LanguageModel, source: DraftSource | None, prompt: Sequence[int], config: RunConfig, *,
    checkpoint: Checkpoint = no_checkpoint, clock: Clock = time.perf_counter,
) -> Run:  # fmt: skip
    """Decode to the end and return the whole run."""
    rounds: list[RoundTrace] = []
    started, finished = RunStarted(config, tuple(prompt), 0.0), RunFinished(StopReason.STOPPED)
    for event in speculate(target, source, prompt, config, checkpoint=checkpoint, clock=clock):
        if isinstance(event, RoundTrace):
            rounds.append(event)
        elif isinstance(event, RunStarted):
            started = event
        else:
            finished = event
    return Run(started.config, started.prompt, tuple(rounds), started.prefill_ms, finished.stop, finished.notices)


def in_turns(
    target: LanguageModel, contenders: Sequence[Contender], prompt: Sequence[int], *,
    checkpoint: Checkpoint = no_checkpoint, clock: Clock = time.perf_counter,
) -> Generator[tuple[list[Run | None], float], None, None]:  # fmt: skip
    """Decode all contenders, `TURN` tokens each in turn; yield the whole runs so far and the fraction done.

    A run is what `run_once` gives: taking it up again reads its text anew, which is counted nowhere. None stands
    for a run that is not whole yet; when stopped, the last ones stay None.
    """
    rounds: list[list[RoundTrace]] = [[] for _ in contenders]
    tokens = [0 for _ in contenders]
    prefill_ms = [0.0 for _ in contenders]
    whole: list[Run | None] = [None for _ in contenders]
    goal = 0
    while None in whole:
        goal += TURN
        for i, (source, config) in enumerate(contenders):
            if whole[i] is not None:
                continue
            events = speculate(target, source, prompt, config, checkpoint=checkpoint, clock=clock,
                               earlier=tuple(rounds[i]))  # fmt: skip
            for event in events:
                if isinstance(event, RoundTrace):
                    rounds[i].append(event)
                    tokens[i] += len(event.emitted)
                    if event.stop is None and tokens[i] >= goal:
                        break
                elif isinstance(event, RunStarted):
                    prefill_ms[i] = prefill_ms[i] or event.prefill_ms
                elif event.stop is StopReason.STOPPED:
                    return
                else:
                    whole[i] = Run(config, tuple(prompt), tuple(rounds[i]), prefill_ms[i], event.stop, event.notices)
            parts = (1.0 if run else done / config.max_new_tokens
                     for run, done, (_, config) in zip(whole, tokens, contenders, strict=True))  # fmt: skip
            yield list(whole), sum(parts) / len(contenders)


def trace_ratios(
    target: LanguageModel, source: DraftSource | None, prompt: Sequence[int], config: RunConfig, *,
    seconds: float = math.inf, clock: Clock = time.perf_counter,
) -> list[float]:  # fmt: skip
    """Decode a run, each round once with and once without the trace; return time without / time with of every round.

    The same round behind the same text, one right after the other: what a trace costs is less than the machine wavers
    from one second to the next. Reading the text anew before each is counted nowhere, but in the `seconds` after which
    no further round is begun.
    """
    ratios: list[float] = []
    text: list[RoundTrace] = []
    begin, stop = clock(), None
    while stop is None and clock() - begin < seconds:
        ms = {}
        for detail in (True, False) if len(text) % 2 else (False, True):
            events = speculate(target, source, prompt, replace(config, detail=detail), clock=clock, earlier=tuple(text))
            trace = next(event for event in events if isinstance(event, RoundTrace))
            ms[detail] = trace.round_ms
        text.append(trace)
        ratios.append(ms[False] / ms[True])
        stop = trace.stop
    return ratios


def tokens_per_second(rounds: Sequence[RoundTrace]) -> float | None:
    """Return emitted tokens per second of decoding (prefill not counted); None without rounds."""
    brief = summary_of(rounds)
    seconds = float(brief["round_ms"].sum()) / 1000
    return int(brief["emitted"].sum()) / seconds if seconds > 0 else None


@dataclass(frozen=True, slots=True)
class Spread:
    """Median of the repeats with a range: lowest and highest, unless it is said to be another."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Return median and range of at least one value."""
    return Spread(median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """What one draft length reached on this machine."""

    k: int
    speedup: Spread  # over plain decoding of the same repeat
    tokens_per_round: Spread
    tokens_per_second: Spread


@dataclass(frozen=True, slots=True)
class Sweep:
    """The measured points so far; `cost`, `figures` and `repeats` are filled once the last repeat is done."""

    points: tuple[MeasuredPoint, ...]
    done: float  # fraction in [0, 1]
    cost: Cost | None = None
    figures: AcceptanceFigures | None = None  # pooled over all k >= 1
    repeats: tuple[Mapping[int, RoundCost], ...] = ()  # of each repeat, by k (`run_costs`)

    @property
    def whole(self) -> frozenset[int]:
        """Return the draft lengths k >= 1 of which some round drafted all k tokens; others measured shorter drafts."""
        return frozenset(k for costs in self.repeats for k in costs if k)


def sweep(
    target: LanguageModel, source: DraftSource, prompt: Sequence[int], config: RunConfig, *,
    ks: Sequence[int] = tuple(range(9)), repeats: int = 3,
    checkpoint: Checkpoint = no_checkpoint, clock: Clock = time.perf_counter,
) -> Generator[Sweep, None, None]:  # fmt: skip
    """Measure every k (0 = plain, always included) `repeats` times in turn; yield the points of whole runs on the way.

    Repeat r uses seed + r. A warm-up run at the largest k comes first and is not counted.
    """
    ks = sorted({0, *ks})
    run_once(target, source, prompt, replace(config, k=ks[-1], max_new_tokens=WARM_UP_TOKENS),
             checkpoint=checkpoint, clock=clock)  # fmt: skip
    runs: dict[int, list[Run]] = {k: [] for k in ks}
    for repeat in range(repeats):
        contenders = [(source if k else None, replace(config, k=k, seed=config.seed + repeat)) for k in ks]
        whole: list[Run | None] = [None]
        for whole, part in in_turns(target, contenders, prompt, checkpoint=checkpoint, clock=clock):
            here = {k: [*runs[k], *([run] if run else [])] for k, run in zip(ks, whole, strict=True)}
            yield Sweep(_points(here), (repeat + part) / repeats)
        if not all(run and run.rounds for run in whole):
            return  # half a run would be a wrong point
        for k, run in zip(ks, whole, strict=True):
            if run:
                runs[k].append(run)
    rounds = {k: [r for run in runs[k] for r in run.rounds] for k in ks}
    pooled = [r for k in ks if k for r in rounds[k]]
    costs = costs_by_repeat(runs)
    yield Sweep(_points(runs), 1.0, cost(rounds[0], rounds), from_rounds(pooled), costs)


def costs_by_repeat(runs: Mapping[int, Sequence[Run]]) -> tuple[dict[int, RoundCost], ...]:
    """Return what the rounds of each repeat cost, from as many runs of each k, plain ones under 0."""
    repeats = ({k: run.rounds for k, run in zip(runs, repeat, strict=True)}
               for repeat in zip(*runs.values(), strict=True))  # fmt: skip
    return tuple(run_costs(rounds[0], rounds) for rounds in repeats)


def _points(runs: dict[int, list[Run]]) -> tuple[MeasuredPoint, ...]:
    points = []
    plain = [tokens_per_second(run.rounds) or 0.0 for run in runs[0]]
    for k, done in runs.items():
        if done:
            speeds = [tokens_per_second(run.rounds) or 0.0 for run in done]
            lengths = [len(run.tokens) / len(run.rounds) for run in done]
            ratios = [speed / base for speed, base in zip(speeds, plain, strict=False)]
            points.append(MeasuredPoint(k, spread(ratios), spread(lengths), spread(speeds)))
    return tuple(points)
