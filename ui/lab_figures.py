"""The laboratory's big numbers, each with its definition.

Knows: which number is which. Does not know: how any of them is computed.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from simulator.exactness.lab import measured_tv
from simulator.exactness.rules import CARDS
from ui.lab_experiment import Experiment
from ui.lab_model import SAME, Setup
from ui.widgets.digits import prob
from ui.widgets.figures import Figure

translate = QCoreApplication.translate


def lab_figures(e: Experiment, s: Setup, k: int) -> list[Figure]:
    """Return measured TV, its noise, the closed form; draws, acceptance, tokens per round at k."""
    closed, n = s.law(), e.tally.draws
    exact, flagged = closed.tv < SAME, bool(e.check and e.check.flagged)
    return [
        Figure(
            prob(measured_tv(e.tally.emitted, s.pair.p)) if n else "–",
            translate("Lab", "measured TV"),
            translate("Lab", "1/2 Σ |frequency − p| over these outcomes. An exact sampler never shows 0: compare it "
                      "with the noise."),
            "excess" if flagged and not exact else "text",
        ),
        Figure(
            prob(e.noise.high) if e.noise else "–",
            translate("Lab", "noise, 99 % below"),
            translate("Lab", "The measured TV of direct sampling from p with the same N: 99 % of 400 such experiments "
                      "stay below this."),
        ),
        Figure(
            prob(0.0 if exact else closed.tv),
            translate("Lab", "closed-form TV"),
            translate("Lab", "TV between p and the law that this rule emits, computed without drawing. 0 = exact."),
            "both" if exact else "excess",
        ),
        Figure(
            f"{n:,}",
            translate("Lab", "draws N"),
            translate("Lab", "Draws so far, {a} of them accepted drafts.").format(a=f"{e.tally.accepted:,}"),
        ),
        Figure(
            prob(closed.acceptance),
            translate("Lab", "acceptance") + _unfolded(s),
            translate("Lab", "Chance that a drafted token is kept: {f}. The rest counts as one token here, which hides "
                      "differences inside it: over the whole vocabulary fewer are kept.").format(f=s.card.acceptance),
            "both",
        ),
        Figure(
            f"{s.tokens(k):.2f}",
            translate("Lab", "tokens/round, k\u00a0=\u00a0{k}").format(k=k),
            translate("Lab", "Expected tokens of a round of k drafts if every position had the p and q of these "
                      "bars, independently; the rest counts as one token."),
        ),
    ]  # fmt: skip


def _unfolded(s: Setup) -> str:
    """Return the acceptance over the whole vocabulary, where it is known: it is the overlap, whatever was folded."""
    if s.alpha is None or s.card.acceptance != CARDS["exact"].acceptance:
        return ""
    return translate("Lab", ", all tokens {a}").format(a=prob(s.alpha))
