"""The race: one prompt decoded plainly and with a draft, measured in turn, replayed side by side at true speed.

Knows how its parts are laid out and when each is told anew. The measurement is in `simulator.race`, the moment in
`ui.replay`, the words in `ui.race_words`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from simulator.race import Race, Underway, race_job
from ui import race_words, theme
from ui.lab_words import Sentence
from ui.replay import Replay
from ui.session import Session
from ui.states import CAN_RUN, State
from ui.widgets.arranging import column, panel, row
from ui.widgets.fitting import FittingColumn
from ui.widgets.race_bar import MEASURE_KEYS, REPLAY_KEYS, RaceBar
from ui.widgets.race_text import RaceText
from ui.widgets.race_tracks import RaceTracks

TICK_MS = 16
RATE_S = 0.25  # speeds change at most four times a second


class RacePage(QWidget):
    """Tracks above, both texts below, and what moves them in between."""

    title = "Race"

    def __init__(self, session: Session, parent: QWidget | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:  # fmt: skip
        super().__init__(parent)
        self._session, self._clock = session, clock
        self.race: Race | None = None  # the last finished one
        self._asked: tuple | None = None  # pair, prompt and settings of the race being measured
        self._settings: tuple | None = None  # prompt and settings of the one shown; None with another pair
        self._conditions = ""
        self._colours = "text", "text"  # of head and notice
        self._rates_due = 0.0
        self.replay, self.bar, self.tracks = Replay(), RaceBar(), RaceTracks()
        self.texts = RaceText(), RaceText()  # plain, speculative
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self.tick)
        self._build()
        self._dress()
        self._connect()
        self.set_race(None)

    # --- what the person does ---

    def measure(self) -> None:
        """Race with the pair, prompt and settings at hand; the last race stays until this one is finished."""
        s = self._session
        if s.state in CAN_RUN and s.pair is not None and not self._hindrance():
            self.pause()
            for text in self.texts:
                text.show_tokens(0)
            self._asked = s.pair, s.prompt, s.config
            s.ask(race_job(s.pair, s.prompt, s.config))

    def play(self, playing: bool) -> None:
        """Start or hold the replay; from the start where it is at the end."""
        if not playing:
            self.pause()
        elif self.race is not None and self._asked is None:
            self.replay.play(self._clock())
            self._timer.start()
            self._show_moment()

    def pause(self) -> None:
        """Hold the replay where it is."""
        self.replay.pause()
        self._timer.stop()
        self._show_moment()

    def seek(self, ms: float) -> None:
        """Go to a moment of the race."""
        self.replay.seek(ms, self._clock())
        self._show_moment()

    def set_speed(self, speed: float) -> None:
        """Replay at so many times true speed."""
        self.replay.set_speed(speed, self._clock())

    # --- what the session says ---

    def _take(self, answer: object) -> None:
        if self._asked is None:
            return
        if isinstance(answer, Underway):
            self.tracks.set_underway(answer)
        elif isinstance(answer, Race):
            pair, *settings = self._asked
            self._asked, self._settings = None, tuple(settings)
            self._conditions = race_words.conditions(answer, pair, settings[0].text)
            self.set_race(answer)
            if self.isVisible():
                self.play(True)

    def _pair_changed(self) -> None:
        self._settings = None
        self._say()

    def _state_changed(self) -> None:
        """Show the last race again where its successor was cancelled or failed."""
        if self._asked is not None and self._session.state is not State.MEASURING:
            self._asked = None
            self._show_moment()
        self._say()

    # --- showing ---

    def set_race(self, race: Race | None) -> None:
        """Show a race, at its start."""
        self.race = race
        self.replay.load(race.ms if race is not None else 0.0)
        self.tracks.set_race(race)
        lanes = (race.plain, race.speculative) if race is not None else (None, None)
        marked = race.divergence.at if race is not None and race.divergence is not None else None
        waits = self.tr("The text appears here, each token when it came.")
        for text, lane in zip(self.texts, lanes, strict=True):
            text.set_lane(lane.labels if lane else (), lane.origins if lane else (), marked, waits)
        self._show_moment()
        self._say()

    def tick(self) -> None:
        """Show the moment that the clock says."""
        now = self._clock()
        self.replay.tick(now)
        rates = now >= self._rates_due or not self.replay.playing
        if rates:
            self._rates_due = now + RATE_S
        if not self.replay.playing:
            self._timer.stop()
        self._show_moment(rates)

    def _show_moment(self, rates: bool = True) -> None:
        at = self.replay.at
        self.tracks.set_underway(None)
        self.tracks.set_moment(at, rates)
        for text, shown in zip(self.texts, self.tracks.shown(), strict=True):
            text.show_tokens(shown)
        self.bar.set_moment(at, self.replay.end)
        self.bar.set_playing(self.replay.playing)

    def _say(self) -> None:
        """Bring head, notice and buttons up to date."""
        s, race, measuring = self._session, self.race, self._asked is not None
        hindrance = self._hindrance()
        can = s.state in CAN_RUN and s.pair is not None and not hindrance
        self.bar.set_state(can, race is not None, race is not None and not measuring)
        if measuring:
            head, notice = Sentence(race_words.measuring()), Sentence("")
        elif race is None:
            head, notice = Sentence(hindrance or race_words.invitation(s.config.max_new_tokens)), Sentence("")
        else:
            head, notice = race_words.headline(race), race_words.comparable(race)
        earlier = race is not None and not measuring and (s.prompt, s.config) != self._settings
        if earlier:
            head = Sentence(self.tr("Of an earlier setting: {text}").format(text=head.text), "extra")
        other = self.tr("Measured with other settings than the window has now:") if earlier else ""
        said = " ".join(part for part in (hindrance, other, self._conditions) if part)
        self._head.setText(head.text)
        for label, text in ((self._notice, f"{notice.sign} {notice.text}".strip()),
                            (self._with, said if notice.text else "")):  # fmt: skip
            label.setText(text)
            label.setVisible(bool(text))
        if (head.colour, notice.colour) != self._colours:
            self._colours = head.colour, notice.colour
            self._dress()

    def _hindrance(self) -> str:
        """Return why no race can be measured now, in a sentence; "" where one can."""
        s = self._session
        if s.pair is None:
            return self.tr("No models are loaded. Open a pair to race it against plain decoding.")
        if not s.config.k:
            return self.tr("With k = 0 nothing is drafted: choose a k of at least 1 to race.")
        return s.obstacle or ""

    # --- building ---

    def _build(self) -> None:
        about = QLabel(self.tr("The same prompt, decoded plainly and with a draft: measured one after the other, "
                               "replayed side by side, each token at the moment it came."), wordWrap=True)  # fmt: skip
        about.setProperty("muted", True)
        self._head, self._notice, self._with = QLabel(wordWrap=True), QLabel(wordWrap=True), QLabel(wordWrap=True)
        self._with.setProperty("muted", True)
        for label in (self._head, self._notice, self._with):
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._head.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._head.setToolTip(self.tr("Times as fast = speculative / plain tokens per second, the prompt's reading not "
                                      "counted. A lead below 2 % counts as none."))  # fmt: skip
        self._titles = QLabel(self.tr("Plain text")), QLabel(self.tr("Speculative text"))
        sides = [column(title, (panel(text), 1)) for title, text in zip(self._titles, self.texts, strict=True)]
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(FittingColumn(about, self._head, panel(self.tracks), self.bar,
                                       (row(*((side, 1) for side in sides)), 1), self._notice, self._with))  # fmt: skip

    def _connect(self) -> None:
        s = self._session
        s.answered.connect(self._take)
        s.pair_changed.connect(self._pair_changed)
        s.config_changed.connect(self._say)
        s.state_changed.connect(self._state_changed)
        self.bar.measure.connect(self.measure)
        self.bar.play_toggled.connect(self.play)
        self.bar.speed_changed.connect(self.set_speed)
        self.bar.sought.connect(self.seek)
        for keys, slot in ((MEASURE_KEYS, self.measure), (REPLAY_KEYS, lambda: self.play(not self.replay.playing))):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while hidden."""
        super().showEvent(event)
        self._say()

    def hideEvent(self, event: QHideEvent) -> None:
        """Hold the replay: nobody looks."""
        super().hideEvent(event)
        if self.replay.playing:
            self.pause()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_titles"):
            self._dress()

    def _dress(self) -> None:
        theme.set_headline(self._head, self._colours[0])
        theme.set_face(self._notice, colour=self._colours[1])
        for title in self._titles:
            theme.set_face(title, bold=True)
