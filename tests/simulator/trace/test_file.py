from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.files import ExportError
from simulator.records import Bars, Run, StopReason
from simulator.text.texts import SavedTexts, texts_to_json
from simulator.trace import writing
from simulator.trace.columns import POSITIONS
from simulator.trace.file import TraceError, load_trace, open_trace, save_trace
from simulator.trace.store import RoundStore
from tests.simulator.text_samples import (
    bars,
    drafted,
    plain_round,
    plain_run,
    run_of,
    same,
)
from tests.simulator.trace.samples import RUNS, THREE, refused


def round_trip(folder: Path, *runs: Run, **meta: Any) -> tuple[tuple[Run, ...], dict[str, Any]]:
    save_trace(folder / "t.trace", runs, meta)
    return load_trace(folder / "t.trace")


def entries_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def forged(path: Path, entries: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> Path:
    """Write a file as somebody would who knows the format: every sum in it is right."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", how) as packed:
        packed.comment = b"00000000"
        for name, data in entries.items():
            packed.writestr(name, data)
    whole = content.getvalue()
    path.write_bytes(whole[:-8] + b"%08x" % zlib.crc32(whole))
    return path


# --- there and back


@pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS.keys())
def test_runs_come_back_equal(tmp_path: Path, runs: tuple[Run, ...]) -> None:
    loaded, meta = round_trip(tmp_path, *runs, command=["run"], seed=3)
    assert same(loaded, runs)
    assert meta == {"command": ["run"], "seed": 3}


def test_runs_without_arrays_are_equal_by_their_own_operator(tmp_path: Path) -> None:
    runs = (plain_run(1, 2, 3), run_of())
    assert round_trip(tmp_path, *runs)[0] == runs


def test_every_reason_to_stop_comes_back(tmp_path: Path) -> None:
    runs = [replace(run_of(replace(plain_round(0, 3, 65), stop=stop)), stop=stop) for stop in StopReason]
    loaded, _ = round_trip(tmp_path, *runs)
    assert [(r.stop, r.rounds[0].stop) for r in loaded] == [(stop, stop) for stop in StopReason]
    assert all(isinstance(r.stop, StopReason) for r in loaded)


def test_arrays_keep_their_type_and_their_emptiness(tmp_path: Path) -> None:
    kinds = [
        Bars(np.array([], np.int32), np.array([], np.float32), None),
        Bars(np.array([2**31 - 1], np.int32), np.array([1e-45], np.float32), np.array([0.1], np.float32)),
        bars(5, 6, 7),
    ]
    spots = tuple(replace(THREE.rounds[0].positions[0], bars=b) for b in kinds)
    run = run_of(replace(THREE.rounds[0], positions=spots))
    assert same(round_trip(tmp_path, run)[0], (run,))


def test_numpy_numbers_come_back_as_equal_plain_numbers(tmp_path: Path) -> None:
    run = replace(THREE, prompt=(np.int64(5),), prefill_ms=np.float32(0.1))  # type: ignore[arg-type]
    ((loaded,), _) = round_trip(tmp_path, run)
    assert loaded.prompt == (5,)
    assert type(loaded.prompt[0]) is int
    assert loaded.prefill_ms == float(np.float32(0.1))
    assert type(loaded.prefill_ms) is float


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.floats(width=32, allow_nan=False), max_size=6),
    st.floats(min_value=5e-324, max_value=1),
    st.floats(min_value=0, max_value=1),
    st.text(),
)
def test_any_numbers_and_texts_come_back_bit_for_bit(
    tmp_path: Path, values: list[float], q: float, u: float, notice: str
) -> None:
    token = drafted(65, 0.25, q, u)
    some = Bars(np.arange(len(values), dtype=np.int32), np.array(values, np.float32), None)
    spot = replace(THREE.rounds[0].positions[0], drafted=token, bars=some)
    run = replace(run_of(replace(THREE.rounds[0], positions=(spot,))), notices=(notice,))
    ((loaded,), _) = round_trip(tmp_path, run)
    assert same(loaded, run)
    read = loaded.rounds[0].positions[0]
    assert read.bars is not None
    assert read.bars.p.tobytes() == some.p.tobytes()
    assert read.drafted is not None
    assert read.drafted.q.hex() == q.hex()


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    save_trace(tmp_path / "a", [THREE], {"n": 1})
    save_trace(tmp_path / "b", [THREE], {"n": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_numpy_reads_the_file_too(tmp_path: Path) -> None:
    save_trace(tmp_path / "t.trace", [THREE, plain_run(1, 2)], {})
    with np.load(tmp_path / "t.trace", allow_pickle=False) as file:
        assert file["rounds"]["round_ms"].tolist() == [12.0, 3.5, 2.25, 2.25, 2.25]
        assert file["emitted"].tolist() == [*THREE.tokens, 1, 2]


def test_a_trace_that_grew_is_saved_like_the_same_rounds(tmp_path: Path) -> None:
    store = RoundStore()
    store.extend([replace(plain_round(i, 3 + i, i, True), index=i) for i in range(1200)])
    for name, rounds in (("a", store), ("b", store[:]), ("c", tuple(store))):
        save_trace(tmp_path / name, [replace(THREE, rounds=rounds)], {})
        assert (tmp_path / name).read_bytes() == (tmp_path / "a").read_bytes()
    assert load_trace(tmp_path / "a")[0][0].rounds == store


def test_saving_tells_how_far_it_is_and_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BLOCK", 64)
    shares: list[float] = []
    save_trace(tmp_path / "t.trace", [THREE], {}, shares.append)
    assert len(shares) > 9
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.3
    assert shares[-1] == 1
    before = (tmp_path / "t.trace").read_bytes()

    def stop(share: float) -> None:
        if share > 0.4:
            raise Stopped

    with pytest.raises(Stopped):
        save_trace(tmp_path / "t.trace", [THREE, THREE], {}, stop)
    assert [p.name for p in tmp_path.iterdir()] == ["t.trace"]
    assert (tmp_path / "t.trace").read_bytes() == before


def test_any_name_serves_and_nothing_else_is_left(tmp_path: Path) -> None:
    save_trace(tmp_path / "odd name.x", [THREE], {})
    save_trace(tmp_path / "odd name.x", [run_of()], {})
    assert [p.name for p in tmp_path.iterdir()] == ["odd name.x"]
    assert load_trace(tmp_path / "odd name.x")[0] == (run_of(),)


def test_a_trace_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="its folder does not exist"):
        save_trace(tmp_path / "no" / "t.trace", [THREE], {})
    (tmp_path / "t.trace").write_text("kept")
    broken = replace(THREE, prompt=(object(),))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        save_trace(tmp_path / "t.trace", [THREE, broken], {})
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("t.trace", "kept")]


# --- token texts


def test_a_trace_brings_the_texts_of_exactly_its_tokens(tmp_path: Path) -> None:
    texts = SavedTexts({i: bytes([i]) for i in range(200)}, {68: "⟦D⟧"})
    save_trace(tmp_path / "t.trace", [THREE, plain_run(1, 199)], {}, texts=texts)
    trace = open_trace(tmp_path / "t.trace")
    shown = {int(i) for r in THREE.rounds for p in r.positions if p.bars is not None for i in p.bars.ids}
    proposed = {p.drafted.token_id for r in THREE.rounds for p in r.positions if p.drafted is not None}
    used = sorted({*THREE.prompt, *plain_run(1, 199).prompt, *THREE.tokens, 1, 199, *shown, *proposed})
    assert texts_to_json(trace.texts, range(200))["labels"].get("68") == "⟦D⟧"
    assert [i for i in range(300) if trace.texts.token_bytes(i)] == [i for i in used if i < 200]
    assert trace.texts.token_bytes(199) == b"\xc7"
    assert trace.runs[0] == THREE


def test_a_trace_without_texts_opens_and_has_none(tmp_path: Path) -> None:
    round_trip(tmp_path, THREE)
    assert "texts" not in json.loads(entries_of(tmp_path / "t.trace")["trace.json"])
    assert len(open_trace(tmp_path / "t.trace").texts) == 0


def test_reading_tells_how_far_it_is_and_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.trace.file.BLOCK", 256)
    round_trip(tmp_path, THREE)
    shares: list[float] = []
    open_trace(tmp_path / "t.trace", shares.append)
    assert len(shares) > 9
    assert shares == sorted(shares)
    assert shares[-1] <= 1

    def stop(share: float) -> None:
        if share > 0.6:
            raise Stopped

    with pytest.raises(Stopped):
        open_trace(tmp_path / "t.trace", stop)


# --- what is no trace


def test_a_missing_file_or_a_folder_is_a_sentence(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none")
    assert "it is a folder" in refused(tmp_path)


def test_a_table_or_an_empty_file_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"run,round,position\r\n0,0,1\r\n")
    assert "is a table (CSV)" in refused(tmp_path / "x.csv")
    (tmp_path / "x").write_bytes(b"")
    assert "is empty" in refused(tmp_path / "x")


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 40, b"P", b"PK", b"PK\3\4" + bytes(99), b"run,round\r\n0,0\r\n", pickle.dumps({"a": 1}),
     gzip.compress(b"", mtime=0)],
)  # fmt: skip
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    refused(tmp_path / "x")


def test_a_trace_cut_anywhere_is_refused(tmp_path: Path) -> None:
    round_trip(tmp_path, THREE, plain_run(1, 2))
    whole = (tmp_path / "t.trace").read_bytes()
    for size in range(0, len(whole), len(whole) // 200):
        (tmp_path / "cut").write_bytes(whole[:size])
        refused(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(whole + b"x")
    refused(tmp_path / "cut")


def test_a_trace_with_any_byte_changed_is_refused(tmp_path: Path) -> None:
    """Two hundred damaged files, one sentence each: the sum over the whole file misses no single byte."""
    round_trip(tmp_path, THREE)
    whole = (tmp_path / "t.trace").read_bytes()
    for place in range(0, len(whole), len(whole) // 200):
        changed = whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        (tmp_path / "changed").write_bytes(changed)
        assert "\n" not in refused(tmp_path / "changed")


def npy(array: np.ndarray[Any, Any], **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def changed_rows(entries: dict[str, bytes], name: str, field: str, value: int) -> bytes:
    rows = np.load(io.BytesIO(entries[f"{name}.npy"]))
    rows[field][0] = value
    return npy(rows)


def test_a_forged_file_is_refused_by_what_is_wrong(tmp_path: Path) -> None:
    """Nothing is believed because the sums are right: types, lengths, counts and codes are held against each other."""
    round_trip(tmp_path, THREE)
    good = entries_of(tmp_path / "t.trace")
    assert load_trace(forged(tmp_path / "x", good))[0] == (THREE,)
    head = json.loads(good["trace.json"])
    long = npy(np.zeros(9, np.int32)).replace(b"(9,)", b"(10**9,)")

    def with_head(**changes: Any) -> dict[str, bytes]:
        return {**good, "trace.json": json.dumps(head | changes).encode()}

    run = head["runs"][0]
    bare = {name: value for name, value in run["run"].items() if name != "prompt"}
    wrong = {
        "objects": {**good, "emitted.npy": npy(np.array([print], object), allow_pickle=True)},
        "another type": {**good, "p.npy": npy(np.zeros(9))},
        "a table": {**good, "emitted.npy": npy(np.zeros((5, 1), np.int32))},
        "a length that lies": {**good, "emitted.npy": long},
        "no array": {**good, "q.npy": b"junk"},
        "a part too few": {name: data for name, data in good.items() if name != "q.npy"},
        "a part too many": {**good, "more.npy": good["q.npy"]},
        "a token too few": {**good, "emitted.npy": npy(np.zeros(5, np.int32))},
        "a huge count": {**good, "rounds.npy": changed_rows(good, "rounds", "positions", 2**32 - 1)},
        "a strange verdict": {**good, "positions.npy": changed_rows(good, "positions", "verdict", 7)},
        "a strange reason": {**good, "rounds.npy": changed_rows(good, "rounds", "stop", 99)},
        "position 0": {**good, "positions.npy": changed_rows(good, "positions", "position", 0)},
        "more rounds than there are": with_head(runs=[{**run, "rounds": 4}]),
        "fewer rounds than there are": with_head(runs=[{**run, "rounds": 2}]),
        "less than no rounds": with_head(runs=[{**run, "rounds": -1}, {**run, "rounds": 4}]),
        "no count": with_head(runs=[{**run, "rounds": True}]),
        "a run with more parts": with_head(runs=[{**run, "run": {**run["run"], "colour": 1}}]),
        "a run without a prompt": with_head(runs=[{**run, "run": bare}]),
        "no runs": with_head(runs=None),
        "no metadata": with_head(meta=[1]),
        "texts that are none": with_head(texts=[1]),
        "another format": with_head(format="other"),
        "another version": with_head(version=3),
        "no JSON": {**good, "trace.json": b"{"},
        "deep JSON": {**good, "trace.json": b"[" * 100_000},
        "a list": {**good, "trace.json": b"[]"},
    }  # fmt: skip
    for name, entries in wrong.items():
        assert "\n" not in refused(forged(tmp_path / "x", entries)), name
    assert "version 3" in refused(forged(tmp_path / "x", wrong["another version"]))
    refused(forged(tmp_path / "x", good, zipfile.ZIP_DEFLATED))  # a small file must not grow in memory


def test_errors_are_for_the_user_and_for_handlers_of_wrong_values() -> None:
    assert issubclass(TraceError, ValueError)
    assert issubclass(TraceError, UserError)
    assert POSITIONS.itemsize < 130
