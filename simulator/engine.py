"""Speculative and plain decoding as generators of the same events; a round reads top to bottom.

Knows rounds, budgets, end tokens, caches. Does not know threads, files or the screen.

Between rounds one rule holds for every cache: it has read the text up to, and not including, its
newest token. That token is *pending* and is the first input of the next target pass.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import replace

from simulator.clocks import Clock
from simulator.drafts.base import Checkpoint, DraftSource, no_checkpoint
from simulator.errors import UserError
from simulator.judging.base import Judged, Place
from simulator.judging.host import Host
from simulator.models.base import LanguageModel, prefill, queues
from simulator.parameters import check
from simulator.records import (
    Bars,
    DraftedToken,
    Event,
    ExtraToken,
    Position,
    RoundTrace,
    RunConfig,
    RunFinished,
    RunStarted,
    Shape,
    StopReason,
    Verdict,
)
from simulator.sampling import checked
from simulator.trace.store import tokens_of
from simulator.uniforms import RoundUniforms, round_uniforms
from simulator.verify import RULES


class Stopped(Exception):
    """A request, not a fault: raised by a checkpoint to end the run after the rounds that are complete."""


def speculate(
    target: LanguageModel,
    source: DraftSource | None,
    prompt: Sequence[int],
    config: RunConfig,
    *,
    checkpoint: Checkpoint = no_checkpoint,
    clock: Clock = time.perf_counter,
    earlier: Sequence[RoundTrace] = (),
) -> Generator[Event, None, None]:
    """Decode by draft, verify and judge; yield a RunStarted, one RoundTrace a round and a RunFinished.

    `source=None` or k = 0 decodes plainly. `earlier` are the rounds of an interrupted run with the same prompt
    and seed: decoding goes on behind them exactly as it would have. Raise `UserError` for wrong settings,
    an empty prompt, a prompt token without a row in the target, or logits that are not a distribution.
    """
    config = checked_config(config)
    prompt = checked_prompt(prompt, target)
    text = [*prompt, *tokens_of(earlier)]
    source = source if config.k else None
    place = place_of(target, source, config)
    stop = _stop(text, len(prompt), target, config)

    start = clock()
    target.reset()
    if source is not None:
        source.reset()
    try:
        prefill(target, text[:-1], checkpoint)
        if source is not None:
            source.prefill(text, checkpoint)
    except Stopped:
        stop = StopReason.STOPPED
    yield RunStarted(config, tuple(prompt), 1000 * (clock() - start))

    notices: dict[str, None] = {}
    index = len(earlier)
    while stop is None:
        try:
            trace, notice = decode_round(place, text, len(prompt), config, index, checkpoint, clock)
        except Stopped:
            stop = StopReason.STOPPED
            break
        text += trace.emitted
        if notice:
            notices[notice] = None
        stop = _stop(text, len(prompt), target, config)
        yield replace(trace, stop=stop)
        index += 1
    yield RunFinished(stop, tuple(notices))


def autoregress(
    target: LanguageModel,
    prompt: Sequence[int],
    config: RunConfig,
    *,
    checkpoint: Checkpoint = no_checkpoint,
    clock: Clock = time.perf_counter,
) -> Generator[Event, None, None]:
    """Decode plainly, one target pass a token: the baseline, as rounds that draft nothing."""
    plain = replace(config, k=0, rule="exact")  # the target's own sampling, whatever rule it is compared with
    return speculate(target, None, prompt, plain, checkpoint=checkpoint, clock=clock)


def decode_round(
    place: Place,
    text: Sequence[int],
    prompt_length: int,
    config: RunConfig,
    index: int,
    checkpoint: Checkpoint,
    clock: Clock,
) -> tuple[RoundTrace, str | None]:
    """Do one round behind `text`: draft, verify, judge, roll back. Return its trace and a notice for the user."""
    target, source = place.target, place.source
    start = clock()
    u = round_uniforms(config.seed, index, config.k)
    n = _room(target, len(text), config.max_new_tokens - (len(text) - prompt_length), config.k)
    draft = place.draft(text, u.draft[:n], checkpoint)
    drafted = clock()

    checkpoint()
    logits = place.verify(text[-1], draft)  # [n + 1, vocab]
    verified = clock()

    judged = place.judge(logits, draft, u)
    emitted = _emitted(judged, config.end_tokens)

    after = [*text, *emitted]
    target.rollback(target.length - (len(after) - 1))
    if source is not None:
        source.commit(after)

    positions = _positions(judged, u, len(text), emitted, config.detail)
    done = clock()
    trace = RoundTrace(index, len(text), positions, emitted, 1000 * (drafted - start) if judged.tokens else 0.0,
                       1000 * (verified - drafted), 1000 * (done - start))  # fmt: skip
    return trace, draft.notice


def place_of(target: LanguageModel, source: DraftSource | None, config: RunConfig) -> Place:
    """Return where the rounds of a run are judged: by the exact rule on the target's GPU, by any other in memory."""
    if config.rule == "exact" and queues(target):
        from simulator.judging.device import Device

        return Device(target, source, config)
    return Host(target, source, config)


