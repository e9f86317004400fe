"""Every acceptance figure side by side: its formula, its value here, and who calls it what.

Knows: rows and marks. Does not know: how a figure was counted.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from simulator.acceptance.body import Acceptance
from simulator.acceptance.names import FORMULAS, NAMES, called
from simulator.metrics import DEFINITIONS
from ui import theme
from ui.acceptance_words import value_text

TITLES = {
    "tau_counters": "length τ",
    "acceptance_length": "tokens / round",
    "draft_acceptance_rate": "rate, drafted",
    "tested_acceptance_rate": "rate, tested",
    "accepted_per_round": "accepted / round",
    "accepted_share": "share of output",
    "alpha": "alpha",
    "per_position_unconditional": "by position",
    "per_position_conditional": "… if reached",
}
SHARE = 0.23  # of the width, that a formula takes at most: lines break between its words
MOST = 4  # positions in a cell; the plot has all of them


class FigureTable(QTableWidget):
    """One figure a row; the rows that an engine prints are marked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(len(TITLES), 4, parent)
        self._shown: tuple[Acceptance | None, str] = None, ""
        self._rows: dict[str, tuple[str, ...]] = {}  # what stands in each row, without its look
        self.setHorizontalHeaderLabels(
            [self.tr("figure"), self.tr("here"), self.tr("formula"), self.tr("who calls it what")]
        )
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setShowGrid(False)
        self.verticalHeader().hide()
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)
        header.sectionResized.connect(lambda *_: self.resizeRowsToContents())  # also where a scroll bar takes room
        self._fill()

    def set_acceptance(self, a: Acceptance | None, engine: str) -> None:
        """Show the values of a source, and mark the figures of an engine."""
        if (a, engine) != self._shown:
            self._shown = a, engine
            self._fill()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_rows"):
            self._rows.clear()  # the looks are other ones
            self._fill()

    def _fill(self) -> None:
        """Bring the rows up to date that say something else than before."""
        engine, before = self._shown[1], dict(self._rows)
        printed = NAMES.get(engine, {})
        for row, (name, title) in enumerate(TITLES.items()):
            mark = "▸ " if name in printed else "   "
            cells = mark + title, self._value(name), FORMULAS[name], _who(name, engine) or self.tr("SpecScope only")
            if self._rows.get(name) != cells:
                self._rows[name] = cells
                for column, text in enumerate(cells):
                    self._set(row, column, text, name, name in printed)
        if self._rows != before:
            self._fit_rows()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give every row the lines that its names take at this width."""
        super().resizeEvent(event)
        self._fit_rows()

    def _fit_rows(self) -> None:
        self.setColumnWidth(2, min(self.sizeHintForColumn(2) + 1, round(SHARE * self.viewport().width())))
        self.verticalHeader().setMinimumSectionSize(round(QFontMetricsF(theme.text_font()).height()) + 6)
        self.resizeRowsToContents()

    def _set(self, row: int, column: int, text: str, name: str, marked: bool) -> None:
        item = self.item(row, column)
        if item is None:
            item = QTableWidgetItem()
            self.setItem(row, column, item)
        item.setText(text)
        item.setToolTip(f"{DEFINITIONS[name]}\n{called(name)}".strip())
        item.setFont(theme.text_font(bold=marked or column == 1))
        item.setForeground(theme.colour("accent" if marked else "text" if column < 2 else "muted"))
        item.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)

    def _value(self, name: str) -> str:
        a = self._shown[0]
        if a is None:
            return "–"
        if name.startswith("per_position"):
            rates = [s.unconditional if name.endswith("unconditional") else s.conditional for s in a.steps]
            digits = 3 if len(rates) < MOST else 2
            texts = ["–" if rate is None else f"{rate:.{digits}f}".removeprefix("0") for rate in rates]
            return (" ".join(texts[:MOST]) + (" …" if len(texts) > MOST else "")) or "–"
        text = value_text(name, a.figures.get(name))
        stated = a.printed.get(name)
        return (
            text
            if stated is None
            else self.tr("{own} (prints {stated})").format(own=text, stated=value_text(name, stated))
        )


def _who(name: str, first: str) -> str:
    """Return who calls a figure what, one engine first; engines that use the same words are named together."""
    users: dict[str, list[str]] = {}
    words: dict[str, str] = {}  # as the first of them writes it
    for engine in sorted(NAMES, key=lambda engine: engine != first):
        if name in NAMES[engine]:
            said = words.setdefault(NAMES[engine][name].lower(), NAMES[engine][name])
            users.setdefault(said, []).append(engine)
    return "; ".join(f"{', '.join(engines)}: {said}" for said, engines in users.items())
