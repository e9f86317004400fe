"""Widgets that are never lower than their wrapped texts need, so that a page scrolls instead of squeezing them.

Knows: that a splitter and a scroll area ask for a minimum height, but not what that is at a width. Does not know: their
parts.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui import theme


class Fitting(QWidget):
    """A widget as high, at least, as its layout needs at its width."""

    def event(self, event: QEvent) -> bool:
        """Fit again when a part wants another height, or when it is shown."""
        done = super().event(event)
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Show):
            self._fit()
        elif event.type() == QEvent.Type.FontChange and not self.isVisible():
            self.setMinimumHeight(0)
        return done

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit again: at another width texts wrap otherwise."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        if not self.isVisible():
            return  # until it is shown: behind another tab texts keep the size that they had
        layout = self.layout()
        wraps = layout is not None and layout.hasHeightForWidth()
        least = layout.totalMinimumHeightForWidth(self.width()) if wraps else 0
        if least != self.minimumHeight():
            self.setMinimumHeight(least)


class FittingColumn(Fitting):
    """Parts under one another, each with its stretch if it has one."""

    def __init__(self, *parts: QWidget | tuple[QWidget, int]) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        for part in parts:
            layout.addWidget(*part) if isinstance(part, tuple) else layout.addWidget(part)
