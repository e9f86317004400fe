"""The laboratory's sentences on whole texts: with drafts against without, many seeds or one greedy text.

Knows: what a comparison of texts says. Does not know: how it was made.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication

from simulator.exactness.sequence import Divergence, Sequences, check_sequences, sequence_tv
from ui.lab_words import Sentence
from ui.widgets.digits import prob

translate = QCoreApplication.translate


def questions(seeds: int) -> str:
    """Return what the two comparisons of whole texts find out."""
    return translate("Lab", "{n} seeds: do {n} texts with drafts begin like {n} without, as often? Greedy text: at "
                     "which token do the two part, and is that a tie?").format(n=seeds)  # fmt: skip


def sequences(result: Sequences) -> tuple[Sentence, str]:
    """Return what the comparison of many texts says, once it is complete, and the line about its test."""
    if result.seeds < result.wanted:
        text = translate("Lab", "{n} of {all} seeds so far.")
        return Sentence(text.format(n=result.seeds, all=result.wanted)), ""
    test = check_sequences(result)
    if test is None:
        text = translate(
            "Lab",
            "Nothing can be tested: (nearly) all texts begin alike, or each is too rare. Try another number of first "
            "tokens.",
        )
        return Sentence(text), ""
    tv, chance = sequence_tv(result)
    line = translate("Lab", "TV of the two samples {tv}; two of one law stay below {high} (99 %). Chi-square test "
                     "of one law for both: {x}, {df} df, p value {p}; {n} texts each, level {level}.")  # fmt: skip
    line = line.format(tv=prob(tv), high=prob(chance.high), x=f"{test.statistic:,.1f}", df=test.cells - 1,
                       p=prob(test.p_value, 2), n=test.draws, level=prob(test.level))  # fmt: skip
    n = f"{test.draws:,}"
    if test.flagged:
        text = translate("Lab", "Not the target's: {n} texts with drafts begin otherwise than {n} without.")
        return Sentence(text.format(n=n), "excess", "✗"), line
    text = translate("Lab", "{n} texts with drafts and {n} without show no difference.")
    return Sentence(text.format(n=n), "both", "✓"), line


def greedy(result: Divergence, label: Callable[[int], str]) -> Sentence:
    """Return where two greedy texts part, and whether either is wrong."""
    if result.at is None:
        text = translate("Lab", "Both greedy texts are the same, all {n} tokens.")
        return Sentence(text.format(n=result.compared), "both", "✓")
    place = translate("Lab", "Greedy texts part at token {n}: {a} with drafts, {b} without. The two largest logits are "
                      "{m} apart.")  # fmt: skip
    place = place.format(n=result.at + 1, a=label(result.speculative), b=label(result.plain), m=prob(result.margin))
    if result.tie:
        text = translate("Lab", "{place} A tie: a wider pass alone moves them by {noise}. Neither text is wrong.")
        return Sentence(text.format(place=place, noise=prob(result.noise)), "extra", "≈")
    text = translate("Lab", "{place} No tie: a wider pass moves them by {noise} only.")
    return Sentence(text.format(place=place, noise=prob(result.noise)), "excess", "✗")
