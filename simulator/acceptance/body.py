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
from statistics import fmean
from typing import Any

from simulator.errors import UserError
from simulator.metrics import AcceptanceFigures, from_rounds, wilson
from simulator.records import Position, RoundTrace, Run, Verdict

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
    traces = [r for run in runs for r in run.rounds if r.emitted]
    judged = [(r.drafted, r.tested, r.accepted) for r in traces]
    whole = [r for run in runs for r in run.rounds if r.emitted and r.drafted == run.config.k > 0]
    return Acceptance(
        source, _single(from_rounds(traces)), _steps(judged), histogram_of(judged), _by_length(whole), _alphas(whole),
        _agreement(traces), rules=tuple(sorted({run.config.rule for run in runs})), notes=mixed(judged),
        single=_single_positions(traces),
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
    tally = Counter(row for row in judged if row[0])
    return _positions(tally, max((row[0] for row in tally), default=0))


def histogram_of(judged: Iterable[Judged]) -> tuple[int, ...]:
    """Return how many of the rounds that drafted accepted 0, 1, ... longest draft tokens."""
    rows = [row for row in judged if row[0]]
    tally = Counter(accepted for _, _, accepted in rows)
    return tuple(tally[i] for i in range(max((row[0] for row in rows), default=-1) + 1))


def _by_length(rounds: Iterable[RoundTrace]) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[Judged]] = {}
    for r in rounds:
        found.setdefault(r.drafted, []).append((r.drafted, r.tested, r.accepted))
    return {k: histogram_of(rows) for k, rows in sorted(found.items())}


def _alphas(rounds: Sequence[RoundTrace]) -> dict[int, float]:
    """Return the mean overlap of the tested positions of each draft length, where all of them carry it."""
    means = {k: from_rounds(r for r in rounds if r.drafted == k).alpha for k in sorted({r.drafted for r in rounds})}
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


def _single_positions(rounds: Iterable[RoundTrace]) -> tuple[float, ...]:
    """Return the mean overlap of each position over all rounds that drafted it, discarded ones included."""
    found: dict[int, list[float]] = {}
    for p in (p for r in rounds for p in r.positions if p.drafted is not None):
        if p.shape is None or p.shape.overlap is None:
            return ()
        found.setdefault(p.position, []).append(min(1.0, p.shape.overlap))
    return tuple(fmean(found[i]) for i in range(1, len(found) + 1))


def _agreement(rounds: Iterable[RoundTrace]) -> Agreement | None:
    positions = [p for r in rounds for p in r.positions if _tested(p)]
    overlaps = [p.shape.overlap for p in positions if p.shape is not None and p.shape.overlap is not None]
    if not overlaps or len(overlaps) < len(positions):
        return None
    accepted = sum(p.drafted is not None and p.drafted.verdict is Verdict.ACCEPTED for p in positions)
    return agreement_of(overlaps, accepted)


def agreement_of(overlaps: Sequence[float], accepted: int) -> Agreement:
    """Return the comparison of sum min(p, q) of each tested position with how many of them were accepted."""
    capped = [min(1.0, o) for o in overlaps]  # float32 sums can reach 1 + 1e-7
    return Agreement(len(capped), accepted, sum(capped), math.sqrt(sum(o * (1 - o) for o in capped)))


def _tested(p: Position) -> bool:
    return p.drafted is not None and p.drafted.verdict is not Verdict.DISCARDED


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
