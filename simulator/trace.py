"""Runs in a file and back, to the last bit: gzip-compressed JSON lines, which can run no code.

Knows: the file's lines. Does not know: what the numbers mean.

The first line says what the file is and carries the metadata. Each run follows as one line without its rounds and one
line per round; the last line counts the runs, so that a file cut short is noticed.
Floats are written in the shortest form that reads back to the same 64-bit value, arrays with their own type.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from simulator.errors import UserError
from simulator.files import ExportError, plain, write_together
from simulator.records import Run
from simulator.typed import from_json, to_json

__all__ = ["ExportError", "TraceError", "load_trace", "save_trace"]

FORMAT = "specscope-trace"
VERSION = 1
LINE_LIMIT = 64 * 2**20  # bytes; a round takes some kilobytes, so only a foreign file has longer lines


class TraceError(UserError, ValueError):
    """A trace file could not be read: which, why, and what to do, in one or two sentences."""


def save_trace(path: Path | str, runs: Sequence[Run], meta: Mapping[str, Any]) -> None:
    """Write runs and metadata to `path`, whole or not at all; the same runs give the same bytes.

    Raises `ExportError` where the file cannot be written.
    """
    write_together({Path(path): lambda file: _write(file, runs, meta)})


def load_trace(path: Path | str) -> tuple[tuple[Run, ...], dict[str, Any]]:
    """Return the runs and the metadata of a trace file, equal to those saved (metadata as JSON has it).

    Raises `TraceError` for a file that is missing, damaged, cut short, or of another kind or version.
    """
    try:
        with gzip.open(path, "rb") as file:
            return _read(_lines(file))
    except TraceError as error:
        raise TraceError(f"{path} {error}") from error
    except FileNotFoundError as error:
        raise TraceError(f"{path} does not exist. Check the name.") from error
    except gzip.BadGzipFile as error:
        raise TraceError(f"{path} is no SpecScope trace, or is damaged. Choose a file saved with --trace.") from error
    except (EOFError, zlib.error) as error:
        raise TraceError(f"{path} is damaged or cut short. Copy or save it again.") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError, OverflowError) as error:
        raise TraceError(f"{path} is damaged or no SpecScope trace: {error}. Choose another file.") from error


def _write(file: BinaryIO, runs: Sequence[Run], meta: Mapping[str, Any]) -> None:
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        for line in _all_lines(runs, meta):
            packed.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def _all_lines(runs: Sequence[Run], meta: Mapping[str, Any]) -> Iterator[Any]:
    yield {"format": FORMAT, "version": VERSION, "meta": plain(meta)}
    for run in runs:
        yield {"rounds": len(run.rounds), "run": {**to_json(run), "rounds": []}}
        yield from (to_json(each) for each in run.rounds)
    yield {"end": len(runs)}


def _lines(file: Any) -> Iterator[dict[str, Any]]:
    while line := file.readline(LINE_LIMIT):
        if not line.endswith(b"\n"):
            raise TraceError("is cut short or no SpecScope trace. Choose a file saved with --trace.")
        value = json.loads(line)
        if not isinstance(value, dict):
            raise TraceError("is no SpecScope trace. Choose a file saved with --trace.")
        yield value


def _read(lines: Iterator[dict[str, Any]]) -> tuple[tuple[Run, ...], dict[str, Any]]:
    meta = _header(next(lines, {}))
    runs: list[Run] = []
    for line in lines:
        if "end" in line:
            if line["end"] != len(runs) or next(lines, None) is not None:
                raise TraceError("does not hold the number of runs it states. Save it again.")
            return tuple(runs), meta
        runs.append(_run(line, lines))
    raise TraceError("ends before its last run does. Copy or save it again.")


def _header(line: dict[str, Any]) -> dict[str, Any]:
    if line.get("format") != FORMAT or not isinstance(line.get("meta"), dict):
        raise TraceError("is no SpecScope trace. Choose a file saved with --trace.")
    if line.get("version") != VERSION:
        raise TraceError(
            f"has version {line.get('version')}, but this SpecScope reads version {VERSION}. "
            "Open it with the SpecScope that saved it."
        )
    return dict(line["meta"])


def _run(line: dict[str, Any], lines: Iterator[dict[str, Any]]) -> Run:
    count = from_json(int, line.get("rounds"), "the number of rounds")
    rounds = [each for _, each in zip(range(count), lines, strict=False)]
    if len(rounds) < count or not isinstance(line.get("run"), dict):
        raise TraceError("ends before its last run does. Copy or save it again.")
    return from_json(Run, {**line["run"], "rounds": rounds}, "run")  # type: ignore[no-any-return]
