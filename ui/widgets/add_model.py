"""A button that asks for a folder or a GGUF file, as target or as draft.

Knows: what to ask for. Does not know what becomes of it.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QPushButton, QWidget


class AddModelButton(QPushButton):
    """Opens a menu of four ways to name a model that is elsewhere on this computer."""

    chosen = Signal(str, str)  # "target" or "draft", place

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, autoDefault=False)
        self.setText(self.tr("Add a model …"))
        menu = QMenu(self)
        for role, text in (("target", self.tr("as target")), ("draft", self.tr("as draft"))):
            menu.addAction(self.tr("A folder {role} …").format(role=text), lambda role=role: self._ask_folder(role))
            menu.addAction(self.tr("A GGUF file {role} …").format(role=text), lambda role=role: self._ask_file(role))
        self.setMenu(menu)

    def _ask_folder(self, role: str) -> None:
        self._tell(role, QFileDialog.getExistingDirectory(self.window(), self.tr("Folder of a transformers model")))

    def _ask_file(self, role: str) -> None:
        title, kinds = self.tr("A GGUF file"), self.tr("GGUF files (*.gguf)")
        self._tell(role, QFileDialog.getOpenFileName(self.window(), title, "", kinds)[0])

    def _tell(self, role: str, place: str) -> None:
        if place:
            self.chosen.emit(role, place)
