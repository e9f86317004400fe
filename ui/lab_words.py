"""The laboratory's sentences: the verdict on a tally, a single draw, and the account of one token, term by term.

Knows: what may be concluded from a test and what may not. Does not know: how the numbers came about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QCoreApplication

from simulator.exactness.lab import Check, Noise, Tally
from simulator.exactness.laws import Account, account, law
from simulator.exactness.pairs import REST
from simulator.exactness.rules import Lossless
from ui.lab_model import SAME, Setup
from ui.widgets.digits import pair, prob
from ui.widgets.token_text import quoted

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words, and the theme's colour that goes with them."""

    text: str
    colour: str = "text"
    sign: str = ""


def verdict(setup: Setup, check: Check | None, noise: Noise | None, draws: int) -> Sentence:
    """Return what so many draws say, never more than they say."""
    n, tv = f"{draws:,}", setup.law().tv
    if check is None:
        text = translate("Lab", "{n} draws are too few for a test: the bars only show what happened so far.")
        return Sentence(text.format(n=n))
    if check.flagged and tv < SAME:
        text = translate("Lab", "Odd, yet this rule emits exactly p: one experiment in 1,000 looks like this by "
                         "chance. Draw again.")  # fmt: skip
        return Sentence(text, "extra", "?")
    if check.flagged:
        text = translate("Lab", "Not p: after {n} draws, chance is ruled out. This rule strays from p by TV {tv}.")
        return Sentence(text.format(n=n, tv=prob(tv)), "excess", "✗")
    if tv < SAME:
        text = translate("Lab", "{n} draws show no difference from p, and the closed form says there is none.")
        return Sentence(text.format(n=n), "both", "✓")
    text = translate("Lab", "{n} draws show no difference, but there is one: TV {tv} hides in their noise of {noise}. "
                     "Draw more.")  # fmt: skip
    return Sentence(text.format(n=n, tv=prob(tv), noise=prob(noise.high if noise else None)), "extra", "?")


def about_test(check: Check | None) -> str:
    """Return which test was made, on how much, at which level: a verdict without these is no verdict."""
    if check is None:
        return ""
    n = f"{check.draws:,}"
    if check.cells < 2:
        return translate("Lab", "N = {n}: p allows one token only, and no other came.").format(n=n)
    if check.statistic == float("inf"):
        return translate("Lab", "N = {n}: a token came that p rules out.").format(n=n)
    p_value = "<\u00a01e-300" if check.p_value == 0 else f"=\u00a0{prob(check.p_value, 2)}"
    text = translate(
        "Lab", "Chi-square test against p: {x}, {df} df, p\u00a0value\u00a0{p}; N\u00a0=\u00a0{n}, level {level}."
    )
    return text.format(x=f"{check.statistic:,.1f}", df=check.cells - 1, p=p_value, n=n, level=prob(check.level))


def explanation(setup: Setup, answer: str) -> Sentence:
    """Return what is to be said to the prediction "p" or "residual"."""
    tv = law("resample", setup.pair.p, setup.pair.q).tv
    if np.abs(setup.pair.p - setup.pair.q).sum() < SAME:
        text = translate("Lab", "Here p = q: nothing is ever refused, so both answers give p. Try another pair.")
        return Sentence(text)
    if tv < SAME:  # as where p allows one token only
        text = translate("Lab", "Here the residual is p itself, so both answers give p. Try another pair.")
        return Sentence(text)
    if answer == "p":
        text = translate("Lab", "Not quite: accepted drafts bring the green already, a draw from p brings some of "
                         "it twice (dotted: TV {tv} from p). Only the blue is missing.")  # fmt: skip
        return Sentence(text.format(tv=prob(tv)), "excess", "✗")
    text = translate("Lab", "Right: accepted drafts bring the green, only the blue is missing. Drawing from p would "
                     "give the dotted lines, TV {tv} from p.")  # fmt: skip
    return Sentence(text.format(tv=prob(tv)), "both", "✓")


def one_draw(setup: Setup, before: Tally, after: Tally) -> str:
    """Return what a single draw between two tallies was."""
    kept = (after.kept - before.kept).nonzero()[0]
    if kept.size:
        return translate("Lab", "Drafted {t}: kept, so {t} is emitted.").format(t=quoted(setup.labels[kept[0]]))
    drawn = (after.replaced - before.replaced).nonzero()[0]
    return translate("Lab", "The draft was refused; {t} was drawn from {law} in its place.").format(
        t=quoted(setup.labels[drawn[0]]), law=setup.card.refill
    )


# The account of one token


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the account, clickable: what it is, its formula with numbers, its value, its part of the picture."""

    key: str
    title: str
    formula: str
    value: str
    colour: str
    spot: dict[str, int | None]  # for `PairPlot.spotlight`


def name(setup: Setup, token: int) -> str:
    """Return an outcome's label as it stands in a sentence."""
    return quoted(setup.labels[token], 12)


def terms(setup: Setup, token: int) -> list[Term]:
    """Return kept, refused, replaced and emitted of one outcome under the setup's rule."""
    a = account(setup.rule, setup.pair.p, setup.pair.q, token, setup.parameter)
    return [_kept(setup, a, token), _refused(setup, a, token), _replaced(setup, a, token), _emitted(setup, a, token)]


