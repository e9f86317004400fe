"""The buttons of the Runs page: begin, pause or resume a grid, open one, choose the rows, write the table."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QWidget

from ui import theme


class RunsBar(QWidget):
    """Asks; is told what is possible."""

    new = Signal()
    open = Signal()
    go = Signal()  # pause or resume
    export = Signal()
    by_changed = Signal(str)  # "", "prompt" or "seed"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.new_button, self.open_button = QPushButton(self.tr("New grid …")), QPushButton(self.tr("Open grid …"))
        self.go_button, self.export_button = QPushButton(), QPushButton(self.tr("Export table …"))
        self._progress, self.by = QLabel(), QComboBox()
        self._progress.setProperty("muted", True)
        self.new_button.setProperty("primary", True)
        self.new_button.setToolTip(
            self.tr("Run every combination of prompts, seeds, k, temperatures, draft sources and rules.")
        )
        self.open_button.setToolTip(self.tr("Look at a grid that was written to a file, and go on with it."))
        self.go_button.setToolTip(self.tr("Finished runs are kept; the run in hand is made again."))
        self.export_button.setToolTip(self.tr("Write rows and single runs as CSV, with a file of definitions."))
        self.by.setToolTip(self.tr("What the runs of one row share, besides models, temperature, source and rule."))
        titles = {"": self.tr("each k"), "prompt": self.tr("each k and prompt"), "seed": self.tr("each k and seed")}
        for value, title in titles.items():
            self.by.addItem(title, value)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        for part in (self.new_button, self.open_button, self.go_button, self._progress):
            layout.addWidget(part)
        layout.addStretch(1)
        for part in (QLabel(self.tr("a row for")), self.by, self.export_button):
            layout.addWidget(part)
        pairs = ((self.new_button, self.new), (self.open_button, self.open), (self.go_button, self.go),
                 (self.export_button, self.export))  # fmt: skip
        for button, signal in pairs:
            button.clicked.connect(lambda _=False, signal=signal: signal.emit())
        self.by.currentIndexChanged.connect(lambda _: self.by_changed.emit(self.by.currentData()))

    def set_state(self, *, free: bool, running: bool, left: bool, any_runs: bool, progress: str) -> None:
        """Follow what may be done: begin, pause, go on, write; and say how far the grid is."""
        self.new_button.setEnabled(free)
        self.export_button.setEnabled(any_runs)
        self.go_button.setVisible(running or left)
        self.go_button.setEnabled(running or free)
        self.go_button.setText(self.tr("Pause") if running else self.tr("Resume"))
        self._progress.setText(progress)
