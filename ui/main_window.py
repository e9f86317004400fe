"""The main window: menu, toolbar, pages on a rail, ribbon and timeline; no logic of its own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QSettings, Qt, QTimer
from PySide6.QtGui import QAction, QCloseEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from simulator.acceptance.published import Published
from simulator.errors import UserError
from simulator.loading import Progress
from simulator.records import Sampling
from simulator.text.encoding import in_chat
from ui import theme
from ui.asker import Asker
from ui.exporting import Exporter
from ui.pages.stage import StagePage
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

LATER = {  # title: where the page is; imported and built when asked for, else one by one when a pair is loaded
    "Exactness": "exactness.ExactnessPage",
    "Acceptance": "acceptance.AcceptancePage",
    "Cost": "cost.CostPage",
    "Race": "race.RacePage",
    "Worth it?": "worth.WorthPage",
    "Runs": "runs.RunsPage",
}
TITLES = (StagePage.title, *LATER)
BRAND = 1.33  # times the text
PAGE_MS = 50  # between two pages built, so that painting and input come first
CLOSE_S = 1.5  # how long closing waits for an export


class MainWindow(QMainWindow):
    """Puts the parts together and passes the person's wishes to the session."""

    def __init__(self, session: Session, settings: QSettings | None = None) -> None:
        super().__init__()
        self.session, self._settings, self._exporter = session, settings, Exporter(self)
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
        self.pages = QStackedWidget()
        self._views: dict[str, QWidget] = {}
        self.stage = StagePage(session)
        self._add_page(self.stage)
        self._later = QTimer(self, interval=PAGE_MS)
        self._later.timeout.connect(self._add_next_page)
        self._build()
        self._dress()
        self._menus()
        self._connect()
        self._restore()
        self._show_pair()
        self._show_config()

    # --- building ---

    @property
    def views(self) -> list[QWidget]:
        """Return all pages, built by now."""
        return [self._view(title) for title in TITLES]

    def _view(self, title: str) -> QWidget:
        """Return the page of this title, built by now."""
        if title not in self._views:
            module, name = LATER[title].split(".")
            page = getattr(import_module(f"ui.pages.{module}"), name)(self.session)
            if module == "acceptance":
                page.reported.connect(self._show_reported)
            self._add_page(page)
        return self._views[title]

    def _add_next_page(self) -> None:
        """Build the next page; not while a pair is loaded, which would take twice as long beside it."""
        missing = [title for title in TITLES if title not in self._views]
        if not missing:
            self._later.stop()
        elif self.session.state not in BUSY:
            self._view(missing[0])

    def _add_page(self, page: QWidget) -> None:
        self._views[page.title] = page
        self.pages.addWidget(scrolled(page))

    def _build(self) -> None:
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(theme.SPACE, theme.SPACE // 2, theme.SPACE, theme.SPACE)
        layout.setSpacing(theme.SPACE)
        layout.addLayout(self._first_line())
        layout.addLayout(self._second_line())
        layout.addWidget(self.notice)
        layout.addWidget(self.progress)
        middle = QHBoxLayout()
        middle.addWidget(self._rail())
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

    def _rail(self) -> QWidget:
        rail = QWidget()
        column = QVBoxLayout(rail)
        column.setContentsMargins(0, 0, 0, 0)
        self._rail_buttons = QButtonGroup(self)
        for i, title in enumerate(TITLES):
            button = QPushButton(self.tr(title), checkable=True, checked=i == 0)
            self._rail_buttons.addButton(button, i)
            column.addWidget(button)
        self._rail_buttons.idClicked.connect(lambda i: self.show_page(TITLES[i]))
        column.addStretch(1)
        area = scrolled(rail)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setSizeAdjustPolicy(QScrollArea.SizeAdjustPolicy.AdjustToContents)
        area.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        return area

    def _menus(self) -> None:
        file = self.menuBar().addMenu(self.tr("&File"))
        self._add(file, self.tr("Open pair …"), self.open_pair, "Ctrl+O")
        self._export = self._add(file, self.tr("Export rounds as CSV …"), self.export_csv, "Ctrl+E")
        self._add(file, self.tr("Save picture …"), self.save_picture, "Ctrl+S")
        file.addSeparator()
        self._add(file, self.tr("Quit"), self.close, "Ctrl+Q")
        run = self.menuBar().addMenu(self.tr("&Run"))
        s = self.session
        self._run_actions = {
            "step": self._add(run, self.tr("Step"), s.step, "Space"),
            "round": self._add(run, self.tr("Round"), s.next_round, "R"),
            "play": self._add(run, self.tr("Play or pause"), lambda: s.play(not s.playback.playing), "P"),
            "back": self._add(run, self.tr("Back one step"), s.back, "Backspace"),
            "previous": self._add(run, self.tr("Previous round"), lambda: self._go(-1), "Left"),
            "next": self._add(run, self.tr("Next round"), lambda: self._go(+1), "Right"),
            "stop": self._add(run, self.tr("Stop"), self._stop, "Esc"),
            "reset": self._add(run, self.tr("Start over"), s.reset, "Ctrl+R"),
            "measure": self._add(run, self.tr("Measure k = 0 to 8"), s.measure, "M"),
        }
        view = self.menuBar().addMenu(self.tr("&View"))
        self._add(view, self.tr("Dark or light"), self.switch_theme, "Ctrl+T")
        self._add(view, self.tr("Full screen"), self.switch_full_screen, "F11")
        self._add(view, self.tr("Larger text"), lambda: theme.zoom(QApplication.instance(), +1), "Ctrl++")
        self._add(view, self.tr("Smaller text"), lambda: theme.zoom(QApplication.instance(), -1), "Ctrl+-")
        self._rejected = self._add(view, self.tr("Show rejected drafts in the text"), self._show_rejected, "Ctrl+D")
        self._rejected.setCheckable(True)
        self._rejected.setChecked(True)

    def _add(self, menu, text: str, slot, keys: str) -> QAction:
        action = menu.addAction(text)
        action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda _=False: slot())
        return action

    def _connect(self) -> None:
        s, t = self.session, self.transport
        t.back.connect(s.back)
        t.step.connect(s.step)
        t.round.connect(s.next_round)
        t.play_toggled.connect(s.play)
        t.stop.connect(self._stop)
        t.speed_changed.connect(s.set_speed)
        self.stage.cards.beyond.connect(self._go)
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
        s.run_finished.connect(lambda: self._view("Runs"))  # which keeps every run from now on, and this one
        s.progress_changed.connect(self._show_progress)
        s.problem.connect(self.show_problem)
        self._exporter.written.connect(self._show_written)
        self._exporter.failed.connect(self.show_problem)

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

    def export_csv(self) -> None:
        """Ask for a file name and write all rounds of this run, in the background."""
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Export rounds"), "rounds.csv", self.tr("CSV (*.csv)"))
        if path:
            try:
                self._exporter.export(Path(path), self.session)
            except UserError as error:
                self.show_problem(str(error))

    def save_picture(self) -> None:
        """Ask for a file name and save the window's picture."""
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Save picture"), "specscope.png", self.tr("PNG (*.png)"))
        if path and not self.grab().save(path, "PNG"):
            self.show_problem(self.tr("The picture could not be written to {path}.").format(path=path))

    def show_page(self, title: str) -> None:
        """Bring the page of this title to the front."""
        self._view(title)
        self.pages.setCurrentIndex(list(self._views).index(title))
        self._rail_buttons.button(TITLES.index(title)).setChecked(True)

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

    def _stop(self) -> None:
        """End what is going on: loading and measuring too."""
        self.session.cancel() if self.session.state in BUSY else self.session.stop()

    def _configure(self, field: str, value: object) -> None:
        self.session.configure(**with_change(self.session.config, field, value))

    def _go(self, by: int) -> None:
        self.session.seek(self.session.playback.cursor.round + by)

    def _show_reported(self, row: Published) -> None:
        """Bring a published row into the Stage's sliders, and show them."""
        self.stage.theory.take_reported(row)
        self.show_page(self.stage.title)

    def _show_rejected(self) -> None:
        self.ribbon.set_show_rejected(self._rejected.isChecked())

    # --- what the session says ---

    def _show_state(self) -> None:
        s = self.session
        can_run = s.state in CAN_RUN and s.obstacle is None
        more = can_run and not (s.state is State.FINISHED and s.playback.at_end)
        can = {
            "step": more, "round": more, "play": more, "back": s.playback.cursor.round >= 0 and can_run,
            "stop": s.state is State.RUNNING or s.state in BUSY or s.playback.playing,
        }  # fmt: skip
        self.transport.set_state({name for name, on in can.items() if on}, s.playback.playing)
        for name, action in self._run_actions.items():
            action.setEnabled(can.get(name, can_run))
        self._export.setEnabled(bool(s.rounds))
        self.stage.theory.set_measuring_allowed(can_run)

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
        label = self.session.pair.texts.label
        self.ribbon.set_label(label)
        self.ribbon.set_prompt([label(t) for t in self.session.started.prompt])
        self._show_state()

    def _show_rounds(self, rounds: list) -> None:
        self.ribbon.rounds_added()
        self.timeline.add_rounds(rounds)
        self._show_state()

    def _show_finish(self) -> None:
        if self.session.finished.notices:
            self.notice.show_info(" ".join(self.session.finished.notices))

    def _show_written(self, path: str) -> None:
        self.notice.show_info(self.tr("The rounds were written to {path}.").format(path=path))

    def _show_progress(self, progress: Progress | None) -> None:
        if progress is None:
            self.progress.hide()
        else:
            self.progress.set_progress(progress.text, progress.fraction)

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
        if len(self._views) < len(TITLES):
            self._later.start()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Save the layout, reject what is being asked, go from the screen, and wait for what is still running."""
        if self._settings is not None:
            self._settings.setValue("geometry", self.saveGeometry())
            self._settings = None
        for dialog in self.findChildren(QDialog):
            dialog.reject()
        self.hide()
        self._later.stop()
        pages = [view.shutdown() for view in self._views.values() if hasattr(view, "shutdown")]
        asked = [asker.close(CLOSE_S) for asker in self._askers]
        self.ended = all([self.session.close(), self._exporter.close(CLOSE_S), *pages, *asked])
        event.accept()


def scrolled(page: QWidget) -> QScrollArea:
    """Return the page in an area that scrolls where the window is too small, rather than squeezing it."""
    area = QScrollArea(widgetResizable=True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the arrow keys are for rounds
    area.setWidget(page)
    return area
