"""The run at the window's foot, on every page: its text and its timeline.

Knows: which of the session's changes they show, and that both can be clicked to go there. Does not know how a token or
a round is painted.
"""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui import theme
from ui.session import Session
from ui.widgets.ribbon_legend import RibbonLegend
from ui.widgets.timeline import Timeline
from ui.widgets.token_ribbon import TokenRibbon


class RunFoot(QWidget):
    """The ribbon above its legend and the timeline."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.ribbon, self.timeline = TokenRibbon(), Timeline()
        self.ribbon.set_show_ahead(False)  # rounds are computed ahead of the one on screen
        self.ribbon.set_rounds(session.rounds)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        layout.addWidget(self.ribbon)
        line = QHBoxLayout()
        line.addWidget(RibbonLegend())
        line.addWidget(self.timeline, 1)
        layout.addLayout(line)
        self._connect()
        self._show_prompt()

    def _connect(self) -> None:
        s = self._session
        self.ribbon.token_chosen.connect(s.seek)
        self.timeline.round_chosen.connect(s.seek)
        s.cursor_changed.connect(self._show_cursor)
        s.pair_changed.connect(self._show_prompt)
        s.run_cleared.connect(self._clear)
        s.run_started.connect(self._show_prompt)
        s.rounds_added.connect(self._add_rounds)

    def _show_cursor(self) -> None:
        playback = self._session.playback
        self.ribbon.set_cursor(playback.cursor.round, playback.cursor.position, playback.reveal)
        self.timeline.set_round(playback.cursor.round)

    def _show_prompt(self) -> None:
        """Show the prompt's tokens; with another pair too, which may have the texts of a file's tokens."""
        if self._session.started is not None:
            label = self._session.texts.label
            self.ribbon.set_label(label)
            self.ribbon.set_prompt([label(t) for t in self._session.started.prompt])

    def _add_rounds(self, rounds: list) -> None:
        self.ribbon.rounds_added()
        self.timeline.add_rounds(rounds)

    def _clear(self) -> None:
        self.ribbon.clear()
        self.ribbon.set_rounds(self._session.rounds)
        self.timeline.clear()
        self._show_cursor()
