"""What can be said of acceptance from one body of rounds, whatever it came from; what its source cannot say is None.

Knows: counts of rounds and tokens, and which figures follow from which counts.
Does not know: where the counts came from (`counters`, `rounds_csv`, traces), files, Qt. The words are `records`', the
figures and their definitions `metrics`'.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.columns import SUMMARY
from simulator.errors import UserError
from simulator.metrics import AcceptanceFigures, emitting, from_summary, tally_of, wilson
from simulator.records import Run
from simulator.store import parts_of, summary_of

Judged = tuple[int, int, int]  # drafted, tested and accepted tokens of a round
MIXED = "Rounds drafted different numbers of tokens"
LEVEL_Z = 3.29  # two-sided level .001: of a thousand honest runs one is called a disagreement


@dataclass(frozen=True, slots=True)
class Step:
    """One draft position, counted over rounds."""

    passed: int  # rounds that accepted at least this many tokens
    drafting: int  # rounds that drafted at all: the unconditional denominator
    reached: int | None  # rounds that tested this position: the conditional denominator; None if not known

    @property
    def unconditional(self) -> float | None:
        """Return passed / drafting."""
        return self.passed / self.drafting if self.drafting else None

    @property
    def conditional(self) -> float | None:
        """Return passed / reached."""
        return self.passed / self.reached if self.reached else None

    def intervals(self) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
        """Return Wilson's 95 % intervals of the unconditional and of the conditional rate."""
        reached = wilson(self.passed, self.reached) if self.reached is not None else None
        return wilson(self.passed, self.drafting), reached


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Every acceptance figure of one source; `figures` has the keys of `metrics.DEFINITIONS` that are one number."""

    source: str
    figures: Mapping[str, float | None]
    steps: tuple[Step, ...] = ()
    histogram: tuple[int, ...] = ()  # [longest draft + 1], rounds that accepted i tokens; empty: not known
    full: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # k -> histogram [k + 1] of rounds that drafted
    # all of their run's k: what a law of the accepted length is fitted to
    alphas: Mapping[int, float] = field(default_factory=dict)  # k -> mean sum min(p, q) of their tested positions
    agreement: Agreement | None = None
    printed: Mapping[str, float] = field(default_factory=dict)  # figures as the engine itself printed them, rounded
    rules: tuple[str, ...] = ()  # acceptance rules of the runs
    single: tuple[float, ...] = ()  # [longest draft], mean sum min(p, q) of a position over all rounds, tested or not
    notes: tuple[str, ...] = ()  # sentences: what was repaired, and what this source cannot say


@dataclass(frozen=True, slots=True)
class Agreement:
    """Alpha twice from the same tested positions: from the distributions, and from the verdicts.

    By the exact rule a verdict is a coin that falls "accepted" with probability sum min(p, q), whatever came before.
    So accepted - sum of those probabilities has mean 0 and variance sum o (1 - o), and z is near normal (martingale
    central limit theorem). |z| above `LEVEL_Z` is called a disagreement: one honest run in a thousand.
    """

    tested: int
    accepted: int
    expected: float  # sum of the overlaps of the tested positions
    deviation: float  # sqrt(sum o (1 - o))

    @property
    def z(self) -> float:
        """Return the difference in standard deviations; 0 or infinite where every overlap is 0 or 1."""
        gap = self.accepted - self.expected
        if self.deviation == 0:
            return 0.0 if abs(gap) < 1e-3 * max(1, self.tested) else math.copysign(math.inf, gap)
        return gap / self.deviation

    @property
    def agree(self) -> bool:
        """Return whether the two are as close as chance allows at level .001."""
        return abs(self.z) <= LEVEL_Z


def of_runs(source: str, runs: Sequence[Run]) -> Acceptance:
    """Return everything that traced runs say; several are pooled by their counts, never by their rates."""
    briefs = [summary_of(run.rounds) for run in runs]
    every = np.concatenate([np.zeros(0, SUMMARY), *briefs])
    whole = [emitting(b[b["drafted"] == run.config.k]) for run, b in zip(runs, briefs, strict=True) if run.config.k]
    full = np.concatenate([np.zeros(0, SUMMARY), *whole])
    judged = _judged(emitting(every))
    places, overlaps, tested = _positions_of(runs)
    return Acceptance(
        source, _single(from_summary(emitting(every))), _steps(judged), histogram_of(judged), _by_length(full),
        _alphas(full), _agreement(overlaps[tested], sum(a * n for (_, _, a), n in judged.items())),
        rules=tuple(sorted({run.config.rule for run in runs})), notes=mixed(judged),
        single=_single_positions(places, overlaps),
    )  # fmt: skip


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
    return Acceptance(source, figures, _steps(judged), histogram_of(judged), notes=notes, **more)


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


def _single(figures: AcceptanceFigures) -> dict[str, float | None]:
    return {name: value for name, value in asdict(figures).items() if not name.startswith("per_position")}


def _steps(judged: Iterable[Judged]) -> tuple[Step, ...]:
    """Return positions 1 .. longest draft; undrafted rounds are in no denominator."""
    tally = Counter({row: n for row, n in Counter(judged).items() if row[0]})
    return _positions(tally, max((row[0] for row in tally), default=0))


def histogram_of(judged: Iterable[Judged]) -> tuple[int, ...]:
    """Return how many of the rounds that drafted accepted 0, 1, ... longest draft tokens."""
    rows, tally = {row: n for row, n in Counter(judged).items() if row[0]}, Counter[int]()
    for (_, _, accepted), n in rows.items():
        tally[accepted] += n
    return tuple(tally[i] for i in range(max((row[0] for row in rows), default=-1) + 1))


def _judged(brief: NDArray[np.void]) -> Counter[Judged]:
    """Count how often each kind of round occurs."""
    tally: Counter[Judged] = Counter()
    for row, n in tally_of(brief).items():
        tally[row[:3]] += n
    return tally


def _lengths(full: NDArray[np.void]) -> list[int]:
    return sorted(set(full["drafted"].tolist()))  # not np.unique: its first call imports numpy.ma, in 40 ms


def _by_length(full: NDArray[np.void]) -> dict[int, tuple[int, ...]]:
    return {k: histogram_of(_judged(full[full["drafted"] == k])) for k in _lengths(full)}


def _alphas(full: NDArray[np.void]) -> dict[int, float]:
    """Return the mean overlap of the tested positions of each draft length, where all of them carry it."""
    means = {k: from_summary(full[full["drafted"] == k]).alpha for k in _lengths(full)}
    return {k: mean for k, mean in means.items() if mean is not None}


def _positions(tally: Counter[Judged], longest: int) -> tuple[Step, ...]:
    """Return positions 1 .. longest of the rounds counted by (drafted, tested, accepted)."""
    return tuple(
        Step(sum(n for row, n in tally.items() if row[2] >= i), tally.total(),
             sum(n for row, n in tally.items() if row[1] >= i))
        for i in range(1, longest + 1)
    )  # fmt: skip


def mixed(judged: Iterable[Judged]) -> tuple[str, ...]:
    """Return the sentence that is due where k changes from round to round."""
    lengths = sorted({row[0] for row in judged if row[0]})
    if len(lengths) < 2:
        return ()
    return (
        f"{MIXED} ({', '.join(map(str, lengths))}; the last ones of a run are often "
        "shorter), so an unconditional rate at a late position counts short drafts as not accepted there.",
    )


def _positions_of(runs: Sequence[Run]) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
    """Return number, overlap (NaN: not kept) and whether it was tested, of every position that has a draft."""
    parts = [part.overlaps() for run in runs for part in parts_of(run.rounds)]
    parts.append((np.zeros(0, np.int32), np.zeros(0), np.zeros(0, bool)))
    places, overlaps, tested = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    return places, overlaps, tested


def _single_positions(places: NDArray[np.int32], overlaps: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the mean overlap of each position over all rounds that drafted it, discarded ones included."""
    if np.isnan(overlaps).any() or not overlaps.size:
        return ()
    sums, counts = np.bincount(places, np.minimum(1.0, overlaps)), np.bincount(places)
    return tuple((sums[1:] / counts[1:]).tolist())


def _agreement(overlaps: NDArray[np.float64], accepted: int) -> Agreement | None:
    """Return the comparison where every tested position carries its overlap."""
    return agreement_of(overlaps, accepted) if overlaps.size and not np.isnan(overlaps).any() else None


def agreement_of(overlaps: ArrayLike, accepted: int) -> Agreement:
    """Return the comparison of sum min(p, q) of each tested position with how many of them were accepted."""
    capped = np.minimum(1.0, np.asarray(overlaps, float))  # float32 sums can reach 1 + 1e-7
    return Agreement(capped.size, accepted, float(capped.sum()), math.sqrt((capped * (1 - capped)).sum()))


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
