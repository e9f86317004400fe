"""Legible everywhere (SD-074): sizes, fonts, scale factors, both themes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QLabel,
    QToolTip,
    QWidget,
)

from ui import theme
from ui.widgets.elided_button import ElidedButton
from ui.widgets.notice import Notice, ProgressNotice
from ui.widgets.pair_dialog import PairDialog
from ui.widgets.prompt_dialog import PromptDialog

TEXTS = ("text", "muted", "accent", "both", "missed", "excess", "extra", "discarded")
GROUNDS = ("window", "panel", "raised")


@pytest.fixture
def looks(qapp):
    """Set theme and text size; both go back after the test."""
    points = QApplication.font().pointSizeF()

    def look(name: str, size: float) -> None:
        theme.apply(qapp, name)
        theme.set_text_size(qapp, size)
        QApplication.processEvents()

    yield look
    look("dark", points)


def contrast(a: str, b: str) -> float:
    """Return the WCAG 2 contrast ratio of two colours."""
    light, dark = sorted((_luminance(QColor(a)), _luminance(QColor(b))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: QColor) -> float:
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    linear = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("name", ["dark", "light"])
def test_every_text_colour_can_be_read_on_every_ground(name):
    colours = theme.THEMES[name]
    low = {(t, g): round(c, 2) for t in TEXTS for g in GROUNDS
           if (c := contrast(getattr(colours, t), getattr(colours, g))) < 4.5}  # fmt: skip
    assert low == {}
    assert contrast(colours.on_accent, colours.accent) >= 4.5


def test_larger_text_and_back_leaves_the_window_as_it_was(new_window, looks, qtbot):
    """Labels, numbers and the headline kept the room of the larger text, and the page scrolled sideways."""
    window = new_window(size=(1280, 800))
    looks("dark", 10.5)
    qtbot.wait(300)
    before = [(type(w), w.size(), w.minimumSizeHint()) for w in window.findChildren(QWidget) if w.isVisible()]
    for points in (20, 8, 16, 10.5):
        looks("dark", points)
    window.resize(1280, 800)
    qtbot.wait(300)
    after = [(type(w), w.size(), w.minimumSizeHint()) for w in window.findChildren(QWidget) if w.isVisible()]
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == []


def cut(window: QWidget) -> list[str]:
    """Return the visible controls and labels that have less room than their text."""
    found = []
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or isinstance(widget, ElidedButton) or not _shows_text(widget):
            continue
        hint, size = widget.sizeHint(), widget.size()
        if isinstance(widget, QLabel) and widget.wordWrap():
            short = widget.heightForWidth(size.width()) > size.height() + 1
        else:
            short = min(hint.width(), widget.maximumWidth()) > size.width() + 1 or hint.height() > size.height() + 1
        if short:
            text = getattr(widget, "text", lambda: "")()
            found.append(f"{type(widget).__name__} {text!r} {size.toTuple()} of {hint.toTuple()}")
    return found


def _shows_text(widget: QWidget) -> bool:
    if isinstance(widget, QLabel) and not widget.text():
        return False
    in_plot = widget.parent() is not None and hasattr(widget.parent(), "plotItem")  # plots place their own labels
    kinds = QAbstractButton, QAbstractSpinBox, QComboBox, QLabel
    return isinstance(widget, kinds) and not in_plot and not isinstance(widget.parent(), QAbstractSpinBox)


def overlapping(window: QWidget) -> list[str]:
    """Return pairs of visible controls that cover each other."""
    kinds = QAbstractButton, QAbstractSpinBox, QComboBox
    shown = [w for w in window.findChildren(QWidget) if isinstance(w, kinds) and w.isVisible() and _shows_text(w)]
    boxes = [(w, QRect(w.mapTo(window, w.rect().topLeft()), w.size())) for w in shown]
    return [f"{a} {b}" for i, (a, x) in enumerate(boxes) for b, y in boxes[i + 1 :] if x.intersects(y)
            and a.parent() is b.parent()]  # fmt: skip


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize("points", [8, 10.5, 20])
def test_nothing_is_cut_off_or_covered(new_window, looks, until, qtbot, name, points):
    window = new_window(max_new_tokens=10)
    window.session.next_round()
    until(lambda: window.session.playback.cursor.round == 0)
    looks(name, points)
    for width, height in ((800, 600), (1280, 800), (1920, 1080)):
        window.resize(width, height)
        QApplication.processEvents()
        if cut(window):  # the big numbers come a moment later and may need another layout
            qtbot.wait(400)
        assert cut(window) == []
        assert overlapping(window) == []
        assert window.pages.height() > 150
        assert window.width() <= max(width, 1100)


@pytest.mark.parametrize("points", [8, 20])
def test_notices_and_dialogs_have_room_for_their_text(qtbot, looks, points):
    looks("dark", points)
    notice, progress = Notice(), ProgressNotice()
    notice.show_error(
        "A sentence about what went wrong that is longer than the notice is wide " * 3, "Traceback\n" * 30
    )
    progress.set_progress("Measuring k = 0 to 8 against plain decoding ...", 0.4)
    widgets = (notice, progress, PairDialog(), PromptDialog("text"))
    for widget in widgets:
        qtbot.addWidget(widget)
    for widget in widgets:
        if isinstance(widget, QDialog):
            widget.resize(widget.sizeHint())
        else:
            widget.resize(780, max(widget.sizeHint().height(), widget.heightForWidth(780)))
        widget.show()
        qtbot.waitExposed(widget)
        assert cut(widget) == []


@pytest.mark.parametrize("name", ["light", "dark"])
def test_plot_and_controls_share_one_ground_after_a_switch(new_window, looks, name):
    """SD-074: plots kept a white or black ground when the theme changed."""
    window = new_window()
    for theme_name in ("light", "dark", name):
        looks(theme_name, 10.5)
    image, stage = window.grab().toImage(), window.stage
    for plot, ground in ((stage.pq, "panel"), (stage.theory.plot, "panel"), (window.foot.ribbon, "window")):
        corner = plot.mapTo(window, plot.rect().bottomRight()) * image.devicePixelRatio()
        assert image.pixelColor(corner.x() - 3, corner.y() - 3) == theme.colour(ground)
    assert QToolTip.palette().toolTipText().color() == theme.colour("text")


def test_a_long_name_is_cut_with_an_ellipsis_and_whole_in_the_tooltip(new_window):
    window = new_window(prompt="a very long prompt " * 40, size=(800, 600))
    button = window.top_line.prompt
    assert button.text().startswith("Prompt: a very long prompt")
    assert button.text() in button.toolTip()
    assert button.geometry().right() <= window.width()


@pytest.mark.parametrize("factor", ["1.25", "3"])
def test_scaled_screens_get_scaled_pictures_and_no_complaint(tmp_path, factor):
    out = tmp_path / "x.png"
    command = [sys.executable, "main.py", "shot", "--page", "stage", "--state", "empty", "--out", str(out),
               "--size", "800x600"]  # fmt: skip
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": factor}
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Warning" not in done.stderr
    image = QImage(str(out))
    assert (image.width(), image.height()) == (round(800 * float(factor)), round(600 * float(factor)))
