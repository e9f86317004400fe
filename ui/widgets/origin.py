"""Where each token of a round came from: one list of pieces, read by the cards and by the ribbon alike.

Knows: the words of `simulator.records` and their colours and signs. Does not know: how they are laid out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from PySide6.QtCore import QCoreApplication

from simulator.records import DraftedToken, Kind, RoundTrace, Verdict
from simulator.trace.columns import DRAFTED, EXTRA, KINDS, VERDICTS, Columns
from simulator.trace.store import Rounds
from ui.widgets.reveal import Reveal

translate = QCoreApplication.translate


class Origin(StrEnum):
    """What a token on screen is."""

    PROMPT = "prompt"
    HIDDEN = "hidden"  # not revealed yet; keeps its place
    PENDING = "pending"  # drafted, not judged yet
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DISCARDED = "discarded"
    RESIDUAL = "residual"
    BONUS = "bonus"
    PLAIN = "plain"


COLOURS = {
    Origin.PROMPT: "muted",
    Origin.HIDDEN: "panel",
    Origin.PENDING: "text",
    Origin.ACCEPTED: "both",
    Origin.REJECTED: "excess",
    Origin.DISCARDED: "discarded",
    Origin.RESIDUAL: "missed",
    Origin.BONUS: "extra",
    Origin.PLAIN: "text",
}
SIGNS = {Origin.ACCEPTED: "✓", Origin.REJECTED: "✗", Origin.DISCARDED: "–"}
STRUCK = (Origin.REJECTED, Origin.DISCARDED)  # drafted, but not part of the text
_FROM_VERDICT = {
    Verdict.ACCEPTED: Origin.ACCEPTED,
    Verdict.REJECTED: Origin.REJECTED,
    Verdict.DISCARDED: Origin.DISCARDED,
}
_FROM_KIND = {Kind.RESIDUAL: Origin.RESIDUAL, Kind.BONUS: Origin.BONUS, Kind.PLAIN: Origin.PLAIN}


@dataclass(frozen=True, slots=True)
class Piece:
    """One token of a round: accepted, rejected and discarded drafts in order, then the extra token."""

    position: int  # 1, 2, ...; the residual token has the position of the draft it replaces
    token_id: int
    origin: Origin


def pieces(round: RoundTrace, reveal: Reveal | None = None) -> list[Piece]:
    """List a round's tokens as far as they are revealed (None: all); hidden ones keep their place in the list."""
    reveal = reveal or Reveal.all_of(round)
    tested = round.tested
    drafts = [
        Piece(p.position, p.drafted.token_id, draft_origin(p.drafted, p.position, tested, reveal))
        for p in round.positions
        if p.drafted is not None
    ]
    extras = [
        Piece(p.position, p.extra.token_id, _FROM_KIND[p.extra.kind] if reveal.emitted else Origin.HIDDEN)
        for p in round.positions
        if p.extra is not None
    ]
    return drafts + extras


def pieces_of(rounds: Sequence[RoundTrace]) -> Iterator[list[Piece]]:
    """Yield every round's tokens, all revealed, without rebuilding the rounds of a trace."""
    for block in rounds.blocks() if isinstance(rounds, Rounds) else [rounds]:
        yield from _packed_pieces(block) if isinstance(block, Columns) else map(pieces, block)


def _packed_pieces(packed: Columns) -> Iterator[list[Piece]]:
    names = ("position", "flags", "token", "verdict", "extra_token", "kind")
    rows = zip(*(packed.positions[name].tolist() for name in names), strict=True)
    for count in packed.rounds["positions"].tolist():
        drafts, extras = [], []
        for position, flags, token, verdict, extra, kind in islice(rows, count):
            if flags & DRAFTED:
                drafts.append(Piece(position, token, _FROM_VERDICT[VERDICTS[verdict]]))
            if flags & EXTRA:
                extras.append(Piece(position, extra, _FROM_KIND[KINDS[kind]]))
        yield drafts + extras


def draft_origin(token: DraftedToken, position: int, tested: int, reveal: Reveal) -> Origin:
    """Return what a drafted token is shown as; the discarded show themselves once the last test is judged."""
    if not reveal.drafted:
        return Origin.HIDDEN
    due = tested if token.verdict is Verdict.DISCARDED else position
    return _FROM_VERDICT[token.verdict] if reveal.judged >= due else Origin.PENDING


def word(origin: Origin) -> str:
    """Return the word on screen for this origin."""
    return {
        Origin.PROMPT: translate("Origin", "prompt"),
        Origin.HIDDEN: translate("Origin", "not shown yet"),
        Origin.PENDING: translate("Origin", "drafted"),
        Origin.ACCEPTED: translate("Origin", "accepted"),
        Origin.REJECTED: translate("Origin", "rejected"),
        Origin.DISCARDED: translate("Origin", "discarded"),
        Origin.RESIDUAL: translate("Origin", "residual"),
        Origin.BONUS: translate("Origin", "bonus"),
        Origin.PLAIN: translate("Origin", "plain"),
    }[origin]


def definition(origin: Origin) -> str:
    """Return the definition that a tooltip gives."""
    return {
        Origin.PROMPT: translate("Origin", "Given before the run; not generated."),
        Origin.HIDDEN: translate("Origin", "Not revealed yet."),
        Origin.PENDING: translate("Origin", "Proposed by the draft, drawn from q; not judged yet."),
        Origin.ACCEPTED: translate("Origin", "A drafted token that passed its test u < min(1, p/q)."),
        Origin.REJECTED: translate("Origin", "The first drafted token of the round that failed its test."),
        Origin.DISCARDED: translate("Origin", "Drafted but never tested: behind a rejection or an end token."),
        Origin.RESIDUAL: translate("Origin", "Drawn from norm(max(0, p - q)) in place of the rejected token."),
        Origin.BONUS: translate("Origin", "Drawn from p for free, after every drafted token was accepted."),
        Origin.PLAIN: translate("Origin", "Drawn from p in a round that drafted nothing."),
    }[origin]
