"""Predict first: a question before the result is shown; a prediction one has made is remembered.

Knows: one question with its answers. Does not know: which is right (the page explains it on the bars).
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from ui import theme


class PredictPanel(QWidget):
    """Asks where a replacement must be drawn from: from p, or from the residual."""

    answered = Signal(str)  # "p", "residual" or "" (skipped)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = QLabel(self.tr("Predict first"))
        question = QLabel(self.tr(
            "The draft proposed a token and the ratio test refused it. From which distribution must the replacement be "
            "drawn, so that in the end every token comes out exactly as often as p says?"
        ), wordWrap=True)  # fmt: skip
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        layout.addWidget(self._title)
        layout.addWidget(question)
        self.buttons = {
            "p": self._button(self.tr("From p itself")),
            "residual": self._button(self.tr("From the residual: the blue alone")),
            "": self._button(self.tr("Skip")),
        }
        for button in self.buttons.values():
            layout.addWidget(button)
        hint = QLabel(
            self.tr("Your answer chooses the rule, so that you can test it with a million draws."), wordWrap=True
        )
        hint.setProperty("muted", True)
        layout.addWidget(hint)
        layout.addStretch(1)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "buttons"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        theme.set_face(self._title, theme.HEADLINE, bold=True)

    def _button(self, text: str) -> QPushButton:
        button = QPushButton(text)
        button.clicked.connect(lambda _=False, b=button: self._answer(b))
        return button

    def _answer(self, button: QPushButton) -> None:
        self.answered.emit(next(name for name, other in self.buttons.items() if other is button))
