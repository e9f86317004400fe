"""Runs in a file and back, to the last bit: a zip of plain NumPy arrays and one JSON text, which can run no code.

Knows: the file's parts. Does not know: what the numbers mean, or how rounds become columns (`columns`).

`trace.json` says what the file is, with the metadata, every run without its rounds and, where they were known, the
texts of all tokens in it; the arrays hold the rounds of all runs one after the other, uncompressed, so that
`numpy.load` reads them too. The last eight characters of the file
are the CRC-32 of all of it (with zeros in their place), so that any damage is noticed before anything is believed.
"""

from __future__ import annotations

import gzip
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from simulator.errors import UserError
from simulator.files import Progress, write_together
from simulator.records import Run
from simulator.text.texts import SavedTexts, Texts, texts_from_json
from simulator.trace.columns import DTYPES, Columns, columns
from simulator.trace.json_lines import ALONE, FORMAT, NoTrace, check_version, read_lines
from simulator.trace.store import Rounds
from simulator.trace.writing import BLOCK, EMPTY_SUM, HEAD, VERSION, row_bytes, write_trace
from simulator.typed import from_json

DAMAGED = "is damaged or cut short. Copy or save it again."
EMPTY = "is empty. Copy or save it again."
TABLE = "is a table (CSV), which holds only a part of what a trace does. Choose a file saved as a trace."
TABLES = (b"run,round,", b"\xef\xbb\xbfrun,round,")
CHECKED = 0.5  # the share of reading that the check of the sum takes


class TraceError(UserError, ValueError):
    """A trace file could not be read: which, why, and what to do, in one or two sentences."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a trace file holds."""

    runs: tuple[Run, ...]
    meta: dict[str, Any]  # as JSON has it; whoever wrote the file may have put anything there
    texts: SavedTexts  # of its tokens; none in a file that was saved without them


def save_trace(
    path: Path | str, runs: Sequence[Run], meta: Mapping[str, Any], progress: Progress = lambda share: None,
    texts: Texts | None = None,
) -> None:  # fmt: skip
    """Write runs and metadata to `path`, whole or not at all; the same runs give the same bytes.

    `texts`: what the tokens look like, for whoever opens the file without the model.
    Raises `ExportError` where the file cannot be written.
    """
    write_together({Path(path): lambda file: write_trace(file, runs, meta, progress, texts)})


def load_trace(path: Path | str) -> tuple[tuple[Run, ...], dict[str, Any]]:
    """Return the runs and the metadata of a trace file (see `open_trace`)."""
    trace = open_trace(path)
    return trace.runs, trace.meta


