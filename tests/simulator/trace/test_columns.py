"""Rounds into columns and back: `packing` and `columns`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from simulator.trace.columns import columns
from simulator.trace.packing import pack
from tests.simulator.text_samples import bonus_round, plain_round, rejected_round, same

NOTHING = RoundTrace(0, 3, (), (), 0.0, 0.0, 0.0)  # cancelled before it emitted anything
KINDS = (rejected_round(0, 3, (65, 66, 67), 68), bonus_round(1, 5, (69, 70), 71), plain_round(2, 8, 72),
         plain_round(3, 9, 73, detail=True), NOTHING)  # fmt: skip

# any float that a column holds, NaN and infinity included; any optional one
real, maybe = st.floats(), st.none() | st.floats()
token = st.integers(0, 2**31 - 1)
floats32 = st.floats(width=32)


@st.composite
def a_bars(draw: st.DrawFn) -> Bars:
    m = draw(st.integers(0, 4))
    p, q = (np.array(draw(st.lists(floats32, min_size=m, max_size=m)), np.float32) for _ in range(2))
    ids = np.array(draw(st.lists(token, min_size=m, max_size=m)), np.int32)
    return Bars(ids, p, draw(st.sampled_from((None, q))))


positions = st.builds(
    Position, st.integers(1, 17), st.integers(0, 2**40),
    st.none() | st.builds(DraftedToken, token, real, real, real, maybe, maybe, st.sampled_from(Verdict)),
    st.none() | st.builds(ExtraToken, token, st.sampled_from(Kind), real, real),
    st.none() | st.builds(Shape, maybe, maybe, real, maybe, real), st.none() | a_bars(),
)  # fmt: skip
any_round = st.builds(
    RoundTrace, st.integers(0, 2**50), st.integers(0, 2**40), st.lists(positions, max_size=3).map(tuple),
    st.lists(token, max_size=4).map(tuple), real, real, real, st.none() | st.sampled_from(StopReason),
)  # fmt: skip


def bits(trace: RoundTrace) -> str:
    """Return every number of a round to the last bit: Python writes floats so that they read back, but not NaN's."""
    return repr([
        (p, p.bars and (p.bars.ids.tobytes(), p.bars.p.tobytes(), p.bars.q is not None and p.bars.q.tobytes()))
        for p in (replace(p, bars=p.bars) for p in trace.positions)
    ]) + repr(replace(trace, positions=()))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(any_round, max_size=4))
def test_any_rounds_come_back_bit_for_bit(rounds: list[RoundTrace]) -> None:
    packed = pack(rounds)
    assert [bits(packed.round(i)) for i in range(len(rounds))] == [bits(r) for r in rounds]


def test_records_come_back_with_plain_numbers_and_their_enums() -> None:
    for i, trace in enumerate(KINDS):
        assert same(pack(KINDS).round(i), trace)


def test_what_a_column_cannot_hold_is_refused() -> None:
    def with_bars(bars: Bars) -> RoundTrace:
        return replace(KINDS[3], positions=(replace(KINDS[3].positions[0], bars=bars),))

    row = np.zeros(2, np.float32)
    for wrong in (
        Bars(np.zeros(2, np.int64), row, None),  # type: ignore[arg-type]
        Bars(np.zeros(2, np.int32), row.astype(np.float64), None),  # type: ignore[arg-type]
        Bars(np.zeros(2, np.int32), row, row[:1]),
    ):
        with pytest.raises(TypeError, match="bars"):
            pack([with_bars(wrong)])
    with pytest.raises(OverflowError):
        pack([replace(KINDS[2], emitted=(2**31,))])


def test_the_bars_of_a_rebuilt_round_cannot_be_written() -> None:
    bars = pack(KINDS).round(0).positions[0].bars
    assert bars is not None
    with pytest.raises(ValueError, match="read-only"):
        bars.p[0] = 1


def test_columns_that_contradict_each_other_are_refused() -> None:
    whole = pack(KINDS[:4]).arrays()
    for name, part in whole.items():
        with pytest.raises(ValueError, match=r"holds|states"):
            columns({**whole, name: part[:-1]})
        with pytest.raises(ValueError, match="no row"):
            columns({**whole, name: part.view("u1")})
    for column, name, code in (("rounds", "stop", 9), ("positions", "verdict", 3), ("positions", "kind", 3),
                               ("positions", "flags", 1 << 12), ("positions", "position", 0)):  # fmt: skip
        rows = whole[column].copy()
        rows[name][0] = code
        with pytest.raises(ValueError, match=r"does not exist|states"):
            columns({**whole, column: rows})
