"""GGUF files: header, tensor table and tokens, read within the file's bounds whatever is written there.

Knows version 2 and 3 of the format (little endian) and the sizes of its blocks. Reads no weights, needs no package;
turning blocks into numbers is `gguf_weights`' part.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from simulator.text.spelling import entry_bytes

# Type number: name, weights in a block, bytes of a block. (ggml.h; tested against the `gguf` package)
BLOCKS = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
}  # fmt: skip
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
MOST_DIMENSIONS = 4
SHORT = 1024  # values of an array; one of each layer is shorter, tokens and merges are longer
TOKENS, TOKEN_KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
SPELLED_OUT = (3, 4)  # kinds of tokens that stand for just what they spell: control and user-defined ones


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of the table; `start` counts from the beginning of the file."""

    name: str
    shape: tuple[int, ...]  # slowest dimension first, as torch has it
    kind: int
    start: int
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Header:
    """A file's metadata (arrays longer than SHORT only as their lengths, in `lengths`) and its tensors."""

    metadata: dict[str, Any]
    lengths: dict[str, int]
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        """Return the architecture's name in the file, such as llama; "?" where there is none."""
        return str(self.metadata.get("general.architecture", "?"))

    def number(self, key: str) -> int | None:
        """Return a whole number under the architecture's own prefix, such as context_length."""
        value = self.metadata.get(f"{self.architecture}.{key}")
        return value if type(value) is int else None

    @property
    def rows(self) -> int | None:
        """Return the rows of the input embedding."""
        return next((t.shape[0] for t in self.tensors if t.name == "token_embd.weight" and len(t.shape) == 2), None)


def read_header(file: Path) -> Header:
    """Return the header of a GGUF file. Raise ValueError with a sentence where it is damaged, OSError as it comes."""
    stat = file.stat()
    if not file.is_file():  # a pipe would be waited for
        raise ValueError(f"{file} is no file: copy it again.")
    return _read(file, stat.st_size, stat.st_mtime_ns)


def tokens_of_gguf(file: Path) -> dict[int, bytes]:
    """Return the bytes that each id stands for. Raise ValueError with a sentence where there are none."""
    with _opened(file) as data:
        arrays = _Reader(data, file).header({TOKENS, TOKEN_KINDS}).metadata
    entries, kinds = arrays.get(TOKENS), arrays.get(TOKEN_KINDS)
    if not isinstance(entries, list) or not all(isinstance(e, str) for e in entries):
        raise ValueError(f"{file} holds no tokens: choose a file with its tokenizer inside.")
    kinds = kinds if isinstance(kinds, list) and len(kinds) == len(entries) else [1] * len(entries)
    byte_level = arrays.get("tokenizer.ggml.model") == "gpt2"
    return {i: _bytes_of(e, kind, byte_level) for i, (e, kind) in enumerate(zip(entries, kinds, strict=True))}


def gguf_problem(file: Path, header: Header) -> str | None:
    """Return the sentence that says why the file cannot be loaded, None where nothing speaks against it."""
    pieces = header.metadata.get("split.count", 0)
    if re.search(r"-of-\d{5}$", file.stem) or (isinstance(pieces, int) and pieces > 1):
        return f"{file} is one piece of a model: join the pieces (llama-gguf-split --merge) and choose the whole."
    if header.architecture == "?":
        return f"{file} does not name its architecture: it is no language model."
    if not header.tensors or header.rows is None:
        return f"{file} holds no token embedding: it is no language model, or not all of one."
    if not header.lengths.get(TOKENS):
        return f"{file} has no tokenizer inside: choose a file with one."
    return _scaled_positions(file, header)


def _scaled_positions(file: Path, header: Header) -> str | None:
    """Return the sentence on a stretched context, which transformers reads from no file but gpt-oss' own."""
    keys = ("rope.scaling.factor", "rope.scale_linear")
    factors = {key: header.metadata.get(f"{header.architecture}.{key}", 1) for key in keys}
    key = next((key for key, factor in factors.items() if factor not in (0, 1)), None)
    if key is None or header.architecture == "gpt-oss":
        return None
    return (
        f"{file} stretches its positions ({key} = {factors[key]:g}), which transformers does not read from GGUF: "
        "its text would be another. Choose the model as safetensors."
    )


def _bytes_of(entry: str, kind: int, byte_level: bool) -> bytes:
    if kind in SPELLED_OUT:
        return entry.encode()
    return entry_bytes(entry) if byte_level else _piece_bytes(entry)


def _piece_bytes(entry: str) -> bytes:
    byte = re.fullmatch("<0x([0-9A-Fa-f]{2})>", entry)
    return bytes([int(byte[1], 16)]) if byte else entry.replace("▁", " ").encode()


@lru_cache(maxsize=64)
def _read(file: Path, _size: int, _changed: int) -> Header:
    with _opened(file) as data:
        return _Reader(data, file).header()


