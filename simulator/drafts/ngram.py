"""Prompt lookup: propose what followed the same n tokens earlier in the text (Saxena 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint, Proposal
from simulator.sampling import one_hot

HELP = (
    "Prompt lookup: find the last 3 tokens (else 2, else 1) earlier in this text and propose what followed them. "
    "Of several matches the latest wins; the end of the text never matches itself; no match, no proposal. "
    "The draft is deterministic, so q is 1 on its token and the accept probability is p."
)


class NgramDraft:
    """Proposes the continuation of the latest earlier occurrence of the text's last n tokens.

    Longer matches are preferred (`sizes`, tried in order). Stateless: each proposal looks at the given
    context alone, so nothing can be left over from another run.
    """

    name = "ngram"

    def __init__(self, vocab: int, sizes: Sequence[int] = (3, 2, 1)) -> None:
        self._vocab, self._sizes = vocab, tuple(sizes)

    def prefill(self, context: Sequence[int], checkpoint: Checkpoint) -> None:
        """Do nothing: each proposal reads the whole context."""

    def propose(self, context: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Proposal:
        """Propose up to len(uniforms) tokens with one-hot q; none where nothing matches."""
        tokens = lookup(context, self._sizes, len(uniforms))
        return Proposal(tokens, one_hot(np.asarray(tokens, dtype=np.int64), self._vocab), (None,) * len(tokens))

    def commit(self, context: Sequence[int]) -> None:
        """Do nothing, for the same reason."""

    def reset(self) -> None:
        """Do nothing: there is no state."""


def lookup(context: Sequence[int], sizes: Sequence[int], k: int) -> tuple[int, ...]:
    """Return up to k tokens that followed the latest earlier match of the last n tokens, for the first n that has one.

    The match and its continuation may overlap the end of the text, but the suffix itself is no match.
    """
    ids = np.asarray(context)
    for n in sizes:
        if k < 1 or len(ids) <= n:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(ids[:-1], n)  # every n-gram that something follows
        matches = np.flatnonzero((windows == ids[-n:]).all(axis=1))
        if len(matches):
            start = int(matches[-1]) + n
            return tuple(ids[start : start + k].tolist())
    return ()
