"""Says that the run on screen comes out of a file, which one of its runs it is, and puts it away.

Knows: how this reads. Does not know: files, or what happens after a click.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from simulator.opened import Opened
from ui import theme


class OpenedStrip(QFrame):
    """One line over the pages; hidden while the run on screen is the session's own."""

    run_chosen = Signal(int)  # which run of the file, 0, 1, ...
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", True)
        self._name, self._said, self._models = QLabel(), QLabel(wordWrap=True), ""
        for label in (self._name, self._said):
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._said.setProperty("muted", True)
        self._said.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.runs = QComboBox()
        self.runs.setAccessibleName(self.tr("Run of the file"))
        self.runs.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.runs.activated.connect(self.run_chosen)
        self.close_button = QPushButton(self.tr("Close file"))
        self.close_button.setToolTip(self.tr("Put this run away and go back to the settings from before."))
        self.close_button.clicked.connect(self.closed)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.SPACE, theme.SPACE // 2, theme.SPACE, theme.SPACE // 2)
        row.setSpacing(theme.SPACE)
        for part, stretch in ((self._name, 0), (self.runs, 0), (self._said, 1), (self.close_button, 0)):
            row.addWidget(part, stretch)
        self._dress()
        self.hide()

    def set_opened(self, opened: Opened | None) -> None:
        """Show whose run is on screen; None: the session's own."""
        if opened is not None:
            self._name.setText(self.tr("From {name}").format(name=opened.name))
            self._models = f"{opened.models}."
            self.set_remarks("")
            self.setToolTip(opened.origin)
            self._fill(opened)
        self.setVisible(opened is not None)

    def set_remarks(self, remarks: str) -> None:
        """Say this behind the models' names."""
        self._said.setText(f"{self._models} {remarks}".strip())

    def text(self) -> str:
        """Return all that is said."""
        return f"{self._name.text()} {self._said.text()}"

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "close_button"):
            self._dress()
        super().changeEvent(event)

    def _fill(self, opened: Opened) -> None:
        runs = opened.trace.runs
        names = [
            self.tr("run {n} of {all}: k = {k}, seed {seed}").format(
                n=i + 1, all=len(runs), k=run.config.k, seed=run.config.seed
            )
            for i, run in enumerate(runs)
        ]
        if names != [self.runs.itemText(i) for i in range(self.runs.count())]:
            self.runs.clear()
            self.runs.addItems(names)
        self.runs.setCurrentIndex(opened.index)
        self.runs.setVisible(len(runs) > 1)

    def _dress(self) -> None:
        theme.set_face(self._name, bold=True)
