"""The one kind of exception that is meant for the person at the screen."""

from __future__ import annotations

from simulator.text.glyphs import one_line


class UserError(Exception):
    """One or two sentences: what happened, which file or value, what to do. Shown as it is, never as a traceback.

    A name inside that breaks the line, or turns it around, is shown with marks in these places.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(one_line(sentence))
