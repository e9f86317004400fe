from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.export import COLUMNS, guard, meta_path, write_csv
from simulator.records import Run, Sampling
from simulator.text.token_text import TokenTexts, unescape
from tests.simulator.text_samples import (
    CELLS,
    FORMULAS,
    UNSEEN,
    bonus_round,
    byte_level,
    plain_round,
    plain_run,
    rejected_round,
    run_of,
)

DESIGN = [
    "run", "round", "position", "context_length", "kind", "source", "rule", "token_id", "token", "text", "p", "q",
    "accept_prob", "u_draft", "u_accept", "u_extra", "verdict", "emitted", "overlap", "tv", "entropy_p",
    "entropy_q", "p_max", "draft_ms", "verify_ms", "round_ms",
]  # fmt: skip
LEVEL = TokenTexts(byte_level(), 300)
THREE = run_of(rejected_round(0, 3, (65, 66, 67), 68), bonus_round(1, 5, (69, 70), 71), plain_round(2, 8, 72))


def export(folder: Path, *runs: Run, texts: TokenTexts = LEVEL, **meta: Any) -> list[dict[str, str]]:
    path = folder / "x.csv"
    write_csv(path, runs, texts, meta)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def texts_of(*entries: str | bytes) -> tuple[TokenTexts, list[int]]:
    """A vocabulary with these entries, and their ids in order."""
    tokenizer = byte_level(*entries)
    texts = TokenTexts(tokenizer, len(tokenizer))
    raw = {texts.token_bytes(i): i for i in range(len(tokenizer))}
    return texts, [raw[e.encode() if isinstance(e, str) else e] for e in entries]


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# --- rows and columns


def test_the_columns_are_those_of_the_design(tmp_path: Path) -> None:
    export(tmp_path, THREE)
    assert (tmp_path / "x.csv").read_bytes().split(b"\r\n")[0].decode() == ",".join(DESIGN)
    assert list(COLUMNS) == DESIGN


def test_there_is_a_row_per_drafted_and_per_other_token(tmp_path: Path) -> None:
    rows = export(tmp_path, THREE)
    assert [(r["round"], r["position"], r["kind"], r["verdict"], r["emitted"], r["token_id"]) for r in rows] == [
        ("0", "1", "draft", "accepted", "1", "65"),
        ("0", "2", "draft", "rejected", "0", "66"),
        ("0", "2", "residual", "emitted", "1", "68"),
        ("0", "3", "draft", "discarded", "0", "67"),
        ("1", "1", "draft", "accepted", "1", "69"),
        ("1", "2", "draft", "accepted", "1", "70"),
        ("1", "3", "bonus", "emitted", "1", "71"),
        ("2", "1", "plain", "emitted", "1", "72"),
    ]
    assert [r["context_length"] for r in rows] == ["3", "4", "4", "5", "5", "6", "7", "8"]


def test_cells_without_a_value_are_blank(tmp_path: Path) -> None:
    rows = export(tmp_path, THREE)
    blank = {(r["kind"], r["verdict"], r["round"]): {n for n, v in r.items() if v == ""} for r in rows}
    shape = {"overlap", "tv", "entropy_p", "entropy_q", "p_max"}
    test = {"q", "accept_prob", "u_draft", "u_accept"}
    assert blank["draft", "accepted", "0"] == {"u_extra"}
    assert blank["draft", "discarded", "0"] == {"u_extra", "u_accept"}
    assert blank["draft", "accepted", "1"] == {"u_extra", "u_draft"}  # a deterministic source draws nothing
    assert blank["residual", "emitted", "0"] == test
    assert blank["bonus", "emitted", "1"] == test | {"overlap", "tv", "entropy_q"}
    assert blank["plain", "emitted", "2"] == test | shape  # trace off


def test_a_run_without_drafts_names_no_drafted_token(tmp_path: Path) -> None:
    """SD-025: with k = 0 a skipped drafter was reported as having proposed token id 0."""
    rows = export(tmp_path, plain_run(*range(20), k=0))
    assert [r["kind"] for r in rows] == ["plain"] * 20
    assert {r["q"] + r["accept_prob"] + r["u_draft"] + r["u_accept"] for r in rows} == {""}


def test_discarded_tokens_behind_an_end_token_are_not_rejected(tmp_path: Path) -> None:
    """SD-021: [a, b, EOS, c, d], all of which would be accepted: a, b, EOS are emitted, c and d discarded, no bonus."""
    whole = rejected_round(0, 3, (65, 66, 67), 68)
    first, second, third = whole.positions
    accepted = replace(second, drafted=replace(first.drafted, token_id=0), extra=None)  # type: ignore[type-var]
    rows = export(tmp_path, run_of(replace(whole, positions=(first, accepted, third), emitted=(65, 0))))
    assert [r["verdict"] for r in rows] == ["accepted", "accepted", "discarded"]
    assert [r["emitted"] for r in rows] == ["1", "1", "0"]


