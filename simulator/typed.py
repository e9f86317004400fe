"""Dataclasses as JSON values and back, by their declared types, so that a foreign file is refused where it differs.

Knows: the types that `records` uses. Does not know: files, any particular record.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

_DTYPES = ("float32", "float64", "int32", "int64")


def to_json(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses as objects, arrays with their type, sets as sorted lists."""
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.name, "data": value.tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, frozenset):
        return [to_json(v) for v in sorted(value)]
    return [to_json(v) for v in value] if isinstance(value, tuple) else value


def from_json(kind: Any, value: Any, name: str = "value") -> Any:
    """Return what `to_json` was given, of the declared type `kind`; raise ValueError naming the part that differs."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = [k for k in get_args(kind) if k is not type(None)]
        return None if value is None else from_json(options[0], value, name)
    if origin in (tuple, Sequence):
        items = _expect(list, value, name)
        return tuple(from_json(get_args(kind)[0], v, f"{name}[{i}]") for i, v in enumerate(items))
    if origin is frozenset:
        return frozenset(from_json(get_args(kind)[0], v, name) for v in _expect(list, value, name))
    if origin is np.ndarray:
        return _array(value, name)
    return _plain(kind, value, name)


def _plain(kind: Any, value: Any, name: str) -> Any:
    if is_dataclass(kind):
        return _record(cast(type, kind), value, name)
    if issubclass(kind, Enum):
        return kind(_expect(str, value, name))
    if kind is float and type(value) is int:
        return float(value)
    return _expect(kind, value, name)


def _record(kind: type, value: Any, name: str) -> Any:
    given = _expect(dict, value, name)
    known = _fields(kind)
    strange = sorted(set(given) - set(known))
    missing = sorted(n for n, (_, f) in known.items() if n not in given and not _has_default(f))
    if strange or missing:
        raise ValueError(f"{name} has unknown parts {strange} and lacks {missing}")
    return kind(**{n: from_json(known[n][0], v, f"{name}.{n}") for n, v in given.items()})


@cache
def _fields(kind: type) -> Mapping[str, tuple[Any, Field[Any]]]:
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], f) for f in fields(kind)}


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _array(value: Any, name: str) -> Any:
    given = _expect(dict, value, name)
    if set(given) != {"dtype", "data"} or given["dtype"] not in _DTYPES:
        raise ValueError(f"{name} is no array of one of the types {', '.join(_DTYPES)}")
    if not all(type(v) in (int, float) for v in _expect(list, given["data"], name)):
        raise ValueError(f"{name} holds something that is no number")
    return np.array(given["data"], dtype=given["dtype"])


def _expect(kind: type, value: Any, name: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{name} should be {kind.__name__}, not {type(value).__name__}")
    return value
