"""A list of which several entries can be chosen, each with a value behind its text."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from simulator.errors import UserError


class CheckList(QListWidget):
    """Entries with check boxes."""

    def add(self, text: str, value: Any, checked: bool, tip: str) -> None:
        """Append an entry."""
        item = QListWidgetItem(text)
        item.setData(Qt.ItemDataRole.UserRole, value)
        item.setToolTip(tip)
        item.setCheckState(Qt.CheckState.Checked if checked else Qt.CheckState.Unchecked)
        self.addItem(item)

    def chosen(self, complaint: str) -> tuple[Any, ...]:
        """Return the values of the checked entries; raise `UserError` with the complaint where there is none."""
        every = (self.item(i) for i in range(self.count()))
        values = tuple(i.data(Qt.ItemDataRole.UserRole) for i in every if i.checkState() is Qt.CheckState.Checked)
        if not values:
            raise UserError(complaint)
        return values
