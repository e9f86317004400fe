"""A grid's file: one line that says what is run with which models, then one line per finished run, as they come.

Knows: JSON lines that are only appended, and what a killed process leaves behind. Does not know: how runs are made.

A line is written at once and synced, so a killed process loses at most the run in hand. A last line that was cut short
is dropped when the file is opened, and overwritten when the grid goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from simulator.errors import UserError
from simulator.files import ExportError, plain, write_together
from simulator.grids.brief import Brief, models_of
from simulator.grids.grid import Grid, Setting, checked_grid
from simulator.typed import from_json, to_json

FORMAT = "specscope-grid"
VERSION = 1
HEADER_LIMIT = 64 * 2**20  # bytes; only a foreign file has a longer first line
SAME = ("sha256", "device", "dtype")  # of each model: what must not change between two sittings of one grid


class GridFileError(UserError, ValueError):
    """A grid's file cannot be read or gone on with: which, why, and what to do, in one or two sentences."""


@dataclass(frozen=True, slots=True)
class GridFile:
    """What a file holds."""

    path: Path
    grid: Grid
    meta: dict[str, Any]  # models, versions, machine, command
    runs: tuple[Brief, ...]  # each setting once
    end: int  # bytes up to the end of the last whole line
    notices: tuple[str, ...] = ()

    @property
    def done(self) -> frozenset[Setting]:
        """Return the settings that need not be run again."""
        return frozenset(run.setting for run in self.runs)

    @property
    def sitting(self) -> int:
        """Return the number of the last stretch of work, 0 before the first."""
        return max((run.sitting for run in self.runs), default=0)


def create(path: Path, grid: Grid, meta: Mapping[str, Any]) -> GridFile:
    """Begin a file: its first line is there whole or not at all. Raises `ExportError` where it cannot be written."""
    header = {"format": FORMAT, "version": VERSION, "grid": to_json(grid), "meta": plain(meta)}
    line = _line(header)

    def write(file: BinaryIO) -> None:
        file.write(line)

    write_together({path: write})
    return GridFile(path, grid, json.loads(line)["meta"], (), len(line))


def open_grid(path: Path) -> GridFile:
    """Return what a file holds; raise `GridFileError` for one that is missing, damaged or of another kind."""
    try:
        data = path.read_bytes()
        *lines, torn = data.split(b"\n")
        grid, meta = _header(lines[0] if lines else b"")
        models = _models(meta)
        known: dict[Setting, Brief] = {}
        for number, line in enumerate(lines[1:], 2):
            run = _run(line, grid, models, number)
            known.setdefault(run.setting, run)
    except GridFileError as error:
        raise GridFileError(f"{path} {error}") from error
    except OSError as error:
        raise GridFileError(f"{path} cannot be read: {error.strerror or error}. Check the name.") from error
    cut = f"The last line of {path} was cut short and is left out: that run is made again when the grid goes on."
    return GridFile(path, grid, meta, tuple(known.values()), len(data) - len(torn), (cut,) if torn else ())


def grid_of(path: Path) -> Grid:
    """Return the grid that a file was begun with, from its first line alone; raises as `open_grid` does."""
    try:
        with path.open("rb") as file:
            return _header(file.readline(HEADER_LIMIT))[0]
    except GridFileError as error:
        raise GridFileError(f"{path} {error}") from error
    except OSError as error:
        raise GridFileError(f"{path} cannot be read: {error.strerror or error}. Check the name.") from error


def check_same(file: GridFile, grid: Grid, meta: Mapping[str, Any]) -> None:
    """Raise `GridFileError` unless the file was begun with this grid and these models on this device."""
    if file.grid != grid:
        raise GridFileError(f"{file.path} holds another grid: go on with that one, or choose another file.")
    for role in ("target", "draft"):
        ours, theirs = plain(meta["models"]).get(role), file.meta.get("models", {}).get(role)
        if (ours is None) != (theirs is None) or (ours and any(ours[n] != theirs.get(n) for n in SAME)):
            begun = "no draft model" if theirs is None else f"{theirs.get('name')} on {theirs.get('device')}"
            raise GridFileError(
                f"{file.path} was begun with another {role} ({begun}, {(theirs or {}).get('dtype', '-')}, "
                f"SHA-256 {str((theirs or {}).get('sha256', '-'))[:8]}): open that pair, or choose another file."
            )


class Appender:
    """Writes finished runs behind a file's last whole line; one process at a time."""

    def __init__(self, file: GridFile) -> None:
        """Open the file and cut off what a killed process left; raise `ExportError` where that is impossible."""
        self._path, self._end = file.path, file.end
        try:
            self._file = open(file.path, "r+b", buffering=0)  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise self._refused(error) from error
        try:
            _lock(self._file.fileno())
            self._file.truncate(self._end)
            self._file.seek(self._end)
        except BlockingIOError:
            self._file.close()
            raise ExportError(f"{file.path} is being written by another SpecScope: choose another file.") from None
        except OSError as error:
            self._file.close()
            raise self._refused(error) from error

    def __enter__(self) -> Appender:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None) -> None:
        """Close the file."""
        self._file.close()

    def add(self, run: Brief) -> None:
        """Write one run, whole and synced; raise `ExportError`, with the file as it was before, where it fails."""
        line = _line({**to_json(run), "prompt": None, "models": None})  # the header has them
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(None, "the disk is full")
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise self._refused(error) from error
        self._end += len(line)

    def _refused(self, error: OSError) -> ExportError:
        return ExportError(
            f"{self._path} cannot be written: {error.strerror or error}. The runs in it stay; mend that and go on."
        )


def _lock(handle: int) -> None:
    """Take the file for this process until it ends or closes it; BlockingIOError where another has it."""
    with suppress(ImportError):  # Windows has no fcntl
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode() + b"\n"


def _header(line: bytes) -> tuple[Grid, dict[str, Any]]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("format") != FORMAT or not isinstance(value.get("meta"), dict):
        raise GridFileError("is no SpecScope grid: choose a file that a grid was written to.")
    if value.get("version") != VERSION:
        raise GridFileError(
            f"has version {value.get('version')}, but this SpecScope reads version {VERSION}: open it with the one "
            "that wrote it."
        )
    try:
        return checked_grid(from_json(Grid, value.get("grid"), "grid")), value["meta"]
    except (ValueError, UserError) as error:
        raise GridFileError(f"is damaged in its first line ({error}): choose another file.") from error


def _models(meta: dict[str, Any]) -> str:
    try:
        target, draft = meta["models"]["target"], meta["models"].get("draft")
        return models_of(*(str(v) for v in (target["name"], draft["name"] if draft else "-", target["device"],
                                            target["dtype"])))  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise GridFileError("does not say which models it was begun with: choose another file.") from error


def _run(line: bytes, grid: Grid, models: str, number: int) -> Brief:
    try:
        value = json.loads(line)
        setting = from_json(Setting, value["setting"], "setting")
        prompt = to_json(grid.prompts[setting.prompt]) if setting.prompt >= 0 else None
        run: Brief = from_json(Brief, {**value, "prompt": prompt, "models": models}, "run")
        lengths = {len(row) for row in (run.drafted, run.accepted, run.emitted, run.draft_ms, run.verify_ms)}
        if lengths != {len(run.round_ms)} or len(run.tokens) != len(run.labels) or sum(run.emitted) != len(run.tokens):
            raise ValueError("its rows do not fit together")
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise GridFileError(f"is damaged in line {number} ({error}): copy it again, or start a new file.") from error
    return run
