"""The Acceptance page's sentences.

Knows: how figures read. Does not know: how they were counted.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from simulator.acceptance.beyond import Evidence
from simulator.acceptance.body import LEVEL_Z, Acceptance
from simulator.acceptance.correlation import Control
from simulator.acceptance.names import FORMULAS, NAMES
from simulator.acceptance.truncated import Truncation
from ui.widgets.digits import pair, prob

translate = QCoreApplication.translate
LENGTHS = ("tau_counters", "acceptance_length", "accepted_per_round")  # figures above 1: two decimals


def value_text(name: str, value: float | None) -> str:
    """Write one figure: counts whole, lengths with two decimals, shares with telling digits."""
    if value is None:
        return "–"
    if name in LENGTHS:
        return f"{value:.2f}"
    return f"{int(value):,}" if float(value).is_integer() and name not in FORMULAS else prob(value)


def headline(a: Acceptance | None, engine: str, with_pair: bool = True, counting: int = 0) -> str:
    """Answer which figure is the one in the engine's log; without rounds, say what to do, or how many are counted."""
    if a is None and counting:
        return translate("Acceptance", "Counting {n:,} rounds …").format(n=counting)
    if a is None and not with_pair:
        return translate(
            "Acceptance", "No round yet: open a pair and step it, open finished runs, or paste an engine's counters."
        )
    if a is None:
        return translate(
            "Acceptance", "No round yet: step the run with R, open finished runs, or paste an engine's counters."
        )
    drafted, accepted = a.figures["drafted"], a.figures["accepted"]
    lead = ""
    if drafted and accepted is not None:
        lead = translate("Acceptance", "{a:,} of {d:,} drafted tokens were accepted. ").format(a=accepted, d=drafted)
    parts = []
    for figure, called in NAMES.get(engine, {}).items():
        if figure.startswith("per_position"):
            continue
        value, printed = a.figures.get(figure), a.printed.get(figure)
        text = translate("Acceptance", "'{called}' is {formula} = {value}")
        if value is None and printed is not None:
            value, text = printed, translate("Acceptance", "'{called}' is {formula}, printed as {value}")
        elif value is None:
            text = translate("Acceptance", "'{called}' is {formula}, which is not known here")
        parts.append(text.format(called=called, formula=FORMULAS[figure], value=value_text(figure, value)))
    return lead + translate("Acceptance", "In {engine}: ").format(engine=engine) + "; ".join(parts) + "."


def reported(e: Evidence) -> str:
    """Say what a published draft accepts, in place of the run's own head line."""
    if e.measured is None:
        return translate("Acceptance", "As reported, not measured here: {source}.").format(source=e.source)
    return translate(
        "Acceptance", "As reported, not measured here: {source}, {m:.2f} of {k} drafted tokens accepted a round."
    ).format(source=e.source, m=e.measured, k=e.k)


def agreement(a: Acceptance | None) -> str:
    """Say whether alpha from the distributions and alpha from the verdicts agree, with N, level and test."""
    if a is None:
        return ""
    g = a.agreement
    if g is None:
        return translate(
            "Acceptance", "Alpha from Σ min(p, q) is not known here, so it cannot be held against the counts."
        )
    from_p, from_counts = pair(g.expected / g.tested, g.accepted / g.tested)
    test = translate(
        "Acceptance", "z = {z:+.2f} from N = {n:,} tested positions, level .001: |z| up to {limit}"
    ).format(z=g.z, n=g.tested, limit=LEVEL_Z)
    lead = translate("Acceptance", "alpha is {p} from Σ min(p, q) and {c} from the verdicts").format(
        p=from_p, c=from_counts
    )
    if a.rules not in ((), ("exact",)):
        return translate(
            "Acceptance", "{lead} ({test}); the rule is {rules}, under which the two need not agree."
        ).format(lead=lead, test=test, rules=", ".join(a.rules))
    if g.agree:
        return translate("Acceptance", "✓ {lead}: they agree ({test}).").format(lead=lead, test=test)
    return translate("Acceptance", "✗ {lead}: they disagree ({test}). One honest run in a thousand does.").format(
        lead=lead, test=test
    )


