"""A grid's file survives whatever kills its process: it opens, has every finished run once, and goes on."""

import json
import multiprocessing
import random
import signal
import time
from dataclasses import replace

import pytest

from simulator.files import ExportError
from simulator.grids.brief import Brief
from simulator.grids.file import Appender, GridFileError, check_same, open_grid
from simulator.grids.run import grid_job
from simulator.loading import Progress
from simulator.runner import Control
from simulator.text.prompts import Prompt
from tests.simulator.grids.canned import GRID, LONG, briefs, child, finish, hashed_pair

KILLS = 10
PATIENCE = 600  # seconds; a machine may be busy
HEAVY = [
    "torch",
    "transformers.generation.logits_process",
    "tests.simulator.grids.canned",
]  # once for all starts
TIMES = ("draft_ms", "verify_ms", "round_ms", "prefill_ms", "sitting")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "grid.jsonl"


def untimed(run):
    return replace(run, **{name: 0.0 if name == "prefill_ms" else 0 if name == "sitting" else () for name in TIMES})


def test_what_was_written_is_read_back_to_the_last_digit(path):
    seen = []
    finish(path, sees=seen.append)
    made = [event for event in seen if isinstance(event, Brief)]
    file = open_grid(path)
    assert file.runs == tuple(made)
    assert [run.setting for run in file.runs] == GRID.settings()
    assert (file.grid, file.notices, file.end) == (GRID, (), path.stat().st_size)
    assert [untimed(run) for run in file.runs] == [untimed(run) for run in briefs()]
    fractions = [event.fraction for event in seen if isinstance(event, Progress)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1


def wait_for_lines(path, runs):
    """Wait until the file has its first line and so many runs."""
    end = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_bytes().count(b"\n") > runs):
        assert time.monotonic() < end, "the process writes nothing"
        time.sleep(0.001)


def test_a_process_killed_ten_times_at_random_moments_loses_at_most_the_run_in_hand(path):
    """SIGKILL leaves no time to tidy up: what was in the file stays there, once, and the last start makes the rest."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if hasattr(context, "set_forkserver_preload"):
        context.set_forkserver_preload(HEAVY)
    rng, before = random.Random(6), ()
    for _ in range(KILLS):
        started = context.Event()
        process = context.Process(target=child, args=(str(path), started))
        process.start()
        assert started.wait(PATIENCE)
        wait_for_lines(path, len(before) + rng.randrange(4))
        time.sleep(rng.uniform(0.0, 0.02))  # the moment of the kill is what is tested
        process.kill()
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL, "it was killed while it worked, not before or after"
        process.close()
        after = open_grid(path).runs if path.exists() else ()
        assert after[: len(before)] == before
        before = after
    assert 0 < len(before) < len(LONG.settings())
    finish(path, LONG)
    file = open_grid(path)
    assert [run.setting for run in file.runs] == LONG.settings()
    assert path.read_bytes().count(b"\n") == 1 + len(LONG.settings())
    assert [untimed(run) for run in file.runs] == [untimed(run) for run in briefs(LONG)]


def test_a_last_line_cut_anywhere_is_left_out_with_a_notice_and_made_again(path):
    finish(path)
    whole = path.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in sorted({1, 2, last // 2, last - 1}):
        path.write_bytes(whole[:-cut])
        file = open_grid(path)
        assert len(file.runs) == len(GRID.settings()) - 1
        assert "cut short" in file.notices[0]
        finish(path)
        again = open_grid(path)
        assert (len(again.runs), again.notices) == (len(GRID.settings()), ())
        assert path.read_bytes().count(b"\n") == 1 + len(GRID.settings())


def test_pausing_loses_the_run_in_hand_only_and_a_new_sitting_begins(path):
    control, seen = Control(), []
    for event in grid_job(hashed_pair(), GRID, path)(control):
        if isinstance(event, Brief):
            seen.append(event)
            if len(seen) == 3:
                control._stopped = True  # what `stop` sets; the generator is asked on this thread
                break
    assert open_grid(path).runs == tuple(seen)
    finish(path)
    file = open_grid(path)
    assert [run.setting for run in file.runs] == GRID.settings()
    assert {run.sitting for run in file.runs[:3]} == {1}
    assert {run.sitting for run in file.runs[3:]} == {2}


def test_a_finished_grid_makes_nothing_more(path):
    finish(path)
    whole, seen = path.read_bytes(), []
    finish(path, sees=seen.append)
    assert path.read_bytes() == whole
    assert not [event for event in seen if isinstance(event, Brief)]


def test_a_run_that_stands_twice_counts_once(path):
    finish(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[2]]))
    assert [run.setting for run in open_grid(path).runs] == GRID.settings()


def test_another_grid_or_other_models_are_refused_in_a_sentence(path):
    finish(path)
    whole = path.read_bytes()
    with pytest.raises(GridFileError, match="holds another grid"):
        finish(path, replace(GRID, ks=(0, 1)))
    with pytest.raises(GridFileError, match=r"begun with another target \(stub-1 on cpu, float32"):
        finish(path, content="other weights")
    assert path.read_bytes() == whole
    file = open_grid(path)
    with pytest.raises(GridFileError, match="another draft"):
        check_same(file, GRID, {"models": {"target": file.meta["models"]["target"]}})


def damaged(lines):
    run = json.loads(lines[1])
    return {
        "no SpecScope grid": [b"", b"hello\n", b"[]\n", b'{"format":"other"}\n', b"\xff\n"],
        "version 9": [lines[0].replace(b'"version":1', b'"version":9')],
        "first line": [lines[0].replace(b'"ks":[0,1', b'"ks":["0",1'), lines[0].replace(b'"ks":[0,1', b'"ks":[0,99')],
        "line 2": [lines[0] + line + b"\n" for line in (
            b"{}", b"7", b"{", json.dumps({**run, "drafted": []}).encode(), json.dumps({**run, "more": 1}).encode(),
            json.dumps({**run, "setting": {**run["setting"], "prompt": 9}}).encode(),
            json.dumps({**run, "setting": {**run["setting"], "prompt": -1}}).encode(), b"[" * 100_000)],
    }  # fmt: skip


def test_a_damaged_or_foreign_file_is_one_sentence_that_names_it(path):
    finish(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for part, files in damaged(lines).items():
        for data in files:
            path.write_bytes(data)
            with pytest.raises(GridFileError) as caught:
                open_grid(path)
            assert str(path) in str(caught.value)
            assert part in str(caught.value)
            assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(GridFileError, match="cannot be read"):
        open_grid(path)


def test_a_full_disk_leaves_the_file_as_it_was_and_says_so(path):
    """A write of half a line must not stay in front of the next one."""
    finish(path)
    file = open_grid(path)

    class Full:
        def __init__(self, real):
            self._real = real

        def write(self, data):
            return self._real.write(data[:7])

        def __getattr__(self, name):
            return getattr(self._real, name)

    with Appender(file) as appender:
        appender._file = Full(appender._file)
        with pytest.raises(ExportError, match="disk is full"):
            appender.add(file.runs[0])
    assert open_grid(path) == file


def test_only_one_process_writes(path):
    pytest.importorskip("fcntl")
    finish(path)
    file = open_grid(path)
    with Appender(file), pytest.raises(ExportError, match="another SpecScope"):
        Appender(file)
    Appender(file).__exit__(None, None, None)  # free again


def test_a_prompt_that_cannot_begin_a_run_is_named_before_anything_is_written(path):
    with pytest.raises(Exception, match=r"Prompt 2 is empty"):
        finish(path, replace(GRID, prompts=(Prompt("a"), Prompt())))
    assert not path.exists()
