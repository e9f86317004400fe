"""Every acceptance figure that papers and engines print, from traces or from counters, with its definition.

Knows: counts of drafted, tested, accepted and emitted tokens, and what others call their ratios.
Does not know: models, distributions, clocks, Qt. The words are those of `records`.

Two kinds of rounds need a rule, and this is the rule everywhere:

Undrafted rounds (k = 0, no n-gram match, the draft's context full) emitted their plain token, so they count in
`rounds`, `emitted`, `acceptance_length`, `tau_counters`, `accepted_per_round` and `accepted_share`: the text did
cost these target passes. They tested nothing, so they are in no per-position denominator. vLLM does not count
them at all; its length is 1 + sum(per_position_unconditional), which is `tau_counters` when every round drafted.
Where no round drafted, every figure about accepted tokens is None.

Cancelled rounds emitted nothing at all. They are left out of every figure and only counted.

None always means "not available": a figure is never the 0 or NaN of a 0/0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.records import RoundTrace
from simulator.trace.store import summary_of

DEFINITIONS: dict[str, str] = {
    "rounds": "Target passes that emitted at least one token, undrafted rounds included "
    "(vLLM's num_drafts leaves those out, so its figures per round come out higher).",
    "undrafted": "Rounds in which nothing was drafted and the target emitted one plain token; they count in "
    "rounds and emitted (vLLM skips them) but not in the per-position figures.",
    "cancelled": "Rounds that were stopped before they emitted a token; only counted here, left out of every "
    "other figure (servers that kept them have reported -1 accepted tokens).",
    "drafted": "Tokens proposed by the draft source (vLLM: num_draft_tokens, llama.cpp: gen tokens); includes "
    "tokens behind a rejection that nobody ever tested.",
    "tested": "Drafted tokens that were judged, accepted plus rejected (SpecScope's count); engines rarely print it, "
    "and without it their counters do not give alpha back.",
    "accepted": "Drafted tokens that passed their test and were emitted (vLLM, SGLang, llama.cpp); matches behind "
    "an end token are not emitted and so do not count.",
    "emitted": "Tokens that joined the text: accepted, residual, bonus and plain (what every tokens/s figure counts); "
    "not streamed chunks, one of which can hold several tokens.",
    "acceptance_length": "Tokens per round as they joined the text, emitted / rounds (SpecScope; Leviathan's expected "
    "tokens per run); a round cut by an end token or the budget has no extra token, so it can lie below tau_counters.",
    "tau_counters": "Mean acceptance length from counters, 1 + accepted / rounds (vLLM, llama.cpp, EAGLE, DSpark); "
    "takes an extra token in every round for granted, and is one more than gpt-fast's 'mean accepted'.",
    "draft_acceptance_rate": "accepted / drafted (vLLM, SGLang, llama.cpp, TensorRT-LLM); shrinks as k grows at "
    "constant alpha, because tokens behind a rejection stay in the denominator (alpha .8, k 8: .416).",
    "tested_acceptance_rate": "accepted / tested, where tested = accepted + rejected (SpecScope's estimate of alpha "
    "from verdicts alone); not the acceptance rate that engines print, which divides by drafted.",
    "accepted_per_round": "accepted / rounds, without the residual or bonus token (gpt-fast 'mean accepted'); one "
    "less than the acceptance length of vLLM and EAGLE.",
    "accepted_share": "accepted / emitted, the share of the text that was drafted (LM Studio); cannot exceed "
    "k / (k + 1) when every round emits its extra token, so 80 % is perfect at k = 4.",
    "alpha": "Mean of sum min(p, q) over tested positions (Leviathan's alpha, the mean of beta over prefixes); needs "
    "the full q, and says nothing about how acceptance hangs together within a round.",
    "per_position_unconditional": "Rounds accepting at least i tokens / rounds that drafted, for i = 1..k (vLLM, "
    "llama.cpp); falls with i by construction, so a fall alone does not mean that the draft gets worse.",
    "per_position_conditional": "Rounds accepting at least i tokens / rounds that tested position i (EAGLE 'n-alpha'); "
    "only rounds that survived so far are asked, so it can rise although no position is easier.",
}


@dataclass(frozen=True, slots=True)
class AcceptanceFigures:
    """All acceptance figures of one or several runs; `DEFINITIONS` holds one sentence for each field.

    0 <= accepted <= tested <= drafted and accepted <= emitted <= accepted + rounds. None: not available.
    """

    rounds: int
    undrafted: int
    cancelled: int
    drafted: int
    tested: int
    accepted: int
    emitted: int
    acceptance_length: float | None  # emitted / rounds: what was emitted
    tau_counters: float | None  # 1 + accepted / rounds: as if every round had emitted its extra token
    draft_acceptance_rate: float | None
    tested_acceptance_rate: float | None
    accepted_per_round: float | None
    accepted_share: float | None
    alpha: float | None  # None from counters and with trace off
    per_position_unconditional: tuple[float, ...]  # [longest draft]; empty where nothing was drafted
    per_position_conditional: tuple[float | None, ...]  # the same length; None where no round got that far


class _Round(NamedTuple):
    """What the figures need to know of a round."""

    drafted: int
    tested: int
    accepted: int
    emitted: int


def from_rounds(rounds: Iterable[RoundTrace]) -> AcceptanceFigures:
    """Compute all figures from traces; pool several runs by chaining their rounds.

    ValueError for a round that contradicts itself, such as one that emitted more than it accepted plus its one
    extra token. Undrafted and cancelled rounds: see the head of this module.
    """
    return from_summary(summary_of(rounds))


def from_summary(brief: NDArray[np.void]) -> AcceptanceFigures:
    """Compute all figures from rounds in brief [n], of type `columns.SUMMARY`; otherwise as `from_rounds`."""
    kept = emitting(brief)
    _check_counts(kept)
    return _figures(tally_of(kept), alpha=_mean_overlap(kept), cancelled=len(brief) - len(kept))


def from_accepted_counts(
    counts: Sequence[int], k: int | Sequence[int], emitted: int | None = None
) -> AcceptanceFigures:
    """Compute the figures from the accepted tokens of each round, for engines that print only counters.

    counts: [rounds]. k: tokens drafted in every round, or [rounds] where that differs. Without `emitted` every
    round is taken to have emitted its extra token. A round that accepted fewer than it drafted is taken to have
    rejected the next one. ValueError for counts outside 0..k, lengths that differ, an impossible `emitted`.
    """
    lengths = [k] * len(counts) if isinstance(k, int | np.integer) else list(k)
    if len(lengths) != len(counts):
        raise ValueError(f"k must hold one draft length per round, {len(counts)}, not {len(lengths)}.")
    tally = Counter(_judged(i, a, n) for i, (a, n) in enumerate(zip(counts, lengths, strict=True)))
    return _figures(tally, emitted=emitted)


def from_histogram(histogram: Sequence[int], k: int | None = None) -> AcceptanceFigures:
    """Compute the figures from vLLM's histogram: histogram[i] = rounds that accepted i drafted tokens.

    Every round is taken to have drafted k tokens, by default len(histogram) - 1, and to have emitted its extra
    token. ValueError for negative or fractional entries, or an entry above k.
    """
    bad = [n for n in histogram if n < 0 or n != int(n)]
    if bad:
        raise ValueError(f"A histogram holds numbers of rounds, not {bad[0]}.")
    length = len(histogram) - 1 if k is None else k
    return _figures(Counter({_judged(i, i, length): int(n) for i, n in enumerate(histogram) if n}))


def _figures(
    tally: Counter[_Round], *, alpha: float | None = None, cancelled: int = 0, emitted: int | None = None
) -> AcceptanceFigures:
    """Compute the figures from how often each kind of round occurred."""
    rounds = tally.total()
    undrafted = sum(n for r, n in tally.items() if r.drafted == 0)
    drafted, tested, accepted, counted = (sum(n * r[i] for r, n in tally.items()) for i in range(4))
    emitted = counted if emitted is None else emitted
    if not accepted <= emitted <= accepted + rounds:
        raise ValueError(f"{rounds} rounds that accepted {accepted} tokens cannot have emitted {emitted}.")
    per_round = accepted / rounds if drafted else None
    unconditional, conditional = _per_position(tally)
    return AcceptanceFigures(
        rounds=rounds,
        undrafted=undrafted,
        cancelled=cancelled,
        drafted=drafted,
        tested=tested,
        accepted=accepted,
        emitted=emitted,
        acceptance_length=_ratio(emitted, rounds),
        tau_counters=None if per_round is None else 1 + per_round,
        draft_acceptance_rate=_ratio(accepted, drafted),
        tested_acceptance_rate=_ratio(accepted, tested),
        accepted_per_round=per_round,
        accepted_share=_ratio(accepted, emitted) if drafted else None,
        alpha=alpha,
        per_position_unconditional=unconditional,
        per_position_conditional=conditional,
    )


def _per_position(tally: Counter[_Round]) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    """Return the unconditional and the conditional acceptance of positions 1..longest draft."""
    positions = range(1, max((r.drafted for r in tally), default=0) + 1)
    drafting = sum(n for r, n in tally.items() if r.drafted)
    passed = [sum(n for r, n in tally.items() if r.accepted >= i) for i in positions]
    reached = [sum(n for r, n in tally.items() if r.tested >= i) for i in positions]
    return tuple(n / drafting for n in passed), tuple(map(_ratio, passed, reached))


def _ratio(part: int, whole: int) -> float | None:
    """Return part / whole, None for 0/0."""
    return part / whole if whole else None


def _check_counts(kept: NDArray[np.void]) -> None:
    """Refuse a traced round that contradicts itself."""
    emitted, accepted = kept["emitted"].astype(int), kept["accepted"].astype(int)
    for i in np.flatnonzero(emitted != accepted + kept["extra"])[:1]:
        extra = "an extra token" if kept["extra"][i] else "no extra token"
        raise ValueError(
            f"Round {kept['index'][i]} accepted {accepted[i]} and drew {extra}, but emitted {emitted[i]} tokens."
        )
    rejected = kept["tested"] - accepted
    for i in np.flatnonzero(rejected > 1)[:1]:
        raise ValueError(f"Round {kept['index'][i]} rejected {rejected[i]} tokens; one is the most.")


def tally_of(kept: NDArray[np.void]) -> Counter[_Round]:
    """Count how often each kind of round occurs."""
    shape = tuple(int(kept[name].max(initial=0)) + 1 for name in _Round._fields)
    kinds = np.ravel_multi_index([kept[name].astype(np.int64) for name in _Round._fields], shape)
    found, counts = np.unique(kinds, return_counts=True)
    rows = zip(*(each.tolist() for each in np.unravel_index(found, shape)), strict=True)
    return Counter({_Round(*row): n for row, n in zip(rows, counts.tolist(), strict=True)})


def _judged(index: int, accepted: int, drafted: int) -> _Round:
    """Return a round known only by its counters: the token after the accepted ones was rejected, if there is one."""
    if not 0 <= accepted <= drafted or accepted != int(accepted) or drafted != int(drafted):
        raise ValueError(f"Count {index}: a round cannot accept {accepted} of {drafted} drafted tokens.")
    return _Round(int(drafted), min(int(accepted) + 1, int(drafted)), int(accepted), int(accepted) + 1)


def _mean_overlap(kept: NDArray[np.void]) -> float | None:
    """Return the mean of sum min(p, q) over the tested positions that carry it."""
    positions = int(kept["overlaps"].sum())
    return min(1.0, float(kept["overlap"].sum()) / positions) if positions else None  # sums can reach 1 + 1e-7


def emitting(brief: NDArray[np.void]) -> NDArray[np.void]:
    """Return the rounds in brief that emitted anything; the others count in no figure."""
    there = brief["emitted"] > 0
    return brief if there.all() else brief[there]
