"""A grid of big numbers, each with its caption and, as tooltip, its definition.

Knows: text. Does not know: where a number comes from, or how often it changes (the caller keeps to 4 times a second).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QGridLayout, QLabel, QVBoxLayout, QWidget

from ui import theme

BIG = 1.75  # times the application's font


@dataclass(frozen=True, slots=True)
class Figure:
    """One number as shown."""

    value_text: str
    caption: str
    definition: str
    colour_name: str = "text"  # a field of `theme.Theme`


class Figures(QWidget):
    """Big numbers in rows of `columns`."""

    def __init__(self, columns: int = 3, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns = columns
        self._cells: list[_Cell] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * theme.SPACE)
        self._grid.setVerticalSpacing(theme.SPACE)
        for column in range(columns):
            self._grid.setColumnStretch(column, 1)

    def set_figures(self, figures: Sequence[Figure]) -> None:
        """Show these figures; a cell whose figure has not changed is left alone."""
        while len(self._cells) < len(figures):
            cell = _Cell(self)
            self._grid.addWidget(cell, *divmod(len(self._cells), self._columns))
            self._cells.append(cell)
        for i, cell in enumerate(self._cells):
            cell.setVisible(i < len(figures))
            if i < len(figures):
                cell.set_figure(figures[i])


class _Cell(QWidget):
    """One number over its caption."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._figure: Figure | None = None
        self._value, self._caption = QLabel(self), QLabel(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for label in (self._value, self._caption):
            label.setTextFormat(Qt.TextFormat.PlainText)
            layout.addWidget(label)
        self._caption.setWordWrap(True)
        self._caption.setProperty("muted", True)
        layout.addStretch(1)

    def set_figure(self, figure: Figure) -> None:
        """Show a figure."""
        if figure == self._figure:
            return
        self._figure = figure
        self._value.setText(figure.value_text)
        self._caption.setText(figure.caption)
        self.setToolTip(figure.definition)
        self.setAccessibleName(f"{figure.caption}: {figure.value_text}")
        self.setAccessibleDescription(figure.definition)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or font."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and getattr(self, "_figure", None):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        size = QApplication.font().pointSizeF() * BIG
        colour = getattr(theme.current(), self._figure.colour_name)
        sheet = f"font-size: {size:.1f}pt; font-weight: 600; color: {colour};"
        if sheet != self._value.styleSheet():  # a new one has Qt style and lay out the cell again
            self._value.setStyleSheet(sheet)
