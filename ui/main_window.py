"""The main window: toolbar, pages and the run's foot put together, and wishes passed on; no logic of its own."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from simulator.acceptance.published import Published
from ui import theme
from ui.file_desk import FileDesk, dropped, show_progress
from ui.menus import Menus
from ui.page_stack import PageStack
from ui.run_foot import RunFoot
from ui.session import Session
from ui.setup_desk import SetupDesk
from ui.states import BUSY
from ui.widgets.flow_layout import FlowLayout
from ui.widgets.notice import Notice, ProgressNotice
from ui.widgets.settings_bar import SettingsBar, with_change
from ui.widgets.top_line import TopLine
from ui.widgets.transport_bar import TransportBar

CLOSE_S = 1.5  # how long closing waits for a file that is being written


class MainWindow(QMainWindow):
    """Puts the parts together and passes the person's wishes to the session."""

    def __init__(self, session: Session, settings: QSettings | None = None) -> None:
        super().__init__()
        self.session, self._settings, self.files = session, settings, FileDesk(session, self)
        self.setup = SetupDesk(session, settings, self)
        self.ended = True  # whether all threads were over when the window closed
        self.setWindowTitle("SpecScope")
        self.resize(1440, 900)
        self.top_line, self.settings_bar, self.transport = TopLine(), SettingsBar(), TransportBar()
        self.notice, self.progress = Notice(), ProgressNotice()
        self.pages = PageStack(session)
        self.stage, self.foot = self.pages.stage, RunFoot(session)
        self._build()
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
        layout.addWidget(self.top_line)
        layout.addLayout(self._second_line())
        for part in (self.notice, self.progress, *self.files.parts):
            layout.addWidget(part)
        middle = QHBoxLayout()
        middle.addWidget(self.pages.rail)
        middle.addWidget(self.pages, 1)
        layout.addLayout(middle, 1)
        layout.addWidget(self.foot)
        self.notice.hide()
        self.progress.hide()
        self.setCentralWidget(body)

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
        self.top_line.pair.clicked.connect(self.setup.open_pair)
        self.top_line.prompt.clicked.connect(self.setup.edit_prompt)
        self.settings_bar.changed.connect(self._configure)
        self.progress.cancelled.connect(s.cancel)
        for signal in (s.state_changed, s.playing_changed, s.cursor_changed, s.run_cleared, s.run_started):
            signal.connect(self._show_state)
        s.rounds_added.connect(lambda _: self._show_state())
        s.pair_changed.connect(self._show_pair)
        s.pair_changed.connect(self.setup.begin)
        s.config_changed.connect(self._show_config)
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
        can = s.can
        self.transport.set_state({name for name, on in can.items() if on}, s.playback.playing)
        for name, action in self.menus.run.items():
            action.setEnabled(can.get(name, s.can_move))
        for action in (self.menus.export, self.menus.save):
            action.setEnabled(bool(s.rounds))
        self.stage.theory.set_measuring_allowed(can["measure"])

    def _show_pair(self) -> None:
        pair = self.session.pair
        if pair is None:
            return
        self.top_line.show_pair(pair)
        self.settings_bar.set_draft_available(pair.draft is not None)
        self.notice.hide()
        self.stage.cards.setFocus()
        self._show_state()

    def _show_config(self) -> None:
        self.settings_bar.set_config(self.session.config)
        self._show_state()
        self.top_line.show_prompt(self.session.prompt, self.session.pair)

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
        asked = [part.close(CLOSE_S) for part in (self.setup, self.files)]
        self.ended = all([self.session.close(), self.pages.shutdown(), *asked])
        event.accept()
