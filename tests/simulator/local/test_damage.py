"""Two hundred damaged or odd models: each loads, or is refused in one sentence; none hangs, crashes or keeps memory."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from simulator.errors import UserError
from simulator.loading import Pair, load_pair
from simulator.records import Sampling
from tests.simulator.folders import edit_json, save, save_gguf
from tests.simulator.tiny import play

CASES = 200
LONGEST_S = 10.0  # of computing; a machine that is busy with other things lets it wait longer
WAIT_S = 60.0
GROWTH_BYTES = 60_000_000

Damage = Callable[[Path, random.Random], object]


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> dict[str, Path]:
    """Three whole models: one file, several shards, a GGUF file alone in its folder."""
    place = tmp_path_factory.mktemp("models")
    found = {"whole": save(place / "whole"), "sharded": save(place / "sharded", shard="20KB")}
    gguf = pytest.importorskip("gguf")
    assert gguf
    (place / "gguf").mkdir()
    save_gguf(found["whole"], place / "gguf" / "tiny.gguf")
    return found | {"gguf": place / "gguf"}


def files(folder: Path) -> list[Path]:
    return sorted(f for f in folder.iterdir() if f.is_file() and not f.is_symlink())


def flip_anywhere(folder: Path, rng: random.Random) -> None:
    file = rng.choice(files(folder))
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 4, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def flip_header(folder: Path, rng: random.Random) -> None:
    file = rng.choice([f for f in files(folder) if f.suffix in (".safetensors", ".gguf")])
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 4, 16))):
        data[rng.randrange(min(len(data), 2000))] = rng.randrange(256)
    file.write_bytes(data)


def remove(folder: Path, rng: random.Random) -> None:
    rng.choice(files(folder)).unlink()


def truncate(folder: Path, rng: random.Random) -> None:
    file = rng.choice(files(folder))
    file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size)])


def lengthen(folder: Path, rng: random.Random) -> None:
    with rng.choice(files(folder)).open("ab") as stream:
        stream.write(rng.randbytes(rng.randrange(1, 5000)))


def swap(folder: Path, rng: random.Random) -> None:
    a, b = (rng.choice(files(folder)) for _ in range(2))
    ours, theirs = a.read_bytes(), b.read_bytes()
    a.write_bytes(theirs)
    b.write_bytes(ours)


def other_json(folder: Path, rng: random.Random) -> None:
    found = [f for f in files(folder) if f.suffix == ".json"]
    if not found:
        return flip_anywhere(folder, rng)
    texts = ("", "{", "[]", "null", "3", '{"a": ' * 3000, "\ufeff{}", "\x00", '{"model": {"vocab": 3}}', "NaN")
    return rng.choice(found).write_text(rng.choice(texts), "utf-8") and None


def odd_value(folder: Path, rng: random.Random) -> None:
    """Give a key of some JSON file a value of another kind or size."""
    found = [f for f in files(folder) if f.suffix == ".json"]
    if not found:
        return flip_header(folder, rng)
    file = rng.choice(found)
    keys = list(json.loads(file.read_text("utf-8")))
    odd = (None, -1, 0, 1, 7, 10**6, 10**9, 10**13, 1.5, "x", "", [], {}, [1, "a"], True)
    return edit_json(file, **{rng.choice(keys): rng.choice(odd)})


def dead_link(folder: Path, rng: random.Random) -> None:
    file = rng.choice(files(folder))
    file.unlink()
    file.symlink_to(rng.choice((folder / "gone", file, folder)))  # nowhere, itself, a folder


def become_a_folder(folder: Path, rng: random.Random) -> None:
    file = rng.choice(files(folder))
    file.unlink()
    file.mkdir()


def read_only(folder: Path, rng: random.Random) -> None:
    for file in files(folder):
        file.chmod(0o444 if rng.random() < 0.7 else 0)
    folder.chmod(0o555)


def nothing(folder: Path, rng: random.Random) -> None:
    """An odd name alone: this one must load."""


KINDS: tuple[Damage, ...] = (
    flip_anywhere, flip_header, remove, truncate, lengthen, swap, other_json, odd_value, odd_value, dead_link,
    become_a_folder, read_only, nothing,
)  # fmt: skip
NAMES = ("plain", "with blanks", "é ü", "模型", "🦙", "x" * 120, "50%{}", "--target", "нейросеть", "a\nb")


def outcome(place: Path) -> tuple[str, str]:
    """Load the model and decode a little; return "loaded" or "refused", and what was said."""
    try:
        *_, pair = load_pair(str(place), None, device="cpu")
        assert isinstance(pair, Pair)
        ids = pair.encode("the quick") or [0]
        play(pair.target.model, pair.source("ngram", Sampling()), ids, k=2, max_new_tokens=3)
    except UserError as error:
        return "refused", str(error)
    return "loaded", ""


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered")  # weights grown to 1e38
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the process's memory from /proc")
def test_damaged_models_load_or_are_refused_in_one_sentence_at_once_and_leave_nothing(bases, tmp_path, capfd):
    rng = random.Random(20261129)
    outcome(bases["whole"])  # what is imported once is no leak
    outcome(bases["gguf"])
    before, seen = resident(), {"loaded": 0, "refused": 0}
    for case in range(CASES):
        kind, base = KINDS[case % len(KINDS)], rng.choice(sorted(bases))
        folder = Path(shutil.copytree(bases[base], tmp_path / f"{case} {rng.choice(NAMES)}"))
        kind(folder, rng)
        began = time.perf_counter(), time.process_time()
        try:
            ended, said = outcome(folder)
        except BaseException as error:
            raise AssertionError(f"case {case}: {kind.__name__} of {base}: {type(error).__name__}: {error}") from error
        assert time.process_time() - began[1] < LONGEST_S, (case, kind.__name__, base)
        assert time.perf_counter() - began[0] < WAIT_S, (case, kind.__name__, base)
        if ended == "refused":
            assert said.endswith((".", ")")), (case, kind.__name__, said)
            assert "Traceback" not in said
            assert "\n" not in said.replace(folder.name, "").replace(repr(folder.name)[1:-1], ""), (case, said)
        else:
            assert kind is not remove or base == "whole", case  # a model lacks nothing that it can do without
        assert kind is not nothing or ended == "loaded", (case, said)
        seen[ended] += 1
        folder.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
    assert min(seen.values()) > CASES // 10, seen  # both ends were tried
    assert resident() - before < GROWTH_BYTES
    assert "Traceback" not in capfd.readouterr().err


def test_a_config_that_describes_a_giant_is_refused_before_it_is_built(bases, tmp_path):
    for changes in ({"num_hidden_layers": 10**9}, {"hidden_size": 10**6}, {"vocab_size": 10**9},
                    {"intermediate_size": 10**10}):  # fmt: skip
        folder = Path(shutil.copytree(bases["whole"], tmp_path / str(len(list(tmp_path.iterdir())))))
        edit_json(folder / "config.json", **changes)
        ended, said = outcome(folder)
        assert ended == "refused"
        assert "copy the model again" in said


def test_weights_do_not_change_when_their_file_does(bases, tmp_path):
    """Weights that lie in a mapped file change with it, and a file cut short kills the process that reads them."""
    folder = Path(shutil.copytree(bases["whole"], tmp_path / "copy"))
    *_, pair = load_pair(str(folder), None, device="cpu")
    before = [p.clone() for p in pair.target.model.model.parameters()]
    os.truncate(folder / "model.safetensors", 100)
    assert all(torch.equal(a, b) for a, b in zip(before, pair.target.model.model.parameters(), strict=True))
