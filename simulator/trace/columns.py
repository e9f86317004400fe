"""Rounds as columns: six plain arrays that hold every number of a trace, bit for bit, and give the rounds back.

Knows: what stands in which column, and how a `RoundTrace` is made of them again (`packing` is the way there).
Does not know: files, threads, what the numbers mean.

A round takes some 60 bytes, a position some 120 and a bar 12 (8 without q): a tenth of the same round as Python
objects. `None` is a bit in `flags`, never a value, so that every number, NaN included, means itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.records import (
    Bars,
    DraftedToken,
    ExtraToken,
    Kind,
    Position,
    RoundTrace,
    Shape,
    StopReason,
    Verdict,
)

VERDICTS, KINDS, STOPS = tuple(Verdict), tuple(Kind), (None, *StopReason)
DRAFTED, EXTRA, SHAPE, BARS, BARS_Q, U_DRAFT, U_ACCEPT, OVERLAP, TV, ENTROPY_Q = (1 << i for i in range(10))
NEEDS = {BARS_Q: BARS, U_DRAFT: DRAFTED, U_ACCEPT: DRAFTED, OVERLAP: SHAPE, TV: SHAPE, ENTROPY_Q: SHAPE}

ROUNDS = np.dtype([
    ("index", "<i8"), ("context_length", "<i8"), ("draft_ms", "<f8"), ("verify_ms", "<f8"), ("round_ms", "<f8"),
    ("positions", "<u4"), ("emitted", "<u4"), ("stop", "u1"),
])  # fmt: skip
POSITIONS = np.dtype([
    ("position", "<i4"), ("context_length", "<i8"), ("flags", "<u2"), ("bars", "<u2"),
    ("token", "<i4"), ("p", "<f8"), ("q", "<f8"), ("accept_prob", "<f8"), ("u_draft", "<f8"), ("u_accept", "<f8"),
    ("verdict", "u1"), ("extra_token", "<i4"), ("extra_p", "<f8"), ("extra_u", "<f8"), ("kind", "u1"),
    ("overlap", "<f8"), ("tv", "<f8"), ("entropy_p", "<f8"), ("entropy_q", "<f8"), ("p_max", "<f8"),
])  # fmt: skip
DTYPES = {
    "rounds": ROUNDS, "positions": POSITIONS, "emitted": np.dtype("<i4"), "ids": np.dtype("<i4"),
    "p": np.dtype("<f4"), "q": np.dtype("<f4"),
}  # fmt: skip
SUMMARY = np.dtype([
    ("index", "<i8"), ("drafted", "<u2"), ("tested", "<u2"), ("accepted", "<u2"), ("emitted", "<u2"), ("extra", "?"),
    ("overlap", "<f8"), ("overlaps", "<u2"), ("draft_ms", "<f8"), ("verify_ms", "<f8"), ("round_ms", "<f8"),
])  # fmt: skip  # a round in brief; overlap: the sum over its tested positions that carry one, so many of them


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """So many rounds: `rounds` [n], `positions` [sum of their positions], and so on, one after the other."""

    rounds: NDArray[np.void]
    positions: NDArray[np.void]
    emitted: NDArray[np.int32]
    ids: NDArray[np.int32]
    p: NDArray[np.float32]
    q: NDArray[np.float32]  # only of the positions whose bars have q
    starts: tuple[NDArray[np.int64], ...]  # where round i begins in positions and emitted, position j in ids and q

    def __len__(self) -> int:
        return len(self.rounds)

    def __eq__(self, other: object) -> bool:
        """Tell whether the other holds the same rounds, bit for bit."""
        if not isinstance(other, Columns):
            return NotImplemented
        pairs = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return all(np.array_equal(np.ascontiguousarray(a).view("u1"), np.ascontiguousarray(b).view("u1"))
                   for a, b in pairs)  # fmt: skip

    __hash__ = None  # type: ignore[assignment]

    @property
    def nbytes(self) -> int:
        """Return the bytes that the arrays take."""
        return sum(each.nbytes for each in (*self.arrays().values(), *self.starts))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the six arrays by name."""
        return {name: getattr(self, name) for name in DTYPES}

    def round(self, i: int) -> RoundTrace:
        """Return round i as the record that it was; its bars share the arrays' memory and cannot be written."""
        first, after = self.starts[0][i : i + 2].tolist()
        spoken, silent = self.starts[1][i : i + 2].tolist()
        index, context, draft_ms, verify_ms, round_ms, _, _, stop = self.rounds[i].item()
        rows = self.positions[first:after].tolist()
        positions = tuple(self._position(first + j, row) for j, row in enumerate(rows))
        emitted = tuple(self.emitted[spoken:silent].tolist())
        return RoundTrace(index, context, positions, emitted, draft_ms, verify_ms, round_ms, STOPS[stop])

    def _position(self, j: int, row: tuple[Any, ...]) -> Position:
        (number, context, flags, m, token, p, q, accept, u_draft, u_accept, verdict, extra, extra_p, extra_u, kind,
         overlap, tv, entropy_p, entropy_q, p_max) = row  # fmt: skip
        drafted = DraftedToken(
            token, p, q, accept, u_draft if flags & U_DRAFT else None, u_accept if flags & U_ACCEPT else None,
            VERDICTS[verdict],
        ) if flags & DRAFTED else None  # fmt: skip
        shape = Shape(
            overlap if flags & OVERLAP else None, tv if flags & TV else None, entropy_p,
            entropy_q if flags & ENTROPY_Q else None, p_max,
        ) if flags & SHAPE else None  # fmt: skip
        added = ExtraToken(extra, KINDS[kind], extra_p, extra_u) if flags & EXTRA else None
        return Position(number, context, drafted, added, shape, self._bars(j, m, flags) if flags & BARS else None)

    def _bars(self, j: int, m: int, flags: int) -> Bars:
        at, q_at = int(self.starts[2][j]), int(self.starts[3][j])
        q = self.q[q_at : q_at + m] if flags & BARS_Q else None
        return Bars(self.ids[at : at + m], self.p[at : at + m], q)

    def summary(self) -> NDArray[np.void]:
        """Return the rounds in brief [n], of type SUMMARY."""
        found = np.zeros(len(self), SUMMARY)
        if not len(self):
            return found
        rows = self.positions
        drafted, tested = (rows["flags"] & DRAFTED) != 0, _tested(rows)
        has = tested & ((rows["flags"] & OVERLAP) != 0)
        counted = {
            "drafted": drafted, "tested": tested, "overlaps": has,
            "accepted": drafted & (rows["verdict"] == VERDICTS.index(Verdict.ACCEPTED)),
            "extra": (rows["flags"] & EXTRA) != 0, "overlap": np.where(has, rows["overlap"], 0.0),
        }  # fmt: skip
        for name, values in counted.items():
            found[name] = _sums(values, self.starts[0])
        for name in ("index", "emitted", "draft_ms", "verify_ms", "round_ms"):
            found[name] = self.rounds[name]
        return found

    def overlaps(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
        """Return number, sum min(p, q) (NaN: not kept) and whether it was tested, of each position with a draft.

        Rounds that emitted nothing are left out, as in every figure.
        """
        rows = self.positions
        kept = ((rows["flags"] & DRAFTED) != 0) & np.repeat(self.rounds["emitted"] > 0, self.rounds["positions"])
        found = np.where((rows["flags"] & OVERLAP) != 0, rows["overlap"], np.nan)
        return rows["position"][kept], found[kept], _tested(rows)[kept]

    def cut(self, a: int, b: int) -> Columns:
        """Return rounds a .. b - 1; they share the memory."""
        (i, j), (s, t) = ((int(ends[a]), int(ends[b])) for ends in self.starts[:2])
        (m, n), (x, y) = ((int(ends[i]), int(ends[j])) for ends in self.starts[2:])
        starts = (self.starts[0][a : b + 1] - i, self.starts[1][a : b + 1] - s,
                  self.starts[2][i : j + 1] - m, self.starts[3][i : j + 1] - x)  # fmt: skip
        return Columns(self.rounds[a:b], self.positions[i:j], self.emitted[s:t], self.ids[m:n], self.p[m:n],
                       self.q[x:y], starts)  # fmt: skip


def columns(arrays: dict[str, NDArray[Any]]) -> Columns:
    """Return the arrays as `Columns`, read-only; ValueError, naming the part, where they contradict each other."""
    for name, dtype in DTYPES.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != 1:
            raise ValueError(f"{name} is no row of {dtype.name} values")
        arrays[name].setflags(write=False)
    rounds, positions = arrays["rounds"], arrays["positions"]
    flags, bars = positions["flags"], positions["bars"].astype(np.int64)
    starts = (
        _starts(rounds["positions"]), _starts(rounds["emitted"]),
        _starts(np.where(flags & BARS, bars, 0)), _starts(np.where(flags & BARS_Q, bars, 0)),
    )  # fmt: skip
    for name, of, ends in (("positions", "positions", 0), ("emitted", "emitted tokens", 1), ("ids", "bars", 2),
                           ("p", "bars", 2), ("q", "bars' q", 3)):  # fmt: skip
        if starts[ends][-1] != len(arrays[name]):
            raise ValueError(f"it states {starts[ends][-1]} {of}, but holds {len(arrays[name])}")
    _check_codes(rounds, positions)
    return Columns(**arrays, starts=starts)


def joined(parts: Sequence[Columns]) -> Columns:
    """Return several stretches of rounds as one."""
    if len(parts) == 1:
        return parts[0]
    return columns({name: concatenated(name, [getattr(part, name) for part in parts]) for name in DTYPES})


def _check_codes(rounds: NDArray[np.void], positions: NDArray[np.void]) -> None:
    """Refuse what no `pack` writes: a code without a word, a flag whose whole is missing, a count below 0."""
    flags = positions["flags"]
    wrong = {
        "reason to stop": (rounds["stop"] >= len(STOPS)).any(),
        "verdict": (positions["verdict"] >= len(VERDICTS)).any(),
        "kind of token": (positions["kind"] >= len(KINDS)).any(),
        "flag": (flags >= 2 * ENTROPY_Q).any() or any((((flags & a) != 0) & ((flags & b) == 0)).any()
                                                      for a, b in NEEDS.items()),
        "position": ((positions["position"] < 1) | (positions["position"] > 2**16)).any(),
        "number of bars": ((positions["bars"] > 0) & ((flags & BARS) == 0)).any(),
    }  # fmt: skip
    found = [name for name, there in wrong.items() if there]
    if found:
        raise ValueError(f"it holds a {found[0]} that does not exist")


def _tested(positions: NDArray[np.void]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = ((positions["flags"] & DRAFTED) != 0) & (
        positions["verdict"] != VERDICTS.index(Verdict.DISCARDED)
    )
    return found


def _starts(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each part begins, and behind the last one where it ends: [n + 1]."""
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def _sums(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Return the sum of each round's values; 0 for a round without positions."""
    if not values.size:
        return np.zeros(len(starts) - 1)
    kind = np.float64 if values.dtype == np.float64 else np.int64
    sums = np.add.reduceat(np.append(values.astype(kind), kind(0)), starts[:-1])
    return np.where(np.diff(starts) > 0, sums, 0)


def concatenated(name: str, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return parts of the named array as one."""
    return np.concatenate([np.empty(0, DTYPES[name]), *parts])
