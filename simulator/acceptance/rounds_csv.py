"""Acceptance from a CSV: one that SpecScope wrote (a row per token), or any table with accepted and drafted per round.

Knows: which columns are needed and what their cells may hold. Does not know: which figures follow (`acceptance`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from simulator.acceptance.body import Acceptance, agreement_of
from simulator.acceptance.counters import whole
from simulator.acceptance.from_counts import histogram_of, of_counts
from simulator.errors import UserError

OURS = ("run", "round", "position", "kind", "verdict")
DRAFTED = {"drafted", "num_draft_tokens", "draft_tokens", "k"}
ACCEPTED = {"accepted", "num_accepted_tokens", "accepted_tokens"}
EMITTED = {"emitted", "num_emitted_tokens"}
VERDICTS = ("accepted", "rejected", "discarded", "emitted")


@dataclass(slots=True)
class _Round:
    """The rows of one round so far."""

    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    emitted: int = 0
    overlaps: list[float] = field(default_factory=list)  # of tested positions


@dataclass(slots=True)
class _Sums:
    """What a file gives besides its rounds."""

    rounds: dict[tuple[str, str], _Round] = field(default_factory=dict)
    overlaps: list[float] = field(default_factory=list)  # of tested positions
    by_position: dict[int, list[float]] = field(default_factory=dict)  # of all drafted positions
    rules: set[str] = field(default_factory=set)
    complete: bool = True  # whether every drafted row had its overlap


def read_csv(path: Path | str) -> Acceptance:
    """Return the acceptance figures of a CSV; `UserError`, one sentence with file and line, where it cannot be read."""
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(path, file)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start}): save it as CSV in UTF-8.") from error
    except csv.Error as error:
        raise UserError(f"{path} is no readable CSV: {error}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_table(text: str) -> Acceptance | None:
    """Return the figures of a pasted table; None where its first line does not name accepted and drafted columns."""
    lines = text.removeprefix("\ufeff").strip().splitlines()
    names = {name.lower() for name in _header(lines[0])[1]} if lines else set()
    if len(lines) < 2 or not (names >= set(OURS) or (names & ACCEPTED and names & DRAFTED)):
        return None
    try:
        return _read("The pasted table", iter(lines))
    except csv.Error as error:
        raise UserError(f"The pasted table is no readable CSV: {error}.") from error


def _header(line: str) -> tuple[str, list[str]]:
    """Return the separator, and the names that it separates."""
    comma = max(",;\t", key=line.count)
    try:
        return comma, [name.strip() for name in next(csv.reader([line], delimiter=comma), [])]
    except csv.Error:
        return comma, []


def _read(path: Path | str, file: Iterator[str]) -> Acceptance:
    comma, names = _header(next(iter(file), ""))
    rows = csv.reader(file, delimiter=comma)
    try:
        return _told(path, names, rows)
    except UserError as error:
        raise error if str(error).startswith(str(path)) else UserError(f"{path}: {error}") from error


def _told(path: Path | str, names: Sequence[str], rows: Iterator[list[str]]) -> Acceptance:
    if set(OURS) <= set(names):
        return _ours(path, names, rows)
    plain = [next((n for n in names if n.lower() in known), None) for known in (ACCEPTED, DRAFTED, EMITTED)]
    if plain[0] is None or plain[1] is None:
        raise UserError(
            f"{path} has neither SpecScope's columns ({', '.join(OURS)}) nor the columns accepted and drafted, one row "
            "a round: export it again, or rename its columns."
        )
    return _plain(path, names, rows, plain[0], plain[1], plain[2])


def _plain(
    path: Path | str, names: Sequence[str], rows: Iterator[list[str]], accepted: str, drafted: str, emitted: str | None
) -> Acceptance:
    judged, total = [], 0
    for line, row in _dicts(path, names, rows):
        a, d = (_whole(path, line, name, row[name]) for name in (accepted, drafted))
        if a > d:
            raise UserError(f"{path}, line {line}: {a} accepted of {d} drafted tokens would be a rate above 1.")
        judged.append((d, min(a + 1, d), a))
        total += _whole(path, line, emitted, row[emitted]) if emitted else 0
    _some(path, judged)
    note = "The table has no probabilities, so alpha as sum min(p, q) is not in it; one row is taken for one round."
    longest = max(d for d, _, _ in judged)  # the table says no k, so the longest draft is taken for it
    full = {longest: histogram_of(row for row in judged if row[0] == longest)} if longest else {}
    return of_counts(_name(path), judged, total if emitted else None, notes=(note,), full=full)


def _ours(path: Path | str, names: Sequence[str], rows: Iterator[list[str]]) -> Acceptance:
    sums = _Sums()
    for line, row in _dicts(path, names, rows):
        _take(path, line, row, sums)
    kept = [r for r in sums.rounds.values() if r.emitted]
    _some(path, kept)
    judged = [(r.drafted, r.tested, r.accepted) for r in kept]
    agreement = agreement_of(sums.overlaps, sum(r.accepted for r in kept)) if sums.complete and sums.overlaps else None
    single = tuple(fmean(sums.by_position[i]) for i in sorted(sums.by_position)) if sums.complete else ()
    full, alphas = _full(sums)
    return of_counts(
        _name(path), judged, sum(r.emitted for r in kept), alpha=fmean(sums.overlaps) if agreement else None,
        agreement=agreement, rules=tuple(sorted(sums.rules)), single=single, full=full, alphas=alphas,
    )  # fmt: skip


def _full(sums: _Sums) -> tuple[dict[int, tuple[int, ...]], dict[int, float]]:
    """Return histograms and alphas of the rounds that drafted as many tokens as the longest draft of their run."""
    longest: dict[str, int] = {}
    for (run, _), each in sums.rounds.items():
        longest[run] = max(longest.get(run, 0), each.drafted)
    rows: dict[int, list[_Round]] = {}
    for (run, _), each in sums.rounds.items():
        if each.emitted and each.drafted == longest[run] > 0:
            rows.setdefault(each.drafted, []).append(each)
    full = {k: histogram_of((r.drafted, r.tested, r.accepted) for r in found) for k, found in sorted(rows.items())}
    alphas = {k: fmean(o for r in found for o in r.overlaps) for k, found in rows.items()} if sums.complete else {}
    return full, alphas


def _take(path: Path | str, line: int, row: dict[str, str], sums: _Sums) -> None:
    """Count one row of SpecScope's own layout."""
    verdict, kind = row["verdict"].strip(), row["kind"].strip()
    if verdict not in VERDICTS or (kind == "draft") == (verdict == "emitted"):
        raise UserError(f"{path}, line {line}: the verdict '{verdict[:30]}' of kind '{kind[:30]}' is not one of ours.")
    place = sums.rounds.setdefault((row["run"], row["round"]), _Round())
    place.emitted += verdict in ("accepted", "emitted")
    sums.rules.add(row.get("rule", "").removeprefix("'") or "exact")
    if kind != "draft":
        return
    place.drafted += 1
    place.tested += verdict != "discarded"
    place.accepted += verdict == "accepted"
    overlap = row.get("overlap", "").strip()
    if not overlap:
        sums.complete = False
        return
    value = _share(path, line, "overlap", overlap)
    position = _whole(path, line, "position", row["position"])
    sums.by_position.setdefault(position, []).append(value)
    if verdict != "discarded":
        sums.overlaps.append(value)
        place.overlaps.append(value)


def _dicts(path: Path | str, names: Sequence[str], rows: Iterator[list[str]]) -> Iterator[tuple[int, dict[str, str]]]:
    for line, row in enumerate(rows, 2):
        if not row or not any(cell.strip() for cell in row):
            continue
        if len(row) != len(names):
            raise UserError(
                f"{path}, line {line}: {len(row)} cells where the header has {len(names)}; is it cut short?"
            )
        yield line, dict(zip(names, row, strict=True))


def _whole(path: Path | str, line: int, name: str, cell: str) -> int:
    try:
        return whole(name, cell.strip())
    except UserError as error:
        raise UserError(f"{path}, line {line}: {error}") from error


def _share(path: Path | str, line: int, name: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not -1e-6 <= value <= 1 + 1e-5:  # float32 sums can reach 1 + 1e-7
        raise UserError(f"{path}, line {line}: {name} is {cell[:30]}, but it must lie in 0..1.")
    return min(1.0, max(0.0, value))


def _name(path: Path | str) -> str:
    return path.name if isinstance(path, Path) else "pasted table"


def _some(path: Path | str, rounds: Sequence[object]) -> None:
    if not rounds:
        raise UserError(f"{path} holds no rounds: choose a CSV of a run that emitted at least one token.")
