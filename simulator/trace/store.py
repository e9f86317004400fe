"""An append-only trace: a sequence of rounds in columns, each rebuilt when it is asked for.

Knows: which rounds are packed and which are still as they came. Does not know: how a round is packed (`packing`).

A hundred thousand rounds of four drafts take some 250 MB, against several times as much as Python objects. Slices
share the memory and never change, so that another thread may read one while this one goes on appending.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from simulator.records import RoundTrace
from simulator.trace.columns import SUMMARY, Columns, joined
from simulator.trace.packing import pack

CHUNK = 32  # rounds packed together, about 2 ms of work
MERGED = 32  # chunks made one, so that a long trace has few parts


class Rounds(Sequence[RoundTrace]):
    """A stretch of a trace that does not change; equal to any sequence of equal rounds."""

    __slots__ = ("_brief", "_last", "_packed", "_parts", "_start", "_starts", "_stop", "_tail")

    def __init__(self, columns: Columns | None = None) -> None:
        self._parts: list[Columns] = []  # grows at its end only, and so do `_starts` and `_tail`
        self._starts = [0]  # where each part begins, and where the tail does
        self._tail: list[RoundTrace] = []  # the newest rounds, as they came
        self._brief = np.zeros(0, SUMMARY)  # of the packed rounds, with room for more
        self._packed, self._start, self._stop = 0, 0, 0
        self._last: tuple[int, RoundTrace] | None = None
        if columns is not None and len(columns):
            self._add(columns)
            self._stop = len(columns)

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> RoundTrace: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RoundTrace]: ...
    def __getitem__(self, index: int | slice) -> RoundTrace | Sequence[RoundTrace]:
        """Return a round, or a slice that shares this one's memory (with a step: a tuple)."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._view(start, stop) if step == 1 else tuple(self[i] for i in range(start, stop, step))
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"there is no round {index} among {len(self)}")
        return self._at(self._start + i)

    def __iter__(self) -> Iterator[RoundTrace]:
        return (self._at(i) for i in range(self._start, self._stop))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        if len(self) != len(other) or not all(isinstance(r, RoundTrace) for r in other[:1]):
            return False
        return as_columns(self) == as_columns(other)

    __hash__ = None  # type: ignore[assignment]  # rounds hold arrays

    def __repr__(self) -> str:
        return f"<{len(self)} rounds>"

    @property
    def nbytes(self) -> int:
        """Return the bytes that the columns take; the tail is not counted."""
        return sum(part.nbytes for part in self._parts) + self._brief.nbytes

    @property
    def summary(self) -> NDArray[np.void]:
        """Return the rounds in brief [n], of type `columns.SUMMARY`, without rebuilding any."""
        brief = self._brief[self._start : min(self._stop, self._packed)]
        tail = self._newest()
        return np.concatenate([brief, pack(tail).summary()]) if tail else brief

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return all emitted token ids, in order."""
        return tuple(np.concatenate([part.emitted for part in self.parts()] or [np.empty(0, np.int32)]).tolist())

    def parts(self) -> Iterator[Columns]:
        """Yield the rounds as columns, one stretch after the other."""
        return (block if isinstance(block, Columns) else pack(block) for block in self.blocks())

    def blocks(self) -> Iterator[Columns | list[RoundTrace]]:
        """Yield the rounds as columns where they are packed, and the newest ones as they came."""
        first = bisect_right(self._starts, self._start, hi=len(self._parts)) - 1
        for part, begin in zip(self._parts[first:], self._starts[first:], strict=False):
            a, b = max(self._start, begin), min(self._stop, self._packed, begin + len(part))
            if a >= b:
                break
            yield part if b - a == len(part) else part.cut(a - begin, b - begin)
        if tail := self._newest():
            yield tail

    def _newest(self) -> list[RoundTrace]:
        return self._tail[max(0, self._start - self._packed) : max(0, self._stop - self._packed)]

    def _at(self, i: int) -> RoundTrace:
        if i >= self._packed:
            return self._tail[i - self._packed]
        last = self._last
        if last is None or last[0] != i:
            part = bisect_right(self._starts, i, hi=len(self._parts)) - 1
            last = self._last = i, self._parts[part].round(i - self._starts[part])
        return last[1]  # whoever shows a round asks for it a dozen times

    def _view(self, start: int, stop: int) -> Rounds:
        view = Rounds()
        view._parts, view._starts, view._tail, view._brief = self._parts, self._starts, self._tail, self._brief
        view._packed, view._last = self._packed, self._last
        view._start, view._stop = self._start + start, self._start + max(start, stop)
        return view

    def _add(self, part: Columns) -> None:
        room = len(self._brief) - self._packed
        if room < len(part):
            more = np.zeros(max(len(part) - room, len(self._brief)), SUMMARY)
            self._brief = np.concatenate([self._brief, more])
        self._brief[self._packed : self._packed + len(part)] = part.summary()
        self._parts.append(part)
        self._packed += len(part)
        self._starts.append(self._packed)


class RoundStore(Rounds):
    """A trace that grows: append and extend, or clear and begin anew. Slices taken before keep what they had."""

    __slots__ = ()

    def append(self, trace: RoundTrace) -> None:
        """Add one round at the end."""
        self._tail.append(trace)
        self._stop += 1
        if len(self._tail) >= CHUNK:
            part, self._tail = pack(self._tail), []
            self._add(part)
            self._merge()

    def extend(self, rounds: Iterable[RoundTrace]) -> None:
        """Add rounds at the end."""
        for trace in rounds:
            self.append(trace)

    def __iadd__(self, rounds: Iterable[RoundTrace]) -> RoundStore:
        self.extend(rounds)
        return self

    def adopt(self, rounds: Rounds) -> None:
        """Hold all of these rounds instead, and grow behind them; they share the memory and stay what they are."""
        assert (rounds._start, rounds._stop, rounds._tail) == (0, rounds._packed, []), rounds
        self._parts, self._starts, self._tail = list(rounds._parts), list(rounds._starts), []
        self._brief, self._last = rounds._brief[: rounds._packed], None  # full: adding to it makes a new one
        self._packed, self._start, self._stop = rounds._packed, 0, rounds._packed

    def _merge(self) -> None:
        """Make one part of the last ones once there are enough; in new lists, for slices read the old ones."""
        if len(self._parts) >= MERGED and len(self._parts[-MERGED]) == CHUNK:
            self._parts = [*self._parts[:-MERGED], joined(self._parts[-MERGED:])]
            self._starts = [*self._starts[: len(self._parts)], self._packed]

    def clear(self) -> None:
        """Forget all rounds."""
        Rounds.__init__(self)


def parts_of(rounds: Sequence[RoundTrace]) -> Iterator[Columns]:
    """Yield any rounds as columns, one stretch after the other."""
    if isinstance(rounds, Rounds):
        yield from rounds.parts()
        return
    for at in range(0, len(rounds), CHUNK * MERGED):
        yield pack(rounds[at : at + CHUNK * MERGED])


def as_columns(rounds: Sequence[RoundTrace]) -> Columns:
    """Return any rounds as one stretch of columns."""
    return joined(list(parts_of(rounds)))


def summary_of(rounds: Iterable[RoundTrace]) -> NDArray[np.void]:
    """Return any rounds in brief [n], of type `columns.SUMMARY`; those of a trace without rebuilding them."""
    return rounds.summary if isinstance(rounds, Rounds) else pack(rounds).summary()


def tokens_of(rounds: Sequence[RoundTrace]) -> tuple[int, ...]:
    """Return all token ids that any rounds emitted, in order."""
    return rounds.tokens if isinstance(rounds, Rounds) else tuple(t for r in rounds for t in r.emitted)
