from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.columns import columns, joined
from simulator.measure import tokens_per_second
from simulator.metrics import from_rounds
from simulator.packing import pack
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
from simulator.store import CHUNK, MERGED, Rounds, RoundStore, as_columns, parts_of, summary_of, tokens_of
from tests.simulator.text_samples import bonus_round, plain_round, rejected_round, same
from tests.simulator.tiny import Script, fixed, play, unlike

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


# --- rounds come back


@settings(max_examples=60, deadline=None)
@given(st.lists(any_round, max_size=4))
def test_any_rounds_come_back_bit_for_bit(rounds: list[RoundTrace]) -> None:
    packed = pack(rounds)
    assert [bits(packed.round(i)) for i in range(len(rounds))] == [bits(r) for r in rounds]


def test_records_come_back_with_plain_numbers_and_their_enums() -> None:
    for i, trace in enumerate(KINDS):
        assert same(pack(KINDS).round(i), trace)


@pytest.mark.parametrize("temperature", [1.0, 0.0])
@pytest.mark.parametrize("detail", [True, False])
def test_rounds_of_the_engine_come_back(temperature: float, detail: bool) -> None:
    from simulator.records import Sampling

    target, source = unlike()
    options = {"k": 3, "max_new_tokens": 40, "detail": detail, "sampling": Sampling(temperature)}
    guess = Script((0, 1, 2), 5)  # a deterministic source: no uniform drew its tokens
    for run in (play(target, source, [0], **options), play(fixed((0.2,) * 5), guess, [0], **options)):
        store = RoundStore()
        store.extend(run.rounds)
        assert same(tuple(store), run.rounds)
        assert store == run.rounds
        assert tokens_of(store) == run.tokens


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


# --- the sequence


def many(n: int) -> list[RoundTrace]:
    return [replace(KINDS[i % 4], index=i) for i in range(n)]


LONG = many(CHUNK * MERGED + 3 * CHUNK + 5)  # a merged part, three chunks and a tail
STORE = RoundStore()
STORE.extend(LONG)


def test_it_is_a_sequence_like_a_list() -> None:
    n = len(LONG)
    assert len(STORE) == n
    for i in (0, 31, 32, 1023, 1024, 1119, 1120, n - 1, -1, -n):
        assert same(STORE[i], LONG[i])
    for i in (n, -n - 1):
        with pytest.raises(IndexError):
            STORE[i]
    assert [r.index for r in STORE] == list(range(n))
    assert [r.index for r in reversed(STORE)] == list(range(n))[::-1]
    assert not RoundStore()


@pytest.mark.parametrize("cut", [slice(None), slice(5, 40), slice(1000, 1100), slice(-7, None), slice(1130, 40),
                                 slice(None, None, 100), slice(10, 5000)])  # fmt: skip
def test_slices_are_like_those_of_a_list(cut: slice) -> None:
    view, plain = STORE[cut], LONG[cut]
    assert [r.index for r in view] == [r.index for r in plain]
    assert tokens_of(view) == tokens_of(plain)
    assert as_columns(view) == pack(plain)
    assert summary_of(view).tobytes() == summary_of(plain).tobytes()
    if isinstance(view, Rounds):
        assert view == plain
        assert same(tuple(view[2:9]), tuple(plain[2:9]))


def test_what_was_taken_stays_while_the_store_grows_and_is_cleared() -> None:
    store = RoundStore()
    taken = [store[:]]
    for trace in LONG:
        store.append(trace)
        if trace.index % 50 == 0:
            taken.append(store[:])
    before = [[r.index for r in view] for view in taken]
    store.clear()
    assert len(store) == 0
    store += many(40)
    assert [[r.index for r in view] for view in taken] == before
    assert before == [list(range(len(each))) for each in before]


def test_it_is_equal_to_the_same_rounds_and_to_nothing_else() -> None:
    assert STORE == LONG
    assert LONG == STORE
    assert STORE[:9] == tuple(LONG[:9])
    assert RoundStore() == []
    assert STORE[:9] != LONG[1:10]
    assert STORE[:9] != LONG[:8]
    assert STORE[:2] != ["a", "b"]
    assert STORE[:2] != "ab"
    other = replace(LONG[0], round_ms=np.nextafter(LONG[0].round_ms, 0))
    assert STORE[:1] != [other]


def test_many_parts_become_few() -> None:
    assert sum(1 for _ in STORE.parts()) == 5
    assert [len(part) for part in parts_of(LONG)] == [CHUNK * MERGED, len(LONG) - CHUNK * MERGED]
    assert joined(list(STORE.parts())) == pack(LONG)


# --- figures without rounds


def test_a_round_in_brief_says_what_the_record_says() -> None:
    for trace, row in zip(LONG[:4], summary_of(LONG[:4]), strict=True):
        assert (row["drafted"], row["tested"], row["accepted"]) == (trace.drafted, trace.tested, trace.accepted)
        assert (row["emitted"], row["extra"]) == (len(trace.emitted), trace.extra is not None)
        tested = [p.shape.overlap for p in trace.positions[: trace.tested] if p.shape and p.shape.overlap is not None]
        assert (row["overlap"], row["overlaps"]) == (pytest.approx(sum(tested)), len(tested))
    assert summary_of([NOTHING])[0]["drafted"] == 0


def test_figures_of_a_trace_are_those_of_its_rounds() -> None:
    assert from_rounds(STORE) == from_rounds(LONG)
    assert tokens_per_second(STORE) == tokens_per_second(LONG)
    assert from_rounds(STORE[7:700]) == from_rounds(LONG[7:700])


def test_a_round_takes_a_tenth_of_its_memory_as_objects() -> None:
    """100,000 rounds of four drafts and 32 bars must stay below 400 MB."""
    ids, p = np.arange(33, dtype=np.int32), np.linspace(0.1, 0.0, 33, dtype=np.float32)
    spots = tuple(
        Position(i, 7 + i, DraftedToken(1, 0.2, 0.3, 2 / 3, 0.5, 0.5, Verdict.ACCEPTED), None,
                 Shape(0.8, 0.2, 1.0, 1.1, 0.4), Bars(ids, p, p))
        for i in range(1, 6)
    )  # fmt: skip
    store = RoundStore()
    store.extend([RoundTrace(i, 7, spots, (1, 2, 3, 4, 5), 1.0, 2.0, 3.0) for i in range(2048)])
    assert store.nbytes / 2048 * 100_000 < 320e6


def test_a_store_that_adopts_rounds_grows_without_touching_them() -> None:
    """Two windows of one file: what goes on in one must not be in the other."""
    found = Rounds(pack([replace(plain_round(i, 3 + i, i), index=i) for i in range(40)]))
    before, first, second = list(found), RoundStore(), RoundStore()
    first += [NOTHING] * 3
    for store in (first, second):
        store.adopt(found)
        assert store == before
        store += [replace(plain_round(40, 43, 9), index=40 + i) for i in range(CHUNK * MERGED + 5)]
        assert store[:40] == before
        assert len(store) == 45 + CHUNK * MERGED
        assert store.summary["emitted"].sum() == len(store.tokens)
    assert found == before
    first.adopt(Rounds())
    assert (len(first), len(second)) == (0, 45 + CHUNK * MERGED)
