"""transformers causal language models behind the `LanguageModel` protocol.

Knows how to call a model of any architecture and what it must refuse. How caches go back is in `caches`;
does not know sampling or drafting.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

from simulator.errors import UserError
from simulator.models.caches import CacheKind, Cut, Replay, kind_of, lengths
from simulator.models.probe import rollback_fault

CACHE_ARGUMENTS = ("cache", "past_key_values")  # renamed during the 5.x series: the old name warns on every call


class HFModel:
    """A transformers model with its own growing cache; one inference thread may use it at a time.

    Raise `UserError` where the model cannot be read in pieces, or its rollback would change what it says.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self.model = model.eval()
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype
        decoder = model.config.get_text_config(decoder=True)
        self.max_length: int | None = _max_length(decoder)
        parameters = inspect.signature(model.forward).parameters
        self._cache_argument = next((n for n in CACHE_ARGUMENTS if n in parameters), None)
        self._keeps_logits = "logits_to_keep" in parameters
        self._kind: type[Cut | Replay] = Replay  # right for every cache; a lighter one once its layers are known
        self.vocab: int = self._settle(int(decoder.vocab_size))
        self.reset()

    @property
    def length(self) -> int:
        """Return how many tokens the cache holds."""
        return self._length

    @property
    def way(self) -> str:
        """Return how this model's cache goes back, in a few words."""
        return self._kind.way

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens [n] and return the logits [keep or n, vocab], in the model's own dtype, on its device."""
        self._memory.before(self._length, tokens)
        logits = self._read(tokens, keep or len(tokens))
        self._length += len(tokens)
        self._assert_length()
        return logits

    def rollback(self, n: int) -> None:
        """Forget the last n tokens, in the way of this cache (see `caches`), which may take a forward pass.

        Call it after every `extend`, with 0 too: that is when what only a rollback needs is let go of.
        At most the tokens read since the last call can be forgotten, for the same reason.
        """
        assert 0 <= n <= self._length, (n, self._length)
        self._memory.rollback(self._length, n, lambda tokens: self._read(tokens, 1))
        self._length -= n
        self._assert_length()

    def reset(self) -> None:
        """Start with an empty cache."""
        self._cache = DynamicCache(config=self.model.config)
        self._memory: CacheKind = self._kind(self._cache)
        self._length = 0

    def _read(self, tokens: Sequence[int], keep: int) -> torch.Tensor:
        """Pass the tokens [n] through the model behind what the cache holds; return the last logits [keep, vocab]."""
        ids = torch.tensor([list(tokens)], device=self.device)
        arguments = {"logits_to_keep": keep} if self._keeps_logits else {}
        with torch.inference_mode():
            output = self.model(input_ids=ids, use_cache=True, **{str(self._cache_argument): self._cache}, **arguments)
        logits: torch.Tensor = output.logits[0, -keep:]
        return logits

    def _settle(self, rows: int) -> int:
        """Find the kind of cache, prove its rollback on a few tokens, and return how many logits the model gives."""
        label = f"{self.name} ({type(self.model).__name__})"
        if self._cache_argument is None:
            raise UserError(f"{label} reads no cache, which drafting and verifying need: choose another model.")
        try:
            self.reset()
            vocab = int(self.extend([0]).shape[-1])
            self._kind = kind_of(self._cache)
            fault = rollback_fault(self, rows)
        except Exception as error:
            raise UserError(f"{label} cannot be read in pieces with a growing cache: {_first_line(error)}") from error
        if fault:
            raise UserError(
                f"{label} keeps a state that cannot be taken back exactly when a token is rejected ({fault}): "
                "choose another model."
            )
        return vocab

    def _assert_length(self) -> None:
        held = lengths(self._cache)
        assert held <= {self._length}, f"{self.name}: the cache holds {held} tokens, expected {self._length}"


def _max_length(decoder: Any) -> int | None:
    """Return how many positions a model may read, None where nothing limits it.

    A "longrope" model re-scales every earlier position once the text outgrows its first range, cached keys
    do not follow, and its answers would depend on how the text was cut into passes: it is held to that range.
    """
    limit = getattr(decoder, "max_position_embeddings", None)
    rope = getattr(decoder, "rope_parameters", None) or {}
    for part in (rope, *(v for v in rope.values() if isinstance(v, dict))):
        if part.get("rope_type") == "longrope" and part.get("original_max_position_embeddings"):
            limit = min(limit or part["original_max_position_embeddings"], part["original_max_position_embeddings"])
    return limit if limit and limit > 0 else None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
