"""Keys that a focused widget keeps for itself even where the window has a shortcut on them.

Knows: the keys that move within a widget. Does not know: the window's shortcuts.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt

MOVING_KEYS = frozenset(
    {
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_PageDown,
    }
)


def keeps(event: QEvent) -> bool:
    """Accept the event and return True if it asks whether a window shortcut may take a moving key."""
    if event.type() != QEvent.Type.ShortcutOverride or event.key() not in MOVING_KEYS:
        return False
    if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
        return False
    event.accept()
    return True
