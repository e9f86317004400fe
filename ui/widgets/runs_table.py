"""The table of runs: groups that open, columns as wide as their figures, up to two single runs chosen.

Knows: widths, looks, what may be chosen. Does not know: what a column means.
"""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTreeView, QWidget

from simulator.grids.brief import Brief
from ui import theme
from ui.runs_model import COLUMNS, SETTINGS, RunNode, RunsModel

MOST_CHOSEN = 2
LEAST_NAME = 120  # px of a row's name
ARROW = 18  # px of the sign in the head of the column that is sorted by
PADDING = 5  # px left and right of a cell
MOST_AIR = 24  # px more for each figure where there is room


class RunsTable(QTreeView):
    """Shows a `RunsModel`."""

    runs_chosen = Signal(list)  # of Brief, at most two

    def __init__(self, model: RunsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs = model
        self.setModel(model)
        self.setSortingEnabled(True)
        self.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setFrameShape(QFrame.Shape.NoFrame)
        header = self.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(20)
        header.setStretchLastSection(False)
        header.setResizeContentsPrecision(200)
        self._fit_timer = QTimer(self, interval=0, singleShot=True)  # once the layout is done
        self._fit_timer.timeout.connect(self.fit_columns)
        self.expanded.connect(lambda _: self._fit_timer.start())
        header.sortIndicatorChanged.connect(lambda *_: self._fit_timer.start())
        self.selectionModel().selectionChanged.connect(lambda *_: self._limit_chosen())
        self._dress()

    def choose(self, runs: Collection[Brief]) -> None:
        """Choose these runs, with their rows open."""
        selection, flag = self.selectionModel(), QItemSelectionModel.SelectionFlag
        selection.clearSelection()
        for row, group in enumerate(self._runs.groups):
            parent = self._runs.index(row, 0)
            for i, node in enumerate(group.runs):
                if node.run in runs:
                    self.expand(parent)
                    selection.select(self._runs.index(i, 0, parent), flag.Select | flag.Rows)

    def refresh(self) -> None:
        """Hide the settings that all rows share, and give the others their width."""
        for name in SETTINGS:
            self.setColumnHidden(COLUMNS.index(name), len(self._runs.values(name)) < 2)
        self.fit_columns()

    def fit_columns(self) -> None:
        """Give figures the width that they need and names what is left, so that nothing is scrolled to sideways.

        Not Qt's own fitting: it keeps room for the sign of sorting in the head of every column.
        """
        shown = [i for i in range(len(COLUMNS)) if not self.isColumnHidden(i)]
        wishes = {i: max(self.sizeHintForColumn(i), self._head_width(i)) for i in shown}
        wishes[0] = max(LEAST_NAME, wishes[0])
        spare = self.viewport().width() - sum(wishes.values())
        air = min(MOST_AIR, max(0, spare) // len(shown))
        for i in shown[1:]:
            self.setColumnWidth(i, wishes[i] + air)
        self.setColumnWidth(0, max(LEAST_NAME, wishes[0] + min(0, spare)))

    def stop(self) -> None:
        """Fit nothing any more."""
        self._fit_timer.stop()

    def _head_width(self, column: int) -> int:
        header, text = self.header(), self._runs.headerData(column, Qt.Orientation.Horizontal)
        arrow = ARROW if header.sortIndicatorSection() == column else 0
        return header.fontMetrics().horizontalAdvance(text) + 2 * PADDING + 2 + arrow

    def _limit_chosen(self) -> None:
        """Of more rows than two the last two runs stay chosen."""
        selection, flag = self.selectionModel(), QItemSelectionModel.SelectionFlag
        chosen = selection.selectedRows()
        if len(chosen) > MOST_CHOSEN:
            kept = QItemSelection()
            for index in [i for i in chosen if isinstance(i.internalPointer(), RunNode)][-MOST_CHOSEN:]:
                kept.select(index, index)
            selection.select(kept, flag.ClearAndSelect | flag.Rows)  # which comes back here
            return
        nodes = (index.internalPointer() for index in chosen)
        self.runs_chosen.emit([node.run for node in nodes if isinstance(node, RunNode)])

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the columns to the width that the table has on screen."""
        super().showEvent(event)
        self._fit_timer.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the new width."""
        super().resizeEvent(event)
        if hasattr(self, "_fit_timer"):
            self._fit_timer.start()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_fit_timer"):
            self._dress()
            self._fit_timer.start()

    def _dress(self) -> None:
        c = theme.current()
        sheet = (
            f"QTreeView::item {{ padding: 2px {PADDING}px; }}"
            f"QTreeView::item:selected {{ background: {c.accent}; color: {c.on_accent}; }}"
            f"QHeaderView {{ background: {c.raised}; }}"
            f"QHeaderView::section {{ background: {c.raised}; color: {c.muted}; border: none;"
            f" padding: 4px {PADDING}px; }}"
        )
        if self.styleSheet() != sheet:
            self.setStyleSheet(sheet)
