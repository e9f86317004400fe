"""One readable panel for what went wrong, what is worth knowing, or what is still going on.

Knows: how a message reads. Does not know: its cause, or what happens after a click.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui import theme

SIGNS = {"error": "✗", "info": "i"}
COLOURS = {"error": "excess", "info": "missed"}
BAR = 10  # px; the progress bar's height
SIGN = 24  # px, at least; the round sign before the sentence
DETAILS_HEIGHT = 120  # px; longer details scroll


class Notice(QFrame):
    """What happened, with details to copy; hidden until told."""

    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = "info"
        self.setProperty("panel", True)
        self._sign, self._title, self._details = (_text_label(self) for _ in range(3))
        self._scroll = _scroller(self._details, self)
        self._copy = QPushButton(self.tr("Copy"), self)
        self._dismiss = QPushButton(self.tr("Dismiss"), self)
        self._copy.setToolTip(self.tr("Copy the message and its details to the clipboard."))
        self._copy.clicked.connect(self.copy)
        self._dismiss.clicked.connect(self._close)
        self._arrange()
        self.hide()

    def show_error(self, what: str, details: str = "") -> None:
        """Show an error: one sentence on what happened, then where and why."""
        self._set("error", what, details)

    def show_info(self, what: str, details: str = "") -> None:
        """Show something worth knowing."""
        self._set("info", what, details)

    def text(self) -> str:
        """Return the whole message."""
        return "\n".join(part for part in (self._title.text(), self._details.text()) if part)

    def copy(self) -> None:
        """Put the whole message on the clipboard."""
        QGuiApplication.clipboard().setText(self.text())

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_dismiss"):
            self._dress()
        super().changeEvent(event)

    def _set(self, kind: str, what: str, details: str) -> None:
        self._kind = kind
        self._sign.setText(SIGNS[kind])
        self._title.setText(what)
        self._details.setText(details)
        self._scroll.setVisible(bool(details))
        self.setAccessibleName(self.tr("Error") if kind == "error" else self.tr("Notice"))
        self.setAccessibleDescription(self.text())
        self._dress()
        self.show()

    def _dress(self) -> None:
        size, colours = QApplication.font().pointSizeF(), theme.current()
        self._title.setStyleSheet(f"font-size: {size * 1.1:.1f}pt; font-weight: 600; color: {colours.text};")
        self._details.setFont(theme.token_font(size * 0.95))
        self._details.setStyleSheet(f"color: {colours.muted}; background: transparent;")
        side = max(SIGN, round(QFontMetricsF(theme.text_font(bold=True)).height()) + 4)
        self._sign.setFixedSize(side, side)
        self._sign.setStyleSheet(
            f"background: {getattr(colours, COLOURS[self._kind])}; color: {colours.window};"
            f" border-radius: {side // 2}px; font-weight: 700;"
        )

    def _arrange(self) -> None:
        self._sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._sign.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        head = QHBoxLayout()
        head.setSpacing(theme.SPACE + 4)
        head.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self._title, 1)
        head.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self._dismiss, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.SPACE + 4,) * 4)
        layout.addLayout(head)
        layout.addWidget(self._scroll)

    def _close(self) -> None:
        self.hide()
        self.dismissed.emit()


class ProgressNotice(QFrame):
    """What is going on, how far it is, and a way out; hidden until told."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", True)
        self._label = _text_label(self)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress"))
        self._cancel = QPushButton(self.tr("Cancel"), self)
        self._cancel.clicked.connect(self._ask)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.SPACE + 4,) * 4)
        layout.addWidget(self._label)
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE + 4)
        row.addWidget(self._bar, 1)
        row.addWidget(self._cancel)
        layout.addLayout(row)
        self._bar.setFixedHeight(BAR)
        self._dress()
        self.hide()

    def set_progress(self, text: str, fraction: float | None) -> None:
        """Show what is going on and how far it is, in [0, 1]; None: nobody knows."""
        if self.isHidden():
            self._renew()
        self._label.setText(text)
        if fraction is None:
            self._bar.setRange(0, 0)
        else:
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * max(0.0, min(1.0, fraction))))
        self.setAccessibleName(text)
        self.show()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme."""
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_cancel"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        colours, radius = theme.current(), BAR // 2
        self._bar.setStyleSheet(
            f"QProgressBar {{ background: {colours.raised}; border: none; border-radius: {radius}px; }}"
            f"QProgressBar::chunk {{ background: {colours.accent}; border-radius: {radius}px; }}"
        )

    def _renew(self) -> None:
        self._cancel.setEnabled(True)
        self._cancel.setText(self.tr("Cancel"))

    def _ask(self) -> None:
        self._cancel.setEnabled(False)
        self._cancel.setText(self.tr("Cancelling…"))
        self.cancelled.emit()


def _text_label(parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _scroller(label: QLabel, parent: QWidget) -> QScrollArea:
    area = QScrollArea(parent)
    area.setWidget(label)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setMaximumHeight(DETAILS_HEIGHT)
    for surface in (area, area.viewport(), label):
        surface.setAutoFillBackground(False)
    label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
    return area
