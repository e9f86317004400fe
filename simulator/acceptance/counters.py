"""Counters pasted from an engine, as acceptance figures; a count that is not there is None, never guessed.

Knows: what the counts of an engine leave out, and how counts of one kind give those of another.
Does not know: how they are written (`counter_json`, `counter_lines`), which figures follow (`acceptance`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simulator.acceptance.body import Acceptance, Step
from simulator.acceptance.from_counts import derived, histogram_of, of_counts, steps_of
from simulator.acceptance.pooling import merged
from simulator.errors import UserError

LIMIT = 1_000_000  # characters; a scrape has some 100,000
MOST = 10**15  # more than any engine can have counted; beyond it a float is no longer exact

CANNOT = {
    "vLLM": "vLLM counts only rounds that drafted, and no tokens of the text, so undrafted rounds, the emitted tokens "
    "and the accepted share are not in these counters; nor is alpha, which needs the draft's distribution.",
    "SGLang": "SGLang's completion_tokens include the token that the prompt's pass emitted, so tokens per round follow "
    "from them only nearly (that is its spec_accept_length); tested tokens and alpha are not in these counters.",
    "llama.cpp": "llama.cpp's JSON timings hold no number of rounds, so nothing per round follows from those (its log "
    "line does print the mean acceptance length); tested tokens and alpha are in neither.",
    "llama.cpp log": "llama.cpp's log counts only rounds that drafted, and no tested or emitted tokens; nor alpha.",
    "LM Studio": "LM Studio counts no rounds, and its rejected tokens include those behind a rejection that nobody "
    "tested, so nothing per round, per position or per tested token follows from them; nor does alpha.",
    "counts": "Alpha as sum min(p, q) needs both distributions, which counts do not hold.",
}


@dataclass(frozen=True, slots=True)
class Counts:
    """What one request, or one scrape, says; None: not said."""

    engine: str
    rounds: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    emitted: int | None = None
    k: int | None = None  # the draft length that no round exceeded
    passed: tuple[int, ...] | None = None  # [k], rounds that accepted at least i tokens
    histogram: tuple[int, ...] | None = None  # rounds that accepted i tokens
    each: tuple[tuple[int, int], ...] | None = None  # accepted and drafted tokens, round by round
    printed: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_counters(text: str) -> Acceptance:
    """Return the figures that pasted counters give; several requests of one engine are pooled by their counts.

    `UserError`, one sentence, for text that holds no counters, counters of two engines, or counts that cannot be.
    """
    from simulator.acceptance.counter_json import read_json
    from simulator.acceptance.counter_lines import read_lines
    from simulator.acceptance.rounds_csv import read_table

    if not text.strip():
        raise UserError("Nothing was pasted: copy the engine's counters or its log line here.")
    if len(text) > LIMIT:
        raise UserError(f"The text has {len(text):,} characters: paste the counters only.")
    if (table := read_table(text)) is not None:
        return table
    lines, objects = read_lines(text), read_json(text)
    found = [*lines, *objects]
    if not found:
        raise UserError(
            "No counters of vLLM, SGLang, llama.cpp or LM Studio were found in the text: paste the metrics page, the "
            "JSON answer, or the log line about acceptance."
        )
    engines = sorted({each.engine for each in found})
    if len(engines) > 1:
        raise UserError(f"The text holds counters of {' and '.join(engines)}: paste one engine's at a time.")
    if lines and objects:
        raise UserError("The text holds lines and JSON, which may count the same rounds twice: paste one of them.")
    return _pooled([account(each) for each in found], {each.k for each in found})


def _pooled(parts: Sequence[Acceptance], ks: set[int | None]) -> Acceptance:
    """Return several requests of one engine as one, by their counts; what one of them lacks is lacking in the sum."""
    whole_of_it = merged(parts[0].source, parts)
    if len(parts) == 1:
        return whole_of_it
    notes = [f"{len(parts)} requests are pooled."]
    if len(known := sorted(k for k in ks if k is not None)) > 1:
        notes.append(f"Their draft lengths differ ({', '.join(map(str, known))}).")
    return replace(whole_of_it, notes=(*notes, *whole_of_it.notes))


def account(c: Counts) -> Acceptance:
    """Return every figure that follows from the counts, and say what does not; `UserError` where they contradict."""
    source = f"{c.engine} counters" if c.engine != "counts" else "Counts"
    notes = [*c.notes, CANNOT["llama.cpp log" if c.engine == "llama.cpp" and c.rounds is not None else c.engine]]
    if c.each is not None:
        _same("rounds", c.rounds, len(c.each))
        _same("accepted tokens", c.accepted, sum(a for a, _ in c.each))
        _same("drafted tokens", c.drafted, sum(d for _, d in c.each))
        judged = [(d, min(a + 1, d), a) for a, d in c.each]
        longest = max((d for d, _, _ in judged), default=0)
        full = {longest: histogram_of(row for row in judged if row[0] == longest)} if longest else {}
        made = of_counts(source, judged, c.emitted, notes=notes, full=full)
        return replace(made, printed=_checked(c.printed, made.figures))
    c = _with_histogram(c)
    steps, histogram, full, tested = _places(c)
    figures = derived(rounds=c.rounds, drafted=c.drafted, tested=tested, accepted=c.accepted, emitted=c.emitted)
    return Acceptance(source, figures, steps, histogram, full, printed=_checked(c.printed, figures), notes=tuple(notes))


def _with_histogram(c: Counts) -> Counts:
    """Return the counts with passes and histogram each made from the other, and checked against the totals."""
    passed, histogram = c.passed, c.histogram
    if histogram is not None:
        passed = tuple(sum(histogram[i:]) for i in range(1, len(histogram)))
        rounds = sum(histogram)
        _same("rounds", c.rounds, rounds)
        c = replace(c, rounds=rounds)
    elif passed is not None and c.rounds is not None:
        falling = (c.rounds, *passed)
        if any(b > a for a, b in zip(falling, passed, strict=False)):
            raise UserError(
                f"Of {c.rounds} rounds {list(passed)} cannot have accepted at least 1, 2, ... tokens: the counts must "
                "not rise."
            )
        histogram = tuple(a - b for a, b in zip(falling, (*passed, 0), strict=True))
    if passed is not None:
        _same("accepted tokens", c.accepted, sum(passed))
        c = replace(c, accepted=sum(passed))
        if c.k is not None and len(passed) > c.k and any(passed[c.k :]):
            raise UserError(f"A round accepted {len(passed)} tokens, but at most k = {c.k} were drafted.")
    if c.drafted is None and c.engine == "counts" and c.rounds is not None and c.k is not None:
        c = replace(c, drafted=c.rounds * c.k)  # who writes k beside the counts says that every round drafted k
    if c.k is not None and c.rounds is not None and c.drafted is not None and c.drafted > c.rounds * c.k:
        raise UserError(f"{c.rounds} rounds of at most {c.k} tokens cannot have drafted {c.drafted}.")
    return replace(c, passed=passed, histogram=histogram)


def _places(c: Counts) -> tuple[tuple[Step, ...], tuple[int, ...], dict[int, tuple[int, ...]], int | None]:
    """Return positions, histogram, the same by length, tested tokens; what needs equal lengths only where they are."""
    if c.passed is None or c.rounds is None or c.histogram is None or not c.rounds:
        return (), c.histogram or (), {}, None
    longest = max(len(c.passed), c.k or 0)
    histogram = (*c.histogram, *(0,) * (longest + 1 - len(c.histogram)))
    if c.k is not None and c.drafted == c.rounds * c.k:  # no round drafted more than k, so each drafted k
        steps = steps_of(histogram, c.k)
        return steps, histogram, {c.k: histogram}, sum(s.reached or 0 for s in steps)
    passed = (*c.passed, *(0,) * (longest - len(c.passed)))
    steps = tuple(Step(n, c.rounds, c.rounds if i == 0 else None) for i, n in enumerate(passed))
    return steps, histogram, {}, None


def _checked(printed: Mapping[str, float], figures: Mapping[str, float | None]) -> dict[str, float]:
    """Return what the engine printed; refuse a rate outside 0 .. 1, and a figure far from its own counts."""
    for name, value in printed.items():
        if not math.isfinite(value) or value < 0 or (name == "draft_acceptance_rate" and value > 1):
            raise UserError(f"The text prints {name} = {value:g}, which no run can have: check what was copied.")
        own = figures.get(name)
        if own is not None and abs(own - value) > 0.006 * max(1.0, own):
            raise UserError(f"The text prints {name} = {value:g}, but its own counts give {own:.4g}: check them.")
    return dict(printed)


def _same(what: str, stated: int | None, counted: int) -> None:
    if stated is not None and stated != counted:
        raise UserError(f"The text states {stated} {what}, but its parts add up to {counted}: check what was copied.")


def whole(name: str, value: Any) -> int:
    """Return a count, also one written as 12.0 or "12"; `UserError` for anything else."""
    n = number(name, value)
    if n < 0 or n != int(n):
        raise UserError(f"{name} is {str(value)[:40]}, but it must be a whole number of at least 0.")
    if n > MOST:
        raise UserError(f"{name} is {str(value)[:40]}, more than can have been counted: check what was copied.")
    return int(n)


def number(name: str, value: Any) -> float:
    """Return a finite number; `UserError` for anything else."""
    try:
        n = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        n = math.nan
    if not math.isfinite(n):
        if re.fullmatch(r"[-+]?\d+(,\d+)+(\.\d+)?", str(value).strip()):
            raise UserError(f"{name} is {str(value)[:40]}: write it without a comma, and decimals with a point.")
        raise UserError(f"{name} is {str(value)[:40]}, which is no number: check what was copied.")
    return n
