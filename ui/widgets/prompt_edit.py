"""The field a prompt is typed in: gives back exactly the characters that were put in, also of very long texts.

Knows: what Qt changes in a text (no-break spaces, line separators), and that it takes seconds to lay out a million
characters. Does not know: tokens.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

LONGEST = 50_000  # characters that can be edited; of longer texts both ends are shown
END = 2_000  # characters of each end
PARAGRAPH = "\u2029"  # Qt's line end


class PromptEdit(QPlainTextEdit):
    """A text field whose `text` is what was typed, pasted or set, to the character."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._given: str | None = None  # the text as it was set, until it is edited
        self._setting = False
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._edited)

    @property
    def text(self) -> str:
        """Return the prompt, line ends and trailing blanks included."""
        if self._given is not None:
            return self._given
        return self.document().toRawText().replace(PARAGRAPH, "\n")  # toPlainText turns no-break spaces into blanks

    @property
    def held(self) -> bool:
        """Return whether the text is too long to be edited."""
        return self.isReadOnly()

    def set_text(self, text: str) -> None:
        """Show another text; undo brings the old one back where both can be edited."""
        whole = len(text) <= LONGEST
        between = self.tr("… {n} characters between …").format(n=f"{len(text) - 2 * END:,}")
        shown = text if whole else f"{text[:END]}\n\n{between}\n\n{text[-END:]}"
        self._setting = True
        self.selectAll()
        self.textCursor().insertText(shown)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self._setting = False
        self._given = text
        self.setReadOnly(not whole)
        self.changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Shift+Return end a line as Return does, instead of inserting a line separator."""
        if event.matches(QKeySequence.StandardKey.InsertLineSeparator) and not self.held:
            self.insertPlainText("\n")
        else:
            super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste; a very long text takes the place of everything."""
        if len(source.text()) > LONGEST:
            self.set_text(source.text())
        else:
            super().insertFromMimeData(source)

    def _edited(self) -> None:
        if not self._setting:
            self._given = None
            self.changed.emit()