def test_an_empty_run_is_a_valid_table(tmp_path: Path) -> None:
    assert export(tmp_path, run_of()) == []
    assert export(tmp_path) == []
    assert (tmp_path / "x.csv").read_bytes() == ",".join(DESIGN).encode() + b"\r\n"


def test_runs_are_numbered_and_described(tmp_path: Path) -> None:
    rows = export(tmp_path, THREE, plain_run(65, 66, seed=43))
    assert Counter(r["run"] for r in rows) == {"0": 8, "1": 2}
    runs = json.loads((tmp_path / "x.meta.json").read_text("utf-8"))["runs"]
    assert [(r["run"], r["seed"], r["emitted"], r["stop"]) for r in runs] == [(0, 0, 6, "budget"), (1, 43, 2, "budget")]


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    """SD-048: the seed decides everything but the times."""
    files_of = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        export(tmp_path / name, THREE, command=["run"])
        files_of.append([(tmp_path / name / f).read_bytes() for f in ("x.csv", "x.meta.json")])
    assert files_of[0] == files_of[1]


def test_an_unused_id_can_be_drawn(tmp_path: Path) -> None:
    """SD-016: rows beyond the tokenizer's entries never raise an index error, even if one is drawn."""
    (row,) = export(tmp_path, plain_run(151_700))
    assert (row["token_id"], row["token"], row["text"]) == ("151700", '""', "")


# --- a reader who knows only the CSV

READER = """
import collections, csv, json, sys
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file, strict=True))
checked, accepted, emitted = 0, collections.Counter(), collections.Counter()
for row in rows:
    place = row["run"], row["round"]
    emitted[place] += int(row["emitted"])
    accepted[place] += row["verdict"] == "accepted"
    if row["kind"] != "draft":
        assert row["verdict"] == "emitted"
        continue
    assert float(row["accept_prob"]) == min(1.0, float(row["p"]) / float(row["q"]))
    if row["u_accept"]:
        assert (row["verdict"] == "accepted") == (float(row["u_accept"]) < float(row["accept_prob"]))
        checked += 1
    else:
        assert row["verdict"] == "discarded" and row["emitted"] == "0"
assert all(emitted[place] == accepted[place] + 1 for place in emitted)
spelled = [json.loads(row["token"]).encode("utf-8", "surrogateescape") for row in rows if row["emitted"] == "1"]
print(checked, len(emitted), b"".join(spelled))
"""


def test_a_reader_who_knows_only_the_csv_recomputes_every_verdict(tmp_path: Path) -> None:
    again = run_of(rejected_round(0, 3, (97, 98, 99), 100), bonus_round(1, 5, (101, 102), 103), seed=1)
    export(tmp_path, THREE, again)
    command = [sys.executable, "-I", "-c", READER, str(tmp_path / "x.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "8 5 b'ADEFGHadefg'"


# --- SD-063: formulas


@pytest.mark.parametrize("token", FORMULAS)
def test_a_formula_is_guarded_and_its_original_kept(tmp_path: Path, token: str) -> None:
    texts, ids = texts_of(token)
    (row,) = export(tmp_path, plain_run(*ids), texts=texts)
    assert row["text"] == "'" + token
    assert unescape(row["token"]) == token.encode()
    assert json.loads(row["token"]) == token
    assert int(row["token_id"]) == ids[0]


@pytest.mark.parametrize(
    "text",
    [*FORMULAS, "\n=1", "\n", "\r", "\rx", "\r\n", "\t", "  \t x", "\u00a0=1", "\u200b=1", "\ufeff=1", "\0=1", "＝1",
     "＋1", "－1", "＠x", " ＝1", "\u3000+", "--", "=", "@SUM(1)"],
)  # fmt: skip
def test_whatever_could_start_a_formula_has_an_apostrophe(text: str) -> None:
    assert guard(text) == "'" + text


@pytest.mark.parametrize(
    "text", ["", " ", "a", "a=1", "e-mail", "'t", "'=1", "1-2", "x\n=1", "5", "(-3)", "…", "¹", "<F0>"]
)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert guard(text) == text


def test_numbers_are_never_guarded(tmp_path: Path) -> None:
    run = plain_run(65)
    changed = replace(run.rounds[0], draft_ms=-3.25)
    (row,) = export(tmp_path, replace(run, rounds=(changed,)))
    assert row["draft_ms"] == "-3.25"
    assert float(row["draft_ms"]) == -3.25


def test_other_text_columns_are_guarded_and_the_rule_is_stated(tmp_path: Path) -> None:
    (row,) = export(tmp_path, plain_run(65, source="=x", rule="@y"), models={"=x": "folder"}, prompts=["=1+1"])
    assert (row["source"], row["rule"]) == ("'=x", "'@y")
    meta = json.loads((tmp_path / "x.meta.json").read_text("utf-8"))
    assert "apostrophe" in meta["rules"]["text"]
    assert meta["models"] == {"=x": "folder"}
    assert meta["prompts"] == ["=1+1"]


# --- SD-064: quotes, separators, line breaks


def test_every_odd_cell_comes_back_as_it_was(tmp_path: Path) -> None:
    texts, ids = texts_of(*CELLS)
    runs = [plain_run(*ids, seed=seed) for seed in range(3)]
    rows = export(tmp_path, *runs, texts=texts)
    assert len(rows) == 3 * len(CELLS)
    assert [unescape(r["token"]).decode() for r in rows] == list(CELLS) * 3
    assert [r["text"].removeprefix("'") for r in rows] == list(CELLS) * 3
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        assert {len(fields) for fields in csv.reader(file, strict=True)} == {len(DESIGN)}


def test_numbers_and_gaps_in_words_stay_text_in_the_escaped_column(tmp_path: Path) -> None:
    texts, ids = texts_of("007", "1e5", "NA", "null", "", "=1")
    rows = export(tmp_path, plain_run(*ids), texts=texts)
    assert [r["token"] for r in rows] == ['"007"', '"1e5"', '"NA"', '"null"', '""', '"=1"']


def test_lines_end_alike_and_none_is_blank(tmp_path: Path) -> None:
    texts, ids = texts_of("plain", "中", "é")
    export(tmp_path, plain_run(*ids), texts=texts)
    raw = (tmp_path / "x.csv").read_bytes()
    assert not raw.startswith(b"\xef\xbb\xbf")
    assert raw.endswith(b"\r\n")
    assert raw.count(b"\r\n") == raw.count(b"\n") == raw.count(b"\r") == 4
    assert "中" in raw.decode("utf-8")


def test_open_bytes_and_controls_are_legible_in_the_text_column(tmp_path: Path) -> None:
    """SD-060, SD-061: half an emoji exports; a NUL, at which many readers end a cell, is shown as a picture."""
    texts, ids = texts_of(b"\xf0\x9f\x99", "\0", *UNSEEN[3:5])
    rows = export(tmp_path, plain_run(*ids), texts=texts)
    assert [r["text"] for r in rows] == ["<F0 9F 99>", "␀", "a", " a"]
    assert [unescape(r["token"]) for r in rows] == [b"\xf0\x9f\x99", b"\0", b"a", b" a"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=6) | st.text(max_size=4).map(str.encode), max_size=12))