def _opened(file: Path) -> mmap.mmap:
    with file.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ValueError(f"{file} is not a GGUF file: it does not begin with 'GGUF'.")
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


class _Reader:
    """Walks through a header; every length is compared with what is left of the file before it is believed."""

    def __init__(self, data: mmap.mmap, file: Path) -> None:
        self._data, self._file, self._at = data, file, 4

    def header(self, wanted: Container[str] = ()) -> Header:
        """Return the header; arrays named in `wanted` whole."""
        try:
            return self._header(wanted)
        except (struct.error, UnicodeDecodeError, OverflowError) as error:
            raise ValueError(f"{self._file} is cut off or its header is damaged: copy it again.") from error

    def _header(self, wanted: Container[str]) -> Header:
        version, count, pairs = self._unpack("<IQQ")
        if version not in (2, 3):
            raise ValueError(f"{self._file} is GGUF version {version}; SpecScope reads 2 and 3: convert it anew.")
        metadata: dict[str, Any] = {}
        lengths: dict[str, int] = {}
        for _ in range(pairs):
            key = self._string()
            if key in metadata or key in lengths:
                raise ValueError(f"{self._file} names {key} twice: its header is damaged, copy it again.")
            value, length = self._value(self._unpack("<I")[0], key in wanted)
            if value is not None:
                metadata[key] = value
            if length is not None:
                lengths[key] = length
        tensors = [self._tensor() for _ in range(count)]
        alignment = metadata.get("general.alignment", 32)
        if type(alignment) is not int or not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
            raise ValueError(f"{self._file} has the alignment {alignment!r:.40}: its header is damaged, copy it again.")
        begin = -(-self._at // alignment) * alignment
        return Header(metadata, lengths, self._checked([t for t in tensors], begin))

    def _checked(self, tensors: list[Tensor], begin: int) -> tuple[Tensor, ...]:
        """Return the tensors with their places in the file; raise ValueError where one reaches beyond its end."""
        names = {t.name for t in tensors}
        if len(names) != len(tensors):
            raise ValueError(f"{self._file} names a tensor twice: its header is damaged, copy it again.")
        placed = tuple(Tensor(t.name, t.shape, t.kind, begin + t.start, t.size) for t in tensors)
        end = max((t.start + t.size for t in placed), default=begin)
        if end > len(self._data):
            raise ValueError(
                f"{self._file} has {len(self._data):,} bytes where its header promises {end:,}: copy it again."
            )
        return placed

    def _tensor(self) -> Tensor:
        name = self._string()
        (dimensions,) = self._unpack("<I")
        if not 0 < dimensions <= MOST_DIMENSIONS:
            raise ValueError(f"{self._file} gives '{name:.60}' {dimensions} dimensions: copy it again.")
        shape = tuple(reversed(self._unpack(f"<{dimensions}Q")))
        kind, start = self._unpack("<IQ")
        if kind not in BLOCKS:
            raise ValueError(f"{self._file} stores '{name:.60}' in a form that SpecScope does not know (type {kind}).")
        _, weights, size = BLOCKS[kind]
        if not prod(shape) or shape[-1] % weights:
            raise ValueError(f"{self._file} gives '{name:.60}' the shape {list(shape)}: copy it again.")
        return Tensor(name, shape, kind, start, prod(shape) // weights * size)

    def _value(self, kind: int, whole: bool) -> tuple[Any, int | None]:
        """Return a value and, for an array, its length; a long array is None instead unless it is wanted whole."""
        if kind in NUMBERS:
            return self._unpack("<" + NUMBERS[kind])[0], None
        if kind == STRING:
            return self._string(), None
        if kind != ARRAY:
            raise ValueError(f"{self._file} has a value of the unknown type {kind}: copy it again.")
        inner, length = self._unpack("<IQ")
        whole = whole or length <= SHORT
        if inner in NUMBERS:
            self._need(length * struct.calcsize("<" + NUMBERS[inner]))
            if whole:
                return list(self._unpack(f"<{length}{NUMBERS[inner]}")), length
            self._at += length * struct.calcsize("<" + NUMBERS[inner])
            return None, length
        if inner != STRING:
            raise ValueError(f"{self._file} has an array of the unknown type {inner}: copy it again.")
        self._need(length * 8)
        if whole:
            return [self._string() for _ in range(length)], length
        for _ in range(length):
            self._skip_string()
        return None, length

    def _string(self) -> str:
        begin = self._skip_string()
        return self._data[begin : self._at].decode("utf-8")

    def _skip_string(self) -> int:
        (length,) = self._unpack("<Q")
        self._need(length)
        self._at += length
        return self._at - int(length)

    def _unpack(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def _need(self, size: int) -> None:
        if size > len(self._data) - self._at:
            raise ValueError(f"{self._file} is cut off or its header is damaged: copy it again.")
