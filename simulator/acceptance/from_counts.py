"""Acceptance figures of rounds that are known by their counts.

Knows: which figures follow from which counts, and which counts contradict each other. Does not know: where they came
from (`counters`, `rounds_csv`), distributions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from simulator.acceptance.body import Acceptance, Step
from simulator.errors import UserError

Judged = tuple[int, int, int]  # drafted, tested and accepted tokens of a round
MIXED = "Rounds drafted different numbers of tokens"


def of_counts(source: str, judged: Sequence[Judged], emitted: int | None = None, **more: Any) -> Acceptance:
    """Return what rounds say that are known by their counts (drafted, tested, accepted), one triple a round.

    Without `emitted` the figures that need it are None; `more` are fields of `Acceptance` that the source knows.
    `UserError` for a round that contradicts itself.
    """
    for number, (drafted, tested, accepted) in enumerate(judged):
        if not 0 <= accepted <= tested <= min(drafted, accepted + 1):
            raise UserError(
                f"Round {number} cannot have accepted {accepted} and tested {tested} of {drafted} drafted tokens."
            )
    drafted, tested, accepted = (sum(row[i] for row in judged) for i in range(3))
    figures = derived(rounds=len(judged), drafted=drafted, tested=tested, accepted=accepted, emitted=emitted)
    figures |= {"undrafted": sum(not row[0] for row in judged), "alpha": more.pop("alpha", None)}
    notes = (*more.pop("notes", ()), *mixed(judged))
    return Acceptance(source, figures, steps_of_rounds(judged), histogram_of(judged), notes=notes, **more)


def derived(
    *, rounds: int | None = None, drafted: int | None = None, tested: int | None = None, accepted: int | None = None,
    emitted: int | None = None,
) -> dict[str, float | None]:  # fmt: skip
    """Return every figure that follows from the counts that are known; None for the others, and for 0 / 0.

    `UserError` where the counts contradict each other: a rate above 1 has no meaning.
    """
    _check(rounds=rounds, drafted=drafted, tested=tested, accepted=accepted, emitted=emitted)
    drafts = accepted if drafted != 0 else None  # where nothing was drafted, nothing can be said of acceptance
    per_round = _ratio(drafts, rounds)
    return {
        "rounds": rounds, "undrafted": None, "cancelled": None, "drafted": drafted, "tested": tested,
        "accepted": accepted, "emitted": emitted, "acceptance_length": _ratio(emitted, rounds),
        "tau_counters": None if per_round is None else 1 + per_round,
        "draft_acceptance_rate": _ratio(accepted, drafted),
        "tested_acceptance_rate": _ratio(accepted, tested), "accepted_per_round": per_round,
        "accepted_share": _ratio(drafts, emitted), "alpha": None,
    }  # fmt: skip


def steps_of(histogram: Sequence[int], k: int | None = None) -> tuple[Step, ...]:
    """Return the positions of rounds that drafted k tokens each, from how many accepted 0, 1, ... of them."""
    k = len(histogram) - 1 if k is None else k
    tally = Counter({(k, min(i + 1, k), i): n for i, n in enumerate(histogram) if n})
    return _positions(tally, k)


def steps_of_rounds(judged: Iterable[Judged]) -> tuple[Step, ...]:
    """Return positions 1 .. longest draft; undrafted rounds are in no denominator."""
    tally = Counter({row: n for row, n in Counter(judged).items() if row[0]})
    return _positions(tally, max((row[0] for row in tally), default=0))


def histogram_of(judged: Iterable[Judged]) -> tuple[int, ...]:
    """Return how many of the rounds that drafted accepted 0, 1, ... longest draft tokens."""
    rows, tally = {row: n for row, n in Counter(judged).items() if row[0]}, Counter[int]()
    for (_, _, accepted), n in rows.items():
        tally[accepted] += n
    return tuple(tally[i] for i in range(max((row[0] for row in rows), default=-1) + 1))


def mixed(judged: Iterable[Judged]) -> tuple[str, ...]:
    """Return the sentence that is due where k changes from round to round."""
    lengths = sorted({row[0] for row in judged if row[0]})
    if len(lengths) < 2:
        return ()
    return (
        f"{MIXED} ({', '.join(map(str, lengths))}; the last ones of a run are often "
        "shorter), so an unconditional rate at a late position counts short drafts as not accepted there.",
    )


def _check(**counts: int | None) -> None:
    known = {name: n for name, n in counts.items() if n is not None}
    for name, n in known.items():
        if n < 0:
            raise UserError(f"The count '{name}' is {n}, but a count cannot be negative.")
    for less, more in (("accepted", "tested"), ("tested", "drafted"), ("accepted", "drafted"), ("accepted", "emitted")):
        if less in known and more in known and known[less] > known[more]:
            raise UserError(
                f"{known[less]} {less} of {known[more]} {more} tokens would be a rate above 1: check the two counts."
            )
    if {"accepted", "emitted", "rounds"} <= set(known) and known["emitted"] > known["accepted"] + known["rounds"]:
        raise UserError(
            f"{known['rounds']} rounds that accepted {known['accepted']} tokens cannot have emitted "
            f"{known['emitted']}: a round adds at most one token of the target's own."
        )


def _positions(tally: Counter[Judged], longest: int) -> tuple[Step, ...]:
    """Return positions 1 .. longest of the rounds counted by (drafted, tested, accepted)."""
    return tuple(
        Step(sum(n for row, n in tally.items() if row[2] >= i), tally.total(),
             sum(n for row, n in tally.items() if row[1] >= i))
        for i in range(1, longest + 1)
    )  # fmt: skip


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
