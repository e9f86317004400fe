"""What the cards of a round say: text and numbers only.

Knows: a round, how much of it is revealed, and the words. Does not know: pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from simulator.records import ExtraToken, Kind, Position, RoundTrace, Verdict
from ui.widgets.digits import pair, prob
from ui.widgets.origin import SIGNS, Origin, draft_origin, pieces, word
from ui.widgets.reveal import Reveal
from ui.widgets.token_text import safe

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Card:
    """One card as told to the painter; an empty string or None is a placeholder of the same size."""

    position: int | None  # what a click chooses; None: nothing there to choose
    tag: str  # "draft 1", "residual", "bonus", ...
    short: str  # the tag on a narrow card
    origin: Origin
    drafted: bool  # False for the last card
    token: str = ""
    p: str = ""
    q: str = ""
    accept: float | None = None
    needle: float | None = None  # the uniform of the accept test
    lines: tuple[str, str] = ("", "")  # draft: the comparison; extra: where it came from, its uniform
    verdict: str = ""
    sign: str = ""

    @property
    def unreached(self) -> bool:
        """Return whether the round ended before the extra token."""
        return self.origin is Origin.DISCARDED and not self.drafted

    @property
    def tone(self) -> str:
        """Return the colour name of the card's figures."""
        return "muted" if self.origin in (Origin.DISCARDED, Origin.HIDDEN) else "text"


def cards(round: RoundTrace, reveal: Reveal, label: Callable[[int], str]) -> list[Card]:
    """List the k + 1 cards of a round: one for each draft, then the one for the extra token."""
    drafts = [_draft_card(round, place, reveal, label) for place in round.positions if place.drafted is not None]
    return [*drafts, _last_card(round, reveal, label)]


def _draft_card(round: RoundTrace, place: Position, reveal: Reveal, label: Callable[[int], str]) -> Card:
    token = place.drafted
    origin = draft_origin(token, place.position, round.tested, reveal)
    judged = origin in SIGNS
    tested = judged and token.verdict is not Verdict.DISCARDED
    return Card(
        position=place.position,
        tag=translate("RoundCards", "draft {n}").format(n=place.position),
        short=str(place.position),
        origin=origin,
        drafted=True,
        token=safe(label(token.token_id)) if reveal.drafted else "",
        p=prob(token.p) if reveal.verified else "",
        q=prob(token.q) if reveal.drafted else "",
        accept=token.accept_prob if reveal.verified else None,
        needle=token.u_accept if tested else None,
        lines=(_comparison(token.u_accept, token.accept_prob) if judged else "", ""),
        verdict=word(origin) if judged else "",
        sign=SIGNS.get(origin, ""),
    )


def _comparison(u: float | None, accept: float) -> str:
    if u is None:
        return translate("RoundCards", "never tested")
    left, right = pair(u, accept)
    return f"u {left} {'<' if u < accept else '≥'} {right}"


def _last_card(round: RoundTrace, reveal: Reveal, label: Callable[[int], str]) -> Card:
    place = next((p for p in round.positions if p.extra is not None), None)
    if not reveal.emitted:
        hint = translate("RoundCards", "residual or bonus") if round.drafted else translate("RoundCards", "from p")
        return Card(None, translate("RoundCards", "last token"), "+1", Origin.HIDDEN, False, lines=(hint, ""))
    if place is None:
        return Card(
            None,
            translate("RoundCards", "not reached"),
            "+1",
            Origin.DISCARDED,
            False,
            lines=(translate("RoundCards", "the text ended"), translate("RoundCards", "inside the draft")),
            verdict=_new_tokens(round),
        )
    return _extra_card(round, place.extra, place.position, label)


def _extra_card(round: RoundTrace, extra: ExtraToken, position: int, label: Callable[[int], str]) -> Card:
    source = {
        Kind.RESIDUAL: translate("RoundCards", "from the residual"),
        Kind.BONUS: translate("RoundCards", "all kept, so from p"),
        Kind.PLAIN: translate("RoundCards", "drawn from p"),
    }[extra.kind]
    origin = pieces(round)[-1].origin
    return Card(
        position=position,
        tag=word(origin),
        short="+1",
        origin=origin,
        drafted=False,
        token=safe(label(extra.token_id)),
        p=prob(extra.p),
        lines=(source, translate("RoundCards", "u {u} drew it").format(u=prob(extra.u))),
        verdict=_new_tokens(round),
    )


def _new_tokens(round: RoundTrace) -> str:
    n = len(round.emitted)
    if n == 1:
        return translate("RoundCards", "1 new token")
    return translate("RoundCards", "{n} new tokens").format(n=n)