def open_trace(path: Path | str, progress: Progress = lambda share: None) -> Trace:
    """Return what a trace file holds, equal to what was saved (metadata as JSON has it).

    The rounds stay in columns (`store.Rounds`): opening takes the file's size in memory and no more.
    Raises `TraceError` for a file that is missing, damaged, cut short, or of another kind or version.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(16)
            if start.startswith(b"PK"):
                return _read(file, progress)
        if not start.startswith(b"\x1f\x8b"):
            raise NoTrace(EMPTY if not start else TABLE if start.startswith(TABLES) else ALONE)
        return Trace(*read_lines(path, progress), SavedTexts())
    except NoTrace as error:
        raise TraceError(f"{path} {error}") from error
    except FileNotFoundError as error:
        raise TraceError(f"{path} does not exist. Check the name.") from error
    except gzip.BadGzipFile as error:
        raise TraceError(f"{path} {ALONE}") from error
    except IsADirectoryError as error:
        raise TraceError(f"{path} cannot be read: it is a folder. Choose a file saved as a trace.") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        raise TraceError(f"{path} is damaged or no SpecScope trace: {error}. Choose another file.") from error
    except (EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise TraceError(f"{path} {DAMAGED}") from error


def _read(file: BinaryIO, progress: Progress) -> Trace:
    size = _check_sum(file, lambda share: progress(CHECKED * share))
    done = 0
    with zipfile.ZipFile(file) as packed:
        entries = {info.filename: info for info in packed.infolist()}
        if sorted(info.filename for info in packed.infolist()) != sorted([HEAD, *(f"{n}.npy" for n in DTYPES)]):
            raise NoTrace(ALONE)
        if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size > size
               for info in entries.values()):  # fmt: skip
            raise NoTrace(DAMAGED)  # nothing in a trace is compressed: no small file can grow in memory
        head = json.loads(packed.read(entries[HEAD]))
        stated, arrays = _header(head), {}
        for name in DTYPES:
            arrays[name] = _array(packed, entries[f"{name}.npy"], name, _after(done, size, progress))
            done += arrays[name].nbytes
    texts = texts_from_json(head["texts"]) if "texts" in head else SavedTexts()
    return Trace(_runs(stated, columns(arrays)), dict(head["meta"]), texts)


def _after(done: int, size: int, progress: Progress) -> Callable[[int], None]:
    """Return what is told of the bytes of one array, behind so many of those before it."""
    return lambda at: progress(CHECKED + (1 - CHECKED) * min(1.0, (done + at) / size))


def _check_sum(file: BinaryIO, progress: Progress) -> int:
    """Return the file's size; refuse it where its sum is not the one that it states."""
    size, found = os.fstat(file.fileno()).st_size, 0
    file.seek(0)
    left = size - len(EMPTY_SUM)
    while left > 0:
        block = file.read(min(BLOCK, left))
        if not block:
            break
        found, left = zlib.crc32(block, found), left - len(block)
        progress(1 - left / size)
    if left != 0 or file.read() != b"%08x" % zlib.crc32(EMPTY_SUM, found):
        raise NoTrace(DAMAGED)
    return size


def _header(head: Any) -> list[Any]:
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise NoTrace(ALONE)
    check_version(head.get("version"), VERSION)
    if not isinstance(head.get("meta"), dict) or not isinstance(head.get("runs"), list):
        raise NoTrace(ALONE)
    return list(head["runs"])


def _array(
    packed: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, moved: Callable[[int], None]
) -> NDArray[Any]:  # fmt: skip
    """Return one array, after its header was held against the entry's size and the column's type."""
    with packed.open(info) as file:
        if npy.read_magic(file) != (1, 0):
            raise ValueError(f"{name} is no array of a known form")
        shape, fortran, dtype = npy.read_array_header_1_0(file)
        if dtype != DTYPES[name] or len(shape) != 1 or fortran:
            raise ValueError(f"{name} is no row of the right type")
        if shape[0] * dtype.itemsize != info.file_size - file.tell():
            raise ValueError(f"{name} is not as long as it states")
        found = np.empty(shape, dtype)
        data, at = row_bytes(found), 0
        while at < len(data):
            block = file.read(min(BLOCK, len(data) - at))
            if not block:
                raise EOFError
            data[at : at + len(block)] = block
            at += len(block)
            moved(at)
        file.read(1)  # at its end zipfile compares the entry's own sum
    return found


def _runs(stated: list[Any], packed: Columns) -> tuple[Run, ...]:
    everything, at, runs = Rounds(packed), 0, []
    for i, each in enumerate(stated):
        if not isinstance(each, dict) or set(each) != {"rounds", "run"}:
            raise ValueError(f"runs[{i}] is no run")
        count = from_json(int, each["rounds"], f"runs[{i}].rounds")
        if not 0 <= count <= len(everything) - at:
            raise ValueError(f"runs[{i}] cannot have {count} rounds")
        run = from_json(Run, each["run"], f"runs[{i}]")
        runs.append(replace(run, rounds=everything[at : at + count]))
        at += count
    if at != len(everything):
        raise ValueError(f"its runs state {at} rounds, but it holds {len(everything)}")
    return tuple(runs)
