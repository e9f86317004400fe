"""One table of models with what belongs to it: filter, device and number format; typing filters.

Knows: which row is chosen, and keeps it chosen while rows come and go. Does not know what it is chosen for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QItemSelectionModel, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from simulator.catalog import Entry
from simulator.loading import DTYPES
from ui import theme
from ui.widgets.model_rows import Row
from ui.widgets.model_table import Filtered, ModelTable
from ui.widgets.typing_table import TypingTable


class ModelPicker(QWidget):
    """The person chooses a row, a device and a dtype here."""

    chosen = Signal()  # another row
    placed = Signal()  # another device or dtype

    def __init__(self, title: str, parent: QWidget | None = None, *, follows: str = "") -> None:
        """`follows`: the words by which device and dtype are those of the other model, "" where there is none."""
        super().__init__(parent)
        self.table, self._wanted = ModelTable(self), None
        self._shown = Filtered(self.table, self)
        self._title, self._count, self.filter = QLabel(title), QLabel(), QLineEdit()
        self._device, self._dtype = QComboBox(), QComboBox()
        self._follows, self._devices = follows, tuple[str, ...]()
        self._filtering, self._without = False, ""
        self.set_devices(("auto", "cpu"))
        for name in (*([""] if follows else []), *DTYPES):
            self._dtype.addItem(name or follows, name)
        self.view = TypingTable(self._shown)
        self.view.setAccessibleName(title)
        self._dress()
        self._arrange()
        self.filter.textChanged.connect(self._set_filter)
        self.view.typed.connect(self._type)
        self.view.selectionModel().currentRowChanged.connect(lambda *_: self._take())
        self.view.horizontalHeader().sortIndicatorChanged.connect(self._order)
        self._device.currentIndexChanged.connect(lambda _: self.placed.emit())
        self._dtype.currentIndexChanged.connect(lambda _: self.placed.emit())

    # --- what is chosen ---

    @property
    def row(self) -> Row | None:
        """Return the chosen row; None while there are no rows, or it is filtered away."""
        index = self._shown.mapToSource(self.view.currentIndex())
        return self.table.row_at(index.row()) if index.isValid() else None

    @property
    def entry(self) -> Entry | None:
        """Return the chosen model; None where none is, and for the row that stands for no model."""
        row = self.row
        return row.entry if row else None

    @property
    def device(self) -> str:
        """Return the device chosen; "" follows the other model."""
        return self._device.currentData()

    @property
    def dtype(self) -> str:
        """Return the number format chosen; "" follows the other model."""
        return self._dtype.currentData()

    def choose(self, path: Path | None) -> None:
        """Choose the row of this folder, now or as soon as it is there."""
        self._wanted = (path,)
        self._settle()

    # --- what is there ---

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows."""
        seen = self.view.viewport().rect().intersects(self.view.visualRect(self.view.currentIndex()))
        self.table.set_rows(rows)
        self._settle()
        if seen:
            self.view.scrollTo(self.view.currentIndex())
        self._recount()

    def set_devices(self, names: Sequence[str]) -> None:
        """Offer these devices; the choice stays where it can."""
        if tuple(names) == self._devices:
            return
        was, self._devices = self._device.currentData(), tuple(names)
        self._device.blockSignals(True)
        self._device.clear()
        for name in (*([""] if self._follows else []), *names):
            self._device.addItem(name or self._follows, name)
        self._device.setCurrentIndex(max(0, self._device.findData(was)))
        self._device.blockSignals(False)

    # --- inside ---

    def _settle(self) -> None:
        """Bring the wanted row back to where the person sees it."""
        if self._wanted is None:
            return
        [path] = self._wanted
        source = self.table.find(lambda row: row.path == path)
        index = self._shown.mapFromSource(self.table.index(source, 0)) if source >= 0 else self._shown.index(-1, 0)
        if index.isValid() and index.row() != self.view.currentIndex().row():
            flags = QItemSelectionModel.SelectionFlag
            self.view.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
            self.view.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)

    def _take(self) -> None:
        row = self.row
        if self._filtering:
            return
        if row is not None:
            self._wanted = (row.path,)
        self.chosen.emit()

    def _set_filter(self, text: str) -> None:
        """Keep what has these words; the best of it is chosen where the chosen row has not."""
        self._filtering = True  # the row that Qt moves on to is nobody's choice
        self._shown.set_filter(text)
        self._settle()
        kept = self.row is not None and (self.row.path,) == self._wanted
        if not kept and self._shown.rowCount():
            self.view.selectRow(0)
        self._filtering = False
        self._take()
        self._recount()

    def _type(self, text: str) -> None:
        self.filter.setText(self.filter.text()[:-1] if text == "\b" else self.filter.text() + text)

    def _order(self, column: int, order: Qt.SortOrder) -> None:
        self.table.order_by(column, order is Qt.SortOrder.DescendingOrder)
        self._settle()

    def set_empty(self, text: str) -> None:
        """Say this while there is no row and no filter."""
        self._without, self.view.empty = text, self.tr("No model has these words.") if self.filter.text() else text

    def _recount(self) -> None:
        rows = [self.table.row_at(i) for i in range(self.table.rowCount())]
        models = [row for row in rows if row.entry is not None]
        shown = self._shown.rowCount() - (len(rows) - len(models))
        usable = sum(row.verdict.usable for row in models)
        text = self.tr("{n} models, {usable} usable").format(n=len(models), usable=usable)
        if self.filter.text():
            text = self.tr("{shown} of {all} models").format(shown=shown, all=len(models))
        self._count.setText(text if models else "")
        self.set_empty(self._without)

    def _dress(self) -> None:
        theme.set_face(self._title, 1.1, bold=True)
        self._count.setProperty("muted", True)
        self.filter.setPlaceholderText(self.tr("Type to filter"))
        self.filter.setClearButtonEnabled(True)
        self.filter.setTextMargins(theme.SPACE // 2, 0, theme.SPACE // 2, 0)
        self.filter.setAccessibleName(self.tr("Filter: {title}").format(title=self._title.text()))
        self._device.setToolTip(self.tr("Where this model runs. auto: a GPU where there is one, else the CPU."))
        self._dtype.setToolTip(
            self.tr("The numbers its weights are loaded as. auto: bfloat16 on a GPU, float32 on a CPU.")
        )
        for box, name in ((self._device, self.tr("Device")), (self._dtype, self.tr("Number format"))):
            box.setAccessibleName(f"{name}: {self._title.text()}")
        self.filter.setMinimumWidth(self.fontMetrics().horizontalAdvance("m") * 14)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme and of the text's size."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_devices"):
            theme.set_face(self._title, 1.1, bold=True)
            self.filter.setMinimumWidth(self.fontMetrics().horizontalAdvance("m") * 14)
        super().changeEvent(event)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(theme.SPACE)
        head.addWidget(self._title)
        head.addWidget(self._count)
        head.addStretch(1)
        head.addWidget(self.filter)
        for text, box in ((self.tr("runs on"), self._device), (self.tr("as"), self._dtype)):
            label = QLabel(text)
            label.setProperty("muted", True)
            head.addWidget(label)
            head.addWidget(box)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        layout.addLayout(head)
        layout.addWidget(self.view, 1)
