"""How flat a target is along a text, and how well each draft source follows it there: a few numbers a position.

Knows: distributions in, scalars out, never [n, vocab] for a whole text; windows over texts longer than a context.
Does not know: files, threads, the screen, what drafting costs (`outlook`).

All of it is teacher-forced: each position is asked for the token that the given text has there, so the figures hold
on this text, not on the text that the pair would write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, log2
from typing import Any

import numpy as np

from simulator.drafts.base import Checkpoint
from simulator.drafts.ngram import lookup
from simulator.errors import UserError
from simulator.models.base import LanguageModel, prefill
from simulator.records import FloatArray, IntArray, Sampling
from simulator.reduction import shapes
from simulator.sampling import BrokenLogitsError, probabilities

TOPS = (1, 2, 5, 10, 50)  # the k of the top-k masses
NONE = -1  # stands for a token id where a source proposes nothing
WINDOW = 4096  # tokens of context at most, also where a model could read more: time and memory stay in bounds
MOST_ROWS, MOST_NUMBERS = 256, 1 << 24  # of one pass: 64 MB of probabilities in float32
NGRAM_SIZES = (3, 2, 1)  # as `NgramDraft`

SAMPLED, GREEDY, NGRAM = "sampled", "greedy", "ngram"  # the sources


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """One draft source along the text."""

    alpha: FloatArray  # [n], the chance that its token is accepted, sum min(p, q); NaN where it proposes nothing
    token: IntArray  # [n], what it proposes (its most probable token), or NONE


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """The positions scored so far; p and q are after temperature and filters."""

    name: str  # of the text
    vocab: int
    sampling: Sampling
    wanted: int  # positions of the whole text
    text: IntArray | None  # [wanted + offset], all token ids; None where the ids are not known
    offset: int  # position i is about token i + offset; 1 where nothing predicts the first token
    context: IntArray  # [n], tokens that the position's distributions have seen
    p_max: FloatArray  # [n], the largest p
    top: IntArray  # [n], its token
    mass: FloatArray  # [n, len(TOPS)], sum of the k largest p
    entropy: FloatArray  # [n], bits
    p_text: FloatArray  # [n], p of the text's own token; NaN where the ids are not known
    tracks: Mapping[str, Track]  # by source
    notice: str = ""  # a sentence for the user

    @property
    def n(self) -> int:
        """Return how many positions are scored."""
        return len(self.p_max)

    @property
    def most_entropy(self) -> float:
        """Return log2 of the vocabulary, the entropy of the uniform distribution, in bits."""
        return log2(self.vocab)

    def token(self, i: int) -> int:
        """Return the text's token at a position, NONE where it is not known."""
        return NONE if self.text is None else int(self.text[i + self.offset])


class Sheet:
    """The columns of an analysis, filled from the top; what was filled never changes, so views of it can be given."""

    def __init__(self, name: str, vocab: int, sampling: Sampling, wanted: int, text: IntArray | None, offset: int,
                 sources: Sequence[str], notice: str = "") -> None:  # fmt: skip
        self._about = name, vocab, sampling, wanted, text, offset
        self._notice = notice
        self._text, self._offset, self._n = text, offset, 0
        self._context, self._top = (np.full(wanted, NONE, np.int32) for _ in range(2))
        self._p_max, self._entropy, self._p_text = (np.full(wanted, np.nan, np.float32) for _ in range(3))
        self._mass = np.full((wanted, len(TOPS)), np.nan, np.float32)
        self._alpha = {source: np.full(wanted, np.nan, np.float32) for source in sources}
        self._token = {source: np.full(wanted, NONE, np.int32) for source in sources}

    def add(self, p: FloatArray, q: FloatArray | None, start: int) -> None:
        """Score the next positions from p and q [rows, vocab]; their context begins at token `start` of the text."""
        here = slice(self._n, self._n + len(p))
        tokens = np.arange(here.start, here.stop) + self._offset
        figures = shapes(p, p[:0] if q is None else q)
        self._context[here] = tokens - start
        self._p_max[here], self._top[here] = p.max(-1), p.argmax(-1)
        self._mass[here] = top_masses(p)
        self._entropy[here] = [figure.entropy_p / log(2) for figure in figures]
        if self._text is not None:
            self._p_text[here] = p[np.arange(len(p)), self._text[tokens]]
            self._add_ngram(p, here, start)
        if q is not None:
            best = q.argmax(-1)
            self._token[SAMPLED][here] = self._token[GREEDY][here] = best
            self._alpha[SAMPLED][here] = [figure.overlap for figure in figures]
            self._alpha[GREEDY][here] = p[np.arange(len(p)), best]
        self._n = here.stop

    def _add_ngram(self, p: FloatArray, here: slice, start: int) -> None:
        for row, i in enumerate(range(here.start, here.stop)):
            context: Any = self._text[start : i + self._offset] if self._text is not None else ()
            for token in lookup(context, NGRAM_SIZES, 1):
                self._token[NGRAM][i], self._alpha[NGRAM][i] = token, p[row, token]

    def analysis(self) -> Analysis:
        """Return what is scored so far."""
        n = self._n
        tracks = {source: Track(self._alpha[source][:n], self._token[source][:n]) for source in self._alpha}
        return Analysis(*self._about, self._context[:n], self._p_max[:n], self._top[:n], self._mass[:n],
                        self._entropy[:n], self._p_text[:n], tracks, self._notice)  # fmt: skip


