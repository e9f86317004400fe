from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.measure import tokens_per_second
from simulator.metrics import from_rounds
from simulator.records import Bars, DraftedToken, Position, RoundTrace, Sampling, Shape, Verdict
from simulator.trace.columns import joined
from simulator.trace.packing import pack
from simulator.trace.store import CHUNK, MERGED, Rounds, RoundStore, as_columns, parts_of, summary_of, tokens_of
from tests.simulator.text_samples import bonus_round, plain_round, rejected_round, same
from tests.simulator.tiny import Script, fixed, play, unlike

NOTHING = RoundTrace(0, 3, (), (), 0.0, 0.0, 0.0)  # cancelled before it emitted anything
KINDS = (rejected_round(0, 3, (65, 66, 67), 68), bonus_round(1, 5, (69, 70), 71), plain_round(2, 8, 72),
         plain_round(3, 9, 73, detail=True))  # fmt: skip


@pytest.mark.parametrize("temperature", [1.0, 0.0])
@pytest.mark.parametrize("detail", [True, False])
def test_rounds_of_the_engine_come_back(temperature: float, detail: bool) -> None:
    target, source = unlike()
    options = {"k": 3, "max_new_tokens": 40, "detail": detail, "sampling": Sampling(temperature)}
    guess = Script((0, 1, 2), 5)  # a deterministic source: no uniform drew its tokens
    for run in (play(target, source, [0], **options), play(fixed((0.2,) * 5), guess, [0], **options)):
        store = RoundStore()
        store.extend(run.rounds)
        assert same(tuple(store), run.rounds)
        assert store == run.rounds
        assert tokens_of(store) == run.tokens


# --- the sequence


def many(n: int) -> list[RoundTrace]:
    return [replace(KINDS[i % len(KINDS)], index=i) for i in range(n)]


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
