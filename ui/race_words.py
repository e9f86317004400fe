"""The Race page's sentences: who won by how much and over what, and what of two texts is comparable.

Knows: how a race is said in words. Does not know: widgets, or how it was measured.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from simulator.exactness.rules import CARDS, Lossless
from simulator.loading import Pair
from simulator.race import FEW, Lane, Race, Underway
from simulator.records import RunConfig, StopReason
from ui import sequence_words
from ui.lab_words import Sentence
from ui.widgets.digits import prob
from ui.widgets.token_text import quoted

translate = QCoreApplication.translate


def seconds(ms: float) -> str:
    """Write a time in seconds with digits that tell."""
    places = 3 if ms < 100 else 2 if ms < 100_000 else 1
    return f"{ms / 1000:.{places}f} s"


def clock(ms: float) -> str:
    """Write what a running clock shows: always as wide as before, up to 100 s."""
    return f"{ms / 1000:.2f}"


def invitation(budget: int) -> str:
    """Return what stands where no race has been measured."""
    text = translate("Race", "Which is faster on this prompt? Press Measure: up to {tokens}, decoded plainly, then "
                     "with the draft, and both replayed side by side at true speed.")  # fmt: skip
    return text.format(tokens=_tokens(budget))


def measuring() -> str:
    """Return what stands while one is being measured."""
    return translate("Race", "Measuring one after the other, never both at once: first plain decoding, then "
                     "speculative. The window keeps still meanwhile, not to slow them.")  # fmt: skip


def headline(race: Race) -> Sentence:
    """Return who won, by how much and over what."""
    s, p, ratio = race.speculative, race.plain, race.speedup
    parts = {"n": len(s.tokens), "m": len(p.tokens), "s": seconds(s.ms), "p": seconds(p.ms), "r": f"{ratio:.2f}",
             "d": seconds(abs(p.ms - s.ms)), "tokens": _tokens(len(s.tokens))}  # fmt: skip
    if not race.drafted:
        text = translate("Race", "No race: nothing was drafted in {tokens}, so both lanes decoded plainly, in {s} and "
                         "{p}. {why}")  # fmt: skip
        return Sentence(text.format(**parts, why=_undrafted(race)), "extra")
    if min(len(s.tokens), len(p.tokens)) < FEW:
        text = translate("Race", "Too short to tell: speculative decoding takes {s} for {tokens}, plain decoding {p} "
                         "for {m}. One slow pass decides that: race longer texts.")  # fmt: skip
        return Sentence(text.format(**parts), "extra")
    if race.winner is None:
        text = translate("Race", "A dead heat: speculative decoding takes {s} for {n} tokens, plain decoding {p} for "
                         "{m}, {r} times the speed.")  # fmt: skip
        return Sentence(text.format(**parts))
    if len(s.tokens) != len(p.tokens):
        text = translate("Race", "Speculative decoding has {r} times the speed per token: {n} tokens in {s}, plain "
                         "decoding {m} in {p}.")  # fmt: skip
        return Sentence(text.format(**parts), "both" if ratio > 1 else "excess")
    if ratio > 1:
        text = translate("Race", "Speculative decoding wins by {d}: {n} tokens in {s}, plain decoding in {p}. That is "
                         "{r} times as fast.")  # fmt: skip
        return Sentence(text.format(**parts), "both")
    text = translate("Race", "Plain decoding wins by {d}: {n} tokens in {p}, speculative decoding in {s}. Drafting "
                     "reaches only {r} times its speed.")  # fmt: skip
    return Sentence(text.format(**parts), "excess")


def comparable(race: Race) -> Sentence:
    """Return what the two texts and times say about each other, and what they do not."""
    if race.divergence is not None:
        found = sequence_words.greedy(race.divergence, _labels(race))
        return Sentence(f"{found.text} {_rule(race.config)}".strip(), found.colour, found.sign)
    lossy = _rule(race.config)
    if lossy:
        text = translate("Race", "Speeds compare, per token. The texts do not. {lossy} Each way is one draw from a law "
                         "of its own.")  # fmt: skip
        return Sentence(text.format(lossy=lossy), "extra", "≠")
    text = translate("Race", "Sampled at T = {t}: speeds compare, per token. The texts may differ, for each way uses "
                     "its random numbers differently; both are draws from the same law. One run each: race other "
                     "seeds before you quote a number.")  # fmt: skip
    return Sentence(text.format(t=prob(race.config.sampling.temperature)))


def _undrafted(race: Race) -> str:
    """Return why no round drafted."""
    if race.config.source == "ngram":
        return translate("Race", "No n-gram of this text came before: choose a prompt that repeats itself.")
    return translate("Race", "There was no room for a draft: allow more tokens, or choose a shorter prompt.")


def conditions(race: Race, pair: Pair, prompt: str) -> str:
    """Return what the race was measured with, in a line."""
    c, draft = race.config, pair.draft
    names = {"model": draft.entry.name if draft is not None else "", "ngram": translate("Race", "n-gram lookup")}
    drafts = names.get(c.source) or c.source
    parts = [
        f"{pair.target.entry.name} ← {drafts}", f"{pair.target.device} {pair.target.dtype}", f"k = {c.k}",
        CARDS[c.rule].title if c.rule in CARDS else c.rule, f"T = {prob(c.sampling.temperature)}", *_filters(c),
        translate("Race", "seed {s}").format(s=c.seed),
        translate("Race", "prompt of {n} tokens, {t}").format(n=race.prompt_tokens, t=quoted(prompt)),
    ]  # fmt: skip
    return " · ".join(parts)


def names(race: Race | None) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return title and caption of the plain and of the speculative lane."""
    plain = translate("Race", "Plain decoding"), translate("Race", "one pass, one token")
    if race is None:
        return plain, (translate("Race", "Speculative"), translate("Race", "one pass, up to k + 1 tokens"))
    text = translate("Race", "one pass, up to {n} tokens")
    return plain, (title(race.config.k), text.format(n=race.config.k + 1))


