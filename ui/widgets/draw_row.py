"""The buttons that draw, the one that stops or clears, and the line that says which test was made.

Knows: numbers of draws. Does not know: what is drawn.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from ui import theme

DRAWS = (1, 10_000, 100_000, 1_000_000)


class DrawRow(QWidget):
    """Draw 1, 10,000, 100,000 or 1,000,000."""

    draw = Signal(int)
    stop = Signal()
    clear = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._running = False
        self.buttons = {n: self._button(n) for n in DRAWS}
        self.buttons[DRAWS[-1]].setProperty("primary", True)
        self.end = QPushButton()
        self.end.clicked.connect(lambda: self.stop.emit() if self._running else self.clear.emit())
        self._test = QLabel(wordWrap=True)
        self._test.setProperty("muted", True)
        caption = QLabel(self.tr("Draw"))
        caption.setProperty("muted", True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget in (caption, *self.buttons.values(), self.end):
            row.addWidget(widget)
        row.addWidget(self._test, 1)
        self._dress()
        self._state: tuple[object, ...] = ()
        self.set_state(False, False, False, "")

    def set_state(self, allowed: bool, running: bool, drawn: bool, test: str) -> None:
        """Show what can be pressed now, and the last test in words."""
        if (allowed, running, drawn, test) == self._state:
            return
        self._state = allowed, running, drawn, test
        self._running = running
        for button in self.buttons.values():
            button.setEnabled(allowed and not running)
        self.end.setEnabled(running or drawn)
        self.end.setText(self.tr("Stop") if running else self.tr("Clear"))
        self._test.setText(test)
        self._test.setToolTip(test)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_test"):
            self._dress()
        super().changeEvent(event)

    def _button(self, n: int) -> QPushButton:
        button = QPushButton(f"{n:,}")
        button.setToolTip(self.tr("Draft, test and, where refused, replace one token, {n} times.").format(n=f"{n:,}"))
        button.clicked.connect(lambda: self.draw.emit(n))
        return button

    def _dress(self) -> None:
        line = QFontMetricsF(theme.text_font()).height()  # the label's own font may be late
        self._test.setMinimumHeight(math.ceil(2 * line))  # two lines: nothing below it jumps
