"""Exactness of whole texts: many seeds of the engine against plain sampling, and greedy text against greedy text.

Knows: how to compare two samples of first tokens, and when a greedy difference is a tie. Does not know: rules (the
configuration names one), threads, the screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from simulator.drafts.base import Checkpoint, DraftSource, no_checkpoint
from simulator.engine import autoregress, speculate
from simulator.exactness.chance import chi_square_tail
from simulator.exactness.lab import BAND, LEAST_EXPECTED, LEVEL, REPEATS, Check, Counts, Noise
from simulator.models.base import LanguageModel, prefill
from simulator.records import Event, RoundTrace, RunConfig

Text = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """The first n tokens of so many speculative and as many plain texts, each with a seed of its own."""

    n: int
    wanted: int
    speculative: Mapping[Text, int]
    plain: Mapping[Text, int]

    @property
    def seeds(self) -> int:
        """Return how many texts of each kind there are."""
        return sum(self.plain.values())

    def table(self) -> list[tuple[Text, int, int]]:
        """Return (text, speculative, plain), the most frequent first."""
        both = Counter(self.speculative) + Counter(self.plain)
        return [(t, self.speculative.get(t, 0), self.plain.get(t, 0)) for t, _ in both.most_common()]


def compare_sequences(
    target: LanguageModel, source: DraftSource | None, prompt: Sequence[int], config: RunConfig, n: int, seeds: int,
    checkpoint: Checkpoint = no_checkpoint,
) -> Iterator[Sequences]:  # fmt: skip
    """Decode the first n tokens with config.seed and the seeds behind it; yield the counts after each pair of texts.

    Plain texts have other seeds than speculative ones, for two samples that share random numbers are not two. The
    first rounds are whole ones: the budget leaves room for k tokens more than are compared.
    """
    config = replace(config, max_new_tokens=n + config.k, detail=False)
    speculative: Counter[Text] = Counter()
    plain: Counter[Text] = Counter()
    for i in range(seeds):
        own, other = (replace(config, seed=config.seed + j) for j in (i, seeds + i))
        speculative[_first(speculate(target, source, prompt, own, checkpoint=checkpoint), n)] += 1
        plain[_first(autoregress(target, prompt, other, checkpoint=checkpoint), n)] += 1
        checkpoint()
        yield Sequences(n, seeds, dict(speculative), dict(plain))


def _first(events: Iterator[Event], n: int) -> Text:
    """Return the first n tokens of a run, fewer where it ended before."""
    text: list[int] = []
    for event in events:
        text += event.emitted if isinstance(event, RoundTrace) else ()
        if len(text) >= n:
            break
    return tuple(text[:n])


def check_sequences(sequences: Sequences, level: float = LEVEL) -> Check | None:
    """Test whether both samples have one law; None while there are too few texts to test anything.

    Chi-square test of homogeneity, sum (a - b)^2 / (a + b) for samples of one size; texts expected fewer than
    LEAST_EXPECTED times form one cell.
    """
    a, b = _cells(sequences)
    if len(a) < 2:
        return None
    statistic = float(((a - b) ** 2 / (a + b)).sum())
    return Check(sequences.seeds, len(a), statistic, chi_square_tail(statistic, len(a) - 1), level)


def _cells(sequences: Sequences) -> tuple[Counts, Counts]:
    counts = np.array([(a, b) for _, a, b in sequences.table()], np.int64).reshape(-1, 2)
    common = counts.sum(1) >= 2 * LEAST_EXPECTED
    rare = counts[~common].sum(0)
    if 0 < rare.sum() < 2 * LEAST_EXPECTED and common.any():  # too rare even together: the least common text joins
        rare = rare + counts[common][-1]
        common[np.flatnonzero(common)[-1]] = False
    cells = np.vstack([counts[common], rare]) if rare.any() else counts[common]
    return cells[:, 0], cells[:, 1]


def sequence_tv(sequences: Sequences) -> tuple[float, Noise]:
    """Return 1/2 sum |a - b| / N of the two samples, and what two samples of one law show by chance.

    By permutation: all texts together are dealt out anew into two samples, REPEATS times.
    """
    counts = np.array([(a, b) for _, a, b in sequences.table()], np.int64)
    both, n = counts.sum(1), sequences.seeds
    one = np.random.default_rng(0).multivariate_hypergeometric(both, n, size=REPEATS, method="marginals")
    tv = 0.5 * np.abs(2 * one - both).sum(-1) / n
    measured = 0.5 * float(np.abs(counts[:, 0] - counts[:, 1]).sum()) / n
    return measured, Noise(float(tv.mean()), float(np.quantile(tv, BAND)))


# Greedy text


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where speculative greedy text first leaves plain greedy text, and how sure the target was there."""

    compared: int  # tokens
    at: int | None = None  # 0, 1, ...; None: the texts are the same
    speculative: int | None = None  # token ids at that place
    plain: int | None = None
    margin: float | None = None  # between the two largest logits there
    noise: float | None = None  # how far these logits move when a pass reads several tokens, not one

    @property
    def tie(self) -> bool:
        """Return whether the margin is within the arithmetic's own noise: then neither text is wrong."""
        return self.margin is not None and self.noise is not None and self.margin <= 2 * self.noise


