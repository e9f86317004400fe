"""What moves a race: measure, replay or pause, speed, and a slider over its time.

Knows: its buttons and how they are called. Does not know: what they lead to.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QSlider, QWidget

from ui import race_words, theme
from ui.replay import SPEEDS
from ui.widgets.keys import keeps
from ui.widgets.transport_icons import SIZE, icon

STEPS = 10_000  # of the slider over the whole race
MEASURE_KEYS, REPLAY_KEYS = "Shift+F5", "F5"
LONGEST = "000.00 s of 000.00 s"


class RaceBar(QWidget):
    """One row of controls."""

    measure = Signal()
    play_toggled = Signal(bool)
    speed_changed = Signal(float)
    sought = Signal(float)  # ms

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._end, self._playing = 0.0, False
        self.measure_button, self.play_button = QPushButton(), QPushButton(self.tr("Replay"))
        self.speed, self.slider, self._time = QComboBox(), QSlider(Qt.Orientation.Horizontal), QLabel()
        self._build()
        self.measure_button.clicked.connect(self.measure)
        self.play_button.clicked.connect(lambda: self.play_toggled.emit(not self._playing))
        self.speed.currentIndexChanged.connect(lambda i: self.speed_changed.emit(SPEEDS[i]))
        self.slider.valueChanged.connect(lambda value: self.sought.emit(self._end * value / STEPS))

    def set_state(self, can_measure: bool, measured: bool, can_replay: bool) -> None:
        """Enable what can be done; `measured`: there is a race to repeat."""
        self.measure_button.setEnabled(can_measure)
        self.measure_button.setText(self.tr("Race again") if measured else self.tr("Measure the race"))
        for widget in (self.play_button, self.slider, self.speed):
            widget.setEnabled(can_replay)

    def set_playing(self, playing: bool) -> None:
        """Show pause while playing."""
        if playing != self._playing:
            self._playing = playing
            self._label()

    def set_moment(self, ms: float, end: float) -> None:
        """Show a moment of a race of so many ms."""
        self._end = end
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(STEPS * ms / end) if end else 0)
        whole = self.tr("{a} of {b}").format(a=f"{race_words.clock(ms)} s", b=f"{race_words.clock(end)} s")
        self._time.setText(whole if end else "")

    def set_speed(self, speed: float) -> None:
        """Choose a speed on offer."""
        self.speed.setCurrentIndex(SPEEDS.index(speed))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the keys that move the slider from the window's shortcuts; leave the wheel to the page."""
        if event.type() == QEvent.Type.Wheel and not watched.hasFocus():
            event.ignore()
            return True
        return keeps(event) or super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or font."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_time"):
            self._dress()
        super().changeEvent(event)

    def _build(self) -> None:
        self.measure_button.setProperty("primary", True)
        self.measure_button.setToolTip(self.tr("Decode this prompt plainly, then with the draft, one after the other "
                                               "({keys}). It can be cancelled; the last race stays until the next is "
                                               "complete.").format(keys=MEASURE_KEYS))  # fmt: skip
        self.play_button.setIconSize(QSize(SIZE, SIZE))
        for speed in SPEEDS:
            self.speed.addItem(self._speed_text(speed))
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.setAccessibleName(self.tr("Speed of the replay"))
        self.speed.setToolTip(self.tr("True speed shows each token exactly when it came. Slower and faster ones "
                                      "stretch both lanes alike."))  # fmt: skip
        self.slider.setRange(0, STEPS)
        self.slider.setPageStep(STEPS // 10)
        self.slider.setSingleStep(STEPS // 200)
        self.slider.setAccessibleName(self.tr("Moment of the race"))
        self.slider.setToolTip(self.tr("Go to a moment of the race; the arrow keys move it too."))
        for widget in (self.slider, self.speed):
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            widget.installEventFilter(self)
        self._time.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._time.setToolTip(self.tr("Seconds of the race that are shown, of the slower lane's."))
        self.speed.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)  # as high as the buttons
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        for widget, stretch in ((self.measure_button, 0), (self.play_button, 0), (self.speed, 0), (self.slider, 1),
                                (self._time, 0)):  # fmt: skip
            layout.addWidget(widget, stretch)
        self._dress()

    def _speed_text(self, speed: float) -> str:
        names = {1.0: self.tr("true speed"), 0.5: self.tr("1/2 speed"), 0.25: self.tr("1/4 speed"),
                 0.1: self.tr("1/10 speed")}  # fmt: skip
        return names.get(speed, self.tr("{n:g} × speed").format(n=speed))

    def _dress(self) -> None:
        theme.set_face(self._time, fixed_width=True)
        face = QFontMetricsF(theme.token_font())
        self._time.setFixedSize(round(face.horizontalAdvance(LONGEST)), round(face.height()) + 2)  # no layout a tick
        self._label()

    def _label(self) -> None:
        sign, text = ("pause", self.tr("Pause")) if self._playing else ("play", self.tr("Replay"))
        help = self.tr("Show both lanes at once, as the tokens came ({keys}).").format(keys=REPLAY_KEYS)
        self.play_button.setText(text)
        self.play_button.setAccessibleName(text)
        self.play_button.setToolTip(help)
        look = icon(sign, theme.colour("text"), theme.colour("discarded"), self.devicePixelRatioF())
        self.play_button.setIcon(look)