def title(k: int) -> str:
    """Return the title of a speculative lane."""
    return translate("Race", "Speculative, k = {k}").format(k=k)


def count(lane: Lane, shown: int) -> str:
    """Return the line under a lane's bar: how many tokens are there, and from how many passes."""
    passes, all = lane.passes[shown - 1] if shown else 0, len(lane.tokens)
    ends = {StopReason.END_TOKEN: translate("Race", ", the last an end token"),
            StopReason.CONTEXT: translate("Race", ", then the context was full")}  # fmt: skip
    text = translate("Race", "{n} of {tokens} from {passes}{end} · prompt read in {ms} before the clock starts")
    return text.format(n=shown, tokens=_tokens(all), passes=_passes(passes), ms=seconds(lane.prefill_ms),
                       end=ends.get(lane.stop, "") if shown == all else "")  # fmt: skip


def _tokens(n: int) -> str:
    return translate("Race", "1 token") if n == 1 else translate("Race", "{n} tokens").format(n=n)


def _passes(n: int) -> str:
    return translate("Race", "1 pass") if n == 1 else translate("Race", "{n} passes").format(n=n)


def underway(u: Underway, i: int) -> str:
    """Return the line under the bar of lane 0 (plain) or 1 while they are measured."""
    if u.speculative == bool(i):
        text = translate("Race", "being measured, alone: {n} of {all} tokens")
        return text.format(n=u.tokens, all=u.wanted)
    return translate("Race", "its turn comes next") if i else translate("Race", "measured")


def definitions() -> dict[str, str]:
    """Return what each part of a lane means."""
    return {
        "clock": translate("Race", "Seconds of decoding, from the end of the prompt's reading to the last token. Sum "
                           "of the measured times of the rounds, the device waited for; drawing and trace are not in "
                           "it."),
        "rate": translate("Race", "Tokens so far / seconds so far; at the end tokens per second of decoding. Changes "
                          "four times a second at most."),
        "bar": translate("Race", "Tokens of this lane, each in the colour of its origin. What came from one round "
                         "appears together, at the time the round ended. Accepted and plain tokens are high, bonus "
                         "tokens stand at the top, residual ones at the foot. The dotted line is the finish; a "
                         "triangle stands where two greedy texts part."),
        "count": translate("Race", "Tokens so far, and how many passes of the target brought them. Reading the prompt "
                           "is timed apart: with a draft model it reads for two."),
        "name": translate("Race", "Both lanes were decoded one after the other with the same prompt, seed and budget, "
                          "after a warm-up, on the same machine. Only the replay shows them at once."),
    }  # fmt: skip


def _rule(config: RunConfig) -> str:
    """Return a sentence about a rule that does not keep the target's law here; "" for one that does."""
    card = CARDS.get(config.rule)
    kept = (Lossless.YES, Lossless.AT_ZERO) if config.sampling.temperature == 0 else (Lossless.YES,)
    if card is None or card.lossless in kept:
        return ""
    return translate("Race", "The rule '{r}' is {w}.").format(r=card.title, w=card.lossless.value)


def _filters(config: RunConfig) -> list[str]:
    s = config.sampling
    on = {"top-k": (s.top_k, 0), "top-p": (s.top_p, 1), "min-p": (s.min_p, 0)}
    return [f"{name} = {value:g}" for name, (value, off) in on.items() if value != off]


def _labels(race: Race):
    """Return how the tokens at the place of a divergence are written."""
    lanes = race.speculative, race.plain
    known = {token: text for lane in lanes for token, text in zip(lane.tokens, lane.labels, strict=True)}
    return lambda token: quoted(known[token])
