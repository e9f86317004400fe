"""A button whose text may be too long for it: cut with an ellipsis, whole in the tooltip.

Knows: text and width. Does not know: what a click does.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QStyle, QStyleOptionToolButton, QToolButton, QWidget

LEAST = 120  # px
ROUND = 34  # px; frame and padding beside the text


class ElidedButton(QToolButton):
    """A tool button that gives way where there is little room."""

    def __init__(self, help: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._help = help
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def setText(self, text: str) -> None:
        """Show this text, cut to the width there is."""
        super().setText(text)
        self.setToolTip(f"{text}\n{self._help}")
        self.setAccessibleName(text)

    def minimumSizeHint(self) -> QSize:
        """Return a width at which the beginning of the text can still be read."""
        return QSize(min(LEAST, self.sizeHint().width()), self.sizeHint().height())

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:
        """Cut the text that will be painted."""
        super().initStyleOption(option)
        box = self.style().subControlRect(
            QStyle.ComplexControl.CC_ToolButton, option, QStyle.SubControl.SC_ToolButton, self
        )
        room = (box if box.isValid() else self.rect()).width() - ROUND
        option.text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, max(0, room))