def top_masses(p: FloatArray) -> FloatArray:
    """Return the sum of the k largest p for each k of TOPS, [rows, len(TOPS)], from p [rows, vocab]."""
    m = min(TOPS[-1], p.shape[1])
    largest = np.sort(np.partition(p, p.shape[1] - m)[:, -m:])[:, ::-1]
    sums = np.minimum(1.0, np.cumsum(largest, axis=1, dtype=np.float64))
    result: FloatArray = sums[:, [min(k, m) - 1 for k in TOPS]].astype(np.float32)
    return result


def windows(length: int, reach: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, first, end) for a text of `length` tokens: read from start, score the tokens first .. end - 1.

    No token sees more than `reach` (>= 1) tokens of context, each behind the first window at least half of them.
    """
    start, first = 0, 1
    while first < length:
        end = min(length, start + reach + 1)
        yield start, first, end
        start, first = end - max(1, reach // 2), end


def rows_per_pass(vocab: int) -> int:
    """Return how many positions to score at once, so that memory stays bounded at any vocabulary."""
    return max(1, min(MOST_ROWS, MOST_NUMBERS // vocab))


def score(
    target: LanguageModel, draft: LanguageModel | None, ids: Sequence[int], sampling: Sampling, name: str,
    checkpoint: Checkpoint,
) -> Iterator[Analysis]:  # fmt: skip
    """Read a text of token ids through the target and the draft, if there is one; yield the analysis as it grows.

    Raise `UserError` for a text of fewer than two tokens or a token that the target has no row for. A draft that
    lacks a token of the text cannot read it and is left out, with a notice.
    """
    checked_text(ids, target)
    notice = ""
    if draft is not None and max(ids) >= draft.vocab:
        notice = f"{draft.name} has no row for token id {max(ids)} of this text, so it is left out."
        draft = None
    models = [target] if draft is None else [target, draft]
    reach = min([WINDOW, *(m.max_length for m in models if m.max_length is not None)])
    sources = ([] if draft is None else [SAMPLED, GREEDY]) + [NGRAM]
    sheet = Sheet(name, target.vocab, sampling, len(ids) - 1, np.asarray(ids, np.int32), 1, sources, notice)
    step = rows_per_pass(target.vocab)
    try:
        for start, first, end in windows(len(ids), reach):
            for model in models:
                model.reset()
                prefill(model, ids[start : first - 1], checkpoint)
            for a in range(first, end, step):
                read = ids[a - 1 : min(end, a + step) - 1]
                p, *q = (read_rows(model, read, sampling, target.vocab, a, checkpoint) for model in models)
                sheet.add(p, q[0] if q else None, start)
                yield sheet.analysis()
    finally:
        for model in models:
            model.reset()


def checked_text(ids: Sequence[int], target: LanguageModel) -> None:
    """Raise `UserError` unless there is something to score and the target can read all of it."""
    if len(ids) < 2:
        raise UserError(
            "This text is too short: the first token has nothing before it that could predict it, so at least two "
            "tokens are needed."
        )
    bad = next((t for t in ids if not 0 <= t < target.vocab), None)
    if bad is not None:
        raise UserError(
            f"The text contains token id {bad}, but {target.name} has {target.vocab} rows (ids 0 to "
            f"{target.vocab - 1}): remove that token from the text."
        )


def read_rows(
    model: LanguageModel, tokens: Sequence[int], sampling: Sampling, vocab: int, first: int, checkpoint: Checkpoint
) -> FloatArray:
    """Read the tokens [n]; return what the model expects behind each, [n, vocab], as `ModelDraft` has it.

    Ids that the target lacks are cut off, ids that the model lacks have probability 0. `first` is the number of the
    first token that is predicted, for the sentence of the `UserError` raised where there is no distribution.
    """
    checkpoint()
    logits = model.extend(tokens)
    model.rollback(0)  # lets go of what only a rollback would need
    try:
        rows = probabilities(logits[:, :vocab], sampling, model.name)
    except BrokenLogitsError as error:
        raise UserError(
            f"The logits of {model.name} between token {first} and token {first + len(tokens) - 1} of this text are "
            "not a distribution (NaN or infinite): check the weights and the dtype."
        ) from error
    padded: FloatArray = np.pad(rows, ((0, 0), (0, vocab - rows.shape[1])))
    return padded
