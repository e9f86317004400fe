"""The Worth it? page's sentences: the verdict on each source, and what flatness bounds and what it does not.

Knows: what may be concluded. Does not know: how the numbers came about.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from PySide6.QtCore import QCoreApplication

from simulator.records import Sampling
from simulator.worth.flatness import GREEDY, NGRAM, NONE, SAMPLED, TOPS, Analysis
from simulator.worth.outlook import Costs, Mean, Outlook, outlook
from ui.lab_words import Sentence
from ui.plots.sources_plot import SIGNS
from ui.widgets.digits import prob
from ui.widgets.token_text import quoted
from ui.worth_model import Findings

translate = QCoreApplication.translate


def source_name(source: str) -> str:
    """Return a source's name as it begins a sentence or stands under a column."""
    names = {SAMPLED: translate("Worth", "Sampled draft"), GREEDY: translate("Worth", "Greedy draft"),
             NGRAM: translate("Worth", "Prompt lookup")}  # fmt: skip
    return names[source]


def quantity_name(quantity: str) -> str:
    """Return what tints the text."""
    names = {
        "p_max": translate("Worth", "max p"), "entropy": translate("Worth", "entropy"),
        "p_text": translate("Worth", "p of the text's own token"), SAMPLED: translate("Worth", "alpha, sampled draft"),
        GREEDY: translate("Worth", "alpha, greedy draft"), NGRAM: translate("Worth", "alpha, prompt lookup"),
    }  # fmt: skip
    return names[quantity]


def number(m: Mean) -> str:
    """Return a mean with its standard error."""
    return prob(m.value) if m.error is None else f"{prob(m.value)}\u00a0±\u00a0{prob(m.error, 1)}"


def headline(outlooks: Mapping[str, Outlook], measured: bool) -> Sentence:
    """Return the answer to the page's question."""
    costs = "" if measured else translate("Worth", " Costs assumed.")
    if not outlooks:
        text = translate("Worth", "Nothing drafted here, so only the ceiling of deterministic drafts is known.")
        return Sentence(text + costs)
    best = max(outlooks, key=lambda source: (outlooks[source].pays is True, outlooks[source].speedup))
    o = outlooks[best]
    if o.pays:
        text = translate("Worth", "Worth it on this text: {source}, {x} times as fast at k = {k}.")
        text = text.format(source=source_name(best).lower(), x=f"{o.speedup:.2f}", k=o.k)
        return Sentence(text + costs, "both", "✓")
    if any(o.pays is None for o in outlooks.values()):
        text = translate("Worth", "Too close to call: alpha is within two standard errors of break-even.")
        return Sentence(text + costs, "extra", "?")
    text = translate("Worth", "Not worth it on this text: no draft source here reaches its break-even.")
    return Sentence(text + costs, "excess", "✗")


def invitation(with_pair: bool, with_rounds: bool) -> Sentence:
    """Return what to do before anything was read."""
    if not with_pair:
        return Sentence(translate("Worth", "No models are loaded. Open a pair to begin."))
    if not with_rounds:
        return Sentence(translate("Worth", "Choose a text to read, or play a run first and read that."))
    return Sentence(translate("Worth", "Read this run's text, or another one, to see what drafting could gain on it."))


def verdict(source: str, o: Outlook) -> str:
    """Return whether one source pays, with the numbers that decide it."""
    said = {True: translate("Worth", "{name}: alpha {a}, needs {b}; {x}\u00a0× at k\u00a0=\u00a0{k}."),
            False: translate("Worth", "{name} does not pay: alpha {a}, needs {b}."),
            None: translate("Worth", "{name}, too close to call: alpha {a}, needs {b}.")}  # fmt: skip
    sign, text = SIGNS[o.pays], said[o.pays]
    if o.break_even is None:
        text = translate("Worth", "{name} cannot pay at these costs, whatever its alpha is (here {a}).")
    b = "" if o.break_even is None else prob(o.break_even)
    text = text.format(name=source_name(source), a=number(o.alpha), b=b, k=o.k, x=f"{o.speedup:.2f}")
    if source == NGRAM:
        more = translate("Worth", " A match at {hits} % of the positions.")
        text += more.format(hits=f"{100 * o.hits:.0f}")
    return f"{sign} {text}"


def definitions() -> str:
    """Return what the words of a verdict mean."""
    return translate(
        "Worth", "alpha: the mean over the positions at which the source drafts of the chance that its token is "
        "accepted: Σ min(p, q) for a sampled draft, p of the proposed token for a deterministic one; ± is the standard "
        "error, from blocks of neighbouring positions. needs, or break-even: the least alpha at which some k up to 16 "
        "is no slower than not drafting, at the costs below. × at k: the maximum of the speedup formula, with the "
        "same alpha at each place of a draft (Leviathan et al. 2022, Theorem 3.8). Prompt lookup finds a match where "
        "the last 3 tokens (else 2, else 1) stand earlier in the context; without one the round is a plain one. Within "
        "two standard errors of the break-even it is too close to call."
    )  # fmt: skip


