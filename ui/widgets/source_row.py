"""Where the laboratory's p and q come from: a combo, with a slider for the fold or a button for another pair.

Knows: which control belongs to which source. Does not know: how a pair is made.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QWidget

from ui.lab_model import POSITION, RANDOM, sources
from ui.widgets.labelled_slider import LabelledSlider

TOP, TOPS = 10, (2, 32)  # outcomes beside the rest: default, limits


class SourceRow(QWidget):
    """The source, the number of outcomes of a folded position, the number of a random pair."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.seed = 1  # of the random pair
        self.combo = QComboBox()
        for name, text in sources().items():
            self.combo.addItem(text, name)
        self.combo.setMaxVisibleItems(self.combo.count())
        self.combo.setAccessibleName(self.tr("Where p and q come from"))
        help = self.tr("So many tokens are shown; all others are put together as the rest, which counts as one token.")
        self.top = LabelledSlider(self.tr("top"), "", *TOPS, 0, 1, help, TOP)
        self.another = QPushButton(self.tr("Another"))
        self._build()
        self._show()
        self.combo.currentIndexChanged.connect(self._chosen)
        self.top.value_changed.connect(lambda _: self.changed.emit())
        self.another.clicked.connect(self._next)

    @property
    def source(self) -> str:
        """Return the chosen source."""
        return str(self.combo.currentData())

    def choose(self, source: str) -> None:
        """Choose another source."""
        self.combo.setCurrentIndex(self.combo.findData(source))

    def _build(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        caption = QLabel(self.tr("p and q from"))
        caption.setProperty("muted", True)
        for widget in (caption, self.combo, self.another):
            row.addWidget(widget)
        row.addWidget(self.top, 1)
        row.addStretch(0)

    def _chosen(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        self.top.setVisible(self.source == POSITION)
        self.another.setVisible(self.source == RANDOM)

    def _next(self) -> None:
        self.seed += 1
        self.changed.emit()
