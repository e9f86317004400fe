"""A race: one prompt decoded plainly and then speculatively, with the moment at which each token came.

Knows: what is timed, what the two texts may be expected to share, how much of a lane is there at a moment. Does not
know: threads, the screen, how a replay moves.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simulator.clocks import Clock, clock_for
from simulator.drafts.base import Checkpoint, DraftSource, no_checkpoint
from simulator.engine import Stopped, speculate
from simulator.errors import UserError
from simulator.exactness.sequence import Divergence, divergence
from simulator.loading import Pair, Progress
from simulator.measure import WARM_UP_TOKENS, run_once
from simulator.models.base import LanguageModel
from simulator.records import Event, Kind, RoundTrace, RunConfig, RunFinished, RunStarted, StopReason, Verdict
from simulator.runner import Control, Job
from simulator.text.prompts import Prompt

EVEN = 0.02  # a lead below this share of the speed is none: one run each
FEW = 8  # tokens: in a shorter run one slow pass decides
PARTS = 20  # times a lane says how far it is: every word costs the window time that the lane may be missing


@dataclass(frozen=True, slots=True)
class Lane:
    """One measured run, token by token; the rows have one entry a token."""

    prefill_ms: float  # before the clock starts: reading all of the prompt but its last token
    tokens: tuple[int, ...]
    labels: tuple[str, ...]  # of the tokens, in visible characters
    arrivals: tuple[float, ...]  # ms from the end of the prefill to the end of the token's round; they never fall
    origins: tuple[str, ...]  # in the words of `records`: accepted, residual, bonus or plain
    passes: tuple[int, ...]  # which pass of the target brought the token: 1, 2, ...
    stop: StopReason

    @property
    def ms(self) -> float:
        """Return how long all tokens took, prefill not counted."""
        return self.arrivals[-1]

    @property
    def tokens_per_second(self) -> float:
        """Return tokens per second of decoding, prefill not counted."""
        return 1000 * len(self.tokens) / self.ms


@dataclass(frozen=True, slots=True)
class Race:
    """Two runs of one prompt, measured one after the other."""

    config: RunConfig  # of the speculative lane; the plain one has k = 0 and the target's own sampling
    prompt_tokens: int
    plain: Lane
    speculative: Lane
    divergence: Divergence | None  # of the two texts where both are greedy; None where they are sampled

    @property
    def ms(self) -> float:
        """Return how long the slower lane took."""
        return max(self.plain.ms, self.speculative.ms)

    @property
    def speedup(self) -> float:
        """Return speculative over plain tokens per second."""
        return self.speculative.tokens_per_second / self.plain.tokens_per_second

    @property
    def drafted(self) -> bool:
        """Return whether any round drafted: not with a budget of one token, nor where a source found nothing."""
        return any(origin != Kind.PLAIN.value for origin in self.speculative.origins)

    @property
    def winner(self) -> Lane | None:
        """Return the faster lane per token; None where nothing was drafted, few tokens came, or the lead is none."""
        short = min(len(self.plain.tokens), len(self.speculative.tokens)) < FEW
        if short or not self.drafted or abs(self.speedup - 1) < EVEN:
            return None
        return self.speculative if self.speedup > 1 else self.plain


@dataclass(frozen=True, slots=True)
class Underway:
    """How far a lane is while it is being measured."""

    speculative: bool
    tokens: int
    wanted: int  # the budget; an end token may come before


def shown_at(lane: Lane, ms: float) -> int:
    """Return how many tokens are there so many ms after the start: those with an arrival <= ms."""
    return bisect_right(lane.arrivals, ms)


def race_job(pair: Pair, prompt: Prompt | str, config: RunConfig) -> Job:
    """Measure both lanes; yields Progress and Underway in turn, and at last the Race."""

    def job(control: Control) -> Iterator[Any]:
        return race(
            pair.target.model, pair.source(config.source, config.sampling), pair.encode(prompt),
            replace(config, end_tokens=pair.end_tokens), pair.texts.label,
            checkpoint=control.checkpoint, clock=clock_for(pair.target.device),
        )  # fmt: skip

    return job


def race(
    target: LanguageModel, source: DraftSource, prompt: Sequence[int], config: RunConfig,
    label: Callable[[int], str] = str, *,
    checkpoint: Checkpoint = no_checkpoint, clock: Clock = time.perf_counter,
) -> Generator[Progress | Underway | Race, None, None]:  # fmt: skip
    """Warm up both ways, decode plainly, then speculatively, with one seed and budget; compare what is greedy.

    No bars are kept (trace off): decoding races, not the looking at it. Raise `UserError` where nothing is drafted
    (k = 0) or no token can follow the prompt, `Stopped` where the checkpoint does: half a race is none.
    """
    if not config.k:
        raise UserError("Nothing races with k = 0, which drafts nothing: choose a k of at least 1.")
    config = replace(config, detail=False)
    plainly = replace(config, k=0, rule="exact")
    parts = (None, plainly), (source, config)
    yield Progress("Warming up ...", 0.0)
    for drafts, settings in parts:
        short = replace(settings, max_new_tokens=min(WARM_UP_TOKENS, settings.max_new_tokens))
        run_once(target, drafts, prompt, short, checkpoint=checkpoint, clock=clock)
    lanes: list[Lane] = []
    for drafts, settings in parts:
        events = speculate(target, drafts, prompt, settings, checkpoint=checkpoint, clock=clock)
        lanes.append((yield from _timed(events, settings, label)))
    plain, speculative = lanes
    parted = None
    if not config.sampling.temperature:
        yield Progress("Comparing the two texts ...", None)
        parted = divergence(target, prompt, speculative.tokens, plain.tokens, config.k + 1, checkpoint)
    yield Race(config, len(prompt), plain, speculative, parted)


def _timed(
    events: Iterator[Event], config: RunConfig, label: Callable[[int], str]
) -> Generator[Progress | Underway, None, Lane]:
    """Decode to the end, telling now and then how far it is; return the lane."""
    way = "speculatively" if config.k else "plainly"
    said, prefill_ms, rounds, stop = -1, 0.0, [], StopReason.STOPPED
    done = 0
    for event in events:
        if isinstance(event, RunStarted):
            prefill_ms = event.prefill_ms
        elif isinstance(event, RunFinished):
            stop = event.stop
        else:
            rounds.append(event)
            done += len(event.emitted)
        part = PARTS * done // max(1, config.max_new_tokens)
        if part > said:
            said, share = part, done / max(1, config.max_new_tokens)
            text = f"Decoding {way}: {done} of {config.max_new_tokens} tokens ..."
            yield Progress(text, (share + bool(config.k)) / 2)
            yield Underway(bool(config.k), done, config.max_new_tokens)
    if stop is StopReason.STOPPED:
        raise Stopped
    if not rounds:
        raise UserError("Nothing was measured: no token can follow this prompt. Choose a shorter one.")
    return lane_of(rounds, prefill_ms, stop, label)


def lane_of(
    rounds: Sequence[RoundTrace], prefill_ms: float, stop: StopReason, label: Callable[[int], str] = str
) -> Lane:
    """Return the lane of at least one round: its tokens come together when it ends, after all rounds before it."""
    tokens: list[int] = []
    arrivals: list[float] = []
    origins: list[str] = []
    passes: list[int] = []
    now = 0.0
    for number, trace in enumerate(rounds, 1):
        now += trace.round_ms
        n = len(trace.emitted)
        tokens += trace.emitted
        arrivals += [now] * n
        passes += [number] * n
        origins += [Verdict.ACCEPTED.value] * trace.accepted
        origins += [trace.extra.kind.value] if trace.extra is not None else []
    return Lane(prefill_ms, tuple(tokens), tuple(map(label, tokens)), tuple(arrivals), tuple(origins), tuple(passes),
                stop)  # fmt: skip
