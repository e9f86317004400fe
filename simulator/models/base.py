"""The protocol that target and draft models share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch

ASYNCHRONOUS = ("cuda",)  # kinds of device that work while Python goes on, so that not waiting for them saves time
CHUNK = 512  # tokens per prefill pass: a stop waits for one of these at most


class LanguageModel(Protocol):
    """A causal language model with a cache of the tokens it has read."""

    name: str
    vocab: int  # rows of the output layer
    max_length: int | None  # positions it may read; None = no limit

    @property
    def length(self) -> int:
        """Return how many tokens the cache holds."""
        ...

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens [n] and return the logits [keep or n, vocab] that follow the last `keep` of them."""
        ...

    def rollback(self, n: int) -> None:
        """Forget the last n tokens, as if they had never been read."""
        ...

    def reset(self) -> None:
        """Forget everything."""
        ...


@runtime_checkable
class Following(LanguageModel, Protocol):
    """A model that can go on from tokens that only its device knows."""

    device: torch.device

    def follow(self, tokens: torch.Tensor) -> torch.Tensor:
        """Read the tokens [n] and return the logits [n, vocab], without waiting for either."""
        ...


def queues(model: LanguageModel) -> bool:
    """Return whether a model's device works on while Python does: what is done there should stay there."""
    device: torch.device | None = getattr(model, "device", None)
    return device is not None and device.type in ASYNCHRONOUS


def prefill(model: LanguageModel, tokens: Sequence[int], checkpoint: Callable[[], None]) -> None:
    """Read the tokens [n] in chunks, with a checkpoint before each."""
    for i in range(0, len(tokens), CHUNK):
        checkpoint()
        model.extend(tokens[i : i + CHUNK], keep=1)


class Buffered:
    """The rewinding half of a model whose cache is a buffer: what lies behind `length` is never read."""

    name: str
    _length = 0

    @property
    def length(self) -> int:
        """Return how many tokens the cache holds."""
        return self._length

    def rollback(self, n: int) -> None:
        """Forget the last n tokens."""
        assert 0 <= n <= self._length, (self.name, n, self._length)
        self._length -= n

    def reset(self) -> None:
        """Forget everything."""
        self._length = 0
