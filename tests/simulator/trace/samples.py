"""Runs of every size, and how a file of any version is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.trace.file import TraceError, load_trace
from tests.simulator.text_samples import bonus_round, plain_round, plain_run, rejected_round, run_of

THREE = run_of(rejected_round(0, 3, (65, 66, 67), 68), bonus_round(1, 5, (69, 70), 71), plain_round(2, 8, 72))
RUNS = {
    "none": (), "empty": (run_of(),), "three rounds": (THREE,),
    "three runs": (THREE, plain_run(1, 2, 3, seed=9), run_of()),
}  # fmt: skip


def refused(path: Path) -> str:
    """Return the sentence that refuses the file; it begins with the file's name."""
    with pytest.raises(TraceError) as caught:
        load_trace(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(".")
    return str(caught.value)
