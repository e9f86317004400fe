"""What stands above a plot, a sentence and a key; and the sentence in place of an empty one.

Knows: where they go, and when the key has no room. Does not know: what is plotted.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from ui.plots.key import Entry, Key

EDGE = 12  # px between the plot's border and its texts
MOST = 0.4  # of the plot's height; a low plot goes without its key


class Header:
    """The caption, the key and the message of one plot."""

    def __init__(self, plot: QWidget) -> None:
        self._plot = plot
        self.caption, self.message, self.key = _label(plot), _label(plot), Key(plot)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.bottom, self.key_fits = 0, True
        self._placed: tuple[object, ...] = ()  # what the places were computed for

    def set_texts(self, caption: str, entries: Sequence[Entry]) -> None:
        """Have a sentence and a key, and no message."""
        _set_label(self.caption, caption)
        self.key.set_entries(entries)
        _set_label(self.message, "")

    def set_message(self, text: str) -> None:
        """Show a sentence where the plot would be."""
        _set_label(self.message, text)
        self.message.setGeometry(self._plot.rect().adjusted(EDGE * 2, self.bottom, -EDGE * 2, -EDGE))

    def place(self) -> bool:
        """Put caption and key where they go; return whether the places were computed anew."""
        width = self._plot.width() - 2 * EDGE
        points = QApplication.font().pointSizeF()
        state = self._plot.size(), self.caption.text(), self.key.heightForWidth(width), points
        moved = state != self._placed
        if moved:
            self._placed = state
            self._lay(width)
        self.key.setVisible(self.key_fits and not self.key.is_empty)
        return moved

    def _lay(self, width: int) -> None:
        self.bottom, self.key_fits = EDGE - 2, True
        for part in (self.caption, self.key):
            height = part.heightForWidth(width)
            if part is self.key and self.bottom + height > self._plot.height() * MOST:
                self.key_fits = False
                continue
            if not part.isHidden():
                part.setGeometry(EDGE, self.bottom, width, height)
                self.bottom += height + 6


def _label(plot: QWidget) -> QLabel:
    label = QLabel(plot, wordWrap=True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    label.hide()
    return label


def _set_label(label: QLabel, text: str) -> None:
    if text != label.text():
        label.setText(text)
    label.setVisible(bool(text))
