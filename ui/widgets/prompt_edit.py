"""The field a prompt is typed in: gives back exactly the characters that were put in, also of very long texts.

Knows: what Qt changes in a text (no-break spaces, line separators), and that it lays out a whole line, or ten thousand
short ones, at every key. Does not know: tokens.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

LONGEST, LONGEST_LINE, LINES = 20_000, 4_000, 2_000  # characters and lines that can be edited within a frame
END = 1_000  # characters of each end that are shown of a longer text
PARAGRAPH = "\u2029"  # Qt's line end


def editable(text: str) -> bool:
    """Return whether a text can be edited without the window standing still."""
    if len(text) > LONGEST:
        return False
    lines = text.split("\n")
    return len(lines) <= LINES and max(map(len, lines)) <= LONGEST_LINE


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
        whole = editable(text)
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
        """Paste; where the text becomes too long to be edited, it is held from then on."""
        pasted = self._with(source.text())
        if editable(pasted):
            super().insertFromMimeData(source)
        else:
            self.set_text(pasted)

    def _with(self, text: str) -> str:
        """Return what stands here once `text` is in the selection's place; Qt counts in halves of surrogate pairs."""
        cursor, now = self.textCursor(), self.text.encode("utf-16-le", "surrogatepass")
        before, after = now[: 2 * cursor.selectionStart()], now[2 * cursor.selectionEnd() :]
        whole = before + text.encode("utf-16-le", "surrogatepass") + after
        return whole.decode("utf-16-le", "surrogatepass")

    def _edited(self) -> None:
        if not self._setting:
            self._given = None
            self.changed.emit()
