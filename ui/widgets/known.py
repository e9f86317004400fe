"""How much of one position is on screen, while its round is revealed step by step."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.records import RoundTrace
from ui.widgets.reveal import Reveal


@dataclass(frozen=True, slots=True)
class Known:
    """What of a position may be shown; the default is everything."""

    scored: bool = True  # the target's p
    judged: bool = True  # the drafted token's verdict
    emitted: bool = True  # the extra token


EVERYTHING = Known()


def known(round: RoundTrace, reveal: Reveal, position: int) -> Known:
    """Return what this reveal shows of a position (1, 2, ...); discarded drafts show themselves with the last test."""
    return Known(reveal.verified, reveal.judged >= min(position, max(1, round.tested)), reveal.emitted)
