"""What a model needs against what is free, said before anything is read; running out leaves all as it was."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from simulator.catalog import DEFAULT_TARGET, find
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.loading import load_pair
from simulator.local import memory
from simulator.local.memory import check_room, free_bytes, gigabytes, needed_bytes, ran_out
from simulator.records import Sampling
from tests.simulator.tiny import play

ROOT = Path(__file__).parents[3]


def test_the_need_is_the_parameters_in_the_dtype_and_some_room():
    entry = find(DEFAULT_TARGET)
    for dtype, size in (("float32", 4), ("auto", 4), ("bfloat16", 2), ("float16", 2)):
        assert needed_bytes(entry, dtype) == int(entry.parameters * size * 1.1) + 30_000_000


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="compares with /proc/meminfo")
def test_what_is_free_is_below_what_there_is():
    total = int(Path("/proc/meminfo").read_text("ascii").split()[1]) * 1024
    assert 0 < free_bytes("cpu") <= total
    assert free_bytes("cuda:99") is None


def test_sizes_are_written_for_people():
    assert [gigabytes(n) for n in (45_200_000, 100_000_000, 16_123_000_000)] == ["45 MB", "0.10 GB", "16.12 GB"]


def test_two_models_that_fit_one_by_one_are_refused_where_they_do_not_fit_together(monkeypatch):
    entry = find(DEFAULT_TARGET)
    monkeypatch.setattr(memory, "free_bytes", lambda device: needed_bytes(entry, "float32") + 1)
    check_room([(entry, "cpu", "float32")])
    check_room([(entry, "cpu", "float32"), (entry, "cuda:0", "float32")])
    with pytest.raises(UserError, match=r"need about 0.11 GB, but 55 MB are free on cpu: choose bfloat16 or a smaller"):
        check_room([(entry, "cpu", "float32"), (entry, "cpu", "float32")])


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried"),
            True,
        ),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("shape mismatch"), False),
    ],
)
def test_running_out_is_told_from_other_faults_whoever_says_it(error, verdict):
    assert ran_out(error) is verdict
    outer = ValueError("could not be loaded")
    outer.__cause__ = error
    assert ran_out(outer) is verdict


SCARCE = """
import resource, sys
from simulator.catalog import BUNDLED
from simulator.errors import UserError
from simulator.loading import load_pair
from simulator.records import RunConfig
from simulator.measure import run_once
from simulator.local import memory
memory.free_bytes = lambda device: None  # nobody can say: it must come to the point where there is none
list(load_pair(device="cpu", dtype="bfloat16"))  # imports what the large model needs, which the small ones do not
*_, pair = load_pair(device="cpu")
ids = pair.encode("To be")
source = pair.source("model", RunConfig().sampling)
before = run_once(pair.target.model, source, ids, RunConfig(max_new_tokens=12)).tokens
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + 16_000_000, hard))
try:
    *_, other = load_pair(sys.argv[1], None, device="cpu")
    print("loaded")
except UserError as error:
    print(error)
after = run_once(pair.target.model, source, ids, RunConfig(max_new_tokens=12)).tokens
resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
*_, other = load_pair(sys.argv[1], None, device="cpu")
print(before == after, other.target.sha256)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits its address space as Linux does")
def test_memory_that_really_runs_out_is_one_sentence_and_the_old_pair_goes_on(tmp_path):
    from tests.simulator.folders import save

    save(tmp_path / "large", hidden_size=640, intermediate_size=2560)
    done = subprocess.run(
        [sys.executable, "-c", SCARCE, str(tmp_path / "large")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    sentence, last = done.stdout.splitlines()
    assert "Memory ran out while large was loaded on cpu in float32" in sentence
    assert last.split()[0] == "True"


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the process's memory from /proc")
def test_loading_cancelling_and_loading_another_twenty_times_keeps_memory_within_a_tenth():
    def cancelled(after: int) -> None:
        count = 0

        def checkpoint() -> None:
            nonlocal count
            count += 1
            if count > after:
                raise Stopped

        with pytest.raises(Stopped):
            list(load_pair(device="cpu", checkpoint=checkpoint))

    def once(turn: int) -> None:
        cancelled(3 * turn)
        *_, pair = load_pair("shakespeare-draft-1m", None, device="cpu")
        *_, pair = load_pair(device="cpu")
        play(pair.target.model, pair.source("model", Sampling()), pair.encode("To be"), max_new_tokens=4)

    once(5)
    first = resident()
    for turn in range(20):
        once(turn)
    assert resident() < 1.1 * first
