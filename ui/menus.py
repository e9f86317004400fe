"""The menus of the window: their words, their keys, and whom they ask. No logic of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu

from ui import theme

if TYPE_CHECKING:
    from ui.main_window import MainWindow


class Menus:
    """Builds the menu bar; `export`, `save` and `run` are the actions whose state changes."""

    def __init__(self, window: MainWindow) -> None:
        self._window, self._tr = window, window.tr
        self._file()
        self.run = self._run()
        self._view()

    def _file(self) -> None:
        w, file = self._window, self._menu(self._tr("&File"))
        _add(file, self._tr("Open pair …"), w.setup.open_pair, "Ctrl+Shift+O")
        file.addSeparator()
        _add(file, self._tr("Open trace …"), w.files.open_trace, "Ctrl+O")
        self.save = _add(file, self._tr("Save trace …"), w.files.save_trace, "Ctrl+S")
        self.close_file = _add(file, self._tr("Close trace"), w.session.close_file, "Ctrl+W")
        file.addSeparator()
        self.export = _add(file, self._tr("Export rounds as CSV …"), w.files.export_csv, "Ctrl+E")
        _add(file, self._tr("Save picture …"), w.save_picture, "Ctrl+Shift+S")
        file.addSeparator()
        _add(file, self._tr("Quit"), w.close, "Ctrl+Q")

    def _run(self) -> dict[str, QAction]:
        s, run = self._window.session, self._menu(self._tr("&Run"))
        return {
            "step": _add(run, self._tr("Step"), s.step, "Space"),
            "round": _add(run, self._tr("Round"), s.next_round, "R"),
            "play": _add(run, self._tr("Play or pause"), lambda: s.play(not s.playback.playing), "P"),
            "back": _add(run, self._tr("Back one step"), s.back, "Backspace"),
            "previous": _add(run, self._tr("Previous round"), lambda: self._window.go(-1), "Left"),
            "next": _add(run, self._tr("Next round"), lambda: self._window.go(+1), "Right"),
            "stop": _add(run, self._tr("Stop"), self._window.stop, "Esc"),
            "reset": _add(run, self._tr("Start over"), s.reset, "Ctrl+R"),
            "measure": _add(run, self._tr("Measure k = 0 to 8"), s.measure, "M"),
        }

    def _view(self) -> None:
        w, view = self._window, self._menu(self._tr("&View"))
        _add(view, self._tr("Dark or light"), w.switch_theme, "Ctrl+T")
        _add(view, self._tr("Full screen"), w.switch_full_screen, "F11")
        _add(view, self._tr("Larger text"), lambda: theme.zoom(QApplication.instance(), +1), "Ctrl++")
        _add(view, self._tr("Smaller text"), lambda: theme.zoom(QApplication.instance(), -1), "Ctrl+-")
        rejected = view.addAction(self._tr("Show rejected drafts in the text"))
        rejected.setShortcut(QKeySequence("Ctrl+D"))
        rejected.setCheckable(True)
        rejected.setChecked(True)
        rejected.toggled.connect(w.foot.ribbon.set_show_rejected)

    def _menu(self, title: str) -> QMenu:
        return self._window.menuBar().addMenu(title)


def _add(menu: QMenu, text: str, slot: Callable[[], object], keys: str) -> QAction:
    action = menu.addAction(text)
    action.setShortcut(QKeySequence(keys))
    action.triggered.connect(lambda _=False: slot())
    return action
