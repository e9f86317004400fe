"""How a prompt is read: its tokens one by one, their number beside the context's, the special ones, and what is wrong.

Knows: a `Reading`. Does not know: how it came about.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from simulator.text.encoding import Reading
from ui import theme
from ui.widgets.prompt_strip import PromptStrip
from ui.widgets.token_text import safe


class PromptTokens(QWidget):
    """A line of figures, a line for what is wrong, and the tokens."""

    keep_asked = Signal()  # keep only the last tokens

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._figures, self._trouble = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self._figures.setToolTip(
            self.tr(
                "Tokens of the prompt as the target reads it, beginning-of-text token and chat template included, and "
                "the special tokens among them."
            )
        )
        self._keep = QPushButton()
        self._keep.setToolTip(self.tr("Cut the beginning of the text, so that the prompt fits and tokens can follow."))
        self._keep.clicked.connect(self.keep_asked)
        self._strip = PromptStrip()
        panel = QFrame()
        panel.setProperty("panel", True)
        inside = QVBoxLayout(panel)
        inside.setContentsMargins(*(theme.SPACE // 2,) * 4)
        inside.addWidget(self._strip)
        trouble = QHBoxLayout()
        trouble.addWidget(self._trouble, 1)
        trouble.addWidget(self._keep)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        layout.addWidget(self._figures)
        layout.addLayout(trouble)
        layout.addWidget(panel, 1)
        self._say("", "")
        self._keep.hide()

    @property
    def trouble(self) -> str:
        """Return what is wrong, or worth a warning, "" if nothing."""
        return self._trouble.text()

    @property
    def figures(self) -> str:
        """Return the line of figures."""
        return self._figures.text()

    def wait(self) -> None:
        """Show that the figures are of an older text."""
        if not self._figures.text().endswith("…"):
            self._figures.setText((self._figures.text() + " …").strip())

    def show_note(self, sentence: str) -> None:
        """Show a sentence in place of figures."""
        self._figures.setText(sentence)

    def show_problem(self, sentence: str) -> None:
        """Show what went wrong."""
        self._say("excess", f"✗  {sentence}")
        self._keep.hide()

    def show_reading(self, reading: Reading, longest: int | None) -> None:
        """Show how a prompt is read by a target that reads at most `longest` tokens (None: any number)."""
        count = self.tr("{n} tokens").format(n=f"{reading.count:,}") if reading.count != 1 else self.tr("1 token")
        if longest is not None:
            count = self.tr("{count} of {longest} that the target can read").format(count=count, longest=f"{longest:,}")
        special = ", ".join(f"{safe(label)} × {n}" if n > 1 else safe(label) for label, n in reading.special)
        tail = self.tr("special tokens: {which}").format(which=special or self.tr("none"))
        self._figures.setText(f"{count}   ·   {tail}" if reading.count else "")
        self._strip.set_tokens(reading.head, reading.tail, reading.count)
        if reading.problem:
            self.show_problem(reading.problem)
        else:
            self._say("extra", f"!  {reading.warning}" if reading.warning else "")
        self._keep.setVisible(reading.keep is not None)
        if reading.keep is not None:
            self._keep.setText(self.tr("Keep the last {n} tokens").format(n=f"{reading.keep:,}"))

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or text size."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_strip"):
            self._say(self._colour, self._trouble.text())
        super().changeEvent(event)

    def _say(self, colour: str, sentence: str) -> None:
        self._colour = colour
        theme.set_face(self._trouble, colour=colour)
        self._trouble.setText(sentence)
        self._trouble.setVisible(bool(sentence))
