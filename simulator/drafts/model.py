"""A second, smaller language model as the draft source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint, Proposal, Queued
from simulator.models.base import Following, LanguageModel, prefill, queues
from simulator.records import FloatArray, Sampling
from simulator.sampling import draw, probabilities, require_finite, to_host

if TYPE_CHECKING:
    import torch

    from simulator.drafts.chain import Chain

Ids = NDArray[np.int64]

CONTEXT_FULL = "The draft's context is full: from here on the target decodes alone."
UNKNOWN_TOKEN = "The text holds a token that the draft has no row for: from here on the target decodes alone."


class ModelDraft:
    """Drafts token by token from `model`, with the same temperature and filters as the target.

    Between rounds the model's cache holds a prefix of the text; whatever it has not read yet (the newest
    token, and after a full acceptance its own last proposal too) is read at the start of the next proposal.

    All ids outside are the target's. `to_target` [draft rows] names the target id of each row of the draft, -1 where
    there is none (None: the same ids); rows without one leave before the softmax, so the q that a token is drawn from
    is the q of the accept ratio. `feed` [target rows] names what the draft reads for each token of the text, -1 where
    nothing can stand for it (None: the map turned round). That is free: no emitted probability depends on it.
    """

    name = "model"

    def __init__(self, model: LanguageModel, sampling: Sampling, vocab: int, to_target: Ids | None = None,
                 feed: Ids | None = None) -> None:  # fmt: skip
        self.model, self._sampling, self._vocab = model, sampling, vocab
        ids = np.arange(min(model.vocab, vocab)) if to_target is None else to_target[: model.vocab]
        rows = np.flatnonzero((ids >= 0) & (ids < vocab))  # of the draft, those with a counterpart
        ids = ids[rows]
        assert len(ids), "at least one id in common"
        assert len(np.unique(ids)) == len(ids), "each target id named once at most"
        self._rows: torch.Tensor | None = _tensor(rows) if len(rows) < model.vocab else None  # None: all of them
        self._ids: slice | Ids = slice(0, len(ids)) if to_target is None else ids
        own = np.full(vocab, -1)
        if feed is None:
            own[ids] = rows
        else:
            own[: len(feed)] = feed[:vocab]
        self._feed: list[int] = own.tolist()  # asked a token at a time, where a list is quickest
        self._chain = _chain(model, rows, ids, own) if isinstance(model, Following) and queues(model) else None
        self.queue_device = None if self._chain is None else self._chain.device

    def prefill(self, context: Sequence[int], checkpoint: Checkpoint) -> None:
        """Read all but the newest token, unless nothing could be drafted behind them."""
        if self._obstacle(context) is None:
            prefill(self.model, self._fed(context[:-1]), checkpoint)

    def propose(self, context: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Proposal:
        """Draw up to len(uniforms) tokens, fewer where the model's position table ends."""
        if self._chain is not None:
            return _fetched(self.queue(context, uniforms, checkpoint))
        us, obstacle = self._room(context, uniforms)
        tokens, rows = self._drawn(context[self.model.length :], us, checkpoint)
        return Proposal(tuple(tokens), rows, tuple(us), obstacle)

    def queue(self, context: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Queued:
        """Draw as `propose` does, on `queue_device` and without waiting for it."""
        assert self._chain is not None, self.model.name
        us, obstacle = self._room(context, uniforms)
        unread = self._fed(context[self.model.length :])
        tokens, q = self._chain.drawn(unread, us, self._sampling, checkpoint)
        return Queued(tokens, q, tuple(us), obstacle, self.model.name)

    def _room(self, context: Sequence[int], uniforms: NDArray[np.float64]) -> tuple[list[float], str | None]:
        """Return the uniforms [n] of tokens that can be drafted behind the context; where it is none for good, why."""
        obstacle, limit = self._obstacle(context), self.model.max_length
        n = 0 if obstacle else len(uniforms) if limit is None else min(len(uniforms), limit - len(context) + 1)
        return uniforms[:n].tolist(), obstacle

    def _drawn(
        self, unread: Sequence[int], us: Sequence[float], checkpoint: Checkpoint
    ) -> tuple[list[int], FloatArray]:
        """Return a token for each uniform and the rows [n, vocab of the target] that they were drawn from."""
        tokens: list[int] = []
        rows = np.zeros((len(us), self._vocab), dtype=np.float32)
        for i, u in enumerate(us):
            checkpoint()
            self._fill(rows[i], self.model.extend(self._fed(unread), keep=1), i + 1)
            tokens.append(draw(rows[i], u))
            unread = tokens[-1:]
        return tokens, rows

    def _obstacle(self, context: Sequence[int]) -> str | None:
        """Return why nothing can be drafted behind the context, now or later, if so."""
        if self.model.max_length is not None and len(context) > self.model.max_length:
            return CONTEXT_FULL
        return UNKNOWN_TOKEN if min(self._fed(context[self.model.length :])) < 0 else None

    def _fed(self, tokens: Sequence[int]) -> list[int]:
        """Return what the draft reads for these tokens [n] of the text: as many of its own."""
        return [self._feed[t] for t in tokens]

    def _fill(self, row: FloatArray, logits: torch.Tensor, position: int) -> None:
        """Write q into row [vocab of the target], zeros so far: ids the draft lacks keep 0, ids the target lacks go."""
        if self._rows is not None:
            self._rows = self._rows.to(logits.device)  # copied once
            logits = logits[:, self._rows]
        row[self._ids] = probabilities(logits, self._sampling, self.model.name, position)[0]

    def commit(self, context: Sequence[int]) -> None:
        """Keep what the model has read of the text, all but its newest token at most; forget the rest."""
        self.model.rollback(max(0, self.model.length - (len(context) - 1)))

    def reset(self) -> None:
        """Forget everything."""
        self.model.reset()


def _chain(model: Following, rows: Ids, ids: Ids, feed: Ids) -> Chain:
    from simulator.drafts.chain import Chain

    return Chain(model, rows, ids, feed)


def _fetched(queued: Queued) -> Proposal:
    """Return a proposal that the host has, all of it; raise `BrokenLogitsError` as `probabilities` does."""
    q = to_host(queued.q)
    require_finite(q.max(-1), queued.model)
    return Proposal(tuple(queued.tokens.tolist()), q, queued.u, queued.notice)


def _tensor(ids: Ids) -> torch.Tensor:
    import torch

    return torch.from_numpy(ids)
