"""The laboratory's head line: the one sentence that its pictures come to, from the question to the verdict.

Knows: which sentence has its turn. Does not know: how the longer ones are made (`ui.lab_words`).
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from ui import lab_words
from ui.lab_experiment import Experiment
from ui.lab_model import Setup
from ui.lab_words import Sentence

translate = QCoreApplication.translate


def headline(e: Experiment, s: Setup, answer: str | None, explaining: bool, of_run: bool) -> Sentence:
    """Return what is to be said now.

    answer: the prediction, None before it; explaining: it is being answered; of_run: the pair is to come from the run.
    """
    n, missing = e.tally.draws, ""
    if of_run and s.place is None:  # an example stands in
        missing = translate("Lab", "No drafted position to show yet. ")
    if answer is None:
        text = translate("Lab", "Here is {where}: what do you expect to come out?")
        return Sentence(missing + text.format(where=s.where))
    if explaining:
        return lab_words.explanation(s, answer)
    if e.running:
        return Sentence(translate("Lab", "Drawing: {n} of {all}.").format(n=f"{n:,}", all=f"{e.wanted:,}"))
    if not n:
        text = translate("Lab", "Draw by '{rule}' on {where}: do the bars fill up to the ticks?")
        return Sentence(missing + text.format(rule=s.card.title, where=s.where))
    if e.before is not None and n - e.before.draws == 1:
        return Sentence(lab_words.one_draw(s, e.before, e.tally))
    return lab_words.verdict(s, e.check, e.noise, n)
