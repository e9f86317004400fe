"""Choose a target, a draft, a device and a dtype from what is on this computer."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET, Entry, find, scan
from simulator.errors import UserError
from simulator.loading import DTYPES


def describe_entry(entry: Entry) -> str:
    """Return name and size of an entry in one line."""
    size = f" · {entry.parameters / 1e6:.2f} M parameters" if entry.parameters else ""
    return f"{entry.name}{size}"


class PairDialog(QDialog):
    """Lists the models found; unusable ones are greyed and say why."""

    def __init__(self, target: str = DEFAULT_TARGET, draft: str | None = DEFAULT_DRAFT, parent: QWidget | None = None):
        super().__init__(parent)
        self.setWindowTitle(self.tr("Open pair"))
        self.setMinimumWidth(640)
        self._problem = QLabel(wordWrap=True)
        self._target, self._draft = QComboBox(), QComboBox()
        self._draft.addItem(self.tr("none (n-gram lookup only)"), "")
        for entry in scan():
            for combo in (self._target, self._draft):
                self._add(combo, entry)
        self._select(self._target, target)
        self._select(self._draft, draft or "")
        self._device, self._dtype = QComboBox(editable=True), QComboBox()
        self._device.addItems(["auto", "cpu", "cuda", "mps"])
        self._dtype.addItems(DTYPES)
        kinds = QDialogButtonBox.StandardButton
        self._buttons = QDialogButtonBox(kinds.Open | kinds.Cancel)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._target.currentIndexChanged.connect(self._check)
        self._check()
        form = QFormLayout()
        form.addRow(self.tr("Target p"), self._with_folder_button(self._target))
        form.addRow(self.tr("Draft q"), self._with_folder_button(self._draft))
        form.addRow(self.tr("Device"), self._device)
        form.addRow(self.tr("Weights in"), self._dtype)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(self._problem)
        layout.addWidget(self._buttons)

    @property
    def choice(self) -> tuple[str, str | None, str, str]:
        """Return target, draft (None = no model), device and dtype as chosen."""
        return (
            self._target.currentData(),
            self._draft.currentData() or None,
            self._device.currentText().strip() or "auto",
            self._dtype.currentText(),
        )

    def _add(self, combo: QComboBox, entry: Entry) -> None:
        combo.addItem(describe_entry(entry), str(entry.path))
        index = combo.count() - 1
        combo.setItemData(index, entry.problem or str(entry.path), Qt.ItemDataRole.ToolTipRole)
        model = combo.model()
        if entry.problem and isinstance(model, QStandardItemModel):
            model.item(index).setEnabled(False)

    def _check(self) -> None:
        """Allow Open only with a target that can be used."""
        item = self._target.model().item(self._target.currentIndex()) if self._target.count() else None
        usable = item is not None and item.isEnabled()
        self._buttons.button(QDialogButtonBox.StandardButton.Open).setEnabled(usable)

    def _select(self, combo: QComboBox, wanted: str) -> None:
        """Select an entry by name or folder; one that is not listed is added."""
        for i in range(combo.count()):
            path = combo.itemData(i)
            if path == wanted or (path and Path(path).name == wanted):
                combo.setCurrentIndex(i)
                return
        self._offer(combo, wanted)

    def _with_folder_button(self, combo: QComboBox) -> QWidget:
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        button = QPushButton(self.tr("Folder ..."))
        button.clicked.connect(lambda: self._ask_folder(combo))
        layout.addWidget(combo, 1)
        layout.addWidget(button)
        return row

    def _ask_folder(self, combo: QComboBox) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Folder of a transformers model"))
        if folder:
            self._offer(combo, folder)

    def _offer(self, combo: QComboBox, folder: str) -> None:
        try:
            entry = find(folder)
        except UserError as error:
            self._problem.setText(str(error))
            return
        self._problem.setText(entry.problem or "")
        if entry.problem is None:
            self._add(combo, entry)
            combo.setCurrentIndex(combo.count() - 1)
