"""The commands as a person or a script meets them: figures, files, and one sentence with status 2 when wrong."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

import main
from simulator.catalog import BUNDLED, DEFAULT_DRAFT, DEFAULT_TARGET
from simulator.trace.file import load_trace, open_trace

ROOT = Path(main.__file__).parent
KEYS = {
    "text", "tokens", "rounds", "drafted", "tested", "accepted", "acceptance_length", "draft_acceptance_rate",
    "tested_acceptance_rate", "alpha", "per_position_unconditional", "per_position_conditional", "c", "c_verify",
    "tokens_per_second", "baseline_tokens_per_second", "speedup_measured", "speedup_predicted", "stop_reason",
    "device", "dtype", "seed", "k", "rule", "source",
}  # fmt: skip


def run(capsys, *arguments: str) -> dict:
    """Carry out `run --json` in this process and return the JSON object that it prints last."""
    assert main.main(["run", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_json_has_every_promised_key_and_counts_that_agree(capsys):
    result = run(capsys, "--max-new-tokens", "30", "--baseline", "--seed", "3")
    assert set(result) >= KEYS
    assert len(result["tokens"]) == 30
    assert 0 < result["accepted"] <= result["tested"] <= result["drafted"]
    assert result["acceptance_length"] == 30 / result["rounds"]
    assert result["speedup_measured"] == result["tokens_per_second"] / result["baseline_tokens_per_second"]


def test_what_was_not_measured_is_null(capsys):
    result = run(capsys, "--max-new-tokens", "8")
    assert [result[k] for k in ("c", "c_verify", "baseline_tokens_per_second", "speedup_measured")] == [None] * 4


def test_several_prompts_and_seeds_are_pooled_with_one_object_a_run(capsys, tmp_path):
    (tmp_path / "prompt.txt").write_text("Enter the KING.\n", "utf-8")
    result = run(
        capsys, "--prompt", "To be", "--prompt-file", str(tmp_path / "prompt.txt"), "--seeds", "3",
        "--max-new-tokens", "6", "--csv", str(tmp_path / "rounds.csv"),
    )  # fmt: skip
    assert [r["seed"] for r in result["runs"]] == [0, 1, 2] * 2
    assert result["drafted"] == sum(r["drafted"] for r in result["runs"])
    with (tmp_path / "rounds.csv").open(encoding="utf-8", newline="") as file:
        assert {row["run"] for row in csv.DictReader(file)} == {str(i) for i in range(6)}


def test_the_files_say_how_the_prompt_was_read(capsys, tmp_path):
    (tmp_path / "prompt.txt").write_bytes(b"\xef\xbb\xbfTo be<|end|>\r\n")
    file = tmp_path / "rounds.csv"
    run(capsys, "--prompt-file", str(tmp_path / "prompt.txt"), "--parse-special", "--max-new-tokens", "4",
        "--csv", str(file), "--trace", str(tmp_path / "t.trace"))  # fmt: skip
    runs, meta = load_trace(tmp_path / "t.trace")
    assert meta["prompts"] == ["To be<|end|>\n"]
    assert meta["prompt_settings"] == [{"chat": False, "system": "", "special": True}]
    assert runs[0].prompt.count(0) == 2  # the one that begins every text, and the one that was typed
    texts = open_trace(tmp_path / "t.trace").texts
    assert b"".join(map(texts.token_bytes, runs[0].prompt)) == b"<|end|>To be<|end|>\n"
    assert texts.label(0) == "⟦<|end|>⟧"
    assert json.loads((tmp_path / "rounds.meta.json").read_text("utf-8"))["prompt_settings"] == meta["prompt_settings"]


def test_every_verdict_in_the_csv_follows_from_its_own_row(capsys, tmp_path):
    file = tmp_path / "rounds.csv"
    result = run(capsys, "--max-new-tokens", "70", "--csv", str(file), "--trace", str(tmp_path / "t.trace"))
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rounds = [list(rows) for _, rows in groupby(rows, key=lambda r: r["round"])]
    assert len(rounds) == result["rounds"] >= 20
    for each in rounds[:-1]:  # the last one was cut by the budget
        accepted = sum(r["verdict"] == "accepted" for r in each)
        assert sum(r["emitted"] == "1" for r in each) == accepted + 1
    for row in (r for r in rows if r["kind"] == "draft"):
        p, q = float(row["p"]), float(row["q"])
        assert float(row["accept_prob"]) == min(1.0, p / q)
        if row["verdict"] != "discarded":
            assert (row["verdict"] == "accepted") == (float(row["u_accept"]) < float(row["accept_prob"]))
    assert [int(r["token_id"]) for r in rows if r["emitted"] == "1"] == result["tokens"]
    runs, _ = load_trace(tmp_path / "t.trace")
    assert list(runs[0].tokens) == result["tokens"]


def test_the_same_seed_gives_the_same_csv_but_for_the_times(capsys, tmp_path):
    def rows(name: str, seed: str) -> list:
        run(capsys, "--max-new-tokens", "20", "--seed", seed, "--csv", str(tmp_path / name))
        with (tmp_path / name).open(encoding="utf-8", newline="") as file:
            return [{k: v for k, v in row.items() if not k.endswith("_ms")} for row in csv.DictReader(file)]

    assert rows("a.csv", "42") == rows("b.csv", "42") != rows("c.csv", "43")


def test_ngram_needs_no_draft_model_and_reports_one_hot_q(capsys, tmp_path):
    file = tmp_path / "n.csv"
    run(capsys, "--source", "ngram", "--prompt", "the king the king the", "--max-new-tokens", "20", "--csv", str(file))
    with file.open(encoding="utf-8", newline="") as stream:
        assert {row["q"] for row in csv.DictReader(stream) if row["kind"] == "draft"} == {"1.0"}


def test_k_0_has_no_rates_instead_of_zeros(capsys):
    result = run(capsys, "--k", "0", "--max-new-tokens", "5")
    assert (result["rounds"], result["drafted"], result["draft_acceptance_rate"]) == (5, 0, None)


def test_no_token_asked_for_gives_an_empty_but_valid_csv(capsys, tmp_path):
    result = run(capsys, "--max-new-tokens", "0", "--csv", str(tmp_path / "e.csv"))
    assert (result["tokens"], result["acceptance_length"]) == ([], None)
    assert (tmp_path / "e.csv").read_text("utf-8").count("\n") == 1


WRONG = {
    "no such model": ["--target", "no/such/folder", "--draft", DEFAULT_DRAFT],
    "target without draft": ["--target", DEFAULT_TARGET],
    "k below 0": ["--k", "-1"],
    "k no number": ["--k", "many"],
    "temperature below 0": ["--temperature", "-1"],
    "temperature nan": ["--temperature", "nan"],
    "top-p 0": ["--top-p", "0"],
    "top-p 2": ["--top-p", "2"],
    "min-p 2": ["--min-p", "2"],
    "top-k below 0": ["--top-k", "-3"],
    "budget below 0": ["--max-new-tokens", "-1"],
    "no seeds": ["--seeds", "0"],
    "seed below 0": ["--seed", "-1"],
    "unknown source": ["--source", "psychic"],
    "unknown rule": ["--rule", "kind"],
    "unknown device": ["--device", "abacus"],
    "unknown dtype": ["--dtype", "float7"],
    "unknown option": ["--nonsense"],
    "no prompt file": ["--prompt-file", "no/such/file.txt"],
    "empty prompt": ["--prompt", ""],
    "prompt longer than the context": ["--prompt", "to be or not to be " * 200],
    "chat without a template": ["--chat"],
    "system prompt without a template": ["--prompt", "To be", "--system", "Be brief."],
    "csv in no folder": ["--csv", "no/such/folder/x.csv"],
    "csv is a folder": ["--csv", "."],
    "trace in no folder": ["--trace", "no/such/folder/x.trace"],
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_wrong_use_is_one_sentence_and_status_2(capsys, monkeypatch, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    assert main.main(["run", *arguments]) == 2
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if line.startswith("specscope:")]
    assert len(lines) == 1
    assert lines[0].endswith((".", ")"))
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_weights_is_named(capsys, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}', "utf-8")
    assert main.main(["run", "--target", str(tmp_path), "--draft", DEFAULT_DRAFT]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_models_lists_the_bundled_three_as_usable(capsys):
    assert main.main(["models"]) == 0
    said = capsys.readouterr().out
    assert said.count("usable") >= 3
    assert DEFAULT_TARGET in said


def test_the_bundled_models_are_small():
    files = [f for name in BUNDLED.glob("shakespeare-*") for f in name.iterdir()]
    assert sum(f.stat().st_size for f in files) < 25e6
    assert all((name / "README.md").is_file() for name in BUNDLED.glob("shakespeare-*"))


def test_without_a_display_the_command_says_so_and_leaves_csv_and_picture(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py")], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no display" in done.stdout
    assert {f.suffix for f in tmp_path.iterdir()} == {".csv", ".json", ".png"}


def test_nothing_heavy_is_imported_before_the_window_can_show():
    code = "import sys, ui.app; print(*(m for m in ('torch', 'transformers') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_figures_of_a_run_are_finite(capsys):
    result = run(capsys, "--max-new-tokens", "12", "--baseline")
    assert all(math.isfinite(v) for v in result.values() if isinstance(v, float))


def test_numpy_gets_one_thread_unless_somebody_said_otherwise(monkeypatch):
    """On a busy machine two threads on two cores waited for each other for seconds."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    main.keep_numpy_to_one_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    main.keep_numpy_to_one_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"


def test_compile_says_where_there_is_nothing_to_compile_and_changes_no_token(capsys):
    plain = run(capsys, "--max-new-tokens", "8")
    assert main.main(["run", "--json", "--compile", "--max-new-tokens", "8"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1])["tokens"] == plain["tokens"]
    for name in (DEFAULT_TARGET, DEFAULT_DRAFT):
        assert f"{name} is not compiled: in float32 on the CPU its passes do not go through torch." in said.err
