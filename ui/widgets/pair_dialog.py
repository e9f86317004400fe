"""Choose a target and a draft from what is on this computer, where each runs, and as what numbers.

Knows: what is chosen, and whether that can be opened. Does not know how anything is read: that is asked on a thread
of its own, answers to earlier questions are dropped, and closing waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET, Entry
from simulator.text.glyphs import one_line
from ui import theme
from ui.asker import Asker
from ui.pair_choice import Choice, place_of, with_recent
from ui.pair_survey import Survey
from ui.pair_words import draft_verdict, memory_words, pair_sentence, shortage, target_verdict
from ui.widgets.add_model import AddModelButton
from ui.widgets.arranging import column, open_wide
from ui.widgets.doctor_page import DoctorPage
from ui.widgets.download_page import DownloadPage
from ui.widgets.model_picker import ModelPicker
from ui.widgets.model_rows import Row, Verdict
from ui.widgets.pair_strip import PairStrip

CLOSE_S = 2.0  # how long a dialog with threads of its own waits for them


class PairDialog(QDialog):
    """Two tables, a page that compares the chosen vocabularies, a page that downloads."""

    def __init__(self, target: str = DEFAULT_TARGET, draft: str | None = DEFAULT_DRAFT, parent: QWidget | None = None,
                 *, recent: Sequence[str] = (), askers: tuple[Asker, Asker] | None = None) -> None:  # fmt: skip
        super().__init__(parent)
        self.setWindowTitle(self.tr("Open pair"))
        self._askers, self._own = askers or (Asker(self), Asker(self)), askers is None
        self._start = place_of(target), place_of(draft) if draft else None
        self.recent = with_recent(self._start, recent)
        self.survey = Survey(self._askers[0], self)
        self.target = ModelPicker(self.tr("Target p"))
        self.draft = ModelPicker(self.tr("Draft q"), follows=self.tr("like the target"))
        self.doctor, self.hub, self.strip = DoctorPage(), DownloadPage(self._askers[1]), PairStrip()
        self.pages, self._tabs = QStackedWidget(), QButtonGroup(self)
        self.open_button, self._cancel = QPushButton(self.tr("Open")), QPushButton(self.tr("Cancel"))
        self._add = AddModelButton()
        self._arrange()
        self._connect()
        self.target.choose(self._start[0])
        self.draft.choose(self._start[1])
        self._show()
        open_wide(self, 1220, 740)

    @property
    def choice(self) -> Choice:
        """Return what is chosen; what was there at the beginning until the models are found."""
        if self.survey.entries is None:
            return Choice(str(self._start[0]), str(self._start[1]) if self._start[1] else None)
        target, draft = self.target.entry, self.draft.entry
        options: dict[str, Any] = {"device": self.target.device, "dtype": self.target.dtype}
        if draft is not None:
            own = {"draft_device": self.draft.device, "draft_dtype": self.draft.dtype}
            options |= {name: value for name, value in own.items() if value}
            found = self.survey.fit(target, draft)
            if found is not None and found.needs_consent:
                options["accept_differing"] = self.strip.may_go_on
        places = str(target.path) if target else "", str(draft.path) if draft else None
        return Choice(*places, options, self.strip.sampling)

    @property
    def remembered(self) -> list[str]:
        """Return the places to offer next time, the ones chosen now first."""
        return with_recent((self.choice.target, self.choice.draft), self.recent)

    def showEvent(self, event: QShowEvent) -> None:
        """Look for models as soon as there is someone to see them."""
        super().showEvent(event)
        if self.survey.entries is None:
            self.survey.look(self.recent)
            self.target.view.setFocus()

    def done(self, result: int) -> None:
        """Stop asking; answers that still come are nobody's."""
        for asker in self._askers:
            asker.close(CLOSE_S) if self._own else asker.drop()
        super().done(result)

    # --- what is shown ---

    def _show(self) -> None:
        """Show what the survey knows by now, and have it find out what the choice asks for."""
        for picker in (self.target, self.draft):
            if self.survey.free:
                picker.set_devices(("auto", *self.survey.free))
        looking, nothing = self.tr("Looking for models on this computer …"), self._problem()
        self.target.set_empty(looking if self.survey.entries is None else nothing)
        self.draft.set_empty(looking)
        self.target.set_rows(self._rows(self.target, target_verdict))
        self._show_drafts()

    def _show_drafts(self) -> None:
        target, survey = self.target.entry, self.survey
        none = Verdict(self.tr("n-gram lookup, no second model"), rank=(-1.0,))
        rows = [] if survey.entries is None else [Row(self.tr("no draft model"), None, None, none)]

        def verdict(entry: Entry, needed: int | None, free: int | None) -> Verdict:
            return draft_verdict(entry, target, survey.fit(target, entry), needed, free)

        self.draft.set_rows(rows + self._rows(self.draft, verdict))
        survey.compare(target, self.draft.entry)
        self._show_choice()

    def _rows(self, picker: ModelPicker, judge: Callable[[Entry, int | None, int | None], Verdict]) -> list[Row]:
        device, dtype = self._place(picker)
        free, rows = self.survey.free.get(device), []
        for entry in self.survey.entries or ():
            needed = self.survey.needed(entry, dtype)
            rows.append(Row(entry.name, entry, needed, judge(entry, needed, free)))
        return rows

    def _place(self, picker: ModelPicker) -> tuple[str, str]:
        """Return the device and the dtype that come of what is chosen."""
        return self.survey.place(picker.device or self.target.device, picker.dtype or self.target.dtype)

    def _show_choice(self) -> None:
        """Say what the chosen pair is, and allow Open where nothing speaks against it."""
        target, draft = self.target.entry, self.draft.entry
        found, problem = self.survey.fit(target, draft), self._problem()
        self.doctor.show_pair(target, draft, found)
        suggestion = self.survey.suggestion(target)
        self.strip.show_pair(self._sentence(target, draft), problem or self.survey.problem, found, suggestion)
        self.open_button.setEnabled(not problem and self.strip.may_go_on)

    def _sentence(self, target: Entry | None, draft: Entry | None) -> str:
        if self.survey.entries is None:
            return "  ←  ".join(one_line(p.name) if p else self.tr("no draft model") for p in self._start)
        if target is None:
            return ""
        memory = memory_words(self._parts(), self.survey.free)
        return pair_sentence(target, draft, self.survey.fit(target, draft), memory, self.survey.left)

    def _parts(self) -> dict[str, int | None]:
        """Return the bytes that the pair needs, by device; None where nobody can say."""
        parts: dict[str, int | None] = {}
        for picker in (self.target, self.draft):
            if picker.entry is not None and not picker.entry.problem:
                where, dtype = self._place(picker)
                needed, before = self.survey.needed(picker.entry, dtype), parts.get(where, 0)
                parts[where] = None if needed is None or before is None else before + needed
        return parts

    def _problem(self) -> str:
        """Return why this pair cannot be opened, "" where it can."""
        if self.survey.entries is None:
            return ""
        if not self.survey.entries:
            return self.tr("There is no model on this computer: add a folder or a GGUF file, or download one.")
        if self.target.row is None:
            return self.tr("No target is chosen: no model of the upper table has these words.")
        if self.draft.row is None:
            return self.tr("No draft is chosen: no row of the lower table has these words.")
        rows = (row for row in (self.target.row, self.draft.row) if not row.verdict.usable)
        alone = next((row.verdict.sentence for row in rows), "")
        free, pair = self.survey.free, self.tr("The pair")
        return alone or next(filter(None, (shortage(pair, n, free.get(at)) for at, n in self._parts().items())), "")

    # --- what the person does ---

    def take(self, role: str, path: str) -> None:
        """Choose a folder or file as "target" or "draft", wherever it is."""
        self.recent = with_recent([path], self.recent)
        picker = self.target if role == "target" else self.draft
        picker.filter.clear()
        picker.choose(Path(path))
        self.pages.setCurrentIndex(0)
        picker.view.setFocus()
        self.survey.look(self.recent)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Esc clear a filter before it closes the dialog."""
        focus = self.focusWidget() or self
        picker = next((p for p in (self.target, self.draft) if p.isAncestorOf(focus)), None)
        if event.key() == Qt.Key.Key_Escape and picker is not None and picker.filter.text():
            picker.filter.clear()
        else:
            super().keyPressEvent(event)

    # --- building ---

    def _connect(self) -> None:
        self.survey.changed.connect(self._show)
        self.survey.compared.connect(self._show_drafts)
        self.target.chosen.connect(self._show_drafts)
        self.draft.chosen.connect(self._show_choice)
        for picker in (self.target, self.draft):
            picker.placed.connect(self._show)
            picker.view.doubleClicked.connect(lambda _: self.open_button.click())
        self.hub.arrived.connect(lambda _: self.survey.look(self.recent))
        self.hub.taken.connect(self.take)
        self._add.chosen.connect(self.take)
        self.strip.agreed.connect(self._show_choice)
        self.open_button.clicked.connect(self.accept)
        self._cancel.clicked.connect(self.reject)

    def _arrange(self) -> None:
        models = column((self.target, 1), (self.draft, 1))
        tabs = QHBoxLayout()
        titles = self.tr("Models"), self.tr("Vocabulary doctor"), self.tr("Download from the hub")
        for i, (page, title) in enumerate(zip((models, self.doctor, self.hub), titles, strict=True)):
            self.pages.addWidget(page)
            self._tabs.addButton(QPushButton(title, checkable=True, checked=i == 0, autoDefault=False), i)
            tabs.addWidget(self._tabs.button(i))
        self._tabs.idClicked.connect(self.pages.setCurrentIndex)
        self.pages.currentChanged.connect(lambda i: self._tabs.button(i).setChecked(True))
        introduction = QLabel(self.tr("The target decides every token, the draft guesses ahead for it."), wordWrap=True)
        introduction.setProperty("muted", True)
        tabs.addSpacing(theme.SPACE)
        tabs.addWidget(introduction, 1)
        layout = QVBoxLayout(self, spacing=theme.SPACE)
        layout.setContentsMargins(*(theme.SPACE + 4,) * 4)
        layout.addLayout(tabs)
        layout.addWidget(self.pages, 1)
        layout.addWidget(self.strip)
        layout.addLayout(self._buttons())

    def _buttons(self) -> QHBoxLayout:
        self.open_button.setDefault(True)
        self.open_button.setProperty("primary", True)
        buttons = QHBoxLayout()
        buttons.addWidget(self._add)
        buttons.addStretch(1)
        buttons.addWidget(self._cancel)
        buttons.addWidget(self.open_button)
        return buttons
