"""The main window: menu, toolbar, pages on a rail, ribbon and timeline; no logic of its own."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSettings, QSize
from PySide6.QtGui import QAction, QCloseEvent, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from simulator.errors import UserError
from simulator.loading import Progress
from ui import theme
from ui.pages.stage import StagePage
from ui.session import Session, State
from ui.widgets.notice import Notice, ProgressNotice
from ui.widgets.pair_dialog import PairDialog
from ui.widgets.prompt_dialog import PromptDialog
from ui.widgets.ribbon_legend import RibbonLegend
from ui.widgets.settings_bar import SettingsBar, with_change
from ui.widgets.timeline import Timeline
from ui.widgets.token_ribbon import TokenRibbon
from ui.widgets.transport_bar import TransportBar

PAGES = (StagePage,)


class MainWindow(QMainWindow):
    """Puts the parts together and passes the person's wishes to the session."""

    def __init__(self, session: Session, settings: QSettings | None = None) -> None:
        super().__init__()
        self.session, self._settings = session, settings
        self.setWindowTitle("SpecScope")
        self.setMinimumSize(QSize(800, 560))
        self.resize(1440, 900)
        self.settings_bar, self.transport = SettingsBar(), TransportBar()
        self.ribbon, self.timeline = TokenRibbon(), Timeline()
        self.ribbon.set_show_ahead(False)  # rounds are computed ahead of the one on screen
        self.notice, self.progress = Notice(), ProgressNotice()
        self.pages = QStackedWidget()
        self.stage = StagePage(session)
        self.pages.addWidget(self.stage)
        self._build()
        self._menus()
        self._connect()
        self._restore()
        self._show_state()
        self._show_config()

    # --- building ---

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
        brand = QLabel("SpecScope")
        brand.setFont(theme.text_font(14, bold=True))
        self._pair_button, self._prompt_button = QToolButton(), QToolButton()
        self._pair_button.setToolTip(self.tr("The target p and the draft q. Click to open another pair."))
        self._pair_button.clicked.connect(self.open_pair)
        self._prompt_button.setToolTip(self.tr("The prompt. Click to change it."))
        self._prompt_button.clicked.connect(self.edit_prompt)
        for button in (self._pair_button, self._prompt_button):
            button.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
            button.setMinimumWidth(120)  # a long name is cut rather than widening the window
        row.addWidget(brand)
        row.addSpacing(theme.SPACE)
        row.addWidget(self._pair_button)
        row.addWidget(self._prompt_button)
        row.addStretch(1)
        return row

    def _second_line(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addWidget(self.settings_bar)
        row.addStretch(1)
        row.addWidget(self.transport)
        return row

    def _rail(self) -> QWidget:
        rail = QWidget()
        column = QVBoxLayout(rail)
        column.setContentsMargins(0, 0, 0, 0)
        group = QButtonGroup(self)
        for i, page in enumerate(PAGES):
            button = QPushButton(self.tr(page.title), checkable=True, checked=i == 0)
            button.clicked.connect(lambda _=False, i=i: self.pages.setCurrentIndex(i))
            group.addButton(button)
            column.addWidget(button)
        column.addStretch(1)
        rail.setVisible(len(PAGES) > 1)
        return rail

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
            "stop": self._add(run, self.tr("Stop"), s.stop, "Esc"),
            "reset": self._add(run, self.tr("Start over"), s.reset, "Ctrl+R"),
            "measure": self._add(run, self.tr("Measure k = 0 to 8"), s.measure, "M"),
        }
        view = self.menuBar().addMenu(self.tr("&View"))
        self._add(view, self.tr("Dark or light"), self.switch_theme, "Ctrl+T")
        self._add(view, self.tr("Full screen"), self.switch_full_screen, "F11")
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
        t.stop.connect(s.stop)
        t.speed_changed.connect(s.set_speed)
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
        s.progress_changed.connect(self._show_progress)
        s.problem.connect(self.show_problem)

    # --- what the person asks for ---

    def open_pair(self) -> None:
        """Ask for a pair and load it."""
        dialog = PairDialog(parent=self)
        if dialog.exec():
            target, draft, device, dtype = dialog.choice
            self.session.load(target, draft, device=device, dtype=dtype)

    def edit_prompt(self) -> None:
        """Ask for another prompt; the run starts over with it."""
        pair = self.session.pair
        dialog = PromptDialog(self.session.prompt, pair is not None and pair.start_token is not None, self)
        if dialog.exec():
            self.session.configure(prompt=dialog.text)

    def export_csv(self) -> None:
        """Ask for a file name and write all rounds of this run."""
        from ui.exporting import export_run

        path, _ = QFileDialog.getSaveFileName(self, self.tr("Export rounds"), "rounds.csv", self.tr("CSV (*.csv)"))
        if path:
            try:
                export_run(Path(path), self.session)
            except UserError as error:
                self.show_problem(str(error))

    def save_picture(self) -> None:
        """Ask for a file name and save the window's picture."""
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Save picture"), "specscope.png", self.tr("PNG (*.png)"))
        if path and not self.grab().save(path, "PNG"):
            self.show_problem(self.tr("The picture could not be written to {path}.").format(path=path))

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

    def _configure(self, field: str, value: object) -> None:
        self.session.configure(**with_change(self.session.config, field, value))

    def _go(self, by: int) -> None:
        self.session.seek(self.session.playback.cursor.round + by)

    def _show_rejected(self) -> None:
        self.ribbon.set_show_rejected(self._rejected.isChecked())

    # --- what the session says ---

    def _show_state(self) -> None:
        s = self.session
        can_run = s.state in (State.READY, State.RUNNING, State.FINISHED)
        more = can_run and not (s.state is State.FINISHED and s.playback.at_end)
        can = {
            "step": more, "round": more, "play": more, "back": s.playback.cursor.round >= 0 and can_run,
            "stop": s.state is State.RUNNING,
        }  # fmt: skip
        self.transport.set_state({name for name, on in can.items() if on}, s.playback.playing)
        for name, action in self._run_actions.items():
            action.setEnabled(can.get(name, can_run))
        self._export.setEnabled(s.started is not None)
        self.stage.theory.set_measuring_allowed(can_run)

    def _show_cursor(self) -> None:
        cursor = self.session.playback.cursor
        self.ribbon.set_cursor(cursor.round, cursor.position, self.session.playback.reveal)
        self.timeline.set_round(cursor.round)
        self._show_state()

    def _show_pair(self) -> None:
        pair = self.session.pair
        draft = pair.draft.entry.name if pair.draft else self.tr("no draft model")
        t = pair.target
        self._pair_button.setText(f"{t.entry.name}  ←  {draft}   ·   {t.device} {t.dtype}")
        self.notice.hide()
        self._show_state()

    def _show_config(self) -> None:
        self.settings_bar.set_config(self.session.config)
        prompt = " ".join(self.session.prompt.split())
        shown = prompt if len(prompt) < 40 else prompt[:38] + "…"
        self._prompt_button.setText(self.tr("Prompt: {text}").format(text=shown or self.tr("(empty)")))

    def _show_cleared(self) -> None:
        self.ribbon.clear()
        self.timeline.clear()
        self._show_cursor()

    def _show_prompt_tokens(self) -> None:
        label = self.session.pair.texts.label
        self.ribbon.set_label(label)
        self.ribbon.set_prompt([label(t) for t in self.session.started.prompt])
        self._show_state()

    def _show_rounds(self, rounds: list) -> None:
        self.ribbon.add_rounds(rounds)
        self.timeline.add_rounds(rounds)
        self._show_state()

    def _show_finish(self) -> None:
        for sentence in self.session.finished.notices:
            self.notice.show_info(sentence)

    def _show_progress(self, progress: Progress | None) -> None:
        if progress is None:
            self.progress.hide()
        else:
            self.progress.set_progress(progress.text, progress.fraction)

    # --- coming and going ---

    def _restore(self) -> None:
        if self._settings is not None and self._settings.contains("geometry"):
            self.restoreGeometry(self._settings.value("geometry"))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop the inference thread, save the layout, and go; a thread that does not end is said so."""
        if self._settings is not None:
            self._settings.setValue("geometry", self.saveGeometry())
        self.session.close()
        event.accept()
