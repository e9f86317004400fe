"""The protocol that all draft sources share, and what a proposal is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simulator.records import FloatArray

if TYPE_CHECKING:
    import torch

Checkpoint = Callable[[], None]  # called between forward passes; raises to stop the run


def no_checkpoint() -> None:
    """Do nothing: the checkpoint of a run that nobody can stop."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Up to k drafted tokens with the distributions they were drawn from."""

    tokens: tuple[int, ...]  # [n], n <= k
    q: FloatArray  # [n, vocab of the target]; one-hot where the source is deterministic
    u: tuple[float | None, ...]  # [n], the uniform that drew each token; None where deterministic
    notice: str | None = None  # a sentence for the user


@dataclass(frozen=True, slots=True)
class Queued:
    """A proposal on a device, which may still have to compute it."""

    tokens: torch.Tensor  # [n], int64, ids of the target
    q: torch.Tensor  # [n, vocab of the target], float32
    u: tuple[float | None, ...]  # as in `Proposal`
    notice: str | None = None
    model: str = ""  # whose rows of q they are, in case one is no distribution
    known: tuple[int, ...] | None = None  # the tokens, where the host has them already


class DraftSource(Protocol):
    """Something that guesses how the text goes on."""

    name: str

    def prefill(self, context: Sequence[int], checkpoint: Checkpoint) -> None:
        """Read the text before the first round, all but its newest token, so that no round pays for it."""
        ...

    def propose(self, context: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Proposal:
        """Propose up to len(uniforms) tokens to follow the context, which ends with the newest emitted token."""
        ...

    def commit(self, context: Sequence[int]) -> None:
        """Learn what the round made of the text; forget every drafted token that did not survive."""
        ...

    def reset(self) -> None:
        """Forget everything."""
        ...


@runtime_checkable
class Queueing(DraftSource, Protocol):
    """A source that can draft on a device without waiting for it."""

    queue_device: torch.device | None  # None: it cannot after all

    def queue(self, context: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Queued:
        """Return what `propose` would, still on the device."""
        ...