def compare_greedy(
    target: LanguageModel, source: DraftSource | None, prompt: Sequence[int], config: RunConfig,
    checkpoint: Checkpoint = no_checkpoint,
) -> Divergence:  # fmt: skip
    """Decode greedily both ways and return the first difference.

    A verify pass reads several tokens at once, a plain one a single token; the two add numbers in another order.
    """
    config = replace(config, sampling=replace(config.sampling, temperature=0.0), detail=False)
    n = config.max_new_tokens
    drafted = _first(speculate(target, source, prompt, config, checkpoint=checkpoint), n)
    plain = _first(autoregress(target, prompt, config, checkpoint=checkpoint), n)
    return divergence(target, prompt, drafted, plain, config.k + 1, checkpoint)


def divergence(
    target: LanguageModel, prompt: Sequence[int], speculative: Text, plain: Text, width: int,
    checkpoint: Checkpoint = no_checkpoint,
) -> Divergence:  # fmt: skip
    """Return where two greedy texts behind one prompt first differ; `width`: tokens that a verify pass reads."""
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(speculative, plain, strict=False)))
    if at == min(len(speculative), len(plain)):
        return Divergence(at)
    margin, noise = _margin(target, [*prompt, *plain[:at]], width, checkpoint)
    return Divergence(at + 1, at, speculative[at], plain[at], margin, noise)


def _margin(target: LanguageModel, text: Sequence[int], width: int, checkpoint: Checkpoint) -> tuple[float, float]:
    """Return how far apart the two largest logits behind the text are, and how far passes of up to `width` move them.

    All widths, for a token is judged at any place of a verify pass; at least one step of the logits' dtype, for passes
    may round alike by luck and the caches of the two texts differ too.
    """
    import torch

    target.reset()
    for token in text[:-1]:
        checkpoint()
        target.extend([token], keep=1)
    logits = target.extend(text[-1:], keep=1)[0]
    single = logits.double().cpu().numpy()
    target.reset()
    prefill(target, text[:-width], checkpoint)
    first, second = np.argsort(-single, kind="stable")[:2]
    noise = float(torch.finfo(logits.dtype).eps * abs(single[second]))
    for n in range(min(width, len(text)), 1, -1):
        checkpoint()
        target.rollback(max(0, target.length - (len(text) - n)))
        whole = target.extend(text[-n:], keep=1)[0].double().cpu().numpy()
        noise = max(noise, float(np.abs(single - whole)[[first, second]].max()))
    return float(single[first] - single[second]), noise
