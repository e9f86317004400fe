"""A model in a table's row: what is known of it, how it would serve, and how the cells say so.

Knows: columns, their texts and what they are ordered by. Does not know: Qt, how models are found or compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from simulator.catalog import Entry
from simulator.local.hub import readable
from simulator.text.glyphs import one_line

UNKNOWN = "–"


class Column(IntEnum):
    """What stands in which column."""

    NAME, VERDICT, ARCHITECTURE, DTYPE, PARAMETERS, ROWS, ENTRIES, CONTEXT, DISK, MEMORY = range(10)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a model would serve. `rank` orders rows, the best lowest; `words` are short, `sentence` is whole."""

    words: str = ""
    sentence: str = ""
    usable: bool = True
    rank: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; without an entry it stands for no model."""

    name: str
    entry: Entry | None
    needed: int | None
    verdict: Verdict

    @property
    def path(self) -> Path | None:
        """Return the model's folder."""
        return self.entry.path if self.entry else None


def order_value(row: Row, column: Column) -> Any:
    """Return what a column is ordered by; None comes last."""
    e = row.entry
    if column is Column.VERDICT:
        return (*row.verdict.rank, row.name.casefold())
    return {
        Column.NAME: row.name.casefold(),
        Column.ARCHITECTURE: _family(e.architecture).casefold(), Column.PARAMETERS: e.parameters, Column.ROWS: e.vocab,
        Column.ENTRIES: e.tokenizer_entries, Column.CONTEXT: e.max_length, Column.DTYPE: e.dtype or None,
        Column.DISK: e.disk_bytes or None, Column.MEMORY: row.needed,
    }[column]  # fmt: skip


def cells(row: Row) -> list[str]:
    """Return the texts of a row, in the order of `Column`."""
    e, sign = row.entry, "" if row.verdict.usable else "✗ "
    verdict = sign + row.verdict.words
    if e is None:
        return [row.name, verdict, *[""] * 8]
    return [
        row.name, verdict, _family(e.architecture), _main(e.dtype), count(e.parameters), _exact(e.vocab),
        _exact(e.tokenizer_entries), _exact(e.max_length), readable(e.disk_bytes) if e.disk_bytes else UNKNOWN,
        UNKNOWN if row.needed is None else readable(row.needed),
    ]  # fmt: skip


def _main(dtype: str) -> str:
    """Return the first of several number formats, and how many more there are: Q4_K +2."""
    first, *others = dtype.split(", ")
    return (f"{first} +{len(others)}" if others else first) or UNKNOWN


def _exact(number: int | None) -> str:
    return f"{number:,}" if isinstance(number, int) else UNKNOWN  # a config.json may hold anything


def tip(row: Row, column: int) -> str | None:
    """Return what more there is to say of a cell."""
    if row.entry is None or column == Column.VERDICT:
        return row.verdict.sentence or None
    if column == Column.NAME:
        return f"{row.name}\n{one_line(str(row.entry.path))}"
    if column == Column.ARCHITECTURE:
        return row.entry.architecture
    if column == Column.DTYPE:
        return row.entry.dtype or None
    return f"{row.entry.parameters:,}" if column == Column.PARAMETERS and row.entry.parameters else None


def count(number: int | None) -> str:
    """Return a count as people say it: 151,936, and from a million on 5.7 M, 1.2 B."""
    if number is None:
        return UNKNOWN
    for unit, size in (("B", 1e9), ("M", 1e6)):
        if number >= 0.9995 * size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,}"


def _family(architecture: str) -> str:
    """Return an architecture's name without what all of them end in."""
    for ending in ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration"):
        architecture = architecture.removesuffix(ending)
    return architecture
