"""Named colours, fonts and sizes; widgets and plots both read them from here.

Knows: how SpecScope looks. Does not know: any widget.

Verdicts and p/q differences are told apart by position, pattern or sign as well as by hue;
every text colour has a contrast of at least 4.5 : 1 on `window` and on `panel`.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QStyleFactory, QToolTip, QWidget

FONTS = Path(__file__).parent / "fonts"
SPACE = 8  # px; margins and gaps are multiples of half of it
RADIUS = 8  # px; corners of panels and cards
TEXT, SMALLEST, LARGEST = 10.5, 8.0, 20.0  # points
HEADLINE = 1.24  # times the text; the sentence that a page is about


@dataclass(frozen=True)
class Theme:
    """One set of colours, each an `#rrggbb` string."""

    name: str
    window: str  # behind everything
    panel: str  # cards and plots
    raised: str  # buttons, chips, slider grooves
    border: str
    text: str
    muted: str  # captions, axis labels
    accent: str  # the one primary action, selection
    on_accent: str  # text on accent
    both: str  # min(p, q), accepted: green
    missed: str  # p - q, the residual: blue
    excess: str  # q - p, over-drafted; rejected: red
    extra: str  # bonus tokens and measured points: amber
    discarded: str  # never tested: grey


DARK = Theme(
    name="dark", window="#0f1116", panel="#181b22", raised="#242936", border="#2d3341",
    text="#f2f4f8", muted="#a9b2c3", accent="#5b9dff", on_accent="#08101f",
    both="#35c480", missed="#5b9dff", excess="#ff6f6f", extra="#ffb84d", discarded="#8f98a8",
)  # fmt: skip
LIGHT = Theme(
    name="light", window="#f4f6fa", panel="#ffffff", raised="#e6eaf2", border="#c9d0dd",
    text="#12151c", muted="#4d586b", accent="#1c5fd4", on_accent="#ffffff",
    both="#0a7843", missed="#1c5fd4", excess="#c42b2b", extra="#8a5200", discarded="#5d6777",
)  # fmt: skip
THEMES = {theme.name: theme for theme in (DARK, LIGHT)}

_current = DARK


def current() -> Theme:
    """Return the theme in use; repaint on `QEvent.PaletteChange` to follow a change."""
    return _current


def colour(name: str, alpha: float = 1.0) -> QColor:
    """Return the current theme's colour of that field name, with an opacity in [0, 1]; shared, so change a copy."""
    return _colour(getattr(_current, name), alpha)


@lru_cache(maxsize=256)  # asked for some two hundred times a repaint
def _colour(value: str, alpha: float) -> QColor:
    result = QColor(value)
    result.setAlphaF(alpha)
    return result


def apply(app: QApplication, name: str) -> None:
    """Give the whole application the named theme ("dark" or "light"), explicit palette included."""
    global _current
    _current = THEMES.get(name, DARK)  # a damaged settings file names anything
    with _no_collection():
        if not app.property("styled"):  # once: widgets with a style sheet of their own would keep a style that is gone
            app.setStyle(QStyleFactory.create("Fusion"))  # native styles ignore palettes, each in its own way
            app.setProperty("styled", True)
        app.setPalette(_palette(_current))
        QToolTip.setPalette(_palette(_current))  # it keeps the first one otherwise
        app.setStyleSheet(_stylesheet(_current))


def load_fonts(app: QApplication, points: float = TEXT) -> None:
    """Register the shipped fonts and make the text face the application's font."""
    for file in sorted(FONTS.glob("*.[ot]tf")):
        QFontDatabase.addApplicationFont(str(file))
    app.setFont(text_font(points))


def zoom(app: QApplication, by: float) -> None:
    """Make all text larger or smaller by so many points, within what stays readable; for talks."""
    set_text_size(app, app.font().pointSizeF() + by)


def set_text_size(app: QApplication, points: float) -> None:
    """Give all text this size, as far as it stays readable."""
    with _no_collection():
        app.setFont(text_font(min(LARGEST, max(SMALLEST, points))))
        app.setStyleSheet(app.styleSheet())  # it holds widgets to the font they had when it was set


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hold Python's garbage collector off while Qt goes through a list of all widgets.

    One that is freed meanwhile (pyqtgraph leaves menus in reference cycles) takes the process down.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def set_face(
    widget: QWidget, scale: float = 1.0, bold: bool = False, fixed_width: bool = False, colour: str = ""
) -> None:
    """Give a widget's text a size relative to the application's, and a theme's colour; again on `QEvent.FontChange`.

    By a style sheet of its own: what `setFont` says is lost when the application's style sheet is set anew.
    """
    size = QApplication.font().pointSizeF() * scale
    family = " font-family: 'JetBrains Mono', 'DejaVu Sans Mono';" if fixed_width else ""
    sheet = f"font-size: {size:.2f}pt; font-weight: {600 if bold else 400};{family}"
    sheet += f" color: {getattr(_current, colour)};" if colour else ""
    if widget.styleSheet() != sheet:
        widget.setStyleSheet(sheet)


