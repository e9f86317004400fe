"""The figures of many runs, pooled by settings: what each k gave, beside what theory says of it.

Knows: which runs may be pooled, and which may be compared. Does not know: files, screens, how a run was made.

Runs are pooled over prompts and seeds only (or over one of them): two temperatures, sources or rules never share a row.
Predictions follow the rounds as they were drafted: near the budget, or where an n-gram found less, a round drafts fewer
than k tokens, and each round is predicted with its own number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast

from simulator.grids.brief import ALONE, Brief
from simulator.grids.grid import PLAIN
from simulator.grids.sums import Times
from simulator.intervals import ratio_interval
from simulator.measure import Spread, spread
from simulator.records import Sampling, StopReason
from simulator.round_cost import Cost, cost
from simulator.text.prompts import Prompt
from simulator.theory.speedup import speedup
from simulator.theory.tokens_per_round import correlated_tokens, expected_tokens, solve_rho

BY = ("", "prompt", "seed")  # what rows are kept apart by, besides their settings


class Family(NamedTuple):
    """What the runs of one curve over k share; everything but k."""

    models: str
    sampling: Sampling
    source: str
    rule: str
    max_new_tokens: int
    prompt: Prompt | None  # None: pooled over all
    seed: int | None


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """One row of the table; None where a figure is not available. `grid_table.DEFINITIONS` defines each."""

    k: int
    runs: int
    tokens: int
    rounds: int
    tokens_per_round: float | None
    interval: tuple[float, float] | None  # 95 %, over runs
    formula: float | None
    correlated: float | None
    alpha: float | None
    rho: float | None
    tokens_per_second: float | None
    speedup: Spread | None
    predicted: float | None
    stops: tuple[StopReason, ...]


@dataclass(slots=True)
class Tally:
    """Sums over the runs of one row; grows by one run at a time."""

    tokens: list[int] = field(default_factory=list)  # [runs]
    rounds: list[int] = field(default_factory=list)  # [runs]
    seconds: float = 0.0
    overlaps: list[float] = field(default_factory=lambda: [0.0, 0.0])  # sum, number
    firsts: list[float] = field(default_factory=lambda: [0.0, 0.0])  # the same, of first positions
    lengths: Counter[int] = field(default_factory=Counter)  # rounds by drafted tokens
    accepted: Counter[int] = field(default_factory=Counter)  # accepted tokens by drafted tokens
    speedups: list[float] = field(default_factory=list)
    times: list[Times] = field(default_factory=list)
    stops: set[StopReason] = field(default_factory=set)

    def add(self, run: Brief, ratio: float | None) -> None:
        """Count a run; `ratio` is its speed over plain decoding, None where there is nothing to compare with."""
        self.tokens.append(len(run.tokens))
        self.rounds.append(len(run.drafted))
        sums = run.sums
        self.seconds += sums.seconds
        for mine, its in ((self.overlaps, sums.overlaps), (self.firsts, sums.firsts)):
            mine[0] += its[0]
            mine[1] += its[1]
        self.lengths.update(sums.lengths)
        self.accepted.update(sums.accepted)
        if ratio is not None:
            self.speedups.append(ratio)
        if sums.times is not None:
            self.times.append(sums.times)
        self.stops.add(run.stop)


Group = tuple[Family, int]  # and k


class Account:
    """All runs so far, pooled; told of one run at a time."""

    def __init__(self, by: str = "") -> None:
        """Keep rows apart by their settings, and by prompt or seed if `by` says so."""
        assert by in BY, by
        self._by = by
        self.tallies: dict[Group, Tally] = {}
        self._plain: dict[tuple[Any, ...], float] = {}  # tokens per second of plain runs

    def add(self, run: Brief) -> Group:
        """Count a run and return the row it belongs to."""
        group = self.group(run)
        ratio = self.speedup_of(run)
        self.tallies.setdefault(group, Tally()).add(run, ratio)
        return group

    def group(self, run: Brief) -> Group:
        """Return the row that a run belongs to."""
        s = run.setting
        prompt, seed = run.prompt if self._by == "prompt" else None, s.seed if self._by == "seed" else None
        return Family(run.models, run.sampling, s.source, s.rule, run.max_new_tokens, prompt, seed), s.k

    def speedup_of(self, run: Brief) -> float | None:
        """Return a run's speed over the plain run of its prompt, seed, temperature and sitting; None without one.

        A plain run is remembered for the runs after it; itself it has no speedup.
        """
        key = (run.models, run.prompt, run.setting.seed, run.sampling, run.max_new_tokens, run.sitting)
        speed = run.tokens_per_second
        if run.sitting == ALONE or speed is None:
            return None
        if run.setting.k == 0:
            self._plain[key] = speed
            return None
        return speed / self._plain[key] if key in self._plain else None

    def costs(self, family: Family) -> Cost | None:
        """Return what drafting and verifying cost in plain steps, from this family and its plain runs."""
        plain = self.tallies.get((replace_source(family), 0))
        drafting = {k: tally.times for (f, k), tally in self.tallies.items() if f == family and k}
        return cost(cast(Any, plain.times), cast(Any, drafting)) if plain else None

    def figures(self, group: Group) -> GroupFigures:
        """Return one row's figures."""
        (family, k), tally = group, self.tallies[group]
        tokens, rounds, alpha = sum(tally.tokens), sum(tally.rounds), _mean(tally.overlaps)
        known = alpha if family.rule == "exact" else None  # of other rules sum min(p, q) is not the acceptance
        first, rho = self._first(family), self._rho(family, k) if known is not None else None
        return GroupFigures(
            k, len(tally.tokens), tokens, rounds, tokens / rounds if rounds else None,
            ratio_interval(tally.tokens, tally.rounds),
            None if known is None else _over_rounds(tally.lengths, partial(expected_tokens, known)),
            None if rho is None or first is None else
            _over_rounds(tally.lengths, partial(correlated_tokens, first, rho)),
            alpha, rho, tokens / tally.seconds if tally.seconds else None,
            spread(tally.speedups) if tally.speedups else None,
            None if known is None else self._predicted(family, tally, known), tuple(sorted(tally.stops)),
        )  # fmt: skip

    def _first(self, family: Family) -> float | None:
        """Return the mean overlap of first positions over all k of a family: not only of those that survived."""
        sums = [tally.firsts for (f, _), tally in self.tallies.items() if f == family]
        return _mean([sum(s[i] for s in sums) for i in range(2)])

    def _rho(self, family: Family, k: int) -> float | None:
        """Return the correlation fitted to the family's other k >= 2, each weighted by its rounds.

        Never to the row itself: fitted to its own rounds the model would repeat what was measured. k = 1 knows nothing
        of correlation. None with no other k.
        """
        first = self._first(family)
        if first is None or k == 0:
            return None
        found = []
        for (f, other), tally in self.tallies.items():
            rounds = tally.lengths[other]
            if f == family and other >= 2 and other != k and rounds:
                found.append((_fitted_rho(first, tally.accepted[other] / rounds, other), rounds))
        weight = sum(rounds for _, rounds in found)
        return sum(rho * rounds for rho, rounds in found) / weight if weight else None

    def _predicted(self, family: Family, tally: Tally, alpha: float) -> float | None:
        """Return Leviathan's speedup with the measured costs, over the rounds as they were drafted."""
        costs = self.costs(family)
        if costs is None:
            return None
        gained = spent = 0.0
        for n, rounds in tally.lengths.items():
            tokens = expected_tokens(alpha, n)
            gained += rounds * tokens
            spent += rounds * tokens / speedup(alpha, costs.c, n, costs.c_verify, costs.fixed)
        return gained / spent if spent else None


