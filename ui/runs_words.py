"""The sentences of the Runs page: what the table shows, and what two runs laid side by side may be expected to share.

Knows: words. Does not know: widgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from simulator.exactness.rules import CARDS, Lossless
from simulator.grids.brief import Brief
from simulator.grids.grid import PLAIN
from ui.runs_model import GroupNode, RunsModel
from ui.runs_values import shown
from ui.widgets.token_text import quoted

translate = QCoreApplication.translate
STRETCH = 4096  # tokens


@dataclass(frozen=True, slots=True)
class Statement:
    """What is to be said of two runs."""

    sign: str
    text: str
    colour: str  # a field of `theme.Theme`


def headline(model: RunsModel, with_pair: bool = True) -> str:
    """Return the one sentence that the table comes to; `with_pair`: runs can be made now."""
    groups = [g for g in model.groups if g.figures.k and g.figures.tokens_per_round is not None]
    if not groups:
        done = sum(len(g.runs) for g in model.groups)
        if not done:
            if not with_pair:
                return translate("Runs", "No finished run yet. A new grid needs models: open a pair, or open a grid.")
            return translate("Runs", "No finished run yet. Let one end on the Stage, or start a grid of runs.")
        return translate("Runs", "{n} plain runs: finish some with drafts to compare them.").format(n=done)
    timed = [g for g in groups if g.figures.speedup is not None]
    if timed:
        best = max(timed, key=lambda g: g.figures.speedup.median)
        text = translate("Runs", "{who} was fastest: {s} plain decoding in the median run{r}{p}.")
        if best.figures.speedup.median <= 1:
            text = translate("Runs", "Drafting did not pay: {who}, the least slow, ran at {s} plain decoding in the "
                             "median run{r}{p}.")  # fmt: skip
        forecast = shown("predicted", best.figures.predicted)
        predicted = translate("Runs", ", {p} by formula").format(p=forecast) if best.figures.predicted else ""
        ratio, ends = best.figures.speedup, ""
        if best.figures.runs > 1:
            ends = translate("Runs", " (all runs: {a} to {b})").format(a=f"{ratio.low:.2f}", b=f"{ratio.high:.2f}")
        return text.format(who=_who(best, model), s=shown("speedup", ratio.median), r=ends, p=predicted)
    best = max(groups, key=lambda g: g.figures.tokens_per_round)
    text = translate(
        "Runs", "{who} emitted most a round: {t} tokens. Speedups need plain runs beside them, as grids make."
    )
    return text.format(who=_who(best, model), t=shown("tokens_per_round", best.figures.tokens_per_round))


def common(model: RunsModel) -> str:
    """Return the settings that all rows share, in a line."""
    names = {"models": "{v}", "temperature": "T = {v}", "source": translate("Runs", "{v} draft"),
             "rule": translate("Runs", "{v} rule"), "stop": translate("Runs", "ended by {v}")}  # fmt: skip
    parts = []
    for name, form in names.items():
        values = model.values(name)
        if len(values) == 1:
            value = values.pop()
            text = CARDS[value].title if name == "rule" and value in CARDS else shown(name, value)
            if value != PLAIN:
                parts.append(form.format(v=text))
    return " · ".join(parts)


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Return the index of the first token that differs, or that only one of them has; None where there is none."""
    shorter = min(len(a), len(b))
    stretches = range(0, shorter, STRETCH)  # compared as a whole: a long text takes no longer than a turn has
    start = next((i for i in stretches if a[i : i + STRETCH] != b[i : i + STRETCH]), shorter)
    found = next((i for i in range(start, shorter) if a[i] != b[i]), shorter)
    return None if found == len(a) == len(b) else found


def compared(a: Brief, b: Brief) -> Statement:
    """Return what two runs have in common, and whether they must have it."""
    if a.prompt != b.prompt:
        return Statement(
            "", translate("Runs", "Different prompts: their texts cannot be compared token by token."), "muted"
        )
    at = first_difference(a.tokens, b.tokens)
    expected, why = _expected(a, b)
    if at is None:
        text = translate("Runs", "Identical: all {n} tokens. {why}").format(n=len(a.tokens), why=why)
        return Statement("✓", text, "both")
    place = _place(a, b, at)
    if expected:
        return Statement("✗", f"{place} {why}", "excess")
    return Statement("", f"{place} {why}", "text")


def _place(a: Brief, b: Brief, at: int) -> str:
    left, right = (quoted(r.labels[at]) if at < len(r.labels) else translate("Runs", "the end") for r in (a, b))
    return translate("Runs", "First difference at token {n}: {a} on the left, {b} on the right.").format(
        n=at + 1, a=left, b=right
    )


def _expected(a: Brief, b: Brief) -> tuple[bool, str]:
    """Return whether two runs of one prompt must be identical, and why or why not."""
    lossy = [
        r.setting.rule for r in (a, b) if r.setting.rule in CARDS and CARDS[r.setting.rule].lossless is Lossless.NO
    ]
    if a.models != b.models:
        return False, translate("Runs", "They are runs of different models.")
    if a.sampling != b.sampling:
        return False, translate("Runs", "Their temperature or filters differ, so their laws do.")
    if lossy:
        rule = CARDS[lossy[0]].title
        return False, translate("Runs", "The rule '{r}' is not lossless, so it may write something else.").format(
            r=rule
        )
    if a.max_new_tokens != b.max_new_tokens:
        return False, translate("Runs", "Their budgets differ, which cuts the last rounds differently.")
    if a.sampling.temperature == 0:
        return True, translate("Runs", "At T = 0 every k must write the target's greedy text; only two logits that are "
                               "equal but for rounding may part them.")  # fmt: skip
    if a.setting.seed != b.setting.seed:
        return False, translate("Runs", "Their seeds differ: two draws from the same law.")
    if a.setting == b.setting:
        return True, translate("Runs", "The same settings and seed must give the same text.")
    return False, translate("Runs", "The same seed does not mean the same text at another k, source or rule: each "
                            "round draws its own random numbers. Only the law of the texts is the same.")  # fmt: skip


def _who(node: GroupNode, model: RunsModel) -> str:
    """Return which row is meant: its k, and the settings that tell it from other rows."""
    v, parts = node.values, [f"k = {node.figures.k}"]
    for name, form in {"temperature": "T = {v}", "source": "{v}", "rule": "{v}", "models": "{v}"}.items():
        if len(model.values(name)) > 1:
            parts.append(form.format(v=shown(name, v[name])))
    return ", ".join(parts)