def set_headline(label: QLabel, colour: str = "") -> None:
    """Make the label a page's headline, with room for two lines: nothing below it jumps."""
    set_face(label, HEADLINE, bold=True, colour=colour)
    line = QFontMetricsF(text_font(QApplication.font().pointSizeF() * HEADLINE, bold=True)).lineSpacing()
    label.setMinimumHeight(math.ceil(2 * line))


def text_font(points: float | None = None, bold: bool = False) -> QFont:
    """Return the text face, at the application's size unless given."""
    return QFont(face(points or QApplication.font().pointSizeF(), bold)[0])


def token_font(points: float | None = None, bold: bool = False) -> QFont:
    """Return the fixed-width face that tokens are set in."""
    return QFont(face(points or QApplication.font().pointSizeF(), bold, is_token=True)[0])


@lru_cache(maxsize=64)
def face(points: float, bold: bool = False, is_token: bool = False) -> tuple[QFont, QFontMetricsF]:
    """Return a face with its metrics, both shared (change neither): for painting, which asks for dozens a repaint."""
    font = QFont(["JetBrains Mono", "DejaVu Sans Mono", "DejaVu Sans"] if is_token else ["Inter", "DejaVu Sans"])
    font.setPointSizeF(points)
    strong = QFont.Weight.Bold if is_token else QFont.Weight.DemiBold
    font.setWeight(strong if bold else QFont.Weight.Normal)
    if is_token:
        font.setFeature(QFont.Tag("calt"), 0)  # no ligatures: '<|end|>' must not become two triangles
    return font, QFontMetricsF(font)


@lru_cache(maxsize=8192)
def text_width(text: str, points: float, bold: bool = False, is_token: bool = False) -> float:
    """Return the width in px of a text in one of the faces; measured once, for the same tokens come again and again."""
    return face(points, bold, is_token)[1].horizontalAdvance(text)


def _palette(theme: Theme) -> QPalette:
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.window,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Base: theme.panel,
        QPalette.ColorRole.AlternateBase: theme.raised,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.muted,
        QPalette.ColorRole.Button: theme.raised,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.BrightText: theme.excess,
        QPalette.ColorRole.Highlight: theme.accent,
        QPalette.ColorRole.HighlightedText: theme.on_accent,
        QPalette.ColorRole.ToolTipBase: theme.raised,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.Link: theme.accent,
        QPalette.ColorRole.Mid: theme.border,
        QPalette.ColorRole.Dark: theme.border,
        QPalette.ColorRole.Light: theme.raised,
    }
    for role, value in roles.items():
        palette.setColor(role, QColor(value))
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText, QPalette.ColorRole.WindowText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.discarded))
    return palette


def _stylesheet(theme: Theme) -> str:
    return f"""
    QToolTip {{ background: {theme.raised}; color: {theme.text}; border: 1px solid {theme.border}; padding: 6px; }}
    QFrame[panel="true"] {{ background: {theme.panel}; border: 1px solid {theme.border}; border-radius: {RADIUS}px; }}
    QLabel[muted="true"] {{ color: {theme.muted}; }}
    QPushButton, QToolButton {{ background: {theme.raised}; color: {theme.text}; border: 1px solid {theme.border};
        border-radius: 6px; padding: 5px 12px; }}
    QPushButton:hover, QToolButton:hover {{ border-color: {theme.accent}; }}
    QPushButton:focus, QToolButton:focus {{ border: 2px solid {theme.accent}; padding: 4px 11px; }}
    QPushButton:checked {{ background: {theme.panel}; color: {theme.accent}; border-color: {theme.accent}; }}
    QPushButton:disabled, QToolButton:disabled {{ color: {theme.discarded}; background: {theme.panel}; }}
    QPushButton[primary="true"] {{ background: {theme.accent}; color: {theme.on_accent}; border-color: {theme.accent};
        font-weight: 600; }}
    QPushButton[primary="true"]:focus {{ border: 2px solid {theme.text}; }}
    QPushButton[primary="true"]:disabled {{ background: {theme.panel}; color: {theme.discarded};
        border-color: {theme.border}; }}
    QSlider::groove:horizontal {{ height: 4px; background: {theme.raised}; border-radius: 2px; }}
    QSlider::sub-page:horizontal {{ background: {theme.accent}; border-radius: 2px; }}
    QSlider::handle:horizontal {{ background: {theme.text}; width: 14px; height: 14px; margin: -5px 0;
        border-radius: 7px; }}
    QSlider::handle:horizontal:focus {{ border: 2px solid {theme.accent}; width: 12px; height: 12px;
        margin: -6px 0; border-radius: 8px; }}
    """
