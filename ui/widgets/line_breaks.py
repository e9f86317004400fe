"""Where the lines of a long text begin, found one stretch after the other.

Knows: the rules of `ribbon_layout.flow`, of which this keeps no more than a number a line: a hundred thousand placed
tokens would take seconds and a hundred megabytes. Does not know: what is in view.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable

from ui.widgets.token_text import NEWLINE

STRETCH = 500  # tokens, a few milliseconds


class LineBreaks:
    """The lines of `count` tokens, as far as they were found."""

    def __init__(self, count: int, text: Callable[[int], str], measure: Callable[[str], float], width: float) -> None:
        """Ask `text` for each token's text, and `measure` for the width of one."""
        self.count, self.width = count, width
        self._text, self._measure = text, measure
        self._starts = array("q", [0])  # the first token of each line
        self._done, self._x = 0, 0.0

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def complete(self) -> bool:
        """Return whether all lines were found."""
        return self._done >= self.count

    def more(self) -> None:
        """Find the lines of one more stretch."""
        x, width = self._x, self.width
        for i in range(self._done, min(self.count, self._done + STRETCH)):
            text = self._text(i)
            size = min(self._measure(text), width)
            if x + size > width and self._starts[-1] != i:
                self._starts.append(i)
                x = 0.0
            x += size
            if text.endswith(NEWLINE):
                x = width
        self._x, self._done = x, min(self.count, self._done + STRETCH)

    def line(self, row: int) -> range:
        """Return the tokens of a line; the last line has those that were found so far."""
        after = self._starts[row + 1] if row + 1 < len(self._starts) else self._done
        return range(self._starts[row], after)

    def row(self, token: int) -> int | None:
        """Return the line of a token, None where it was not found yet."""
        return bisect_right(self._starts, token) - 1 if token < self._done else None
