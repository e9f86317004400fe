"""Where an engine's counters are pasted: a text, what was understood of it, and why not if not.

Knows: the text and its reading. Does not know: the layouts (`simulator.acceptance.counters`).
"""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from simulator.acceptance.body import Acceptance
from simulator.acceptance.jobs import counters_job
from ui import theme
from ui.asker import Asker

PAUSE_MS = 250  # read when typing pauses
LINES = 14
CLOSE_S = 2.0  # how long closing waits for a text to be read


class PasteDialog(QDialog):
    """Reads what is pasted; *OK* once it holds counters."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Paste an engine's counters"))
        self.found: Acceptance | None = None
        about = QLabel(
            self.tr(
                "vLLM: the /metrics page, an answer's metrics, or the log line 'SpecDecoding metrics'. SGLang: "
                "meta_info or the log line. llama.cpp: timings or the line 'draft acceptance'. LM Studio: stats. Or "
                "your own counts, such as: histogram: [39, 1, 0, 3]"
            ),
            wordWrap=True,
        )
        self.text = QPlainTextEdit()
        self.text.setAccessibleName(self.tr("Counters"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        theme.set_face(self.text, fixed_width=True)
        self.text.setMinimumHeight(round(LINES * QFontMetricsF(theme.token_font()).height()))
        self.said = QLabel(wordWrap=True)
        self.said.setMinimumHeight(round(3 * QFontMetricsF(theme.text_font()).height()))
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (about, self.text, self.said, self.buttons):
            layout.addWidget(widget)
        self.resize(760, self.sizeHint().height())
        self._timer = QTimer(self, interval=PAUSE_MS, singleShot=True)
        self._timer.timeout.connect(self.read)
        self._asker = Asker(self)
        self._asker.answered.connect(self._answered)
        self._asker.ended.connect(self._ended)
        self.text.textChanged.connect(self._changed)
        self._say(None, "", "muted")
        self.read()

    def read(self) -> None:
        """Have the text read as it stands, on another thread: a large one takes a second."""
        self._timer.stop()
        self._asker.ask(counters_job(self.text.toPlainText()))

    def done(self, result: int) -> None:
        """Close, and end the thread that reads."""
        self._timer.stop()
        self._asker.close(CLOSE_S)
        super().done(result)

    def _changed(self) -> None:
        """Forget what was understood of another text."""
        self._say(None, self.tr("Reading ..."), "muted")
        self._timer.start()

    def _answered(self, answers: list[object]) -> None:
        for answer in answers:
            if isinstance(answer, Acceptance):
                self._say(answer, self._understood(answer), "text")

    def _ended(self, error: str, _details: str) -> None:
        if error:
            self._say(None, error, "excess" if self.text.document().characterCount() > 1 else "muted")

    def _say(self, found: Acceptance | None, said: str, colour: str) -> None:
        self.found = found
        self.said.setText(said)
        theme.set_face(self.said, colour=colour)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(found is not None)

    def _understood(self, a: Acceptance) -> str:
        known = [
            f"{name} {int(value):,}"
            for name in ("rounds", "drafted", "tested", "accepted", "emitted")
            if (value := a.figures.get(name)) is not None
        ]
        return (
            self.tr("✓ {source}: {known}.").format(
                source=a.source, known=", ".join(known) or self.tr("printed averages only")
            )
            + " "
            + a.notes[-1]
        )
