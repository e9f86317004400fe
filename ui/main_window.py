"""The main window: toolbar, pages, ribbon and timeline put together, and wishes passed on; no logic of its own."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QEvent, QSettings
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QHBoxLayout, QLabel, QMainWindow, QVBoxLayout, QWidget

from simulator.acceptance.published import Published
from simulator.records import Sampling
from simulator.text.encoding import in_chat
from ui import theme
from ui.asker import Asker
from ui.file_desk import FileDesk, dropped, show_progress
from ui.menus import Menus
from ui.page_stack import PageStack
from ui.pair_choice import stored_recent
from ui.prompt_memory import recent, remember
from ui.session import Session
from ui.states import BUSY, CAN_RUN, State
from ui.widgets.elided_button import ElidedButton
from ui.widgets.flow_layout import FlowLayout
from ui.widgets.notice import Notice, ProgressNotice
from ui.widgets.pair_dialog import PairDialog
from ui.widgets.prompt_dialog import PromptDialog
from ui.widgets.ribbon_legend import RibbonLegend
from ui.widgets.settings_bar import SettingsBar, with_change
from ui.widgets.timeline import Timeline
from ui.widgets.token_ribbon import TokenRibbon
from ui.widgets.transport_bar import TransportBar

BRAND = 1.33  # times the text
CLOSE_S = 1.5  # how long closing waits for a file that is being written


class MainWindow(QMainWindow):
    """Puts the parts together and passes the person's wishes to the session."""

    def __init__(self, session: Session, settings: QSettings | None = None) -> None:
        super().__init__()
        self.session, self._settings, self.files = session, settings, FileDesk(session, self)
        self._askers = Asker(self), Asker(self)  # of the pair dialog: what is here, and what the hub has
        self._sampling: Sampling | None = None  # to begin with when the pair that is being loaded has come
        self.ended = True  # whether all threads were over when the window closed
        self.setWindowTitle("SpecScope")
        self.resize(1440, 900)
        self.settings_bar, self.transport = SettingsBar(), TransportBar()
        self.ribbon, self.timeline = TokenRibbon(), Timeline()
        self.ribbon.set_show_ahead(False)  # rounds are computed ahead of the one on screen
        self.ribbon.set_rounds(session.rounds)
        self.notice, self.progress = Notice(), ProgressNotice()
        self.pages = PageStack(session)
        self.stage = self.pages.stage
        self._build()
        self._dress()
        self.menus = Menus(self)
        self.setAcceptDrops(True)
        self._connect()
        self._restore()
        self._show_pair()
        self._show_config()
        self._show_opened()

    # --- building ---

    @property
    def views(self) -> list[QWidget]:
        """Return all pages, built by now."""
        return self.pages.views

    def _build(self) -> None:
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(theme.SPACE, theme.SPACE // 2, theme.SPACE, theme.SPACE)
        layout.setSpacing(theme.SPACE)
        layout.addLayout(self._first_line())
        layout.addLayout(self._second_line())
        for part in (self.notice, self.progress, *self.files.parts):
            layout.addWidget(part)
        middle = QHBoxLayout()
        middle.addWidget(self.pages.rail)
        middle.addWidget(self.pages, 1)
        layout.addLayout(middle, 1)
        layout.addWidget(self.ribbon)
        bottom = QHBoxLayout()
        bottom.addWidget(RibbonLegend())
        bottom.addWidget(self.timeline, 1)
        layout.addLayout(bottom)
        self.notice.hide()
        self.progress.hide()
        self.setCentralWidget(body)

    def _first_line(self) -> QHBoxLayout:
        row = QHBoxLayout()
        self._brand = QLabel("SpecScope")
        self._pair_button = ElidedButton(self.tr("The target p and the draft q. Click to open another pair."))
        self._pair_button.setText(self.tr("Open a pair …"))
        self._pair_button.clicked.connect(self.open_pair)
        self._prompt_button = ElidedButton(self.tr("The prompt. Click to change it."))
        self._prompt_button.clicked.connect(self.edit_prompt)
        row.addWidget(self._brand)
        row.addSpacing(theme.SPACE)
        row.addWidget(self._pair_button)
        row.addWidget(self._prompt_button)
        row.addStretch(1)
        return row

    def _second_line(self) -> FlowLayout:
        row = FlowLayout(spacing=theme.SPACE, last_at_right=True)
        row.addWidget(self.settings_bar)
        row.addWidget(self.transport)
        return row

    def _connect(self) -> None:
        s, t = self.session, self.transport
        t.back.connect(s.back)
        t.step.connect(s.step)
        t.round.connect(s.next_round)
        t.play_toggled.connect(s.play)
        t.stop.connect(self.stop)
        t.speed_changed.connect(s.set_speed)
        self.stage.cards.beyond.connect(self.go)
        self.settings_bar.changed.connect(self._configure)
        self.ribbon.token_chosen.connect(s.seek)
        self.timeline.round_chosen.connect(s.seek)
        self.progress.cancelled.connect(s.cancel)
        s.state_changed.connect(self._show_state)
        s.playing_changed.connect(self._show_state)
        s.cursor_changed.connect(self._show_cursor)
        s.pair_changed.connect(self._show_pair)
        s.config_changed.connect(self._show_config)
        s.run_cleared.connect(self._show_cleared)
        s.run_started.connect(self._show_prompt_tokens)
        s.rounds_added.connect(self._show_rounds)
        s.run_finished.connect(self._show_finish)
        s.run_finished.connect(lambda: self.pages.view("Runs"))  # which keeps every run from now on, and this one
        s.opened_changed.connect(self._show_opened)
        s.progress_changed.connect(lambda p: show_progress(self.progress, p))
        s.problem.connect(self.show_problem)
        self.pages.built.connect(self._connect_page)
        self.files.problem.connect(self.show_problem)
        self.files.told.connect(self._show_told)
        self.files.listed.connect(lambda path, run: self.pages.view("Runs").desk.take_run(run, path))

    # --- what the person asks for ---

    def open_pair(self) -> None:
        """Ask for a pair and load it."""
        pair = self.session.pair
        names = (str(pair.target.entry.path), str(pair.draft.entry.path) if pair.draft else None) if pair else ()
        places = stored_recent(self._settings.value("places")) if self._settings is not None else []
        dialog = PairDialog(*names, parent=self, recent=places, askers=self._askers)
        if self._ask(dialog):
            if self._settings is not None:
                self._settings.setValue("places", dialog.remembered)
            choice = dialog.choice
            self._sampling = choice.sampling
            self.session.load(choice.target, choice.draft, **choice.options)

    def edit_prompt(self) -> None:
        """Ask for another prompt; the run starts over with it."""
        pair = self.session.pair
        model, chat = (pair.target.entry.name, pair.chat.problem is None) if pair is not None else ("", False)
        own = recent(self._settings, model)
        dialog = PromptDialog(self.session.prompt, pair, self.session.config.max_new_tokens, own, self)
        if self._ask(dialog):
            remember(self._settings, model, chat, dialog.prompt)
            self.session.configure(prompt=dialog.prompt)

    def save_picture(self) -> None:
        """Ask for a file name and save the window's picture."""
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Save picture"), "specscope.png", self.tr("PNG (*.png)"))
        if path and not self.grab().save(path, "PNG"):
            self.show_problem(self.tr("The picture could not be written to {path}.").format(path=path))

    def show_page(self, title: str) -> None:
        """Bring the page of this title to the front."""
        self.pages.show_page(title)

    def switch_theme(self) -> None:
        """Change between dark and light."""
        name = "light" if theme.current().name == "dark" else "dark"
        theme.apply(QApplication.instance(), name)
        if self._settings is not None:
            self._settings.setValue("theme", name)

    def switch_full_screen(self) -> None:
        """Fill the screen, or go back to a window."""
        self.showNormal() if self.isFullScreen() else self.showFullScreen()

    def show_problem(self, sentence: str, details: str = "") -> None:
        """Show one readable error."""
        self.notice.show_error(sentence, details)

    def _ask(self, dialog: QDialog) -> bool:
        """Return whether the dialog was accepted; it is gone afterwards, and closing the window rejects it."""
        try:
            return bool(dialog.exec())
        finally:
            dialog.deleteLater()

    def stop(self) -> None:
        """End what is going on: loading and measuring too."""
        self.session.cancel() if self.session.state in BUSY else self.session.stop()

    def _configure(self, field: str, value: object) -> None:
        self.session.configure(**with_change(self.session.config, field, value))

    def go(self, by: int) -> None:
        """Go so many rounds on, or back."""
        self.session.seek(self.session.playback.cursor.round + by)

    def _connect_page(self, page: QWidget) -> None:
        if page.title == "Acceptance":
            page.reported.connect(self._show_reported)

    def _show_reported(self, row: Published) -> None:
        """Bring a published row into the Stage's sliders, and show them."""
        self.stage.theory.take_reported(row)
        self.show_page(self.stage.title)

    # --- what the session says ---

    def _show_state(self) -> None:
        s = self.session
        over = s.state not in (State.READY, State.RUNNING) and s.playback.at_end
        more = s.can_move and not over
        can = {
            "step": more, "round": more, "play": more, "back": s.playback.cursor.round >= 0 and s.can_move,
            "stop": s.state is State.RUNNING or s.state in BUSY or s.playback.playing,
            "measure": s.state in CAN_RUN and s.pair is not None and s.obstacle is None and not s.foreign,
        }  # fmt: skip
        self.transport.set_state({name for name, on in can.items() if on}, s.playback.playing)
        for name, action in self.menus.run.items():
            action.setEnabled(can.get(name, s.can_move))
        for action in (self.menus.export, self.menus.save):
            action.setEnabled(bool(s.rounds))
        self.stage.theory.set_measuring_allowed(can["measure"])

    def _show_cursor(self) -> None:
        cursor = self.session.playback.cursor
        self.ribbon.set_cursor(cursor.round, cursor.position, self.session.playback.reveal)
        self.timeline.set_round(cursor.round)
        self._show_state()

    def _show_pair(self) -> None:
        pair = self.session.pair
        if pair is None:
            return
        draft = pair.draft.entry.name if pair.draft else self.tr("no draft model")
        t = pair.target
        self._pair_button.setText(f"{t.entry.name}  ←  {draft}   ·   {t.device} {t.dtype}")
        self.settings_bar.set_draft_available(pair.draft is not None)
        self.notice.hide()
        self.stage.cards.setFocus()
        if self.session.started is not None:
            self._show_prompt_tokens()  # a file's run, whose tokens this pair may have the texts of
        self._show_state()
        sampling, self._sampling = self._sampling, None
        if sampling is not None:
            self.session.configure(sampling=sampling)

    def _show_config(self) -> None:
        self.settings_bar.set_config(self.session.config)
        self._show_state()
        prompt = " ".join(self.session.prompt.text[:400].split())
        shown = prompt if len(prompt) < 40 else prompt[:38] + "…"
        text = self._chat_state() + self.tr("Prompt: {text}").format(text=shown or self.tr("(empty)"))
        self._prompt_button.setText(text)

    def _chat_state(self) -> str:
        """Return whether the prompt stands in a chat template, for models that have one."""
        pair, prompt = self.session.pair, self.session.prompt
        if pair is None or pair.chat.problem is not None:
            return ""
        if not in_chat(prompt, pair.chat):
            return self.tr("Chat off · ")
        return self.tr("Chat, system prompt · ") if prompt.system else self.tr("Chat · ")

    def _show_cleared(self) -> None:
        self.ribbon.clear()
        self.ribbon.set_rounds(self.session.rounds)
        self.timeline.clear()
        self._show_cursor()

    def _show_prompt_tokens(self) -> None:
        label = self.session.texts.label
        self.ribbon.set_label(label)
        self.ribbon.set_prompt([label(t) for t in self.session.started.prompt])
        self._show_state()

    def _show_rounds(self, rounds: list) -> None:
        self.ribbon.rounds_added()
        self.timeline.add_rounds(rounds)
        self._show_state()

    def _show_opened(self) -> None:
        """Say whose run is on screen in the window's title too."""
        opened = self.session.opened
        self.setWindowTitle(f"{opened.name} - SpecScope" if opened is not None else "SpecScope")
        self.menus.close_file.setEnabled(opened is not None)

    def _show_finish(self) -> None:
        if self.session.finished.notices:
            self.notice.show_info(" ".join(self.session.finished.notices))

    def _show_told(self, text: str) -> None:
        self.notice.show_info(text) if text else self.notice.hide()

    # --- coming and going ---

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_brand"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        theme.set_face(self._brand, BRAND, bold=True)

    def _restore(self) -> None:
        geometry = self._settings.value("geometry") if self._settings is not None else None
        if isinstance(geometry, QByteArray):  # a damaged settings file holds anything
            self.restoreGeometry(geometry)

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to build the other pages, once this one can be seen and nothing is loading."""
        super().showEvent(event)
        self.pages.build_later()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take a file that is dragged here."""
        if dropped(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the file that is dropped."""
        event.acceptProposedAction()
        self.files.drop(event.mimeData())

    def closeEvent(self, event: QCloseEvent) -> None:
        """Save the layout, reject what is being asked, go from the screen, and wait for what is still running."""
        if self._settings is not None:
            self._settings.setValue("geometry", self.saveGeometry())
            self._settings = None
        for dialog in self.findChildren(QDialog):
            dialog.reject()
        self.hide()
        asked = [part.close(CLOSE_S) for part in (*self._askers, self.files)]
        self.ended = all([self.session.close(), self.pages.shutdown(), *asked])
        event.accept()
