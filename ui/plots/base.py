"""The base of every plot: theme, fixed ranges, one redraw a frame.

Knows: when a plot is drawn, and its axes. Does not know: any data, what stands above the plot (`header`).

pyqtgraph's auto-range, SI prefixes, mouse zoom and export dialog are off: auto-range costs a multiple of the
drawing itself, ".3" must not read "300 m", and the dialog offers exports that fail on bars.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QElapsedTimer, QEvent, QPointF, Qt, QTimer
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QMouseEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QGraphicsView, QToolTip, QWidget

from ui import theme
from ui.plots.header import EDGE, Header
from ui.plots.key import Entry
from ui.plots.picture import picture_menu
from ui.plots.scales import tick_step, ticks

FRAME_MS = 16  # at most one redraw in this time, however many changes arrive
TICK_LINES = 1.7  # lines of text from tick to tick, at least
SMALLEST = 260, 140  # px
_RESTYLE = (QEvent.Type.PaletteChange, QEvent.Type.StyleChange, QEvent.Type.FontChange)


class Plot(pg.PlotWidget):
    """A plot with a caption, a key and an empty state; subclasses write `draw` and call `request_redraw`."""

    _built = False  # Qt delivers events while the base classes are still being constructed
    _has_items = False  # whether the subclass has made all its items

    def __init__(self, parent: QWidget | None = None, axes: dict[str, pg.AxisItem] | None = None) -> None:
        super().__init__(parent, axisItems=axes)
        self._dirty = True
        self._y_ticks: tuple[float, float, float] | None = None  # first, last, step
        self._clock = QElapsedTimer()
        self._unpainted = False  # drawn, and not yet on screen
        self._timer = QTimer(self, singleShot=True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timer)
        self.header = Header(self)
        self.setMinimumSize(*SMALLEST)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)  # `redraw_now` does it
        self._fix_interaction()
        self._built = True
        self.restyle()

    # What subclasses use

    def draw(self) -> None:
        """Bring all items up to date with the data; called at most once a frame, and only when visible."""
        raise NotImplementedError

    def read_out(self, x: float, y: float) -> str:
        """Return the tooltip (HTML) for a place in data coordinates, empty for none."""
        return ""

    def request_redraw(self) -> None:
        """Redraw soon; many requests within a frame cost one redraw, requests while hidden none."""
        self._dirty = True
        if self._built and self.isVisible() and not self._timer.isActive():
            past = self._clock.elapsed() if self._clock.isValid() else FRAME_MS
            self._timer.start(max(0, FRAME_MS - past))

    def set_header(self, caption: str, entries: Sequence[Entry]) -> None:
        """Show a sentence and a key above the plot; call first in `draw`, for it settles the plot's height."""
        self.header.set_texts(caption, entries)
        self.plotItem.show()
        if self.header.place():
            self.plotItem.layout.setContentsMargins(4, self.header.bottom + 2, EDGE, 6)
            self.plotItem.layout.activate()

    def set_message(self, text: str, caption: str = "") -> None:
        """Show a sentence in place of the plot: the empty state."""
        self.set_header(caption, [])
        self.header.set_message(text)
        self.plotItem.hide()

    def set_y_range(self, low: float, high: float, headroom: float = 0.0) -> None:
        """Show [low, high], ticks included, with so many free pixels above it."""
        height = max(self.plotItem.vb.height(), 1.0)
        share = height / max(height - headroom, height * 0.4, 1.0)
        self.set_range(1, low, low + (high - low) * share)
        axis = self.plotItem.getAxis("left")
        axis.label.setVisible(axis.label.boundingRect().width() < height)
        line = theme.face(QApplication.font().pointSizeF())[1].height()
        chosen = low, high, tick_step(high - low, height / share, line * TICK_LINES)
        if chosen != self._y_ticks:  # new ones have pyqtgraph lay out its axis again
            self._y_ticks = chosen
            axis.setTicks([ticks(*chosen), []])

    def set_range(self, axis: int, low: float, high: float) -> None:
        """Show [low, high] of x (0) or y (1); the same range again costs nothing."""
        if self.plotItem.vb.viewRange()[axis] != [low, high]:
            (self.plotItem.vb.setYRange if axis else self.plotItem.vb.setXRange)(low, high, padding=0)

    @property
    def caption(self) -> str:
        """Return the sentence above the plot."""
        return self.header.caption.text()

    @property
    def message(self) -> str:
        """Return the sentence in place of the plot, empty when there is a plot."""
        return self.header.message.text()

    def settle(self) -> None:
        """Draw what is due, if anything is."""
        if self._dirty:
            self.redraw_now()

    def redraw_now(self) -> None:
        """Draw at once what is due."""
        self._timer.stop()
        self._dirty = False
        self._clock.restart()
        self.draw()
        self.plotItem.layout.activate()
        self.plotItem.vb.prepareForPaint()  # else pyqtgraph moves its items while painting, and paints all twice
        self._unpainted = True
        self.viewport().update()  # plot and key in one go; the view itself would first paint what lies under the key

    def restyle(self) -> None:
        """Take over colours and fonts of the theme."""
        self.setBackground(theme.colour("panel"))
        font = theme.text_font()
        for side in ("left", "bottom"):
            axis = self.plotItem.getAxis(side)
            axis.setPen(theme.colour("border"))
            axis.setTickPen(theme.colour("border", 0.6))
            axis.setTextPen(theme.colour("muted"))
            axis.setTickFont(font)
            axis.label.setFont(font)
        self.plotItem.getAxis("left").setWidth(self._axis_width())
        if self._has_items:
            self.style_items()
        self.request_redraw()

    def items_made(self) -> None:
        """Give the items their looks, now and whenever the theme changes; call when the last of them is made."""
        self._has_items = True
        self.style_items()

    def style_items(self) -> None:
        """Give the plot's own items the theme's colours and textures."""

    # Qt

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or font."""
        super().changeEvent(event)
        if self._built and event.type() in _RESTYLE:
            self.restyle()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Draw anew at once: another size means another header, other columns, other ticks."""
        super().resizeEvent(event)
        if self._built and not self.closed:
            self.redraw_now()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while hidden."""
        super().showEvent(event)
        self.settle()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, after drawing what is still due (a picture may be asked for before the frame is over).

        Not where this paints what was just drawn: what changed since then waits for its own frame.
        """
        unpainted, self._unpainted = self._unpainted, False
        if self._dirty and not unpainted and self._built and not self.closed:
            self.redraw_now()
        super().paintEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer our menu in place of pyqtgraph's."""
        picture_menu(self).popup(event.globalPos())
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the page: plots have fixed ranges."""
        event.ignore()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show the numbers under the pointer."""
        super().mouseMoveEvent(event)
        text = self._text_at(event.position())
        if text:
            QToolTip.showText(event.globalPosition().toPoint(), text, self)
        else:
            QToolTip.hideText()

    def close(self) -> None:
        """Stop redrawing, then let pyqtgraph take the plot apart."""
        self._built = False
        self._timer.stop()
        super().close()

    def _on_timer(self) -> None:
        if self._dirty and self.isVisible():
            self.redraw_now()

    def _text_at(self, place: QPointF) -> str:
        box = self.plotItem.vb
        if self.message or not box.sceneBoundingRect().adjusted(0, 0, 0, self.height()).contains(place):
            return ""
        point = box.mapSceneToView(self.mapToScene(place.toPoint()))
        return self.read_out(point.x(), point.y())

    def _fix_interaction(self) -> None:
        self.plotItem.vb.disableAutoRange()
        self.plotItem.vb.setMouseEnabled(x=False, y=False)
        self.plotItem.vb.setDefaultPadding(0)
        self.plotItem.setMenuEnabled(False, enableViewBoxMenu=False)
        self.plotItem.hideButtons()
        for side in ("left", "bottom"):
            self.plotItem.getAxis(side).enableAutoSIPrefix(False)

    def _axis_width(self) -> int:
        metrics = QFontMetricsF(theme.text_font())
        return round(metrics.horizontalAdvance("0.000") + metrics.height() + 10)