def silent(a: Analysis, found: Findings) -> list[str]:
    """Return why a source has no verdict."""
    said = [a.notice] if a.notice else []
    if NGRAM in a.tracks and NGRAM not in found.alphas:
        said.append(translate("Worth", "✗ Prompt lookup finds no match anywhere in this text: it drafts nothing."))
    if a.text is None:
        said.append(translate("Worth", "Prompt lookup needs 'ids' in the file: the token that each row predicts."))
    if SAMPLED not in a.tracks and not a.notice:
        said.append(translate("Worth", "There is no draft's q here, so nothing is known about a draft model."))
    return said


def no_source() -> str:
    """Return why no draft source can be compared although a text was read."""
    return translate("Worth", "No draft source is known here, so there is none to compare with the break-even.")


def flatness(a: Analysis, found: Findings, costs: Costs) -> str:
    """Return what E[max p] bounds and what it does not, with this text's own numbers."""
    if a.sampling.temperature == 0:
        return translate("Worth", "At temperature 0 p is 1 on one token: E[max p] = 1 bounds nothing, and alpha is how "
                         "often the draft's first choice is the target's.")  # fmt: skip
    ceiling = outlook(found.p_max, 1.0, costs)
    gain = translate("Worth", "{x} times at best").format(x=f"{ceiling.speedup:.2f}")
    gain = gain if ceiling.k else translate("Worth", "no gain at these costs")
    text = translate("Worth", "Flatness bounds deterministic drafts only (greedy, prompt lookup): accepted at "
                     "E[max p] = {m} at most where they always draft, {gain}.")  # fmt: skip
    text = text.format(m=number(found.p_max), gain=gain)
    sampled = found.alphas.get(SAMPLED)
    if sampled is None:
        return text + translate("Worth", " It does not bound a sampled draft, which with q = p is always "
                                "accepted; how well a q can follow p, p alone does not tell.")  # fmt: skip
    more = translate("Worth", " A sampled draft, always accepted where q = p, is not bound: here alpha = {a}")
    if sampled.value > found.p_max.value:
        more += translate("Worth", ", above that ceiling")
    return text + more.format(a=number(sampled)) + "."


def about(a: Analysis, now: Sampling) -> str:
    """Return what was analysed, how far, and under which conditions; `now`: those of the toolbar."""
    s = a.sampling
    settings = {f"T = {s.temperature:g}": True, f"top-k {s.top_k}": s.top_k, f"top-p {s.top_p:g}": s.top_p < 1,
                f"min-p {s.min_p:g}": s.min_p}  # fmt: skip
    filters = [text for text, on in settings.items() if on]
    done = f"{a.n:,}" if a.n == a.wanted else translate("Worth", "the first {n} of {all}").format(
        n=f"{a.n:,}", all=f"{a.wanted:,}")  # fmt: skip
    text = translate("Worth", "Read: {name}, {done} positions at {filters}.").format(name=a.name, done=done,
                                                                               filters=", ".join(filters))  # fmt: skip
    if a.offset and a.n:
        first, most = int(a.context[0]), int(a.context.max())
        windows = a.context[1:][a.context[1:] <= a.context[:-1]]  # where a new window begins
        seen = translate("Worth", " Context: {first} to {most} tokens")
        text += seen.format(first=first, most=f"{most:,}")
        if windows.size:
            text += translate("Worth", ", later at least {least}").format(least=f"{int(windows.min()):,}")
        text += "."
    return text + ("" if now == s else translate("Worth", " The toolbar has other settings now: press Again."))


def tooltip(a: Analysis, i: int, label: dict[int, str]) -> str:
    """Return everything known about one position as rich text; `label` has its tokens' texts."""
    token = a.token(i)
    name = translate("Worth", "row {i}").format(i=i) if token == NONE else escape(label[token])
    head = translate("Worth", "<b>{name}</b> position {i}, {n} tokens of context")
    rows = [(translate("Worth", "max p, on {token}").format(token=escape(quoted(label[int(a.top[i])]))),
             prob(float(a.p_max[i]), 4))]  # fmt: skip
    if token != NONE:
        rows.append((translate("Worth", "p of the text's own token"), prob(float(a.p_text[i]), 4)))
    rows += [(translate("Worth", "top {k} mass").format(k=k), prob(float(a.mass[i, j]), 4))
             for j, k in enumerate(TOPS) if k > 1]  # fmt: skip
    rows.append((translate("Worth", "entropy"), translate("Worth", "{x} bits").format(x=prob(float(a.entropy[i]), 4))))
    for source, track in a.tracks.items():
        proposed = int(track.token[i])
        said = prob(float(track.alpha[i]), 4) if proposed != NONE else translate("Worth", "no match")
        at = "" if source == SAMPLED or proposed == NONE else f", {escape(quoted(label[proposed]))}"
        rows.append((quantity_name(source) + at, said))
    cells = "".join(f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{said}</td></tr>" for name, said in rows)
    return head.format(name=name, i=f"{i + 1:,}", n=f"{int(a.context[i]):,}") + f"<table>{cells}</table>"


def tokens_at(a: Analysis, i: int) -> set[int]:
    """Return the tokens that the tooltip of a position names."""
    named = {a.token(i), int(a.top[i]), *(int(track.token[i]) for track in a.tracks.values())}
    return named - {NONE}
