"""transformers' way into a GGUF file with this package's header reader in it, which takes a tenth of the time.

Knows what transformers asks of the `gguf` package while it makes a config or a table of names: fields as that package
splits them (of the tokens only how many there are), tensors by name, and the table, made anew for each part of a model.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from simulator.local.gguf_files import ARRAY, STRING, TOKENS, read_header

_LOCK = threading.RLock()
_KINDS = {bool: 7, int: 4, float: 6, str: STRING}  # which width a number has does not matter to who reads it


@dataclass(frozen=True, slots=True)
class _Field:
    """One value as the `gguf` package gives it: `parts[i]` for i in `data`, of the kinds in `types`."""

    parts: list[Any]
    data: range
    types: list[int]


class _Reader:
    """Stands in for `gguf.GGUFReader`."""

    def __init__(self, path: str | Path) -> None:
        header = read_header(Path(path))
        tokens = {TOKENS: [""] * header.lengths[TOKENS]} if TOKENS in header.lengths else {}
        self.fields = {key: _field(value) for key, value in (header.metadata | tokens).items()}
        self.tensors = header.tensors


def _field(value: Any) -> _Field:
    if isinstance(value, list):
        kinds = [ARRAY, *([_KINDS[type(value[0])]] if value else [])]
        return _Field([_part(each) for each in value], range(len(value)), kinds)
    return _Field([_part(value)], range(1), [_KINDS[type(value)]])


def _part(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else np.array([value])


@contextmanager
def quick_headers() -> Iterator[None]:
    """Let transformers read headers and tables of names our way meanwhile; other threads wait for their turn."""
    import gguf

    with _LOCK:
        own = {"GGUFReader": gguf.GGUFReader, "get_tensor_name_map": gguf.get_tensor_name_map}
        vars(gguf).update(GGUFReader=_Reader, get_tensor_name_map=cache(gguf.get_tensor_name_map))
        try:
            yield
        finally:
            vars(gguf).update(own)
