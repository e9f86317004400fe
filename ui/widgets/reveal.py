"""How much of a round is shown, and the one sentence that says what just happened and why.

Knows: a round is computed at once but shown step by step. Does not know: who steps, or how it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from simulator.records import DraftedToken, Kind, Position, RoundTrace, StopReason, Verdict
from ui.widgets.digits import pair, prob
from ui.widgets.token_text import quoted

Label = Callable[[int], str]
translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Reveal:
    """What of a round is on screen; the default shows nothing of it."""

    drafted: bool = False  # drafted tokens and their q
    verified: bool = False  # the target's p and the accept bars
    judged: int = 0  # so many tested positions show their u and verdict; discarded ones follow the last of them
    emitted: bool = False  # the extra token, or that there is none

    @classmethod
    def all_of(cls, round: RoundTrace) -> Reveal:
        """Return the reveal that shows everything of this round."""
        return cls(True, True, round.tested, True)


def phases(round: RoundTrace) -> list[Reveal]:
    """List the steps in which a round is shown, the last one everything; a round without drafts has two."""
    if not round.drafted:
        return [Reveal(True, True), Reveal.all_of(round)]
    tests = [Reveal(True, True, n) for n in range(1, round.tested + 1)]
    return [Reveal(True), Reveal(True, True), *tests, Reveal.all_of(round)]


def describe(round: RoundTrace, reveal: Reveal, label: Label) -> str:
    """Return the sentence for the newest thing this reveal shows."""
    if reveal.emitted:
        return _emitted(round, label)
    if reveal.judged:
        return why(round, reveal.judged, label)
    if reveal.verified:
        return _verified(round)
    if reveal.drafted:
        return _drafted(round)
    return translate("Reveal", "Nothing of this round is shown yet.")


def why(round: RoundTrace, position: int, label: Label) -> str:
    """Return the sentence that says why this position (1, 2, ...) went as it did."""
    place = next((p for p in round.positions if p.position == position), None)
    if place is None:
        return translate("Reveal", "Position {n} was not reached in this round.").format(n=position)
    if place.drafted is None:
        return _emitted(round, label)
    return _judged(round, place, label)


def rule_is_ratio(token: DraftedToken) -> bool:
    """Return whether the accept probability is the exact rule's min(1, p/q), so that p/q explains it."""
    return token.q > 0 and abs(token.accept_prob - min(1.0, token.p / token.q)) < 1e-6


def _drafted(round: RoundTrace) -> str:
    n = round.drafted
    if n == 1:
        return translate("Reveal", "Draft proposed 1 token.")
    if n:
        return translate("Reveal", "Draft proposed {n} tokens.").format(n=n)
    return translate("Reveal", "Nothing was drafted in this round.")


def _verified(round: RoundTrace) -> str:
    if not round.drafted:
        return translate("Reveal", "Nothing was drafted, so the target scored only the next position.")
    return translate("Reveal", "The target scored all {n} positions in one pass.").format(n=round.drafted + 1)


def _judged(round: RoundTrace, place: Position, label: Label) -> str:
    token = place.drafted
    name = quoted(label(token.token_id))
    if token.verdict is Verdict.DISCARDED:
        return _discarded(round, name, label)
    if token.verdict is Verdict.REJECTED:
        return translate("Reveal", "{name}: {test}, so it is rejected; a new token is drawn from the residual.").format(
            name=name, test=_test(token, below=False)
        )
    text = translate("Reveal", "{name}: {test}, so it is accepted").format(name=name, test=_test(token, below=True))
    return text + _ends_text(round, place)


def _test(token: DraftedToken, below: bool) -> str:
    bound = _bound(token)
    if token.u_accept is None:
        return bound
    if token.accept_prob >= 1:
        return translate("Reveal", "{bound} and every u, here {u}, is below 1").format(
            bound=bound, u=prob(token.u_accept)
        )
    u = pair(token.u_accept, token.accept_prob)[0]
    pattern = (
        translate("Reveal", "u = {u} is below {bound}")
        if below
        else translate("Reveal", "u = {u} is not below {bound}")
    )
    return pattern.format(u=u, bound=bound)


def _bound(token: DraftedToken) -> str:
    if not rule_is_ratio(token):
        return translate("Reveal", "the rule's accept probability {a}").format(a=prob(token.accept_prob))
    value = token.p / token.q
    close = token.u_accept is not None and value < 1
    text = pair(token.u_accept, token.accept_prob)[1] if close else prob(value)
    return f"p/q = {prob(token.p)}/{prob(token.q)} = {text}"


def _ends_text(round: RoundTrace, place: Position) -> str:
    left = round.drafted - round.tested
    if round.extra is not None or place.position != round.tested:
        return "."
    if not left:
        return translate("Reveal", "; it ends the text.")
    if left == 1:
        return translate("Reveal", "; it ends the text, so the token behind it is discarded.")
    return translate("Reveal", "; it ends the text, so the {n} tokens behind it are discarded.").format(n=left)


def _discarded(round: RoundTrace, name: str, label: Label) -> str:
    last = round.positions[round.tested - 1].drafted
    before = quoted(label(last.token_id))
    if last.verdict is Verdict.REJECTED:
        return translate("Reveal", "{name}: discarded, never tested, because {before} before it was rejected.").format(
            name=name, before=before
        )
    return translate("Reveal", "{name}: discarded, never tested, because {before} before it ended the text.").format(
        name=name, before=before
    )


def _emitted(round: RoundTrace, label: Label) -> str:
    extra = round.extra
    if extra is None:
        return translate("Reveal", "The text ended inside the draft, so no bonus token is drawn.")
    name = quoted(label(extra.token_id))
    text = {Kind.RESIDUAL: _residual, Kind.BONUS: _bonus, Kind.PLAIN: _plain}[extra.kind](round, name, label)
    if round.stop is StopReason.END_TOKEN:
        return translate("Reveal", "{text}; it ends the text.").format(text=text)
    return text + "."


def _residual(round: RoundTrace, name: str, label: Label) -> str:
    place = next(p for p in round.positions if p.extra is not None)
    if place.drafted is None:
        return translate("Reveal", "{name} is drawn from the residual").format(name=name)
    rejected = quoted(label(place.drafted.token_id))
    return translate("Reveal", "{name} is drawn from the residual, in place of the rejected {rejected}").format(
        name=name, rejected=rejected
    )


def _bonus(round: RoundTrace, name: str, label: Label) -> str:
    if round.drafted == 1:
        return translate("Reveal", "The one draft was kept, so a bonus token {name} is drawn from p").format(name=name)
    return translate("Reveal", "All {n} kept, so a bonus token {name} is drawn from p").format(
        n=round.drafted, name=name
    )


def _plain(round: RoundTrace, name: str, label: Label) -> str:
    return translate("Reveal", "With nothing drafted, {name} is drawn from the target's p").format(name=name)
