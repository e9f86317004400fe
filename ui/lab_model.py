"""What the laboratory looks at: a pair of distributions, where it comes from, a rule with its parameter.

Knows: how a position of the run becomes a pair, and what is shown where there is none. Does not know: widgets.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication

from simulator.exactness.laws import Law, draft_law, law, tokens_per_round
from simulator.exactness.pairs import EXAMPLES, PQ, REST, folded, moved, random_pair
from simulator.exactness.rules import CARDS, RuleCard
from simulator.records import Position, RoundTrace
from ui.playback import Cursor

translate = QCoreApplication.translate

POSITION, HAND, RANDOM = "position", "hand", "random"  # sources beside the names of EXAMPLES
RANDOM_OUTCOMES = 6
SAME = 1e-9  # a closed-form TV below this is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """One question to the laboratory."""

    pair: PQ
    labels: tuple[str, ...]
    where: str  # "position 3 of round 4"
    rule: str = "exact"
    parameter: float | None = None
    alpha: float | None = None  # sum min(p, q) over the whole vocabulary, where the pair is folded
    place: Position | None = None  # of the run, where the pair is one of its positions

    @property
    def card(self) -> RuleCard:
        """Return what is known of the rule."""
        return CARDS[self.rule]

    def law(self) -> Law:
        """Return the rule's closed form."""
        return law(self.rule, self.pair.p, self.pair.q, self.parameter)

    def under(self, rule: str, parameter: float | None) -> Setup:
        """Return the same pair under another rule."""
        return replace(self, rule=rule, parameter=parameter)

    def draft(self) -> NDArray[np.float64]:
        """Return the law of the drafted token."""
        return draft_law(self.rule, self.pair.q)

    def tokens(self, k: int) -> float:
        """Return the expected tokens per round of k drafts."""
        return tokens_per_round(self.rule, self.pair.p, self.pair.q, k, self.parameter)


def sources() -> dict[str, str]:
    """Return what the pair can be taken from, with titles."""
    return {
        POSITION: translate("Lab", "this position of the run"),
        **{name: translate("Lab", "example: {t}").format(t=example.title) for name, example in EXAMPLES.items()},
        RANDOM: translate("Lab", "a random pair"),
        HAND: translate("Lab", "set by hand"),
    }


def usable(trace: RoundTrace | None, position: int) -> Position | None:
    """Return the chosen position if it has p and q, else the last one before it that has, else the first."""
    found = [p for p in trace.positions if p.bars is not None and p.bars.q is not None] if trace else []
    before = [p for p in found if p.position <= position]
    return (before or found)[-1 if before else 0] if found else None


def from_run(trace: RoundTrace | None, cursor: Cursor, m: int, label: Callable[[int], str]) -> Setup | None:
    """Return the setup of the position under the cursor, or of the usable one nearest to it; None where none is."""
    place = usable(trace, cursor.position)
    return None if place is None else from_position(place, cursor.round, m, label)


def from_position(place: Position, index: int, m: int, label: Callable[[int], str]) -> Setup:
    """Return the setup of a position of round `index` (0, 1, ...), folded to its top m tokens and the rest."""
    pair = folded(place.bars, m)
    labels = tuple(translate("Lab", "rest") if i == REST else label(i) for i in pair.ids)
    where = translate("Lab", "position {n} of round {r}").format(n=place.position, r=index + 1)
    alpha = place.shape.overlap if place.shape is not None and REST in pair.ids else None
    return Setup(pair, labels, where, alpha=alpha, place=place)


def from_example(name: str) -> Setup:
    """Return the setup of a worked example."""
    pair = EXAMPLES[name].pair
    return Setup(pair, letters(len(pair.ids)), translate("Lab", "the example '{t}'").format(t=EXAMPLES[name].title))


def from_seed(seed: int) -> Setup:
    """Return the setup of a random pair."""
    where = translate("Lab", "the random pair {n}").format(n=seed)
    return Setup(random_pair(RANDOM_OUTCOMES, seed), letters(RANDOM_OUTCOMES), where)


def by_hand(setup: Setup, side: str, column: int, value: float) -> Setup:
    """Return the setup with one bar moved, the others of its row scaled; it is a pair of one's own from then on."""
    row = moved(getattr(setup.pair, side), column, value)
    return replace(
        setup, pair=replace(setup.pair, **{side: row}), where=translate("Lab", "your own pair"), alpha=None, place=None
    )


def telling(pair: PQ) -> int:
    """Return the column that tells most: the bluest one that is a single token."""
    blue = np.where(np.array(pair.ids) == REST, -1.0, pair.p - pair.q)
    return int(blue.argmax())


def letters(m: int) -> tuple[str, ...]:
    """Return A, B, C, ... as names of outcomes that are no tokens."""
    return tuple(string.ascii_uppercase[:m])
