"""A table of models whose typing goes to a filter, and whose columns fit the text and the room.

Knows keys, widths and the theme's colours. Does not know what the rows say, or what is chosen for.
"""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.model_rows import Column

WIDEST = {  # a text that must fit; the verdict takes what is left
    Column.NAME: "shakespeare-draft-400k-it", Column.ARCHITECTURE: "Qwen3Moe", Column.DTYPE: "Q4_K +2",
    Column.PARAMETERS: "Parameters", Column.ROWS: "Vocab rows", Column.ENTRIES: "151,936", Column.CONTEXT: "131,072",
    Column.DISK: "839 MB", Column.MEMORY: "Memory",
}  # fmt: skip
LEAST = "13.6 × smaller · same vocabulary"  # of the verdict; longer ones are cut only where a name is, too
SPARE = (Column.ENTRIES, Column.ROWS, Column.CONTEXT, Column.DTYPE, Column.ARCHITECTURE, Column.DISK)  # in this order
FRAME = 3  # px; what the style leaves around a cell's text
SELECTED = 0.3  # opacity of the accent behind the chosen row


class TypingTable(QTableView):
    """A table that passes what is typed on to its filter; `empty` is what it says without rows."""

    typed = Signal(str)
    empty = ""

    def __init__(self, model: QAbstractItemModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of one family differ at both ends
        self.setCornerButtonEnabled(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setSectionsClickable(True)
        head.setSortIndicatorShown(True)
        head.setSortIndicator(Column.VERDICT, Qt.SortOrder.AscendingOrder)
        self._measure()
        for changed in (model.modelReset, model.rowsInserted, model.rowsRemoved):
            changed.connect(self._fit)
        self._ready = True

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme and of the text's size."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_ready"):
            self._measure()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows, or why there are none."""
        super().paintEvent(event)
        if self.model().rowCount() == 0:
            with painting(self.viewport()) as painter:
                painter.setPen(theme.colour("muted"))
                place = self.viewport().rect().adjusted(*(theme.SPACE, theme.SPACE, -theme.SPACE, -theme.SPACE))
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.empty)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the columns the room there is."""
        super().resizeEvent(event)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let letters and Backspace reach the filter; arrows, Enter and Esc mean what they mean everywhere."""
        plain = not event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
        if plain and ((event.text() and event.text().isprintable()) or event.key() == Qt.Key.Key_Backspace):
            self.typed.emit(event.text() if event.key() != Qt.Key.Key_Backspace else "\b")
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.ignore()  # the dialog's: open
        else:
            super().keyPressEvent(event)

    def _measure(self) -> None:
        """Give rows and columns the size that the text needs, and the table the theme's colours."""
        metrics = self.fontMetrics()
        pad = 2 * theme.SPACE + 4 * FRAME
        self.verticalHeader().setDefaultSectionSize(metrics.height() + theme.SPACE)
        self._widths = {column: metrics.horizontalAdvance(text) + pad for column, text in WIDEST.items()}
        for column, width in self._widths.items():
            self.setColumnWidth(column, width)
        self.horizontalHeader().setMinimumSectionSize(metrics.horizontalAdvance("Tokens") + pad)
        self.setMinimumHeight(4 * (metrics.height() + theme.SPACE))
        self._sheet()
        self._fit()

    def _fit(self) -> None:
        """Share what the other columns leave between names and the verdict; where it is too little, some are hidden."""
        advance, model = self.fontMetrics().horizontalAdvance, self.model()
        pad = 2 * theme.SPACE + 4 * FRAME
        least, usual = advance(LEAST) + pad, self._widths[Column.NAME]
        others = sum(self._widths.values()) - usual
        for column in SPARE:
            hidden = least + usual + others > self.viewport().width()
            self.setColumnHidden(column, hidden)
            others -= self._widths[column] if hidden else 0
        names = (model.index(row, Column.NAME).data() for row in range(model.rowCount()))
        wanted = max(map(advance, names), default=0) + pad
        spare = self.viewport().width() - others
        name = max(usual, min(wanted, spare - least, max(spare // 2, 2 * usual)))
        self.setColumnWidth(Column.NAME, name)
        self.setColumnWidth(Column.VERDICT, max(least, spare - name))

    def _sheet(self) -> None:
        now = theme.current()
        accent, ground = theme.colour("accent"), theme.colour("panel")
        mixed = [round(SELECTED * a + (1 - SELECTED) * g) for a, g in
                 zip(accent.getRgb()[:3], ground.getRgb()[:3], strict=True)]  # fmt: skip
        sheet = f"""
        QTableView {{ background: {now.panel}; border: 1px solid {now.border}; border-radius: 4px; outline: none; }}
        QTableView:focus {{ border: 1px solid {now.accent}; }}
        QTableView::item {{ padding: 0 {theme.SPACE}px; border: none; }}
        QTableView::item:selected {{ background: rgb{tuple(mixed)}; color: {now.text}; }}
        QHeaderView {{ background: {now.raised}; border: none; }}
        QHeaderView::section {{ background: {now.raised}; color: {now.muted}; border: none;
            padding: 3px {theme.SPACE + FRAME}px; }}
        """
        if self.styleSheet() != sheet:
            self.setStyleSheet(sheet)