def checked_config(config: RunConfig) -> RunConfig:
    """Return the settings with every value inside its limits; raise `UserError` otherwise."""
    if config.rule not in RULES:
        raise UserError(f"There is no rule '{config.rule}'; choose one of {', '.join(RULES)}.")
    return replace(
        config, sampling=checked(config.sampling), k=int(check("k", config.k)), seed=int(check("seed", config.seed)),
        max_new_tokens=int(check("max_new_tokens", config.max_new_tokens)),
    )  # fmt: skip


def checked_prompt(prompt: Sequence[int], target: LanguageModel) -> list[int]:
    """Return the prompt as a list; raise `UserError` when it is empty, too long or names an id the target lacks."""
    ids = [int(t) for t in prompt]
    if not ids:
        raise UserError("The prompt is empty and this model has no beginning-of-text token: type at least one word.")
    bad = next((t for t in ids if not 0 <= t < target.vocab), None)
    if bad is not None:
        raise UserError(
            f"The prompt contains token id {bad}, but {target.name} has {target.vocab} rows (ids 0 to "
            f"{target.vocab - 1}): remove that token from the prompt."
        )
    if target.max_length is not None and len(ids) > target.max_length:
        raise UserError(
            f"The prompt has {len(ids)} tokens, but {target.name} reads at most {target.max_length}: shorten it."
        )
    return ids


def _room(target: LanguageModel, text_length: int, budget: int, k: int) -> int:
    """Return how many tokens to draft: k, less where budget (one is left for the extra token) or context end."""
    context = k if target.max_length is None else target.max_length - text_length
    return max(0, min(k, budget - 1, context))


def _emitted(judged: Judged, end_tokens: frozenset[int]) -> tuple[int, ...]:
    """Return what joins the text; an accepted end token closes the round without a bonus."""
    kept = judged.tokens[: judged.outcome.accepted]
    return kept if kept and kept[-1] in end_tokens else (*kept, judged.outcome.extra)


def _positions(
    judged: Judged, u: RoundUniforms, text_length: int, emitted: tuple[int, ...], detail: bool
) -> tuple[Position, ...]:
    """Return the trace of every scored position that means something: drafted ones, and the bonus or plain one."""
    outcome, n = judged.outcome, len(judged.tokens)
    extra_at = outcome.accepted if len(emitted) > outcome.accepted else None
    count = max(n, 0 if extra_at is None else extra_at + 1)
    extra = ExtraToken(outcome.extra, outcome.kind, judged.p_extra, u.extra)
    tokens = [(_drafted_token(judged, u, i) if i < n else None, extra if i == extra_at else None) for i in range(count)]
    figures: Sequence[Shape | None] = [None] * count
    shown: Sequence[Bars | None] = [None] * count
    if detail:
        figures, shown = judged.details([[t.token_id for t in pair if t is not None] for pair in tokens])
    return tuple(
        Position(i + 1, text_length + i, drafted, extra, figures[i], shown[i])
        for i, (drafted, extra) in enumerate(tokens)
    )


def _drafted_token(judged: Judged, u: RoundUniforms, i: int) -> DraftedToken:
    tested = i < judged.outcome.tested
    verdict = Verdict.ACCEPTED if i < judged.outcome.accepted else Verdict.REJECTED if tested else Verdict.DISCARDED
    u_accept = float(u.accept[i]) if tested else None
    return DraftedToken(judged.tokens[i], judged.p[i], judged.q[i], judged.limits[i], judged.u_draft[i], u_accept,
                        verdict)  # fmt: skip


def _stop(text: Sequence[int], prompt_length: int, target: LanguageModel, config: RunConfig) -> StopReason | None:
    """Return why no further round can be done, if so; an end token in the prompt is no reason."""
    new = len(text) - prompt_length
    if new and text[-1] in config.end_tokens:
        return StopReason.END_TOKEN
    if new >= config.max_new_tokens:
        return StopReason.BUDGET
    if target.max_length is not None and len(text) > target.max_length:
        return StopReason.CONTEXT
    return None
