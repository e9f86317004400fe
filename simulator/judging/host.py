"""A round in this computer's memory, by every rule: the path that reads like the papers, and the oracle of the other.

Knows rows as NumPy arrays. Does not know what becomes of the verdict (`engine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint, DraftSource, Proposal
from simulator.judging.base import Judged, until_end_token
from simulator.models.base import LanguageModel
from simulator.records import Bars, FloatArray, RunConfig, Shape
from simulator.reduction import bars, shapes
from simulator.sampling import probabilities
from simulator.uniforms import RoundUniforms
from simulator.verify import RULES, accept_probability, chances

if TYPE_CHECKING:
    import torch


class Host:
    """Fetches every row and judges here."""

    def __init__(self, target: LanguageModel, source: DraftSource | None, config: RunConfig) -> None:
        self.target, self.source, self._config = target, source, config

    def draft(self, text: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Proposal:
        """Return the source's proposal."""
        return proposed(self.source, text, uniforms, self.target.vocab, checkpoint)

    def verify(self, pending: int, draft: Proposal) -> torch.Tensor:
        """Return the target's logits [n + 1, vocab]."""
        return self.target.extend([pending, *draft.tokens])

    def judge(self, logits: torch.Tensor, draft: Proposal, u: RoundUniforms) -> Judged:
        """Return the verdict of the run's rule."""
        config = self._config
        p = probabilities(logits, config.sampling, self.target.name)
        judged = until_end_token(draft.tokens, config.end_tokens)
        rows = p[: judged + 1], draft.q[:judged], draft.tokens[:judged]
        outcome = RULES[config.rule](*rows, u.accept[:judged].tolist(), u.extra)
        p_x = [float(p[i, token]) for i, token in enumerate(draft.tokens)]
        q_x = [float(draft.q[i, token]) for i, token in enumerate(draft.tokens)]
        limits = chances(config.rule, *rows)  # behind an end token nothing is judged; the ratio stands there
        limits += [accept_probability(*both) for both in zip(p_x[judged:], q_x[judged:], strict=True)]
        p_extra = float(p[outcome.accepted, outcome.extra])
        return Judged(draft.tokens, draft.u, p_x, q_x, limits, outcome, p_extra, partial(_details, p, draft.q))


def _details(p: FloatArray, q: FloatArray, always: Sequence[Sequence[int]]) -> tuple[list[Shape], list[Bars]]:
    return shapes(p[: len(always)], q), bars(p[: len(always)], q, always)


def proposed(
    source: DraftSource | None, text: Sequence[int], uniforms: NDArray[np.float64], vocab: int, checkpoint: Checkpoint
) -> Proposal:
    """Return up to len(uniforms) tokens to follow the text; none without a source."""
    if source is None or not len(uniforms):
        return Proposal((), np.zeros((0, vocab), np.float32), ())
    proposal = source.propose(text, uniforms, checkpoint)
    assert proposal.q.shape == (len(proposal.tokens), vocab), (proposal.q.shape, len(proposal.tokens), vocab)
    return proposal