def _kept(setup: Setup, a: Account, token: int) -> Term:
    formula = translate("Lab", "drafted × kept = {q} × {chance}").format(q=prob(a.drafted), chance=prob(a.chance))
    hint = translate("Lab", "{draft} × {chance}").format(draft=_draft(setup), chance=setup.card.chance)
    title = translate("Lab", "{t} drafted and kept").format(t=name(setup, token))
    spot = {"both": token} if _is_ratio(setup) else {"q": token}
    return Term("kept", title, f"{formula}\n{hint}", prob(a.kept), "both", spot)


def _refused(setup: Setup, a: Account, token: int) -> Term:
    other = setup.card.refill == "p without x"
    title = translate("Lab", "another draft refused") if other else translate("Lab", "any draft refused")
    if _is_ratio(setup) and not setup.card.greedy_draft:
        formula, spot = translate("Lab", "all the red = Σ max(0, q − p) = TV"), {"excess": None}
    else:
        formula, spot = translate("Lab", "Σ {q} × (1 − {c})").format(q=_draft(setup), c=setup.card.chance), {"q": None}
    return Term("refused", title, formula, prob(a.refused), "excess", spot)


def _replaced(setup: Setup, a: Account, token: int) -> Term:
    title = translate("Lab", "{t} replaces it").format(t=name(setup, token))
    p, q = float(setup.pair.p[token]), float(setup.pair.q[token])
    if setup.card.refill == "max(0, p − q)":
        mass = float((setup.pair.p - setup.pair.q).clip(0).sum())
        formula = translate("Lab", "its blue / all the blue = {x} / {tv}").format(
            x=prob(max(0.0, p - q)), tv=prob(mass)
        )
        hint = translate("Lab", "norm(max(0, p − q)); all the blue = TV")
        return Term("replaced", title, f"{formula}\n{hint}", prob(a.weight), "missed", {"missed": token})
    formula = translate("Lab", "drawn from {law}").format(law=setup.card.refill)
    return Term("replaced", title, formula, prob(a.weight), "missed", {"p": token})


def _emitted(setup: Setup, a: Account, token: int) -> Term:
    total, p = a.kept + a.replaced, float(setup.pair.p[token])
    formula = translate("Lab", "{a} + {b} × {c} = {a} + {d}").format(
        a=prob(a.kept), b=prob(a.refused), c=prob(a.weight), d=prob(a.replaced)
    )
    same = abs(total - p) < SAME
    written = (prob(total), prob(p)) if same else pair(total, p)
    value = f"{written[0]} {'=' if same else '≠'} p {'' if same else written[1]}".strip()
    title = translate("Lab", "{t} emitted").format(t=name(setup, token))
    spot = {"both": token, "missed": token} if setup.card.refill == "max(0, p − q)" else {"p": token}
    return Term("emitted", title, formula, value, "text" if same else "excess", spot)


def conclusion(setup: Setup) -> str:
    """Return why the account comes out as it does, for the whole rule, and whether the fold changes it."""
    return f"{_why(setup)} {_of_the_rest(setup)}".strip()


def _of_the_rest(setup: Setup) -> str:
    """Return what taking the rest for one token does to rules that look at tokens alone."""
    ids, q = setup.pair.ids, setup.pair.q
    if REST not in ids or (_is_ratio(setup) and not setup.card.greedy_draft):
        return ""
    if setup.card.greedy_draft and ids[int(q.argmax())] == REST:
        return translate("Lab", "Careful: here the rest is the largest 'token', so the draft proposes it. Raise 'top'.")
    if setup.card.chance == "p":
        return translate("Lab", "The rest counts as one token: over all tokens fewer are equal.")
    return ""


def _why(setup: Setup) -> str:
    tv = setup.law().tv
    if setup.rule in ("exact", "block"):
        distance = float((setup.pair.p - setup.pair.q).clip(0).sum())
        if distance < SAME:
            return translate("Lab", "p = q: nothing is refused, and there is no residual to draw from.")
        text = translate("Lab", "Red and blue are the same size, TV = {tv}, because p and q both sum to 1. "
                         "So TV × (blue / TV) = blue: the two TVs cancel, and green + blue = p.")  # fmt: skip
        return text.format(tv=prob(distance))
    slower = law("exact", setup.pair.p, setup.pair.q).acceptance - setup.law().acceptance
    if setup.card.lossless is Lossless.YES and slower > SAME:
        text = translate("Lab", "{why} It keeps {a} of the drafts; the ratio rule keeps {b}.")
        kept = prob(setup.law().acceptance), prob(setup.law().acceptance + slower)
        return text.format(why=setup.card.why, a=kept[0], b=kept[1])
    if setup.card.lossless is not Lossless.YES and tv < SAME:
        return setup.card.why + translate("Lab", " For this p and q it happens to make no difference.")
    return setup.card.why


def _draft(setup: Setup) -> str:
    return translate("Lab", "1 at argmax q") if setup.card.greedy_draft else "q"


def _is_ratio(setup: Setup) -> bool:
    return setup.card.chance == "min(1, p/q)"
