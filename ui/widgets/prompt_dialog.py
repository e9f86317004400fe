"""The prompt: a text to type or choose from, shown as it will be read."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from simulator.prompts import PRESETS


class PromptDialog(QDialog):
    """Edits one prompt; OK is disabled while it is empty and the model has no beginning-of-text token."""

    def __init__(self, text: str, empty_allowed: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._empty_allowed = empty_allowed
        self.setWindowTitle(self.tr("Prompt"))
        self.setMinimumSize(520, 300)
        presets = QComboBox()
        presets.addItem(self.tr("Choose an opening ..."))
        presets.addItems([" ".join(p.split()) for p in PRESETS])
        presets.activated.connect(lambda i: i and self._edit.setPlainText(PRESETS[i - 1]))
        self._edit = QPlainTextEdit(text)
        self._hint = QLabel()
        self._buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (presets, self._edit, self._hint, self._buttons):
            layout.addWidget(widget)
        self._edit.textChanged.connect(self._check)
        self._check()

    @property
    def text(self) -> str:
        """Return the prompt as typed, line ends and trailing blanks included."""
        return self._edit.toPlainText()

    def _check(self) -> None:
        empty = not self.text
        ok = self._buttons.button(QDialogButtonBox.StandardButton.Ok)
        ok.setEnabled(not empty or self._empty_allowed)
        if empty and self._empty_allowed:
            self._hint.setText(self.tr("Empty: the text starts from the model's beginning-of-text token alone."))
        elif empty:
            self._hint.setText(self.tr("Type at least one character: this model has no beginning-of-text token."))
        else:
            self._hint.setText(self.tr("The run goes on from exactly this text, trailing blanks included."))
