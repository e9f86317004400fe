"""What the Worth it? page's plots show of an analysis, each with its definition.

Knows: which numbers become which bars. Does not know: widgets' insides.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from simulator.worth.flatness import Analysis
from simulator.worth.outlook import Outlook
from ui import worth_words
from ui.plots.histogram_plot import Histogram, Line
from ui.plots.sources_plot import Source
from ui.widgets.digits import prob
from ui.worth_model import Findings

translate = QCoreApplication.translate


def histograms(a: Analysis, found: Findings) -> tuple[Histogram, Histogram]:
    """Return the histograms of the largest p and of the entropy."""
    mean, most = translate("Worth", "mean {x}"), a.most_entropy
    line = Line(found.p_max.value, mean.format(x=prob(found.p_max.value)))
    lines = (Line(found.entropy.value, mean.format(x=prob(found.entropy.value))),
             Line(most, translate("Worth", "uniform {x}").format(x=prob(most)), dashed=True))  # fmt: skip
    largest = translate("Worth", "E[max p] = {m}: the mean over positions of the largest p, which the best "
                        "deterministic draft would be accepted at.")  # fmt: skip
    entropy = translate("Worth", "Mean entropy −Σ p log2 p = {m} bits; the uniform distribution has log2 V = {most}.")
    error = translate("Worth", " ± is the standard error, from blocks of neighbouring positions.")
    about = largest.format(m=worth_words.number(found.p_max)) + error
    about_entropy = entropy.format(m=worth_words.number(found.entropy), most=prob(most)) + error
    unit = translate("Worth", " bits")
    return (
        Histogram(translate("Worth", "Top-1 probability"), a.p_max, 1.0, (line,), about),
        Histogram(translate("Worth", "Entropy, bits"), a.entropy, max(most, 1.0), lines, about_entropy, unit),
    )


def columns(found: Findings, outlooks: dict[str, Outlook]) -> list[Source]:
    """Return what is compared: one column a source."""
    return [
        Source(worth_words.source_name(name), o.alpha, o.break_even, o.pays, found.ceilings.get(name))
        for name, o in outlooks.items()
    ]
