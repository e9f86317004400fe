"""Breaks prompt and rounds into lines, one stretch at a time.

Knows: the text is cut into stretches of a fixed number of rounds, each of which starts a new line, so that laying out
what is visible costs the same after 100 rounds and after 100,000 and nothing moves when the cursor does.
Does not know: painting, or how wide a label is (it is told by `measure`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from simulator.records import RoundTrace
from ui.widgets.origin import STRUCK, Origin, pieces_of
from ui.widgets.token_text import NEWLINE, elided, safe

ROUNDS = 64  # per stretch
PROMPT = 256  # prompt tokens per stretch; the rest of the prompt shares a line with the first round
LONGEST = 40  # characters of one token; the tooltip has the whole label
KEPT = 8  # stretches kept laid out
NO_ROUND = -1  # the prompt

Address = tuple[int, int]  # stretch, line in it


class Placed(NamedTuple):
    """One token with its place in a line."""

    round: int  # 0, 1, ...; NO_ROUND in the prompt
    order: int  # index in `origin.pieces(round)`, or in the prompt
    position: int  # 1, 2, ...; 0 in the prompt
    origin: Origin
    text: str
    x: float
    width: float


Line = list[Placed]
Item = tuple[int, int, int, Origin, str]  # a Placed without x and width


def flow(items: Iterable[Item], measure: Callable[[str], float], width: float, newlines: bool) -> list[Line]:
    """Break items into lines no wider than `width`; with `newlines` also after each newline token of the text."""
    lines: list[Line] = [[]]
    x = 0.0
    for round, order, position, origin, text in items:
        size = min(measure(text), width)
        if x + size > width and lines[-1]:
            lines.append([])
            x = 0.0
        lines[-1].append(Placed(round, order, position, origin, text, x, size))
        x += size
        if newlines and text.endswith(NEWLINE) and origin not in STRUCK:
            x = width
    return lines


Where = dict[tuple[int, int | None], tuple[int, int]]  # (round, position or None): its first and its last line


def _places(lines: list[Line]) -> Where:
    found: Where = {}
    for number, line in enumerate(lines):
        for token in line:
            for key in ((token.round, token.position), (token.round, None)):
                found[key] = found[key][0] if key in found else number, number
    return found


class RibbonText:
    """The whole text, laid out where asked."""

    def __init__(self, label: Callable[[int], str], measure: Callable[[str], float]) -> None:
        self.label = label
        self.measure = measure
        self.prompt: list[str] = []
        self.rounds: Sequence[RoundTrace] = ()
        self._known = 0  # rounds that there were when last told
        self.width = 600.0
        self.show_rejected = True
        self._laid: OrderedDict[int, list[Line]] = OrderedDict()
        self._where: dict[int, Where] = {}  # of the stretches that are laid out

    def set_rounds(self, rounds: Sequence[RoundTrace]) -> None:
        """Take the text from this sequence."""
        self.rounds, self._known = rounds, len(rounds)
        self.forget()

    def grown(self) -> None:
        """Take notice of new rounds at the end; only the last stretch has to be laid out again."""
        last = self.stretch_of(self._known)
        self._known = len(self.rounds)
        for stretch in [s for s in self._laid if s >= last]:
            del self._laid[stretch], self._where[stretch]

    def forget(self) -> None:
        """Drop all layout, after a change of width, font, prompt or options."""
        self._laid.clear()
        self._where.clear()

    def stretch_of(self, round: int) -> int:
        """Return the stretch in which a round stands (NO_ROUND: the end of the prompt)."""
        return len(self.prompt) // PROMPT + max(0, round) // ROUNDS

    def lines(self, stretch: int) -> list[Line]:
        """Return the lines of a stretch, at least one."""
        if stretch not in self._laid:
            self._laid[stretch] = flow(self._items(stretch), self.measure, self.width, newlines=False)
            self._where[stretch] = _places(self._laid[stretch])
            while len(self._laid) > KEPT:
                del self._where[self._laid.popitem(last=False)[0]]
        return self._laid[stretch]

    def line(self, address: Address) -> Line:
        """Return the line at an address."""
        return self.lines(address[0])[address[1]]

    def moved(self, address: Address, by: int) -> Address:
        """Return the address so many lines further down (or up), stopping at both ends of the text."""
        stretch, line = address
        last = self.stretch_of(len(self.rounds) - 1)
        line += by
        while line < 0 and stretch > 0:
            stretch -= 1
            line += len(self.lines(stretch))
        while stretch < last and line >= len(self.lines(stretch)):
            line -= len(self.lines(stretch))
            stretch += 1
        return stretch, max(0, min(line, len(self.lines(stretch)) - 1))

    def find(self, round: int, position: int | None = None, last: bool = False) -> Address:
        """Return the line where a round (or its token at that position) stands, its first or its last one."""
        stretch = self.stretch_of(round)
        self.lines(stretch)
        found = self._where[stretch].get((round, position))
        if found is None:
            return (stretch, 0) if position is None else self.find(round)
        return stretch, found[1 if last else 0]

    def _items(self, stretch: int) -> Iterator[Item]:
        first = stretch * PROMPT
        for order, text in enumerate(self.prompt[first : first + PROMPT], first):
            yield NO_ROUND, order, 0, Origin.PROMPT, elided(safe(text), LONGEST)
        start = (stretch - len(self.prompt) // PROMPT) * ROUNDS
        shown = self.rounds[start : start + ROUNDS] if start >= 0 else ()
        for round, found in enumerate(pieces_of(shown), start):
            for order, piece in enumerate(found):
                if self.show_rejected or piece.origin not in STRUCK:
                    text = elided(safe(self.label(piece.token_id)), LONGEST)
                    yield round, order, piece.position, piece.origin, text
