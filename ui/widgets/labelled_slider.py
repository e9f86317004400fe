"""A named value with a slider and an editable number that always agree.

Knows: limits, step, digits. Does not know: what the value is used for.
"""

from __future__ import annotations

import math
from html import escape

from PySide6.QtCore import QEvent, QLocale, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent
from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox, QHBoxLayout, QLabel, QSlider, QWidget

from ui import theme
from ui.widgets.keys import keeps

DIGITS = "00.0000"  # the room of the number, so that several sliders line up


class LabelledSlider(QWidget):
    """Label, slider and spin box for one number; the number itself lives here, rounded to its digits."""

    value_changed = Signal(float)  # only when it has changed; whole numbers where decimals = 0

    def __init__(
        self,
        name: str,
        symbol: str,
        minimum: float,
        maximum: float,
        decimals: int = 2,
        step: float = 0.01,
        help: str = "",
        default: float | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        if not (minimum < maximum and step > 0):
            raise ValueError(f"{name}: minimum {minimum} must be below maximum {maximum}, and step {step} above 0")
        self._minimum, self._maximum, self._decimals, self._step = minimum, maximum, decimals, step
        self._default = self._rounded(minimum if default is None else default)
        self._value = self._default
        self._label, self._words = _Label(self), (symbol, name)
        self._aligned: list[LabelledSlider] = []  # those whose labels have one width, this one among them
        self._label.setText(f"<b>{escape(symbol)}</b>&nbsp; {escape(name)}" if symbol else escape(name))
        self._slider = QSlider(Qt.Orientation.Horizontal, self)
        self._spin = QDoubleSpinBox(self)
        self._build(name, help)
        self._show()

    def value(self) -> float:
        """Return the value."""
        return self._value

    def setValue(self, value: float) -> None:
        """Take a value, within the limits and rounded to the digits; NaN is ignored."""
        if math.isnan(value):
            return
        value = self._rounded(value)
        changed = value != self._value
        self._value = value
        self._show()
        if changed:
            self.value_changed.emit(value)

    def reset(self) -> None:
        """Go back to the default."""
        self.setValue(self._default)

    def set_range(self, minimum: float, maximum: float) -> None:
        """Change the limits; the value follows if it has to."""
        self._minimum, self._maximum = minimum, maximum
        with QSignalBlocker(self._slider), QSignalBlocker(self._spin):
            self._slider.setRange(0, self._steps())
            self._spin.setRange(minimum, maximum)
        self.setValue(self._value)

    def leave_out_number(self) -> None:
        """Show no number: the steps mean something else, which the owner writes beside the slider."""
        self._spin.hide()
        self._label.setBuddy(self._slider)

    def label_width(self) -> int:
        """Return the width that the label wants, to line up several sliders; the label's own font may be late."""
        symbol, name = self._words
        plain, bold = (QFontMetricsF(theme.text_font(bold=b)) for b in (False, True))
        before = bold.horizontalAdvance(symbol) + plain.horizontalAdvance("  ") if symbol else 0
        return math.ceil(before + plain.horizontalAdvance(name)) + 1

    def align_label(self, sliders: list[LabelledSlider]) -> None:
        """Give the label the width of the widest of these, now and at any other size of text."""
        self._aligned = sliders
        self._label.setFixedWidth(max(s.label_width() for s in sliders))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave the wheel to the page unless slider or number has the focus; keep the keys that move the slider."""
        if event.type() == QEvent.Type.Wheel and not watched.hasFocus():
            event.ignore()
            return True
        if watched is self._slider and keeps(event):
            return True
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_spin"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        theme.set_face(self._spin, fixed_width=True)
        digits = QFontMetricsF(theme.token_font()).horizontalAdvance(DIGITS)
        self._spin.setFixedWidth(round(digits) + 2 * theme.SPACE)
        if self._aligned:
            self.align_label(self._aligned)

    def _build(self, name: str, help: str) -> None:
        self._slider.setRange(0, self._steps())
        self._slider.setPageStep(max(1, self._steps() // 10))
        self._spin.setLocale(QLocale.c())
        self._spin.setDecimals(self._decimals)
        self._spin.setRange(self._minimum, self._maximum)
        self._spin.setSingleStep(self._step)
        self._spin.setKeyboardTracking(False)  # a half-typed number is not a value
        self._spin.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.NoButtons)
        self._spin.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._dress()
        for widget in (self._slider, self._spin):
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            widget.setAccessibleName(name)
            widget.setAccessibleDescription(help)
            widget.installEventFilter(self)
        self._label.setBuddy(self._spin)
        back = self.tr("Double-click the name to go back to {v}.").format(v=self._text(self._default))
        self.setToolTip(f"{help}\n{back}".strip())
        self._arrange()
        self._slider.valueChanged.connect(self._slid)
        self._spin.valueChanged.connect(self.setValue)
        self._label.double_clicked.connect(self.reset)

    def _arrange(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        layout.addWidget(self._label)
        layout.addWidget(self._slider, 1)
        layout.addWidget(self._spin)

    def _slid(self, steps: int) -> None:
        self.setValue(self._minimum + steps * self._step)

    def _show(self) -> None:
        with QSignalBlocker(self._slider), QSignalBlocker(self._spin):
            self._slider.setValue(round((self._value - self._minimum) / self._step))
            self._spin.setValue(self._value)

    def _steps(self) -> int:
        return max(1, math.ceil((self._maximum - self._minimum) / self._step - 1e-9))

    def _rounded(self, value: float) -> float:
        value = round(max(self._minimum, min(self._maximum, value)), self._decimals)
        return value if self._decimals else int(value)

    def _text(self, value: float) -> str:
        return f"{value:.{self._decimals}f}"


class _Label(QLabel):
    """A label that tells when it is double-clicked."""

    double_clicked = Signal()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Tell."""
        self.double_clicked.emit()


def align_labels(sliders: list[LabelledSlider]) -> None:
    """Give all labels the width of the widest, so that the sliders start at one line."""
    for slider in sliders:
        slider.align_label(sliders)
