"""A model from the hub: its name, what would come, the download. The only place that asks the network, on a press.

Knows: the steps (name, offer, download, done) and what each allows. Does not know how the hub is asked.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from simulator.catalog import hub_cache
from simulator.errors import UserError
from simulator.loading import Progress
from simulator.local.hub import Downloaded, Offer, download, look_up, readable, repo_id
from simulator.runner import Job
from ui import theme
from ui.asker import Asker
from ui.widgets.notice import Notice, ProgressNotice

NAMED = 12  # files listed by name


class DownloadPage(QWidget):
    """Looks a model up and downloads it; `take` says that the person wants it as "target" or "draft"."""

    taken = Signal(str, str)  # role, folder
    arrived = Signal(str)  # folder

    def __init__(self, asker: Asker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._asker, self._offer, self._path = asker, None, ""
        t = self.tr
        self._intro = _label(t("Nothing leaves this computer until you press a button here. Look up asks the hub "
                               "what a model consists of; Download fetches safetensors, configuration and tokenizer "
                               "into {folder}, never pickles.").format(folder=hub_cache()), muted=True)  # fmt: skip
        self.name = QLineEdit()
        self.name.setPlaceholderText(t("owner/name, or the address of its page"))
        self.name.setTextMargins(theme.SPACE // 2, 0, theme.SPACE // 2, 0)
        self.name.setAccessibleName(t("Name of a model on the hub"))
        self.look_up, self.download = QPushButton(t("Look up")), QPushButton(t("Download from the hub"))
        self.download.setProperty("primary", True)
        self._as_target, self._as_draft = QPushButton(t("Use as target")), QPushButton(t("Use as draft"))
        self._card, self._facts, self._files = QFrame(), _label(""), _label("", muted=True)
        self.notice, self.progress = Notice(), ProgressNotice()
        self.look_up.clicked.connect(self._ask_what)
        self.download.clicked.connect(self._fetch)
        self.name.textEdited.connect(lambda _: self._forget())
        self._as_target.clicked.connect(lambda: self.taken.emit("target", self._path))
        self._as_draft.clicked.connect(lambda: self.taken.emit("draft", self._path))
        self.progress.cancelled.connect(self.cancel)
        asker.answered.connect(self._take)
        asker.ended.connect(self._end)
        self._arrange()
        self._allow()

    def cancel(self) -> None:
        """Stop what is going on; what has come is kept and gone on with later."""
        downloading = self._offer is not None
        self._asker.drop()
        self.progress.hide()
        if downloading:
            self.notice.show_info(
                self.tr("The download was cancelled. What has come is kept: Download goes on from there.")
            )
        self._allow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Enter in the name look it up instead of opening a pair; Esc cancels what is going on."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.name.hasFocus():
            (self.look_up if self._offer is None else self.download).click()
        elif event.key() == Qt.Key.Key_Escape and self._asker.busy:
            self.cancel()
        else:
            super().keyPressEvent(event)

    def _ask_what(self) -> None:
        self._forget()
        try:
            name = repo_id(self.name.text())
        except UserError as error:
            self.notice.show_error(str(error))
            return
        self._begin(lambda control: look_up(name, control.checkpoint))

    def _fetch(self) -> None:
        offer = self._offer
        self.notice.hide()
        self._begin(lambda control: download(offer, control.checkpoint))

    def _begin(self, job: Job) -> None:
        self.progress.set_progress(self.tr("Starting …"), None)
        self._asker.ask(job)
        self.name.setFocus()  # not to what comes next when the pressed button is greyed
        self._allow()

    def _forget(self) -> None:
        """Go back to the beginning: another name."""
        self._asker.drop()
        self._offer, self._path = None, ""
        self.notice.hide()
        self.progress.hide()
        self._allow()

    def _take(self, answers: list) -> None:
        for answer in answers:
            if isinstance(answer, Progress):
                self.progress.set_progress(answer.text, answer.fraction)
            elif isinstance(answer, Offer):
                self._offer = answer
                self._show_offer(answer)
            elif isinstance(answer, Downloaded):
                self._path = str(answer.path)
                self.notice.show_info(self.tr("{name} is on this computer now.").format(name=answer.repo))
                self.arrived.emit(self._path)

    def _end(self, error: str, details: str) -> None:
        self.progress.hide()
        if error:
            self.notice.show_error(error, details)
        self._allow()
        if not error and self._path:
            self._as_draft.setFocus()
        elif not error:
            self.download.setFocus()

    def _show_offer(self, offer: Offer) -> None:
        missing = max(0, offer.total - offer.present)
        licence = offer.licence or self.tr("not stated")
        lines = [
            self.tr("{name}: {size} in {n} files; licence: {licence}").format(
                name=offer.repo, size=readable(offer.total), n=len(offer.files), licence=licence),
            self.tr("Still to come: {size}.").format(size=readable(missing)) if missing else
            self.tr("All of it is on this computer already."),
        ]  # fmt: skip
        if offer.gated:
            lines.append(
                self.tr("It is gated: the hub gives it only to those who have accepted its terms and logged in.")
            )
        self._facts.setText("\n".join(lines))
        names = [f"{name}  {readable(size)}" for name, size in offer.files[-NAMED:]]
        more = len(offer.files) - len(names)
        self._files.setText("\n".join([*names, *([self.tr("and {n} more").format(n=more)] if more > 0 else [])]))

    def _allow(self) -> None:
        busy, done = self._asker.busy, bool(self._path)
        self._card.setVisible(self._offer is not None)
        self.look_up.setEnabled(not busy)
        self.download.setVisible(not done)
        self.download.setEnabled(not busy and self._offer is not None)
        for button in (self._as_target, self._as_draft):
            button.setVisible(done)

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self.name, 1)
        row.addWidget(self.look_up)
        self._card.setProperty("panel", True)
        card = QGridLayout(self._card)
        card.setContentsMargins(*(theme.SPACE + 4,) * 4)
        card.addWidget(self._facts, 0, 0)
        card.addWidget(self._files, 1, 0)
        buttons = QHBoxLayout()
        for button in (self.download, self._as_target, self._as_draft):
            buttons.addWidget(button)
        buttons.addStretch(1)
        card.addLayout(buttons, 2, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE + 4)
        layout.addWidget(self._intro)
        layout.addLayout(row)
        for part in (self.notice, self.progress, self._card):
            layout.addWidget(part)
        layout.addStretch(1)


def _label(text: str, muted: bool = False) -> QLabel:
    label = QLabel(text, wordWrap=True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setProperty("muted", muted)
    return label
