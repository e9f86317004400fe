"""A second, smaller language model as the draft source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint, Proposal
from simulator.models.base import LanguageModel, prefill
from simulator.records import FloatArray, Sampling
from simulator.sampling import draw, probabilities

if TYPE_CHECKING:
    import torch

CONTEXT_FULL = "The draft's context is full: from here on the target decodes alone."
UNKNOWN_TOKEN = "The text holds a token that the draft has no row for: from here on the target decodes alone."


class ModelDraft:
    """Drafts token by token from `model`, with the same temperature and filters as the target.

    Between rounds the model's cache holds a prefix of the text; whatever it has not read yet (the newest
    token, and after a full acceptance its own last proposal too) is read at the start of the next proposal.
    """

    name = "model"

    def __init__(self, model: LanguageModel, sampling: Sampling, vocab: int) -> None:
        self.model, self._sampling, self._vocab = model, sampling, vocab

    def prefill(self, context: Sequence[int], checkpoint: Checkpoint) -> None:
        """Read all but the newest token, unless nothing could be drafted behind them."""
        if self._obstacle(context) is None:
            prefill(self.model, context[:-1], checkpoint)

    def propose(self, context: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Proposal:
        """Draw up to len(uniforms) tokens, fewer where the model's position table ends."""
        obstacle = self._obstacle(context)
        limit = self.model.max_length
        n = 0 if obstacle else len(uniforms) if limit is None else min(len(uniforms), limit - len(context) + 1)
        tokens: list[int] = []
        rows = np.zeros((n, self._vocab), dtype=np.float32)
        unread = context[self.model.length :]
        for i in range(n):
            checkpoint()
            rows[i] = self._row(self.model.extend(unread, keep=1), i + 1)
            tokens.append(draw(rows[i], float(uniforms[i])))
            unread = tokens[-1:]
        return Proposal(tuple(tokens), rows, tuple(uniforms[:n].tolist()), obstacle)

    def _obstacle(self, context: Sequence[int]) -> str | None:
        """Return why nothing can be drafted behind the context, now or later, if so."""
        if self.model.max_length is not None and len(context) > self.model.max_length:
            return CONTEXT_FULL
        return UNKNOWN_TOKEN if max(context[self.model.length :]) >= self.model.vocab else None

    def _row(self, logits: torch.Tensor, position: int) -> FloatArray:
        """Return q [vocab of the target]: ids the target lacks are never drawn, ids the draft lacks have q = 0."""
        row: FloatArray = probabilities(logits[:, : self._vocab], self._sampling, self.model.name, position)[0]
        return np.pad(row, (0, self._vocab - len(row)))

    def commit(self, context: Sequence[int]) -> None:
        """Keep what the model has read of the text, all but its newest token at most; forget the rest."""
        self.model.rollback(max(0, self.model.length - (len(context) - 1)))

    def reset(self) -> None:
        """Forget everything."""
        self.model.reset()
