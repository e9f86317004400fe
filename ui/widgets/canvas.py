"""A painter that is always ended, whatever happens while painting.

Knows: that a QPainter left open by an exception takes the process down when its widget goes. Does not know: what is
painted; the exception travels on to the application's exception hook.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QPaintDevice, QPainter


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """Yield an antialiasing painter on the device and end it in any case."""
    painter = QPainter(device)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    try:
        yield painter
    finally:
        painter.end()
