"""Texts that are laid out once look, to the pixel, as Qt's own drawing of text has them."""

import random

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPixmap

from ui import theme
from ui.widgets.fast_text import CENTRE, LEFT, RIGHT, FastText, fast_text

TEXTS = (
    "hHgj",
    "·token",
    "u .0087 ≥ .0032",
    "fi ffl",
    "✓ accepted",
    "a<U+202E>b",
    "日本語",
    "⏎",
    "שלום",
    "\u0301a",
    "",
)


def painted(draw) -> QPixmap:
    pixmap = QPixmap(260, 60)
    pixmap.fill(QColor("black"))
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor("white"))
    draw(painter)
    painter.end()
    return pixmap


@pytest.mark.parametrize("points", [8.0, 10.5, 11.3, 14.0, 20.0])
@pytest.mark.parametrize("is_token", [False, True])
def test_a_text_looks_as_if_qt_had_drawn_it(qapp, points, is_token):
    rng, font = random.Random(points), theme.face(points, True, is_token)[0]
    for text in TEXTS:
        for align in (LEFT, CENTRE, RIGHT):
            box = QRectF(rng.uniform(3, 9), rng.uniform(3, 9), rng.uniform(20, 230), rng.uniform(20, 45))

            def with_qt(painter, box=box, align=align, text=text):
                painter.setFont(font)
                painter.drawText(box, align, text)

            fast = painted(lambda p, box=box, align=align, text=text: FastText(font).draw(p, box, align, text))
            assert fast.toImage() == painted(with_qt).toImage(), (text, align)


def test_texts_are_shared_and_do_not_pile_up(qapp, monkeypatch):
    assert fast_text(10.5, True) is fast_text(10.5, True)
    monkeypatch.setattr("ui.widgets.fast_text.KEPT", 10)
    texts = FastText(theme.text_font())
    for i in range(100):
        assert texts.width(str(i)) > 0
    assert len(texts._laid) <= 10