def beyond(e: Evidence | None, mean: float, rho: float) -> str:
    """Say where the measurement lies among the laws."""
    if e is None:
        return translate("Acceptance", "No rounds that drafted all of their k tokens, so there is nothing to compare.")
    if e.measured is None:
        return translate("Acceptance", "No accepted length is known here.")
    against = e.independent() if e.independent() is not None else e.constant()
    lead = ""
    if e.histogram:
        lead = translate("Acceptance", "In the {n:,} rounds that drafted {k}: ").format(n=sum(e.histogram), k=e.k)
    text = lead + translate(
        "Acceptance",
        "{m:.2f} of {k} drafted tokens are accepted; independence says {i:.2f}, the Beta "
        "model with mean {mean} and ρ = {rho:.2f} says {b:.2f}.",
    ).format(m=e.measured, k=e.k, i=against, mean=prob(mean), rho=rho, b=e.beta(mean, rho))
    if e.fit is not None:
        weak = e.fit.chance > 0.05
        text += " " + (
            translate(
                "Acceptance",
                "They show no correlation (a likelihood this much better comes by chance in {c} of cases).",
            )
            if weak
            else translate(
                "Acceptance",
                "Correlation shows in them (a likelihood this much better comes by chance in {c} of cases).",
            )
        ).format(c=prob(e.fit.chance, 2))
    return text


def control(c: Control | None) -> str:
    """Say which law foretells other draft lengths better, and whether the rounds are enough to tell."""
    if c is None or None in (c.independent_error, c.start_error, c.correlated_error, c.noise):
        return ""
    noise = c.noise
    if c.independent_error < noise:
        lead = translate("Acceptance", "Within the noise: there is nothing to correct.")
    elif c.correlated_error < c.independent_error:
        lead = translate("Acceptance", "Correlation shows: the Beta model is nearer.")
    else:
        lead = translate(
            "Acceptance", "The i.i.d. formula misses by more than the noise, and the Beta model by more yet."
        )
    text = translate(
        "Acceptance",
        "From k = {k}, the i.i.d. formula (alpha {a}, of all tested positions) misses the other k by {i:.1f} % in the "
        "mean, and the noise is ±{n:.1f} %. With first positions only ({f}) it misses {s:.1f} %, the Beta model "
        "(mean {m}, ρ = {r:.2f}) {b:.1f} %.",
    ).format(
        k=c.fit_k, a=prob(c.alpha), f=prob(c.first), m=prob(c.fit.mean), r=c.fit.rho, n=100 * noise,
        i=100 * c.independent_error, s=100 * c.start_error, b=100 * c.correlated_error,
    )  # fmt: skip
    rho = c.telling_rho
    more = "" if rho is None else translate("Acceptance", " Here correlation would show from ρ = {r:.2f} on.")
    return f"{lead} {text}{more.format(r=rho)}"


def support(t: Truncation | None, index: int) -> str:
    """Say which of the two TVs adds up with the acceptance."""
    if t is None:
        return ""
    a, all_of_it, own, out = (float(x[index]) for x in (t.acceptance, t.tv_all, t.tv_draft, t.outside))
    if out < 1e-6:
        return translate(
            "Acceptance", "With all {n:,} tokens: acceptance {a} + TV {v} = 1. The two numbers add up."
        ).format(n=int(t.n[index]), a=prob(a), v=prob(all_of_it))
    return translate(
        "Acceptance",
        "Cut to {n:,} tokens: acceptance {a} + TV over all tokens {v} = 1, but acceptance + TV over the "
        "draft's tokens {w} = {s}: half of the target's mass outside ({o}) is missing.",
    ).format(n=int(t.n[index]), a=prob(a), v=prob(all_of_it), w=prob(own), s=prob(a + own), o=prob(out))
