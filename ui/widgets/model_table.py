"""The models on this computer as rows: what is known of each, and how it would serve.

Knows: cells, their order, and which row is greyed. Does not know how models are found or compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSortFilterProxyModel, Qt

from simulator.catalog import Entry
from simulator.local.hub import readable
from simulator.text.glyphs import one_line
from ui import theme

Index = QModelIndex | QPersistentModelIndex
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


class ModelTable(QAbstractTableModel):
    """All rows in the order asked for; the row that stands for no model is always the first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._cells: dict[int, list[str]] = {}  # by row, as far as they were seen
        self._order = Column.VERDICT, False
        t = self.tr
        self._heads = [
            (t("Model"), t("The folder's name, or the model's name on the hub.")),
            (t("How it serves"), t("Whether it can be used, and if not, why not. Sorted by this: the best first.")),
            (t("Family"), t("The architecture that config.json names.")),
            (t("Stored"), t("The number format of the weights on the disk.")),
            (t("Parameters"), t("Numbers in the weights, counted from the headers of the weight files.")),
            (t("Vocab rows"), t("Rows of the output layer: how many token ids the model can score. May be padded.")),
            (t("Tokens"), t("Entries of the tokenizer: token ids that stand for a text.")),
            (t("Context"), t("The longest text in tokens that the model was built for.")),
            (t("On disk"), t("Bytes of the weight files. 1 MB = 1,000,000 bytes.")),
            (
                t("Memory"),
                t("About what it takes once loaded: parameters in the number format above, a tenth, 30 MB."),
            ),
        ]

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; those that were there before keep their selection."""
        models = sorted((row for row in rows if row.entry), key=self._key, reverse=self._order[1])
        rows = [*(row for row in rows if row.entry is None), *models]  # no model: always on top
        if [row.path for row in rows] == [row.path for row in self._rows]:
            changed = [i for i, (new, old) in enumerate(zip(rows, self._rows, strict=True)) if new != old]
            self._take(rows)
            for i in changed:  # the others need no painting
                self.dataChanged.emit(self.index(i, 0), self.index(i, len(Column) - 1))
        elif {row.path for row in rows} == {row.path for row in self._rows} and len(rows) == len(self._rows):
            self._rearrange(rows)
        else:
            self.beginResetModel()
            self._take(rows)
            self.endResetModel()

    def order_by(self, column: int, descending: bool) -> None:
        """Order the rows by a column."""
        self._order = Column(column), descending
        self.set_rows(self._rows)

    def row_at(self, index: int) -> Row:
        """Return the row of this number."""
        return self._rows[index]

    def find(self, wanted: Callable[[Row], bool]) -> int:
        """Return the number of the first row that is wanted, -1 if none is."""
        return next((i for i, row in enumerate(self._rows) if wanted(row)), -1)

    def _rearrange(self, rows: list[Row]) -> None:
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        place = {row.path: i for i, row in enumerate(rows)}
        paths = [self._rows[index.row()].path for index in old]
        self._take(rows)
        new = [self.index(place[path], index.column()) for path, index in zip(paths, old, strict=True)]
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    def _take(self, rows: list[Row]) -> None:
        self._rows, self._cells = rows, {}

    def _key(self, row: Row) -> tuple[Any, ...]:
        value = _value(row, self._order[0])
        missing = value is None
        return (missing != self._order[1], *(() if missing else value if isinstance(value, tuple) else (value,)))

    # --- what Qt asks ---

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns."""
        return 0 if parent.isValid() else len(Column)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's text, its tooltip, side and colour."""
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            row = index.row()
            cells = self._cells.get(row) or self._cells.setdefault(row, _cells(self._rows[row]))
            return cells[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if _is_number(column) else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ForegroundRole:
            return None if self._rows[index.row()].verdict.usable else theme.colour("discarded")
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(self._rows[index.row()], column)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a column's name, its definition as tooltip, its side."""
        if orientation is Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._heads[section][0]
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._heads[section][1]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if _is_number(section) else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


class Filtered(QSortFilterProxyModel):
    """The rows whose name, family or verdict holds every word of the filter."""

    def __init__(self, table: ModelTable, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._table, self._words = table, []
        self.setSourceModel(table)

    def set_filter(self, text: str) -> None:
        """Keep rows that hold each of these words."""
        self.beginFilterChange()
        self._words = text.casefold().split()
        self.endFilterChange()

    def filterAcceptsRow(self, row: int, _parent: Index) -> bool:
        """Return whether the row stays."""
        it = self._table.row_at(row)
        architecture = it.entry.architecture if it.entry else ""
        text = f"{it.name} {architecture} {it.verdict.words}".casefold()
        return all(word in text for word in self._words)


def count(number: int | None) -> str:
    """Return a count as people say it: 151,936, and from a million on 5.7 M, 1.2 B."""
    if number is None:
        return UNKNOWN
    for unit, size in (("B", 1e9), ("M", 1e6)):
        if number >= 0.9995 * size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,}"


def family(architecture: str) -> str:
    """Return an architecture's name without what all of them end in."""
    for ending in ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration"):
        architecture = architecture.removesuffix(ending)
    return architecture


def _is_number(column: int) -> bool:
    return column >= Column.PARAMETERS


def _value(row: Row, column: Column) -> Any:
    """Return what a column is ordered by; None comes last."""
    e = row.entry
    if column is Column.VERDICT:
        return (*row.verdict.rank, row.name.casefold())
    return {
        Column.NAME: row.name.casefold(),
        Column.ARCHITECTURE: family(e.architecture).casefold(), Column.PARAMETERS: e.parameters, Column.ROWS: e.vocab,
        Column.ENTRIES: e.tokenizer_entries, Column.CONTEXT: e.max_length, Column.DTYPE: e.dtype or None,
        Column.DISK: e.disk_bytes or None, Column.MEMORY: row.needed,
    }[column]  # fmt: skip


def _cells(row: Row) -> list[str]:
    e, sign = row.entry, "" if row.verdict.usable else "✗ "
    verdict = sign + row.verdict.words
    if e is None:
        return [row.name, verdict, *[""] * 8]
    return [
        row.name, verdict, family(e.architecture), _main(e.dtype), count(e.parameters), _exact(e.vocab),
        _exact(e.tokenizer_entries), _exact(e.max_length), readable(e.disk_bytes) if e.disk_bytes else UNKNOWN,
        UNKNOWN if row.needed is None else readable(row.needed),
    ]  # fmt: skip


def _main(dtype: str) -> str:
    """Return the first of several number formats, and how many more there are: Q4_K +2."""
    first, *others = dtype.split(", ")
    return (f"{first} +{len(others)}" if others else first) or UNKNOWN


def _exact(number: int | None) -> str:
    return f"{number:,}" if isinstance(number, int) else UNKNOWN  # a config.json may hold anything


def _tip(row: Row, column: int) -> str | None:
    if row.entry is None or column == Column.VERDICT:
        return row.verdict.sentence or None
    if column == Column.NAME:
        return f"{row.name}\n{one_line(str(row.entry.path))}"
    if column == Column.ARCHITECTURE:
        return row.entry.architecture
    if column == Column.DTYPE:
        return row.entry.dtype or None
    return f"{row.entry.parameters:,}" if column == Column.PARAMETERS and row.entry.parameters else None
