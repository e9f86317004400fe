"""The prompt: a text to type, open or choose, in the model's chat template or not, shown as the tokens it is read as.

Knows: what can be asked for and what was found. Does not know: how a prompt is read (see `ui.prompt_reader`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from simulator.errors import UserError
from simulator.loading import Pair
from simulator.text.encoding import Reading, in_chat
from simulator.text.prompts import Prompt, as_prompt, presets, read_prompt
from ui import theme
from ui.prompt_reader import PromptReader
from ui.widgets.arranging import open_wide
from ui.widgets.prompt_edit import PromptEdit
from ui.widgets.prompt_tokens import PromptTokens

SIZE = (860, 660)  # px
SYSTEM_LINES = 2.6


class PromptDialog(QDialog):
    """Edits one prompt for one pair; OK is disabled where no run could begin with it."""

    def __init__(
        self, prompt: Prompt | str, pair: Pair | None = None, new_tokens: int = 96, recent: Sequence[Prompt] = (),
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._given = prompt = as_prompt(prompt)
        self._pair = pair
        self._reader = PromptReader(pair, new_tokens, self) if pair is not None else None
        self._reading: Reading | None = None
        self.setWindowTitle(self.tr("Prompt"))
        self._choices = self._all_choices(recent)
        self._build()
        self._connect()
        self._show(prompt)
        open_wide(self, *SIZE)

    @property
    def prompt(self) -> Prompt:
        """Return what is asked for, as it stands."""
        on = self._chat.isChecked()
        chat = self._given.chat if on == self._in_chat(self._given) else on  # a default stays one
        return Prompt(self._edit.text, self._system.text if on else "", chat, self._special.isChecked())

    def done(self, result: int) -> None:
        """Close, and ask for nothing more."""
        if self._reader is not None:
            self._reader.close()
        super().done(result)

    # --- building ---

    def _build(self) -> None:
        self._head, self._reason = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self._presets = QComboBox()
        self._presets.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._presets.setMinimumContentsLength(24)
        self._presets.addItem(self.tr("Choose a prompt …"))
        for title, prompt in self._choices:
            self._presets.addItem(title)
            self._presets.setItemData(self._presets.count() - 1, prompt.text[:1000], Qt.ItemDataRole.ToolTipRole)
        self._open = QPushButton(self.tr("Open file …"), autoDefault=False)
        self._open.setToolTip(self.tr("The whole of a UTF-8 text file becomes the prompt."))
        self._clear = QPushButton(self.tr("Empty"), autoDefault=False)
        self._clear.setToolTip(self.tr("Put this text away, which is too long to be edited here, and type another."))
        self._chat, self._special = (QPushButton(checkable=True, autoDefault=False) for _ in range(2))
        self._chat.setToolTip(
            self.tr(
                "On: the prompt stands as a user's turn in the template that the model was trained with, and the model "
                "answers. Off: the model goes on from the text itself."
            )
        )
        self._special.setToolTip(
            self.tr(
                "What typed characters are that spell a special token, such as the end of the text: ordinary text, or "
                "that token. In a chat they are always text, so that nothing typed can end the turn."
            )
        )
        self._system, self._edit = PromptEdit(), PromptEdit()
        self._system.setPlaceholderText(self.tr("System prompt: an instruction ahead of the conversation (optional)"))
        self._edit.setPlaceholderText(self.tr("Type a prompt, open a file or choose one above."))
        self._system.setAccessibleName(self.tr("System prompt"))
        self._edit.setAccessibleName(self.tr("Prompt"))
        self._tokens = PromptTokens()
        self._buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self._reason.setProperty("muted", True)
        self._system.setFixedHeight(round(self._system.fontMetrics().lineSpacing() * SYSTEM_LINES) + 2 * theme.SPACE)
        for field in (self._system, self._edit):
            field.setFrameShape(QFrame.Shape.StyledPanel)
        self._arrange()

    def _arrange(self) -> None:
        first, second = QHBoxLayout(), QHBoxLayout()
        for widget, stretch in ((self._presets, 1), (self._open, 0), (self._clear, 0)):
            first.addWidget(widget, stretch)
        second.addWidget(self._chat)
        second.addWidget(self._special)
        second.addWidget(self._reason, 1)
        layout = QVBoxLayout(self)
        layout.setSpacing(theme.SPACE)
        layout.addWidget(self._head)
        layout.addLayout(first)
        layout.addLayout(second)
        layout.addWidget(self._system)
        layout.addWidget(self._edit, 3)
        layout.addWidget(self._tokens, 2)
        layout.addWidget(self._buttons)

    def _connect(self) -> None:
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._presets.activated.connect(self._choose)
        self._open.clicked.connect(self.open_file)
        self._clear.clicked.connect(lambda: self._edit.set_text(""))
        self._chat.toggled.connect(self._changed)
        self._special.toggled.connect(self._changed)
        self._system.changed.connect(self._changed)
        self._edit.changed.connect(self._changed)
        self._tokens.keep_asked.connect(self._keep)
        if self._reader is not None:
            self._reader.found.connect(self._take)
            self._reader.shortened.connect(lambda prompt: self._edit.set_text(prompt.text))
            self._reader.opened.connect(self._edit.set_text)
            self._reader.failed.connect(self._tokens.show_problem)

    def _all_choices(self, recent: Sequence[Prompt]) -> list[tuple[str, Prompt]]:
        """Return what can be chosen: one's own last prompts, then what suits the model."""
        name = self._pair.target.entry.name if self._pair is not None else ""
        has_chat = self._pair is not None and self._pair.chat.problem is None
        own = [(self.tr("Yours: {text}").format(text=" ".join(p.text[:200].split())), p) for p in recent]
        ready = presets(name, has_chat) if self._pair is not None else ()
        return own + [(f"{p.name}: {' '.join(p.text[:200].split())}", Prompt(p.text)) for p in ready]

    # --- what the person does ---

    def open_file(self) -> None:
        """Ask for a text file and make it the prompt."""
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Prompt file"), "", self.tr("Text (*.txt *.md *);;All (*)"))
        if path:
            self.take_file(Path(path))

    def take_file(self, path: Path) -> None:
        """Make the whole file the prompt, or say why it cannot be."""
        if self._reader is not None:
            self._reader.open(path)
            return
        try:
            self._edit.set_text(read_prompt(path))
        except UserError as error:
            self._tokens.show_problem(str(error))

    def _choose(self, index: int) -> None:
        if index:
            self._show(self._choices[index - 1][1])

    def _keep(self) -> None:
        if self._reader is not None and self._reading is not None and self._reading.keep is not None:
            self._reader.shorten(self._reading.prompt, self._reading.keep)

    # --- what is shown ---

    def _in_chat(self, prompt: Prompt) -> bool:
        return self._pair is not None and self._pair.chat.problem is None and in_chat(prompt, self._pair.chat)

    def _show(self, prompt: Prompt) -> None:
        """Show a prompt with its settings."""
        self._chat.setChecked(self._in_chat(prompt))
        self._special.setChecked(prompt.special)
        self._system.set_text(prompt.system)
        self._edit.set_text(prompt.text)

    def _changed(self) -> None:
        """Follow a change of any part: what goes with what, and how it is read now."""
        on, chat = self._chat.isChecked(), self._pair.chat if self._pair is not None else None
        self._chat.setEnabled(chat is not None and chat.problem is None)
        self._special.setEnabled(not on)
        counts = self._special.isChecked() and not on
        self._chat.setText(self.tr("Chat template: on") if on else self.tr("Chat template: off"))
        self._special.setText(
            self.tr("Typed special tokens: tokens") if counts else self.tr("Typed special tokens: text")
        )
        self._system.setVisible(on)
        refused = chat.system_problem if chat is not None else None
        self._system.setEnabled(refused is None)
        self._clear.setVisible(self._edit.held)
        self._head.setText(
            self.tr("The model answers this prompt, which stands in its chat template as the tokens below.")
            if on
            else self.tr("The models go on from exactly this text, read as the tokens below.")
        )
        self._reason.setText(self._why(on))
        if self._reader is None:
            self._tokens.show_note(self.tr("No models are loaded yet, so the tokens are not known."))
        else:
            self._tokens.wait()
            self._reader.read(self.prompt)

    def _why(self, on: bool) -> str:
        """Return what is worth knowing beside the switch."""
        if self._pair is None:
            return ""
        chat = self._pair.chat
        if chat.problem is not None:
            return chat.problem
        if on:
            return chat.system_problem or ""
        return self.tr("{model} has a chat template. It is off: the text is read as it stands.").format(
            model=self._pair.target.entry.name
        )

    def _take(self, reading: Reading) -> None:
        self._reading = reading
        longest = self._pair.target.model.max_length if self._pair is not None else None
        self._tokens.show_reading(reading, longest)
        self._buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(reading.problem is None)
