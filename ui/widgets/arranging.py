"""How parts are put together: under one another, side by side, in a framed panel, on both sides of a handle."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from ui import theme

Part = QWidget | tuple[QWidget, int]  # with its stretch if it has one


def column(*parts: Part) -> QWidget:
    """Return the parts under one another."""
    whole = QWidget()
    return _filled(whole, QVBoxLayout(whole), parts)


def row(*parts: Part) -> QWidget:
    """Return the parts side by side."""
    whole = QWidget()
    return _filled(whole, QHBoxLayout(whole), parts)


def _filled(whole: QWidget, layout: QBoxLayout, parts: tuple[Part, ...]) -> QWidget:
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(theme.SPACE)
    for part in parts:
        layout.addWidget(*part) if isinstance(part, tuple) else layout.addWidget(part)
    return whole


def panel(widget: QWidget) -> QFrame:
    """Return the widget inside a framed panel."""
    frame = QFrame()
    frame.setProperty("panel", True)
    layout = QVBoxLayout(frame)
    layout.setContentsMargins(theme.SPACE, theme.SPACE, theme.SPACE, theme.SPACE)
    layout.addWidget(widget)
    return frame


def halves(left: QWidget, right: QWidget, shares: tuple[int, int], widths: tuple[int, int] | None = None) -> QSplitter:
    """Return both sides of a handle that neither vanishes behind; `shares` of what room is gained, `widths` in px."""
    splitter = QSplitter(Qt.Orientation.Horizontal)
    for i, (side, share) in enumerate(zip((left, right), shares, strict=True)):
        splitter.addWidget(side)
        splitter.setStretchFactor(i, share)
    if widths is not None:
        splitter.setSizes(list(widths))
    splitter.setChildrenCollapsible(False)
    return splitter


def open_wide(dialog: QWidget, width: int, height: int) -> None:
    """Give a dialog this size in px, more in larger text where the screen has the room."""
    scale, room = QApplication.font().pointSizeF() / theme.TEXT, dialog.screen().availableSize()
    wide, high = (max(usual, min(round(usual * scale), most)) for usual, most in
                  ((width, room.width()), (height, room.height())))  # fmt: skip
    dialog.resize(wide, high)


def filling(widget: QWidget, least: int) -> QWidget:
    """Let a plot or table take the height that is left, at least so many px at the usual size of the text.

    What it would like itself does not count.

    Beside wrapped texts a page is as high as its parts would like to be, and a plot would like 480 px.
    """
    widget.setSizePolicy(widget.sizePolicy().horizontalPolicy(), QSizePolicy.Policy.Ignored)
    widget.installEventFilter(_Least(widget, least))
    return widget


class _Least(QObject):
    """Keeps a widget's least height in step with the size of the text."""

    def __init__(self, widget: QWidget, least: int) -> None:
        super().__init__(widget)
        self._widget, self._least = widget, least
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange:
            self._fit()
        return False

    def _fit(self) -> None:
        self._widget.setMinimumHeight(round(self._least * QApplication.font().pointSizeF() / theme.TEXT))
