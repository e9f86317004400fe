"""A stand-in model whose probabilities are written down: exact, tiny, for tests and worked examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

Law = Callable[[tuple[int, ...]], Sequence[float]]


class TableModel:
    """A model that looks its next-token distribution up by the tokens read so far.

    `law(context)` returns probabilities [vocab] (`are_logits=True`: logits) and is called with every
    token read, oldest first.
    """

    def __init__(self, law: Law, vocab: int, *, name: str = "table", max_length: int | None = None,
                 are_logits: bool = False) -> None:  # fmt: skip
        self.name, self.vocab, self.max_length = name, vocab, max_length
        self._law, self._are_logits = law, are_logits
        self._tokens: list[int] = []

    @property
    def length(self) -> int:
        """Return how many tokens were read."""
        return len(self._tokens)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return the tokens read."""
        return tuple(self._tokens)

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens and return float64 logits [keep or n, vocab]."""
        import torch

        rows = []
        for token in tokens:
            self._tokens.append(int(token))
            rows.append(np.asarray(self._law(tuple(self._tokens)), dtype=np.float64))
        values = np.stack(rows)[-(keep or len(rows)) :]
        with np.errstate(divide="ignore"):
            return torch.from_numpy(values if self._are_logits else np.log(values))

    def rollback(self, n: int) -> None:
        """Forget the last n tokens."""
        assert 0 <= n <= len(self._tokens), (n, len(self._tokens))
        del self._tokens[len(self._tokens) - n :]

    def reset(self) -> None:
        """Forget everything."""
        self._tokens.clear()
