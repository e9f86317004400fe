"""A row that breaks into more rows where it would be too narrow, like words in a text.

Knows: sizes. Does not know: what the parts are.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Parts from left to right at the sizes they ask for; the last one stands at the right end where there is room."""

    def __init__(self, parent: QWidget | None = None, spacing: int = 8, last_at_right: bool = False) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._last_at_right = last_at_right
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        """Append a part."""
        self._items.append(item)

    def count(self) -> int:
        """Return how many parts there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return a part, None out of range."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Remove a part and return it, None out of range."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """Return none: spare room stays empty."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Return that the number of rows follows from the width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of the rows that this width needs."""
        rows = self._rows(width)
        return sum(max(size.height() for _, size in row) for row in rows) + self.spacing() * max(0, len(rows) - 1)

    def sizeHint(self) -> QSize:
        """Return one row."""
        sizes = [item.sizeHint() for item in self._shown()]
        width = sum(s.width() for s in sizes) + self.spacing() * max(0, len(sizes) - 1)
        return QSize(width, max((s.height() for s in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Return the room of the widest part."""
        sizes = [item.minimumSize() for item in self._shown()]
        return QSize(max((s.width() for s in sizes), default=0), max((s.height() for s in sizes), default=0))

    def setGeometry(self, rect: QRect) -> None:
        """Place the parts."""
        super().setGeometry(rect)
        y = rect.top()
        for row in self._rows(rect.width()):
            height = max(size.height() for _, size in row)
            self._place(row, rect, y, height)
            y += height + self.spacing()

    def _place(self, row: list[tuple[QLayoutItem, QSize]], rect: QRect, y: int, height: int) -> None:
        x = rect.left()
        for item, size in row:
            if self._last_at_right and item is self._items[-1] and len(row) > 1:
                x = rect.right() + 1 - size.width()
            item.setGeometry(QRect(QPoint(x, y + (height - size.height()) // 2), size))
            x += size.width() + self.spacing()

    def _rows(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        """Return the parts in rows, each with its size in them."""
        rows: list[list[tuple[QLayoutItem, QSize]]] = []
        x = 0
        for item in self._shown():
            size = self._size(item, width)
            if not rows or x + size.width() > width:
                rows.append([])
                x = 0
            rows[-1].append((item, size))
            x += size.width() + self.spacing()
        return rows

    def _size(self, item: QLayoutItem, width: int) -> QSize:
        size = item.sizeHint()
        wide = max(item.minimumSize().width(), min(size.width(), width))
        return QSize(wide, item.heightForWidth(wide) if item.hasHeightForWidth() else size.height())

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]
