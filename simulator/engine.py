"""Speculative and plain decoding as generators of the same events; a round reads top to bottom.

Knows rounds, budgets, end tokens, caches. Does not know threads, files or the screen.

Between rounds one rule holds for every cache: it has read the text up to, and not including, its
newest token. That token is *pending* and is the first input of the next target pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint, DraftSource, Proposal, no_checkpoint
from simulator.errors import UserError
from simulator.models.base import LanguageModel, prefill
from simulator.parameters import check
from simulator.records import (
    Bars,
    DraftedToken,
    Event,
    ExtraToken,
    FloatArray,
    Position,
    RoundTrace,
    RunConfig,
    RunFinished,
    RunStarted,
    Shape,
    StopReason,
    Verdict,
)
from simulator.reduction import bars, shapes
from simulator.sampling import checked, probabilities
from simulator.store import tokens_of
from simulator.uniforms import RoundUniforms, round_uniforms
from simulator.verify import RULES, Outcome, accept_probability, chances

Clock = Callable[[], float]  # seconds; waits for the device first where there is one


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
            trace, notice = decode_round(target, source, text, len(prompt), config, index, checkpoint, clock)
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
    target: LanguageModel,
    source: DraftSource | None,
    text: Sequence[int],
    prompt_length: int,
    config: RunConfig,
    index: int,
    checkpoint: Checkpoint,
    clock: Clock,
) -> tuple[RoundTrace, str | None]:
    """Do one round behind `text`: draft, verify, judge, roll back. Return its trace and a notice for the user."""
    start = clock()
    u = round_uniforms(config.seed, index, config.k)
    n = _room(target, len(text), config.max_new_tokens - (len(text) - prompt_length), config.k)
    draft = _propose(source, text, u.draft[:n], target.vocab, checkpoint)
    drafted = clock()

    checkpoint()
    logits = target.extend([text[-1], *draft.tokens])  # [n + 1, vocab]
    verified = clock()
    p = probabilities(logits, config.sampling, target.name)

    judged = _until_end_token(draft.tokens, config.end_tokens)
    rows = p[: judged + 1], draft.q[:judged], draft.tokens[:judged]
    outcome = RULES[config.rule](*rows, u.accept[:judged].tolist(), u.extra)
    emitted = _emitted(draft.tokens, outcome, config.end_tokens)

    after = [*text, *emitted]
    target.rollback(target.length - (len(after) - 1))
    if source is not None:
        source.commit(after)

    limits = chances(config.rule, *rows)
    positions = _positions(p, draft, outcome, u, limits, len(text), emitted, config.detail)
    done = clock()
    trace = RoundTrace(index, len(text), positions, emitted, 1000 * (drafted - start) if draft.tokens else 0.0,
                       1000 * (verified - drafted), 1000 * (done - start))  # fmt: skip
    return trace, draft.notice


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


def _propose(
    source: DraftSource | None, text: Sequence[int], uniforms: NDArray[np.float64], vocab: int, checkpoint: Checkpoint
) -> Proposal:
    if source is None or not len(uniforms):
        return Proposal((), np.zeros((0, vocab), np.float32), ())
    proposal = source.propose(text, uniforms, checkpoint)
    assert proposal.q.shape == (len(proposal.tokens), vocab), (proposal.q.shape, len(proposal.tokens), vocab)
    return proposal


def _until_end_token(tokens: Sequence[int], end_tokens: frozenset[int]) -> int:
    """Return how many drafted tokens to judge: those behind the first end token are never tested."""
    return next((i + 1 for i, t in enumerate(tokens) if t in end_tokens), len(tokens))


def _emitted(tokens: Sequence[int], outcome: Outcome, end_tokens: frozenset[int]) -> tuple[int, ...]:
    """Return what joins the text; an accepted end token closes the round without a bonus."""
    kept = tuple(tokens[: outcome.accepted])
    return kept if kept and kept[-1] in end_tokens else (*kept, outcome.extra)


def _positions(
    p: FloatArray, draft: Proposal, outcome: Outcome, u: RoundUniforms, limits: Sequence[float], text_length: int,
    emitted: tuple[int, ...], detail: bool,
) -> tuple[Position, ...]:  # fmt: skip
    """Return the trace of every scored position that means something: drafted ones, and the bonus or plain one."""
    extra_at = outcome.accepted if len(emitted) > outcome.accepted else None
    count = max(len(draft.tokens), 0 if extra_at is None else extra_at + 1)
    tokens = []
    for i in range(count):
        drafted = _drafted_token(p, draft, outcome, u, limits, i) if i < len(draft.tokens) else None
        extra = ExtraToken(outcome.extra, outcome.kind, float(p[i, outcome.extra]), u.extra) if i == extra_at else None
        tokens.append((drafted, extra))
    figures: Sequence[Shape | None] = [None] * count
    shown: Sequence[Bars | None] = [None] * count
    if detail:
        figures = shapes(p[:count], draft.q)
        shown = bars(p[:count], draft.q, [[t.token_id for t in pair if t is not None] for pair in tokens])
    return tuple(
        Position(i + 1, text_length + i, drafted, extra, figures[i], shown[i])
        for i, (drafted, extra) in enumerate(tokens)
    )


def _drafted_token(
    p: FloatArray, draft: Proposal, outcome: Outcome, u: RoundUniforms, limits: Sequence[float], i: int
) -> DraftedToken:
    token = draft.tokens[i]
    tested = i < outcome.tested
    verdict = Verdict.ACCEPTED if i < outcome.accepted else Verdict.REJECTED if tested else Verdict.DISCARDED
    p_x, q_x = float(p[i, token]), float(draft.q[i, token])
    u_accept = float(u.accept[i]) if tested else None
    limit = limits[i] if i < len(limits) else accept_probability(p_x, q_x)  # behind an end token nothing is judged
    return DraftedToken(token, p_x, q_x, limit, draft.u[i], u_accept, verdict)


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
