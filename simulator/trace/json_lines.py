"""Traces of version 1: gzip-compressed JSON lines, which are still read but no longer written.

Knows: the file's lines. Does not know: what the numbers mean.

The first line says what the file is and carries the metadata. Each run follows as one line without its rounds and one
line per round; the last line counts the runs, so that a file cut short is noticed.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from simulator.files import Progress
from simulator.records import RoundTrace, Run
from simulator.trace.store import RoundStore
from simulator.typed import from_json

FORMAT, VERSION = "specscope-trace", 1
ALONE = "is no SpecScope trace, or is damaged. Choose a file saved as a trace."
LINE_LIMIT = 64 * 2**20  # bytes; a round takes some kilobytes, so only a foreign file has longer lines


class NoTrace(ValueError):
    """What is wrong with the file, as the end of a sentence that begins with its name."""


def read_lines(path: Path | str, progress: Progress = lambda share: None) -> tuple[tuple[Run, ...], dict[str, Any]]:
    """Return the runs and the metadata of a file of version 1; raise `NoTrace`, ValueError or what gzip raises."""
    size = os.stat(path).st_size
    with open(path, "rb") as packed, gzip.GzipFile(fileobj=packed) as file:
        return _read(_lines(file, lambda: progress(packed.tell() / size)))


def _lines(file: Any, moved: Callable[[], None]) -> Iterator[dict[str, Any]]:
    while line := file.readline(LINE_LIMIT):
        moved()
        if not line.endswith(b"\n"):
            raise NoTrace("is cut short or no SpecScope trace. Choose a file saved as a trace.")
        value = json.loads(line)
        if not isinstance(value, dict):
            raise NoTrace(ALONE)
        yield value


def _read(lines: Iterator[dict[str, Any]]) -> tuple[tuple[Run, ...], dict[str, Any]]:
    meta = _header(next(lines, {}))
    runs: list[Run] = []
    for line in lines:
        if "end" in line:
            if line["end"] != len(runs) or next(lines, None) is not None:
                raise NoTrace("does not hold the number of runs it states. Save it again.")
            return tuple(runs), meta
        runs.append(_run(line, lines))
    raise NoTrace("ends before its last run does. Copy or save it again.")


def _header(line: dict[str, Any]) -> dict[str, Any]:
    if line.get("format") != FORMAT or not isinstance(line.get("meta"), dict):
        raise NoTrace(ALONE)
    check_version(line.get("version"), VERSION)
    return dict(line["meta"])


def check_version(stated: object, expected: int) -> None:
    """Refuse a file that states another version than its form has."""
    if stated != expected:
        raise NoTrace(
            f"has version {stated}, but this SpecScope reads versions 1 and 2. "
            "Open it with the SpecScope that saved it."
        )


def _run(line: dict[str, Any], lines: Iterator[dict[str, Any]]) -> Run:
    count = from_json(int, line.get("rounds"), "the number of rounds")
    rounds = RoundStore()
    for i, each in enumerate(islice(lines, max(0, count))):
        rounds.append(from_json(RoundTrace, each, f"run.rounds[{i}]"))
    if len(rounds) < count or not isinstance(line.get("run"), dict):
        raise NoTrace("ends before its last run does. Copy or save it again.")
    run: Run = from_json(Run, {**line["run"], "rounds": []}, "run")
    return replace(run, rounds=rounds[:])
