"""Traces of version 1: still read, and refused where they are damaged. Their writer lives only here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from simulator.records import Run, StopReason
from simulator.trace import json_lines
from simulator.trace.file import load_trace
from simulator.typed import to_json
from tests.simulator.text_samples import plain_run, same
from tests.simulator.trace.samples import RUNS, THREE, refused


def lines_of(*runs: Run, **meta: Any) -> list[Any]:
    lines: list[Any] = [{"format": "specscope-trace", "version": 1, "meta": meta}]
    for run in runs:
        lines += [{"rounds": len(run.rounds), "run": {**to_json(run), "rounds": []}}, *map(to_json, run.rounds)]
    return [*lines, {"end": len(runs)}]


def written(folder: Path, lines: list[Any]) -> Path:
    (folder / "t.trace").write_bytes(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    return folder / "t.trace"


@pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS.keys())
def test_runs_come_back_equal(tmp_path: Path, runs: tuple[Run, ...]) -> None:
    loaded, meta = load_trace(written(tmp_path, lines_of(*runs, seed=3)))
    assert same(loaded, runs)
    assert meta == {"seed": 3}


@pytest.mark.parametrize(
    "content",
    [b"\n", b"\xff\xfe\n", b"[1]\n", b"{}\n", b"{}", b'{"format":"other","meta":{}}\n', b"[" * 100_000 + b"\n",
     b"1" * 10_000 + b"\n", b'{"format":"specscope-trace","version":1,"meta":3}\n'],
)  # fmt: skip
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(content))
    assert "trace" in refused(tmp_path / "x")


def test_a_trace_of_another_version_is_named(tmp_path: Path) -> None:
    head, *rest = lines_of(THREE)
    assert "has version 2, but" in refused(written(tmp_path, [{**head, "version": 2}, *rest]))


def test_a_trace_cut_anywhere_is_refused(tmp_path: Path) -> None:
    lines = lines_of(THREE, plain_run(1, 2))
    whole = written(tmp_path, lines).read_bytes()
    for size in range(0, len(whole), 17):
        (tmp_path / "cut").write_bytes(whole[:size])
        refused(tmp_path / "cut")
    for count in range(len(lines)):  # cut at a line's end, and packed again: no checksum notices
        refused(written(tmp_path, lines[:count]))


def test_more_lines_than_stated_are_refused(tmp_path: Path) -> None:
    lines = lines_of(THREE)
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
    lines = lines_of(THREE)
    lines[2] |= change
    assert named in refused(written(tmp_path, lines))


@pytest.mark.parametrize(
    "array",
    [{"dtype": "object", "data": [1]}, {"dtype": "int32", "data": [2**40]}, {"dtype": "float32", "data": ["1"]},
     {"dtype": "float32", "data": [[1.0]]}, {"data": [1]}, [1.0], "AAAA"],
)  # fmt: skip
def test_an_array_of_another_kind_is_refused(tmp_path: Path, array: Any) -> None:
    lines = lines_of(THREE)
    lines[2]["positions"][0]["bars"]["ids"] = array
    refused(written(tmp_path, lines))


def test_a_missing_part_takes_its_default_or_is_named(tmp_path: Path) -> None:
    lines = lines_of(THREE)
    del lines[1]["run"]["notices"]
    assert load_trace(written(tmp_path, lines))[0][0].notices == ()
    del lines[1]["run"]["prompt"]
    assert "lacks ['prompt']" in refused(written(tmp_path, lines))


def test_every_reason_to_stop_is_read(tmp_path: Path) -> None:
    for stop in StopReason:
        lines = lines_of(THREE)
        lines[1]["run"]["stop"] = str(stop)
        assert load_trace(written(tmp_path, lines))[0][0].stop is stop


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LINE_LIMIT", 1000)
    (tmp_path / "x").write_bytes(gzip.compress(b" " * 5000))
    assert "no SpecScope trace" in refused(tmp_path / "x")
