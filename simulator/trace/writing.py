"""A trace into a file: the parts of the zip one after the other, and the sum over all of it.

Knows: the file's parts. Does not know: what the numbers mean, or where the file is (see `file`).
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from simulator.files import Progress, plain
from simulator.records import Run
from simulator.text.texts import Texts, texts_to_json
from simulator.trace.columns import DRAFTED, DTYPES, EXTRA, Columns
from simulator.trace.json_lines import FORMAT
from simulator.trace.store import parts_of
from simulator.typed import to_json

VERSION = 2
HEAD, EMPTY_SUM = "trace.json", b"00000000"
BLOCK = 2**20  # bytes read or written at once


class _Summing:
    """Passes bytes on and keeps their CRC-32; without `tell`, so that zipfile writes straight through."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.sum = file, 0

    def write(self, data: Any) -> int:
        self.sum = zlib.crc32(data, self.sum)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def write_trace(
    file: BinaryIO, runs: Sequence[Run], meta: Mapping[str, Any], progress: Progress, texts: Texts | None
) -> None:
    """Write the whole content of a trace file, at the beginning of an empty one."""
    parts = [part for run in runs for part in parts_of(run.rounds)]
    head: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "meta": plain(meta),
        "runs": [{"rounds": len(run.rounds), "run": {**to_json(replace(run, rounds=())), "rounds": []}}
                 for run in runs],
    }  # fmt: skip
    if texts is not None:
        progress(0.0)
        head["texts"] = texts_to_json(texts, _token_ids(runs, parts))
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


def _token_ids(runs: Sequence[Run], parts: Sequence[Columns]) -> list[int]:
    """Return every token id in these rounds, and in the prompts, once."""
    rows = [np.array(run.prompt, np.int64) for run in runs]
    for part in parts:
        drafted, extra = ((part.positions["flags"] & flag) != 0 for flag in (DRAFTED, EXTRA))
        rows += [np.unique(part.ids), np.unique(part.emitted), np.unique(part.positions["token"][drafted]),
                 np.unique(part.positions["extra_token"][extra])]  # fmt: skip
    found: list[int] = np.unique(np.concatenate([np.empty(0, np.int64), *rows])).tolist()
    return found


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
            data = row_bytes(np.ascontiguousarray(each))
            for at in range(0, len(data), BLOCK):
                yield file.write(data[at : at + BLOCK])


def row_bytes(row: NDArray[Any]) -> memoryview:
    """Return a row's memory as bytes."""
    return memoryview(row.view("u1")) if row.size else memoryview(bytearray())  # type: ignore[arg-type]
