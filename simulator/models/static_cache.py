"""Keys and values in memory that stays where it is, so that one recorded pass serves every position of a text.

Knows transformers' interface of a cache layer and of an attention function. Does not know who records what.

A pass writes at the positions in a tensor and reads the first `size` entries, most of them masked: nothing in it
depends on a number that Python has at hand, and going back is forgetting how many entries count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.cache_utils import Cache, StaticCache, StaticLayer

ATTENTION = "grouped_sdpa"
UNSUPPORTED = ("softcap", "s_aux", "position_bias")  # what some models ask of an attention beside scale and mask


@dataclass(slots=True)
class Window:
    """Where the pass that runs writes, and how many entries it reads."""

    positions: torch.Tensor  # [n]
    size: int
    capacity: int  # entries that the layers have room for


class WindowLayer(StaticLayer):  # type: ignore[misc]
    """The keys and values of one layer."""

    keys: torch.Tensor  # [1, groups, capacity, head_dim]
    values: torch.Tensor

    def __init__(self, window: Window) -> None:
        super().__init__(max_cache_len=window.capacity)
        self._window = window

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Write the entries [1, groups, n, head_dim] of a pass; return those that it reads, [1, groups, size, ...]."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys.index_copy_(2, self._window.positions, key_states)
        self.values.index_copy_(2, self._window.positions, value_states)
        return self.keys[:, :, : self._window.size], self.values[:, :, : self._window.size]

    def get_seq_length(self) -> int:
        """Refuse: a length that a model asks for would be part of every recorded pass."""
        raise NotImplementedError("asks its cache for the length")

    def grow(self, capacity: int) -> None:
        """Move to a larger memory."""
        self.keys, self.values = (_longer(entries, capacity) for entries in (self.keys, self.values))
        self.max_cache_len = capacity


def window_cache(layers: int, window: Window) -> Cache:
    """Return a cache of so many layers that share a window."""
    return Cache(layers=[WindowLayer(window) for _ in range(layers)])


def keeps_every_entry(config: Any) -> bool:
    """Return whether transformers' own static cache would be keys and values of the whole text in every layer."""
    try:
        layers = StaticCache(config, max_cache_len=1).layers
    except (KeyError, AttributeError, ValueError):  # a kind of layer that has no static form
        return False
    return all(type(layer) is StaticLayer for layer in layers)


def causal_mask(window: Window, dtype: torch.dtype) -> torch.Tensor:
    """Return what is added to the scores [1, 1, n, size]: minus infinity on all that comes later."""
    n, device = len(window.positions), window.positions.device
    later = torch.arange(window.size, device=device) > window.positions[:, None]
    return torch.zeros(n, window.size, dtype=dtype, device=device).masked_fill(later, -torch.inf)[None, None]


def grouped_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: torch.Tensor,
    scaling: float | None = None, **options: Any,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    """Return what the heads gather [1, n, heads, head_dim]; heads of a group read its keys where they lie.

    query [1, heads, n, head_dim], key and value [1, groups, size, head_dim], attention_mask [1, 1, n, size]. The path
    of transformers for several queries and a mask first copies keys and values once for every head.
    """
    asked = [name for name in UNSUPPORTED if options.get(name) is not None]
    if asked:
        raise NotImplementedError(f"asks for attention with {asked[0]}")
    queries = query[0].unflatten(0, (key.shape[1], -1))  # [groups, heads / groups, n, head_dim]
    keys, values = (each[0, :, None].expand(-1, queries.shape[1], -1, -1) for each in (key, value))
    mixed = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attention_mask, scale=scaling)
    return mixed.flatten(0, 1).transpose(0, 1)[None].contiguous(), None


AttentionInterface.register(ATTENTION, grouped_attention)


@contextmanager
def attention_of(config: Any, name: str) -> Iterator[None]:
    """Let a model use an attention function for a while: its other callers keep theirs."""
    before = config._attn_implementation
    config._attn_implementation = name
    try:
        yield
    finally:
        config._attn_implementation = before


def _longer(entries: torch.Tensor, capacity: int) -> torch.Tensor:
    """Return a copy of entries [1, groups, m, head_dim] with room for more; what is added is zero."""
    longer = entries.new_zeros(*entries.shape[:2], capacity, entries.shape[-1])
    longer[:, :, : entries.shape[2]] = entries
    return longer
