"""The table that `models` prints: what each model is, what it needs, and whether it can be used.

Knows entries and how they read in columns. Does not look for models.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.catalog import Entry
from simulator.local.memory import gigabytes, needed_bytes

COLUMNS = ("name", "architecture", "parameters", "rows", "entries", "context", "stored", "on disk", "needs", "")
LEFT = (0, 1, 6, 9)  # columns of words; numbers stand right
NONE = "-"


def table(entries: Sequence[Entry], device: str, dtype: str, free: int | None) -> list[str]:
    """Return a line for the columns, one for each entry and one for each reason, and what the columns mean."""
    rows = [COLUMNS, *(_row(entry, dtype, free) for entry in entries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = [_line(rows[0], widths)]
    for entry, row in zip(entries, rows[1:], strict=True):
        lines.append(_line(row, widths))
        if entry.problem:
            lines.append(f"    {entry.problem}")
    return [
        *lines, "",
        f"rows: of the embedding; entries: of the tokenizer; needs: memory in {dtype}, where "
        f"{gigabytes(free) if free is not None else 'an unknown amount'} is free on {device}.",
    ]  # fmt: skip


def _row(entry: Entry, dtype: str, free: int | None) -> tuple[str, ...]:
    needed = needed_bytes(entry, dtype)
    short = needed is not None and free is not None and needed > free
    return (
        entry.name, entry.architecture, f"{entry.parameters / 1e6:.2f} M" if entry.parameters else NONE,
        _count(entry.vocab), _count(entry.tokenizer_entries), _count(entry.max_length), entry.dtype or NONE,
        gigabytes(entry.disk_bytes) if entry.disk_bytes else NONE, gigabytes(needed) if needed else NONE,
        "cannot be used:" if entry.problem else "too large for the free memory" if short else "usable",
    )  # fmt: skip


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        f"{cell:<{w}}" if i in LEFT else f"{cell:>{w}}" for i, (cell, w) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _count(n: int | None) -> str:
    return NONE if n is None else f"{n:,}"
