"""Published numbers as a table with their sources; one row at a time goes into the sliders, as reported.

Knows: columns and which row is chosen. Does not know: whether a number is true.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from simulator.acceptance.published import PUBLISHED, Published
from ui import theme
from ui.widgets.digits import prob

SOURCE = 6  # its column


class PublishedPanel(QWidget):
    """The table, what the chosen row means, and where it can be loaded."""

    reported = Signal(object)  # a Published, for the sliders
    beyond = Signal(object)  # a Published with every position, for the laws

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = _Table(len(PUBLISHED), 7)
        heads = (
            (self.tr("setting, as reported"), self.tr("What was measured, on what.")),
            ("k", self.tr("Draft length.")),
            ("alpha", self.tr("Acceptance of one drafted token.")),
            ("c", self.tr("Time of one draft step / time of one target step.")),
            (self.tr("tokens / round"), self.tr("The extra token included, as the source prints it.")),
            (self.tr("speedup"), self.tr("Measured by the source; in brackets what it computed.")),
            (self.tr("source"), self.tr("Where it was printed. SpecScope measured none of these.")),
        )
        self.table.setHorizontalHeaderLabels([head for head, _ in heads])
        for i, (_, tip) in enumerate(heads):
            self.table.horizontalHeaderItem(i).setToolTip(tip)
        self.said = QLabel(wordWrap=True)
        self.load = QPushButton(self.tr("Load into the Stage's sliders and curves"))
        self.laws = QPushButton(self.tr("Show beyond independence"))
        self._build()
        self._fill()
        self.table.itemSelectionChanged.connect(self._show)
        self.table.cellDoubleClicked.connect(lambda *_: self.reported.emit(self.chosen))
        self.load.clicked.connect(lambda: self.reported.emit(self.chosen))
        self.laws.clicked.connect(lambda: self.beyond.emit(self.chosen))
        self.table.selectRow(0)

    @property
    def chosen(self) -> Published:
        """Return the chosen row."""
        return PUBLISHED[max(0, self.table.currentRow())]

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "laws"):
            self._fill()

    def _show(self) -> None:
        p = self.chosen
        loads = ", ".join(
            f"{name} {value:g}" if name == "k" else f"{name} {prob(value)}" for name, value in p.loads().items()
        )
        parts = [f"{p.setting}. {p.source}."]
        if p.note:
            parts.append(p.note[0].upper() + p.note[1:] + ".")
        if p.per_position:
            parts.append(self.tr("Per position: {rates}.").format(rates=" ".join(prob(a) for a in p.per_position)))
        if p.operations is not None:
            parts.append(self.tr("Operations: {x:.2f} times as many.").format(x=p.operations))
        parts.append(
            self.tr("Loads {loads}; the other sliders stay.").format(loads=loads)
            if loads
            else self.tr("It prints no alpha, k or c: only its level is drawn, the sliders stay.")
        )
        if p.derives_alpha:
            parts.append(self.tr("Alpha is not printed: it is the constant that gives these tokens per round."))
        self.said.setText(" ".join(parts))
        self.laws.setEnabled(bool(p.per_position))

    def _fill(self) -> None:
        for row, p in enumerate(PUBLISHED):
            speed = "–" if p.speedup is None else f"{p.speedup:.2f}×"
            computed = "" if p.expected is None else f" ({p.expected:.2f}×)"
            cells = (
                p.setting,
                "–" if p.k is None else str(p.k),
                _share(p.alpha),
                _share(p.c),
                "–" if p.tokens_per_round is None else f"{p.tokens_per_round:.2f}",
                speed + computed,
                p.source,
            )
            for column, text in enumerate(cells):
                item = self.table.item(row, column) or QTableWidgetItem()
                item.setText(text)
                item.setToolTip(f"{p.setting}\n{p.source}" + (f"\n{p.note}" if p.note else ""))
                item.setFont(theme.text_font())
                item.setForeground(theme.colour("muted" if column == SOURCE else "text"))
                if self.table.item(row, column) is None:
                    self.table.setItem(row, column, item)
        self.table.fit_columns()

    def _build(self) -> None:
        t = self.table
        t.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        t.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        t.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        t.setShowGrid(False)
        t.setAlternatingRowColors(False)
        t.verticalHeader().hide()
        t.setAccessibleName(self.tr("Published numbers"))
        header = t.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(SOURCE, QHeaderView.ResizeMode.Fixed)
        row = QHBoxLayout()
        self.load.setProperty("primary", True)
        for button in (self.load, self.laws):
            row.addWidget(button)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.SPACE, 0, 0)
        layout.setSpacing(theme.SPACE)
        layout.addWidget(t, 1)
        layout.addWidget(self.said)
        layout.addLayout(row)


class _Table(QTableWidget):
    """Gives the source what the setting leaves, but at least half of what both have."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new width."""
        super().resizeEvent(event)
        self.fit_columns()

    def fit_columns(self) -> None:
        """Share the width between setting and source; the other columns have what they need."""
        head = self.horizontalHeader()
        wishes = [max(self.sizeHintForColumn(i), head.sectionSizeHint(i)) for i in range(self.columnCount())]
        both = self.viewport().width() - sum(wishes[1:SOURCE])
        self.setColumnWidth(SOURCE, max(0, min(wishes[SOURCE], max(both - wishes[0], both // 2))))


def _share(value: float | None) -> str:
    return "–" if value is None else prob(value)
