"""The window's first line: its name, the pair and the prompt, each a button that leads to another.

Knows: how a pair and a prompt are said in a line. Does not know: what a click does.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from simulator.loading import Pair
from simulator.text.encoding import in_chat
from simulator.text.prompts import Prompt
from ui import theme
from ui.widgets.elided_button import ElidedButton

BRAND = 1.33  # times the text


class TopLine(QWidget):
    """The brand and two buttons, `pair` and `prompt`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._brand = QLabel("SpecScope")
        self.pair = ElidedButton(self.tr("The target p and the draft q. Click to open another pair."))
        self.pair.setText(self.tr("Open a pair …"))
        self.prompt = ElidedButton(self.tr("The prompt. Click to change it."))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.SPACE)
        row.addWidget(self._brand)
        row.addSpacing(theme.SPACE)
        row.addWidget(self.pair)
        row.addWidget(self.prompt)
        row.addStretch(1)
        self._dress()

    def show_pair(self, pair: Pair) -> None:
        """Name the models, and where the target runs."""
        draft, t = pair.draft.entry.name if pair.draft else self.tr("no draft model"), pair.target
        self.pair.setText(f"{t.entry.name}  ←  {draft}   ·   {t.device} {t.dtype}")

    def show_prompt(self, prompt: Prompt, pair: Pair | None) -> None:
        """Show how the prompt begins."""
        text = " ".join(prompt.text[:400].split())
        shown = text if len(text) < 40 else text[:38] + "…"
        said = self.tr("Prompt: {text}").format(text=shown or self.tr("(empty)"))
        self.prompt.setText(self._chat_state(prompt, pair) + said)

    def _chat_state(self, prompt: Prompt, pair: Pair | None) -> str:
        """Return whether the prompt stands in a chat template, for models that have one."""
        if pair is None or pair.chat.problem is not None:
            return ""
        if not in_chat(prompt, pair.chat):
            return self.tr("Chat off · ")
        return self.tr("Chat, system prompt · ") if prompt.system else self.tr("Chat · ")

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_brand"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        theme.set_face(self._brand, BRAND, bold=True)