def test_any_bytes_come_back_from_the_table(tmp_path: Path, entries: list[bytes]) -> None:
    texts, ids = texts_of(*entries)
    rows = export(tmp_path, plain_run(*ids), texts=texts)
    assert [unescape(r["token"]) for r in rows] == entries
    for row, entry in zip(rows, entries, strict=True):
        assert all(c not in row["text"] for c in "\0\x1b\ufffd") or "\ufffd" in entry.decode("utf-8", "replace")
        assert row["text"][:1] not in tuple("=+-@\t\r\n＝＋－＠")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(allow_nan=False), st.floats(width=32, allow_nan=False))
def test_floats_come_back_bit_for_bit(tmp_path: Path, wide: float, narrow: float) -> None:
    run = plain_run(65)
    changed = replace(run.rounds[0], draft_ms=wide, verify_ms=np.float32(narrow), round_ms=np.float64(wide))
    (row,) = export(tmp_path, replace(run, rounds=(changed,)))
    read = [float(row[n]).hex() for n in ("draft_ms", "verify_ms", "round_ms")]
    assert read == [wide.hex(), float(np.float32(narrow)).hex(), wide.hex()]
    assert "," not in row["draft_ms"]


# --- the file beside it


@pytest.mark.parametrize(
    ("path", "beside"),
    [("x.csv", "x.meta.json"), ("a.b.CSV", "a.b.meta.json"), ("x", "x.meta.json"), ("x.txt", "x.txt.meta.json"),
     ("x.meta.json", "x.meta.json.meta.json"), (".csv", ".csv.meta.json")],
)  # fmt: skip
def test_the_explaining_file_lies_beside_the_table(path: str, beside: str) -> None:
    assert meta_path(Path("folder") / path) == Path("folder") / beside


def test_the_explaining_file_defines_every_column_and_keeps_what_it_was_given(tmp_path: Path) -> None:
    given_meta = {
        "command": ["run", "--k", "4"], "where": Path("some/where"), "limit": float("nan"),
        "end_tokens": frozenset({3, 1}), "sampling": Sampling(), "figures": np.float32(0.5), "none": None,
        "name": "é\udcff", "schema": "forged",
    }  # fmt: skip
    export(tmp_path, THREE, **given_meta)
    meta = json.loads((tmp_path / "x.meta.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert list(meta["definitions"]) == DESIGN
    assert all(len(text) > 10 for text in meta["definitions"].values())
    assert (meta["schema"], meta["schema_version"]) == ("specscope-rounds", 1)
    assert meta["command"] == ["run", "--k", "4"]
    assert meta["where"] == str(Path("some/where"))
    assert (meta["limit"], meta["end_tokens"], meta["figures"], meta["none"]) == (None, [1, 3], 0.5, None)
    assert meta["sampling"]["top_p"] == 1.0
