from __future__ import annotations

import gzip
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import trace
from simulator.errors import UserError
from simulator.files import ExportError
from simulator.records import Bars, Run, StopReason
from simulator.trace import TraceError, load_trace, save_trace
from tests.simulator.text_samples import (
    bars,
    bonus_round,
    drafted,
    plain_round,
    plain_run,
    rejected_round,
    run_of,
    same,
)

THREE = run_of(rejected_round(0, 3, (65, 66, 67), 68), bonus_round(1, 5, (69, 70), 71), plain_round(2, 8, 72))


def round_trip(folder: Path, *runs: Run, **meta: Any) -> tuple[tuple[Run, ...], dict[str, Any]]:
    save_trace(folder / "t.trace", runs, meta)
    return load_trace(folder / "t.trace")


def lines_of(folder: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress((folder / "t.trace").read_bytes()).splitlines()]


def written(folder: Path, lines: list[Any]) -> Path:
    (folder / "t.trace").write_bytes(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    return folder / "t.trace"


def refused(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        load_trace(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(".")
    return str(caught.value)


# --- there and back


@pytest.mark.parametrize(
    "runs",
    [(), (run_of(),), (THREE,), (THREE, plain_run(1, 2, 3, seed=9), run_of())],
    ids=["none", "empty", "three rounds", "three runs"],
)
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
        Bars(np.array([2**31 - 1], np.int32), np.array([1e-45], np.float32), np.array([0.1], np.float64)),
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
    assert (tmp_path / "a").read_bytes()[4:8] == bytes(4)  # gzip's date


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


# --- what is no trace


def test_a_missing_file_or_a_folder_is_a_sentence(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none")
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 40, b"run,round\r\n0,0\r\n", pickle.dumps({"a": 1}), gzip.compress(b""), gzip.compress(b"\n"),
     gzip.compress(b"\xff\xfe\n"), gzip.compress(b"[1]\n"), gzip.compress(b"{}\n"), gzip.compress(b"{}"),
     gzip.compress(b'{"format":"other","meta":{}}\n'), gzip.compress(b"[" * 100_000 + b"\n"),
     gzip.compress(b"1" * 10_000 + b"\n"), gzip.compress(b'{"format":"specscope-trace","version":1,"meta":3}\n')],
)  # fmt: skip
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert "trace" in refused(tmp_path / "x")


def test_a_trace_of_another_version_names_both(tmp_path: Path) -> None:
    round_trip(tmp_path, THREE)
    head, *rest = lines_of(tmp_path)
    assert "version 2, but this SpecScope reads version 1" in refused(
        written(tmp_path, [{**head, "version": 2}, *rest])
    )


def test_a_trace_cut_anywhere_is_refused(tmp_path: Path) -> None:
    round_trip(tmp_path, THREE, plain_run(1, 2))
    whole, lines = (tmp_path / "t.trace").read_bytes(), lines_of(tmp_path)
    for size in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:size])
        refused(tmp_path / "cut")
    for count in range(len(lines)):  # cut at a line's end, and packed again: no checksum notices
        refused(written(tmp_path, lines[:count]))


def test_a_trace_with_any_byte_changed_is_refused_or_the_same(tmp_path: Path) -> None:
    round_trip(tmp_path, THREE)
    whole = (tmp_path / "t.trace").read_bytes()
    for place in range(0, len(whole), 11):
        changed = whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        (tmp_path / "changed").write_bytes(changed)
        try:
            runs, _ = load_trace(tmp_path / "changed")
        except TraceError:
            continue
        assert place < 10
        assert same(runs, (THREE,))


def test_more_lines_than_stated_are_refused(tmp_path: Path) -> None:
    round_trip(tmp_path, THREE)
    lines = lines_of(tmp_path)
    assert "does not hold the number of runs" in refused(written(tmp_path, [*lines, lines[1]]))
    assert "does not hold the number of runs" in refused(written(tmp_path, [*lines[:-1], {"end": 2}]))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"index": "0"}, "run.rounds[0].index should be int, not str"),
        ({"index": True}, "run.rounds[0].index should be int, not bool"),
        ({"draft_ms": None}, "run.rounds[0].draft_ms should be float"),
        ({"emitted": [1.5]}, "run.rounds[0].emitted[0] should be int"),
        ({"positions": {}}, "run.rounds[0].positions should be list"),
        ({"stop": "bored"}, "bored"),
        ({"colour": 1}, "unknown parts ['colour']"),
    ],
)
def test_a_round_of_another_shape_is_refused_by_name(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    round_trip(tmp_path, THREE)
    lines = lines_of(tmp_path)
    lines[2] |= change
    assert named in refused(written(tmp_path, lines))


@pytest.mark.parametrize(
    "array",
    [{"dtype": "object", "data": [1]}, {"dtype": "int32", "data": [2**40]}, {"dtype": "float32", "data": ["1"]},
     {"dtype": "float32", "data": [[1.0]]}, {"data": [1]}, [1.0], "AAAA"],
)  # fmt: skip
def test_an_array_of_another_kind_is_refused(tmp_path: Path, array: Any) -> None:
    round_trip(tmp_path, THREE)
    lines = lines_of(tmp_path)
    lines[2]["positions"][0]["bars"]["ids"] = array
    refused(written(tmp_path, lines))


def test_a_missing_part_takes_its_default_or_is_named(tmp_path: Path) -> None:
    round_trip(tmp_path, THREE)
    lines = lines_of(tmp_path)
    del lines[1]["run"]["notices"]
    assert load_trace(written(tmp_path, lines))[0][0].notices == ()
    del lines[1]["run"]["prompt"]
    assert "lacks ['prompt']" in refused(written(tmp_path, lines))


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "LINE_LIMIT", 1000)
    (tmp_path / "x").write_bytes(gzip.compress(b" " * 5000))
    assert "no SpecScope trace" in refused(tmp_path / "x")


def test_errors_are_for_the_user_and_for_handlers_of_wrong_values() -> None:
    assert issubclass(TraceError, ValueError)
    assert issubclass(TraceError, UserError)
