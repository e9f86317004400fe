"""Finished runs and grids of runs: a table of what each k gave beside what theory says, and two runs side by side.

Knows how its parts are laid out and when each is told anew. The runs are at `ui.runs_desk`, the rows in
`ui.runs_model`, the words in `ui.runs_words`.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QFileDialog, QLabel, QSplitter, QVBoxLayout, QWidget

from simulator.errors import UserError
from simulator.grids.brief import Brief
from ui import runs_words, theme
from ui.runs_desk import RunsDesk
from ui.runs_model import RunsModel
from ui.session import Session
from ui.widgets.arranging import filling, panel
from ui.widgets.compare_panel import ComparePanel
from ui.widgets.grid_dialog import SUFFIX, GridDialog
from ui.widgets.runs_bar import RunsBar
from ui.widgets.runs_table import RunsTable

REFRESH_MS = 250  # figures change at most four times a second
CHUNK, CHUNK_MS = 40, 16  # runs taken into the table at once, some milliseconds of work, and how often
LEAST = 320  # px of table and texts at the usual size of the text; with less the page scrolls


class RunsPage(QWidget):
    """The table above, two texts below."""

    title = "Runs"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._waiting: deque[Brief] = deque()
        self.desk, self.model = RunsDesk(session, self), RunsModel(self)
        self.bar, self.table, self.compare = RunsBar(), RunsTable(self.model), ComparePanel()
        self._build()
        self._dress()
        self._chunks = QTimer(self, interval=CHUNK_MS)
        self._chunks.timeout.connect(self._take_chunk)
        self._refresh_timer = QTimer(self, interval=REFRESH_MS, singleShot=True)
        self._refresh_timer.timeout.connect(self.refresh)
        self._connect()
        self.refresh()
        self._show_desk()
        if self.desk.runs:
            self._take_runs(self.desk.runs)

    @property
    def busy(self) -> bool:
        """Return whether runs are on their way into the table, or its figures are not up to date."""
        return bool(self._waiting) or self._refresh_timer.isActive() or self.desk.counting

    # --- what the person does ---

    def dialog(self) -> GridDialog:
        """Return the form for a grid, filled with what the toolbar says."""
        s = self._session
        with_draft = s.pair.draft is not None
        return GridDialog(self.desk.prompts(), s.config, with_draft, self.desk.speeds(), _free_path(), self)

    def choose(self, *runs: Brief) -> None:
        """Choose these runs in the table, with their rows open."""
        self.table.choose(runs)

    def shutdown(self) -> bool:
        """Stop, and wait for the thread that reads and writes; return whether it ended in time."""
        for timer in (self._chunks, self._refresh_timer, self.table):
            timer.stop()
        return self.desk.close()

    def _ask_grid(self) -> None:
        dialog = self.dialog()
        try:
            if dialog.exec():
                self.desk.start(dialog.grid, dialog.file)
        finally:
            dialog.deleteLater()

    def _ask_open(self) -> None:
        kinds = self.tr("Grids (*{suffix})").format(suffix=SUFFIX)
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Open grid"), "", kinds)
        if path:
            self._try(lambda: self.desk.open(Path(path)))

    def _ask_export(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Export table"), "runs.csv", self.tr("CSV (*.csv)"))
        if path:
            self._try(lambda: self.desk.export(Path(path), self.bar.by.currentData()))

    def _try(self, action) -> None:
        try:
            action()
        except UserError as error:
            self._session.problem.emit(str(error), "")

    # --- showing ---

    def refresh(self) -> None:
        """Bring figures and sentences up to date."""
        self.model.refresh()
        self.table.refresh()
        self._head.setText(runs_words.headline(self.model, self._session.pair is not None))
        shared = runs_words.common(self.model)
        self._shared.setText(self.tr("All rows: {s}").format(s=shared))
        self._shared.setVisible(bool(shared))

    def _take_runs(self, runs: list[Brief]) -> None:
        self._waiting.extend(runs)
        self._chunks.start()

    def _take_chunk(self) -> None:
        self.model.add(self._waiting.popleft() for _ in range(min(CHUNK, len(self._waiting))))
        if not self._waiting:
            self._chunks.stop()
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    def regroup(self, by: str) -> None:
        """Keep rows apart by prompt or seed if `by` says so."""
        self.model.clear(by)
        self.compare.set_runs(())
        self._waiting = deque(self.desk.runs)
        self._chunks.start()

    def _show_desk(self) -> None:
        if not self.desk.runs:
            self.refresh()  # what the head line asks for depends on the pair
        d, progress = self.desk, ""
        if d.going is not None:
            text = self.tr("{file}: {n} of {all} runs finished")
            progress = text.format(file=d.going.path.name, n=f"{d.going.done:,}", all=f"{d.going.wanted:,}")
        self.bar.set_state(free=d.free, running=d.running, left=d.left, any_runs=bool(d.runs), progress=progress)

    def _show_note(self, sentence: str) -> None:
        self._note.setText(sentence)
        self._note.setVisible(bool(sentence))

    # --- building ---

    def _build(self) -> None:
        question = self.tr("What did each k give, beside what theory says? Every finished run counts; grids make many.")
        about = QLabel(question, wordWrap=True)
        self._head, self._shared, self._note = (QLabel(wordWrap=True) for _ in range(3))
        for label in (about, self._shared, self._note):
            label.setProperty("muted", True)
        self._note.hide()
        splitter = QSplitter(Qt.Orientation.Vertical)
        for part in (self.table, self.compare):
            splitter.addWidget(panel(part))
        splitter.setSizes([300, 180])
        splitter.setStretchFactor(0, 1)
        splitter.setChildrenCollapsible(False)
        filling(splitter, LEAST)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        for part in (about, self._head, self.bar, self._shared, self._note):
            layout.addWidget(part)
        layout.addWidget(splitter, 1)

    def _connect(self) -> None:
        self.desk.added.connect(self._take_runs)
        self.desk.changed.connect(self._show_desk)
        self.desk.noted.connect(self._show_note)
        self.bar.new.connect(self._ask_grid)
        self.bar.go.connect(lambda: self.desk.pause() if self.desk.running else self.desk.resume())
        self.bar.open.connect(self._ask_open)
        self.bar.export.connect(self._ask_export)
        self.bar.by_changed.connect(self.regroup)
        self.table.runs_chosen.connect(self.compare.set_runs)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_chunks"):
            self._dress()

    def _dress(self) -> None:
        theme.set_face(self._head, theme.HEADLINE, bold=True)


def _free_path() -> Path:
    """Return a name in this folder that no file has."""
    paths = (Path(f"grid{n or ''}{SUFFIX}").absolute() for n in range(10_000))
    return next(path for path in paths if not path.exists())
