"""Back, step, round, play with a speed, stop: asks, and shows what it is told is possible.

Knows: its buttons, and what the window's shortcuts for them are called. Does not know: run states.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QWidget

from ui import theme
from ui.widgets.digits import prob
from ui.widgets.transport_icons import SIZE, icon

AS_COMPUTED = 0.0  # speed that waits for nothing but the models
SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0, AS_COMPUTED)  # rounds per second
ACTIONS = ("back", "step", "round", "play", "stop")
SHORTCUTS = {"back": "Backspace", "step": "Space", "round": "R", "play": "P", "stop": "Esc"}  # the window's


class TransportBar(QWidget):
    """The buttons that move through a run."""

    back = Signal()
    step = Signal()
    round = Signal()
    play_toggled = Signal(bool)  # True: play, False: pause
    stop = Signal()
    speed_changed = Signal(float)  # rounds per second; AS_COMPUTED: as they come

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._playing = False
        self._buttons = {name: QPushButton(self) for name in ACTIONS}
        self._speed = QComboBox(self)
        self._build_speed()
        self._build()
        self._buttons["play"].setProperty("primary", True)
        self._label()
        self.set_state((), False)

    def set_state(self, enabled: Iterable[str], playing: bool) -> None:
        """Enable exactly these of "back", "step", "round", "play", "stop", and show pause while playing."""
        enabled = set(enabled)
        for name, button in self._buttons.items():
            button.setEnabled(name in enabled)
        if playing != self._playing:
            self._playing = playing
            self._label()

    def speed(self) -> float:
        """Return the chosen speed in rounds per second; AS_COMPUTED: as they come."""
        return SPEEDS[self._speed.currentIndex()]

    def set_speed(self, speed: float) -> None:
        """Show the nearest speed on offer without asking for it."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - speed))
        with QSignalBlocker(self._speed):
            self._speed.setCurrentIndex(nearest)

    def changeEvent(self, event: QEvent) -> None:
        """Redraw the icons in the new theme's colours."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange) and hasattr(self, "_buttons"):
            self._label()
        super().changeEvent(event)

    def _build(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        for name in ("back", "step", "round", "play"):
            layout.addWidget(self._buttons[name])
        layout.addWidget(self._speed)
        layout.addWidget(self._buttons["stop"])
        for name in ("back", "step", "round", "stop"):
            self._buttons[name].clicked.connect(getattr(self, name))
        self._buttons["play"].clicked.connect(self._toggle)
        for button in self._buttons.values():
            button.setIconSize(QSize(SIZE, SIZE))
        self._speed.setMinimumHeight(self._buttons["stop"].sizeHint().height())

    def _build_speed(self) -> None:
        for speed in SPEEDS:
            self._speed.addItem(self._speed_text(speed))
        self._speed.setCurrentIndex(SPEEDS.index(1.0))
        self._speed.setAccessibleName(self.tr("Speed"))
        self._speed.setToolTip(
            self.tr("How fast play shows rounds. 'As computed' shows each round as soon as the models finish it.")
        )
        self._speed.currentIndexChanged.connect(lambda index: self.speed_changed.emit(SPEEDS[index]))

    def _speed_text(self, speed: float) -> str:
        if speed == AS_COMPUTED:
            return self.tr("as computed")
        if speed == 1:
            return self.tr("1 round/s")
        return self.tr("{n} rounds/s").format(n=prob(speed))

    def _label(self) -> None:
        for name, button in self._buttons.items():
            sign = "pause" if name == "play" and self._playing else name
            text, help = self._words()[sign]
            button.setText(text)
            button.setToolTip(f"{help} ({_native(SHORTCUTS[name])})")
            button.setAccessibleName(text)
            colour = "on_accent" if name == "play" else "text"
            button.setIcon(icon(sign, theme.colour(colour), theme.colour("discarded"), self.devicePixelRatioF()))

    def _words(self) -> dict[str, tuple[str, str]]:
        return {
            "back": (self.tr("Back"), self.tr("Undo the last step on screen; nothing is computed again.")),
            "step": (self.tr("Step"), self.tr("Show the next phase of the round: draft, verify, one test, emit.")),
            "round": (self.tr("Round"), self.tr("Show the round to its end, or the whole next one.")),
            "play": (self.tr("Play"), self.tr("Go on round after round at the chosen speed.")),
            "pause": (self.tr("Pause"), self.tr("Hold after the current step.")),
            "stop": (self.tr("Stop"), self.tr("End this run; its rounds stay to look at.")),
        }

    def _toggle(self) -> None:
        self.play_toggled.emit(not self._playing)


def _native(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
