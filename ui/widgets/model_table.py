"""The models on this computer as a table: its rows, their order, and which a filter keeps.

Knows: what Qt asks a table. Does not know: what a cell says (`model_rows`), how models are found or compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSortFilterProxyModel, Qt

from ui import theme
from ui.widgets.model_rows import Column, Row, cells, order_value, tip

Index = QModelIndex | QPersistentModelIndex


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
        value = order_value(row, self._order[0])
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
            texts = self._cells.get(row) or self._cells.setdefault(row, cells(self._rows[row]))
            return texts[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if _is_number(column) else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ForegroundRole:
            return None if self._rows[index.row()].verdict.usable else theme.colour("discarded")
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self._rows[index.row()], column)
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


def _is_number(column: int) -> bool:
    return column >= Column.PARAMETERS
