"""Rows of logits or probabilities from an .npz file, a few at a time, however large the file is.

Knows: the arrays `logits` or `probs` [n, V], and beside them `q_logits` or `q_probs` [n, V] of a draft and `ids` [n].
Does not know: models, what the rows are used for.

The archive is read as a stream, so compressed files work as plain ones do and memory stays small. Nothing in a file
can run code: arrays of Python objects are refused before they are read.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from simulator.errors import UserError
from simulator.records import FloatArray, IntArray

SUM_SLACK = 1e-3  # how far a row of probabilities may sum from 1
HINT = "It must hold 'logits' or 'probs' of shape [n, V], and may hold 'q_logits' or 'q_probs' [n, V] and 'ids' [n]."
PAIRS = {"p": ("logits", "probs"), "q": ("q_logits", "q_probs")}


@dataclass(frozen=True, slots=True)
class RowsFile:
    """What an .npz file holds, from its headers; its rows are read by `rows`."""

    path: Path
    n: int
    vocab: int
    p: str  # the name of the target's array
    q: str | None  # of the draft's
    ids: IntArray | None  # [n], the token that each row predicts

    def rows(self, which: str, step: int, first: int = 0) -> Iterator[FloatArray]:
        """Yield an array's rows as logits [<= step, V] in float32; raise `UserError` where a row is no distribution."""
        name = self.p if which == "p" else self.q
        assert name is not None
        with _explained(self.path), zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as stream:
            _, dtype = _header(stream, self.path, name)
            width = self.vocab * dtype.itemsize
            stream.seek(first * width, 1)
            for at in range(first, self.n, step):
                count = min(step, self.n - at)
                values = np.frombuffer(_read(stream, count * width, self.path, name), dtype).reshape(count, self.vocab)
                with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite and is refused
                    yield self._logits(values.astype(np.float32), name, at)

    def _logits(self, values: FloatArray, name: str, at: int) -> FloatArray:
        """Return checked rows as logits; log p of probabilities is one of the logits that stand for them."""
        if name.endswith("logits"):
            bad = ~np.isfinite(values.max(-1))  # NaN, +inf, or nothing but -inf
            what = "has NaN or infinite logits"
        else:
            sums = values.sum(-1, dtype=np.float64)
            bad = ~((values >= 0).all(-1) & (np.abs(sums - 1) <= SUM_SLACK))
            what = "is no distribution: probabilities must be at least 0 and sum to 1"
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            total = "" if name.endswith("logits") else f", and these sum to {values[row].sum(dtype=np.float64):.4g}"
            raise UserError(f"Row {at + row} of '{name}' in {self.path} {what}{total}. Correct it and save it again.")
        with np.errstate(divide="ignore"):
            return values if name.endswith("logits") else np.log(values)


def open_rows(path: Path) -> RowsFile:
    """Return what the file holds; raise `UserError` with one sentence for a file that cannot be analysed."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a file: choose an .npz file.")
    with _explained(path), zipfile.ZipFile(path) as archive:
        members = set(archive.namelist())
        names = {name.removesuffix(".npy") for name in members if name.endswith(".npy")}
        chosen = {key: _one_of(pair, names, path) for key, pair in PAIRS.items()}
        if chosen["p"] is None:
            held = ", ".join(f"'{name}'" for name in sorted(names)[:6]) or "no arrays"
            raise UserError(f"{path} holds {held}. {HINT}")
        shapes = {name: _matrix(archive, path, name) for name in chosen.values() if name}
        n, vocab = shapes[chosen["p"]]
        if chosen["q"] and shapes[chosen["q"]] != (n, vocab):
            raise UserError(
                f"In {path} '{chosen['p']}' has the shape {[n, vocab]} and '{chosen['q']}' "
                f"{list(shapes[chosen['q']])}: target and draft need the same positions and the same vocabulary."
            )
        ids = _ids(archive, path, n, vocab) if "ids" in names else None
    return RowsFile(path, n, vocab, chosen["p"], chosen["q"], ids)


def _one_of(pair: tuple[str, str], names: set[str], path: Path) -> str | None:
    found = [name for name in pair if name in names]
    if len(found) > 1:
        raise UserError(f"{path} holds both '{pair[0]}' and '{pair[1]}': leave one of them out.")
    return found[0] if found else None


def _matrix(archive: zipfile.ZipFile, path: Path, name: str) -> tuple[int, int]:
    with archive.open(f"{name}.npy") as stream:
        shape, dtype = _header(stream, path, name)
    if len(shape) != 2 or 0 in shape:
        more = " Put codebooks or batches into n, one array a codebook." if len(shape) > 2 else ""
        raise UserError(f"'{name}' in {path} has the shape {list(shape)}, but [n, V] is needed, neither 0.{more}")
    if dtype.kind not in "fiu":
        raise UserError(f"'{name}' in {path} holds {dtype} values: save them as float32.")
    return shape[0], shape[1]


def _ids(archive: zipfile.ZipFile, path: Path, n: int, vocab: int) -> IntArray:
    with archive.open("ids.npy") as stream:
        shape, dtype = _header(stream, path, "ids")
        if shape != (n,) or dtype.kind not in "iu":
            raise UserError(
                f"'ids' in {path} is {dtype} of shape {list(shape)}, but it must be {n} whole numbers: the token that "
                "each row predicts."
            )
        values = np.frombuffer(_read(stream, n * dtype.itemsize, path, "ids"), dtype)
    bad = values[(values < 0) | (values >= vocab)]
    if bad.size:
        raise UserError(f"'ids' in {path} holds {bad[0]}, but the rows have the ids 0 to {vocab - 1}.")
    return values.astype(np.int32)


def _header(stream: IO[bytes], path: Path, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype of an array stored row by row; the stream then stands at its first number."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(stream)
    if dtype.hasobject:
        raise UserError(f"'{name}' in {path} holds Python objects, which SpecScope does not open: save plain numbers.")
    if by_columns and len(shape) > 1 and prod(shape) > 1:
        raise UserError(f"'{name}' in {path} is stored column by column: save np.ascontiguousarray({name}).")
    return shape, dtype


def _read(stream: IO[bytes], count: int, path: Path, name: str) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise UserError(f"'{name}' in {path} ends before its last row: the file is cut off. Save it again.")
    return data


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what goes wrong while reading into a sentence about the file."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}. Choose another file.") from error
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
        raise UserError(f"{path} is not a readable .npz file ({_first_line(error)}). {HINT}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