def replace_source(family: Family) -> Family:
    """Return the family of the plain runs beside a family."""
    return family._replace(source=PLAIN, rule=PLAIN)


def account_of(runs: Iterable[Brief], by: str = "") -> Account:
    """Return the account of these runs."""
    account = Account(by)
    for run in runs:
        account.add(run)
    return account


def single(run: Brief, ratio: float | None) -> GroupFigures:
    """Return the figures of one run by itself, with the speedup it had; nothing is predicted for a single run."""
    account = Account()
    figures = account.figures(account.add(run))
    return replace(figures, speedup=spread([ratio]) if ratio is not None else None, predicted=None)


def _fitted_rho(mean: float, accepted: float, k: int) -> float:
    """Return the rho of the Beta model; 0 where rounds accept no more than independent ones, 1 beyond its reach."""
    rho = solve_rho(mean, accepted, k)
    if rho is None:
        return 0.0 if accepted < expected_tokens(mean, k) - 1 else 1.0
    return rho


def _over_rounds(lengths: Counter[int], tokens: Callable[[int], float]) -> float | None:
    """Return the mean of tokens(n) over rounds that drafted n."""
    rounds = lengths.total()
    return sum(count * tokens(n) for n, count in lengths.items()) / rounds if rounds else None


def _mean(sums: list[float]) -> float | None:
    return min(1.0, sums[0] / sums[1]) if sums[1] else None  # float32 sums can reach 1 + 1e-7
