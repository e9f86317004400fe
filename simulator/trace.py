"""Runs in a file and back, to the last bit: a zip of plain NumPy arrays and one JSON text, which can run no code.

Knows: the file's parts. Does not know: what the numbers mean, or how rounds become columns (`columns`).

`trace.json` says what the file is, with the metadata and every run without its rounds; the arrays hold the rounds of
all runs one after the other, uncompressed, so that `numpy.load` reads them too. The last eight characters of the file
are the CRC-32 of all of it (with zeros in their place), so that any damage is noticed before anything is believed.
"""

from __future__ import annotations

import gzip
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from simulator.columns import DTYPES, Columns, columns
from simulator.errors import UserError
from simulator.files import ExportError, plain, write_together
from simulator.records import Run
from simulator.store import Rounds, parts_of
from simulator.trace_lines import FORMAT, NoTrace, check_version, read_lines
from simulator.typed import from_json, to_json

__all__ = ["ExportError", "TraceError", "load_trace", "save_trace"]

VERSION = 2
HEAD, EMPTY_SUM = "trace.json", b"00000000"
BLOCK = 2**20  # bytes read or written at once
ALONE = "is no SpecScope trace, or is damaged. Choose a file saved with --trace."
DAMAGED = "is damaged or cut short. Copy or save it again."
Progress = Callable[[float], None]  # told the share that is done; what it raises ends the writing


class TraceError(UserError, ValueError):
    """A trace file could not be read: which, why, and what to do, in one or two sentences."""


def save_trace(
    path: Path | str, runs: Sequence[Run], meta: Mapping[str, Any], progress: Progress = lambda share: None
) -> None:
    """Write runs and metadata to `path`, whole or not at all; the same runs give the same bytes.

    Raises `ExportError` where the file cannot be written.
    """
    write_together({Path(path): lambda file: _write(file, runs, meta, progress)})


def load_trace(path: Path | str) -> tuple[tuple[Run, ...], dict[str, Any]]:
    """Return the runs and the metadata of a trace file, equal to those saved (metadata as JSON has it).

    The rounds stay in columns (`store.Rounds`): opening takes the file's size in memory and no more.
    Raises `TraceError` for a file that is missing, damaged, cut short, or of another kind or version.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(2)
            if start == b"PK":
                return _read(file)
        if start != b"\x1f\x8b":
            raise NoTrace(ALONE)
        return read_lines(path)
    except NoTrace as error:
        raise TraceError(f"{path} {error}") from error
    except FileNotFoundError as error:
        raise TraceError(f"{path} does not exist. Check the name.") from error
    except gzip.BadGzipFile as error:
        raise TraceError(f"{path} {ALONE}") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        raise TraceError(f"{path} is damaged or no SpecScope trace: {error}. Choose another file.") from error
    except (EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise TraceError(f"{path} {DAMAGED}") from error


# --- writing


class _Summing:
    """Passes bytes on and keeps their CRC-32; without `tell`, so that zipfile writes straight through."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.sum = file, 0

    def write(self, data: Any) -> int:
        self.sum = zlib.crc32(data, self.sum)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def _write(file: BinaryIO, runs: Sequence[Run], meta: Mapping[str, Any], progress: Progress) -> None:
    head = {
        "format": FORMAT, "version": VERSION, "meta": plain(meta),
        "runs": [{"rounds": len(run.rounds), "run": {**to_json(replace(run, rounds=())), "rounds": []}}
                 for run in runs],
    }  # fmt: skip
    parts = [part for run in runs for part in parts_of(run.rounds)]
    whole, done = sum(part.nbytes for part in parts) or 1, 0
    summing = _Summing(file)
    with zipfile.ZipFile(summing, "w", zipfile.ZIP_STORED) as packed:  # type: ignore[call-overload]
        packed.comment = EMPTY_SUM
        packed.writestr(zipfile.ZipInfo(HEAD), json.dumps(head, separators=(",", ":")))
        for name, dtype in DTYPES.items():
            arrays = [getattr(part, name) for part in parts]
            for block in _entry(packed, name, dtype, arrays):
                done += block
                progress(min(1.0, done / whole))
    progress(1.0)
    file.seek(-len(EMPTY_SUM), os.SEEK_END)
    file.write(b"%08x" % summing.sum)


def _entry(
    packed: zipfile.ZipFile, name: str, dtype: np.dtype[Any], arrays: Sequence[NDArray[Any]]
) -> Iterator[int]:  # fmt: skip
    """Write arrays as one .npy; yield the number of bytes after each piece."""
    count = sum(len(each) for each in arrays)
    info = zipfile.ZipInfo(f"{name}.npy")
    info.file_size = count * dtype.itemsize + 2**12  # so that zipfile knows whether it needs long numbers
    with packed.open(info, "w") as file:
        npy.write_array_header_1_0(
            file, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
        )
        for each in arrays:
            data = _bytes(np.ascontiguousarray(each))
            for at in range(0, len(data), BLOCK):
                yield file.write(data[at : at + BLOCK])


def _bytes(row: NDArray[Any]) -> memoryview:
    """Return a row's memory as bytes."""
    return memoryview(row.view("u1")) if row.size else memoryview(bytearray())  # type: ignore[arg-type]


# --- reading


def _read(file: BinaryIO) -> tuple[tuple[Run, ...], dict[str, Any]]:
    size = _check_sum(file)
    with zipfile.ZipFile(file) as packed:
        entries = {info.filename: info for info in packed.infolist()}
        if sorted(info.filename for info in packed.infolist()) != sorted([HEAD, *(f"{n}.npy" for n in DTYPES)]):
            raise NoTrace(ALONE)
        if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size > size
               for info in entries.values()):  # fmt: skip
            raise NoTrace(DAMAGED)  # nothing in a trace is compressed: no small file can grow in memory
        head = json.loads(packed.read(entries[HEAD]))
        arrays = {name: _array(packed, entries[f"{name}.npy"], name) for name in DTYPES}
    return _runs(_header(head), columns(arrays)), dict(head["meta"])


def _check_sum(file: BinaryIO) -> int:
    """Return the file's size; refuse it where its sum is not the one that it states."""
    size, found = os.fstat(file.fileno()).st_size, 0
    file.seek(0)
    left = size - len(EMPTY_SUM)
    while left > 0:
        block = file.read(min(BLOCK, left))
        if not block:
            break
        found, left = zlib.crc32(block, found), left - len(block)
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


def _array(packed: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> NDArray[Any]:
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
        data, at = _bytes(found), 0
        while at < len(data):
            block = file.read(min(BLOCK, len(data) - at))
            if not block:
                raise EOFError
            data[at : at + len(block)] = block
            at += len(block)
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
