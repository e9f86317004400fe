"""What a round needs of the place where its rows lie, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint, DraftSource
from simulator.models.base import LanguageModel
from simulator.records import Bars, Shape
from simulator.uniforms import RoundUniforms
from simulator.verify import Outcome

if TYPE_CHECKING:
    import torch

Details = Callable[[Sequence[Sequence[int]]], tuple[Sequence[Shape], Sequence[Bars]]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A round of n drafted tokens as the verdict left it, with the numbers that it followed from."""

    tokens: tuple[int, ...]  # [n], drafted
    u_draft: tuple[float | None, ...]  # [n]; None where the source is deterministic
    p: list[float]  # [n], target probability of each
    q: list[float]  # [n], draft probability of each
    limits: list[float]  # [n], what the uniform of each test must stay below
    outcome: Outcome
    p_extra: float  # target probability of the extra token
    details: Details  # from the tokens [m] to be shown whatever they have: figures and bars of the first m positions


class Place(Protocol):
    """Where a round is drafted, verified and judged; it holds the settings and both caches."""

    target: LanguageModel
    source: DraftSource | None

    def draft(self, text: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Any:
        """Return up to len(uniforms) drafted tokens to follow the text, in this place's own form."""
        ...

    def verify(self, pending: int, draft: Any) -> torch.Tensor:
        """Let the target read the pending token and the n drafted ones; return the logits [n + 1, vocab]."""
        ...

    def judge(self, logits: torch.Tensor, draft: Any, u: RoundUniforms) -> Judged:
        """Return the verdict; raise `BrokenLogitsError` where a row is no distribution."""
        ...


def until_end_token(tokens: Sequence[int], end_tokens: frozenset[int]) -> int:
    """Return how many drafted tokens to judge: those behind the first end token are never tested."""
    return next((i + 1 for i, t in enumerate(tokens) if t in end_tokens), len(tokens))
