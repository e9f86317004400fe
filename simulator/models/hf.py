"""transformers causal language models behind the `LanguageModel` protocol.

Knows how to call a model of any architecture and what it must refuse. How caches go back is in `caches`;
does not know sampling or drafting.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache, GenerationMixin

from simulator.errors import UserError
from simulator.models.caches import CacheKind, Cut, Replay, kind_of, lengths, unknown_layers
from simulator.models.probe import rollback_fault

CACHE_ARGUMENTS = ("cache", "past_key_values")  # renamed during the 5.x series: the old name warns on every call
ANY_TIME_STEP = (0.0, math.inf)  # what a Mamba-2 layer's one-token pass takes for granted

torch.backends.cudnn.allow_tf32 = False  # float32 means float32, in the convolutions of state-space layers too


class HFModel:
    """A transformers model with its own growing cache; one inference thread may use it at a time.

    Raise `UserError` where the model cannot be read in pieces, or its rollback would change what it says.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self.model = model.eval()
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype
        self.decoder: Any = model.config.get_text_config(decoder=True)
        self.max_length: int | None = _max_length(self.decoder)
        parameters = inspect.signature(model.forward).parameters
        self.cache_argument = next((n for n in CACHE_ARGUMENTS if n in parameters), None)
        self.keeps_logits = "logits_to_keep" in parameters
        self.takes_positions = "position_ids" in parameters and not _has_own_positions(model)
        self._kind: type[Cut | Replay] = Replay  # right for every cache; a lighter one once its layers are known
        self._one_by_one = False
        self.vocab: int = self._settle(int(self.decoder.vocab_size))
        self.reset()

    @property
    def length(self) -> int:
        """Return how many tokens the cache holds."""
        return self._length

    @property
    def way(self) -> str:
        """Return how this model's cache goes back, in a few words."""
        return self._kind.way + (", read one token at a time" if self._one_by_one else "")

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens [n] and return the logits [keep or n, vocab], in the model's own dtype, on its device."""
        keep = keep or len(tokens)
        if self._one_by_one and self._length:
            return torch.cat([self._extend([token], 1) for token in tokens][-keep:])
        return self._extend(tokens, keep)

    def _extend(self, tokens: Sequence[int], keep: int) -> torch.Tensor:
        """Read the tokens in one pass."""
        self._memory.before(self._length, tokens)
        logits = self._read(self._length, tokens, keep)
        self._length += len(tokens)
        self._assert_length()
        return logits

    def rollback(self, n: int) -> None:
        """Forget the last n tokens, in the way of this cache (see `caches`), which may take a forward pass.

        Call it after every `extend`, with 0 too: that is when what only a rollback needs is let go of.
        At most the tokens read since the last call can be forgotten, for the same reason.
        """
        assert 0 <= n <= self._length, (n, self._length)
        self._memory.rollback(self._length, n, lambda start, tokens: self._read(start, tokens, 1))
        self._length -= n
        self._assert_length()

    def reset(self) -> None:
        """Start with an empty cache."""
        self._cache = DynamicCache(config=self.model.config)
        self._memory: CacheKind = self._kind(self._cache)
        self._length = 0

    def _read(self, start: int, tokens: Sequence[int], keep: int) -> torch.Tensor:
        """Pass the tokens [n] through the model behind `start` others; return the last logits [keep, vocab]."""
        arguments: dict[str, Any] = {str(self.cache_argument): self._cache}
        if self.keeps_logits:
            arguments["logits_to_keep"] = keep
        if self.takes_positions:  # as `generate` does; not every model works them out from its cache (Bamba)
            arguments["position_ids"] = torch.arange(start, start + len(tokens), device=self.device)[None]
        with torch.inference_mode():
            output = self.model(input_ids=torch.tensor([list(tokens)], device=self.device), use_cache=True, **arguments)
        logits: torch.Tensor = output.logits[0, -keep:]
        return logits

    def _settle(self, rows: int) -> int:
        """Find a way back that is exact, or raise `UserError`; return how many logits the model gives."""
        label = f"{self.name} ({type(self.model).__name__})"
        if self.cache_argument is None:
            raise UserError(f"{label} reads no cache, which drafting and verifying need: choose another model.")
        try:
            self.reset()
            vocab = int(self.extend([0]).shape[-1])
            fault = self._choose_way(rows)
        except Exception as error:
            raise UserError(f"{label} cannot be read in pieces with a growing cache: {_first_line(error)}") from error
        if fault:
            raise UserError(
                f"{label} keeps a state that cannot be taken back exactly when a token is rejected ({fault}): "
                "choose another model."
            )
        return vocab

    def _choose_way(self, rows: int) -> str | None:
        """Take the lightest way back that is exact on a few tokens; return the fault where none is."""
        kind = kind_of(self._cache)
        if kind is None:
            return f"layers of the class {', '.join(unknown_layers(self._cache))}"
        uneven = _uneven_layer(self.model)
        if uneven:
            return f"{uneven} limits its time steps in passes over several tokens, but not over one"
        self._kind = kind
        half = self.dtype.itemsize < 4
        fault = rollback_fault(self, rows, half=half)
        if fault and kind is Replay:  # Mamba-1 scans lose the state under several tokens at once, not under one
            self._one_by_one = True
            fault = rollback_fault(self, rows, half=half)
        return fault

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


def _uneven_layer(model: Any) -> str | None:
    """Return the class of a layer that computes something else for one token than for several (Zamba 2, Nemotron-H)."""
    for module in model.modules():
        if tuple(getattr(module, "time_step_limit", None) or ANY_TIME_STEP) != ANY_TIME_STEP:
            return type(module).__name__
    return None


def _has_own_positions(model: Any) -> bool:
    """Return whether positions are no plain count here: models that also see pictures work them out themselves."""
    method = "_prepare_position_ids_for_generation"
    return getattr(type(model), method, None) is not getattr(GenerationMixin, method, None)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
