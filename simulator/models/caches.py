"""How a transformers cache forgets its newest tokens: one class per kind of cache, chosen by `kind_of`.

A cache is a list of layers, and what can be taken back depends on what a layer keeps:

all keys and values     -> `Cut`: drop the newest entries
a window of them        -> `CutWindow`: the same, if what the window passed is kept until the next rollback
one running state       -> `Replay`: put back a copy from before the tokens, read again those that stay

Layer classes are known by exact name: a subclass of a layer that can be cut may keep more than its parent
cuts (DeepSeek-V4's compressor does). A model with a layer that is not listed here is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers.cache_utils import DynamicLayer

Read = Callable[[int, Sequence[int]], object]  # one forward pass over tokens behind that many others

REACH = 17  # tokens that can be taken back over several passes: a round reads k + 1 at most
GROWING = frozenset({"DynamicLayer", "DynamicIndexedLayer", "DummyLayer"})  # keep every entry, or nothing at all
RECORDING = frozenset({"DynamicSlidingWindowLayer", "LinearAttentionLayer"})  # can keep what they pass, if asked to
STATE_AND_GROWING = "LinearAttentionAndFullAttentionLayer"
STATE = frozenset({"LinearAttentionAndSlidingWindowAttentionLayer", STATE_AND_GROWING})


class CacheKind(Protocol):
    """Knows how to take tokens back from one cache."""

    way: str  # how, in three words

    def before(self, length: int, tokens: Sequence[int]) -> None:
        """Note what a rollback will need; called in front of every pass over `tokens` behind `length` others."""
        ...

    def rollback(self, length: int, n: int, read: Read) -> None:
        """Take back the last n of `length` tokens, by forward passes too where it must be."""
        ...


class Cut:
    """Attention over everything: `Cache.crop` takes a negative count, the number of entries to remove."""

    way = "cut"

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def before(self, length: int, tokens: Sequence[int]) -> None:
        """Note nothing."""

    def rollback(self, length: int, n: int, read: Read) -> None:
        """Cut off n entries."""
        if length:  # a layer that was never used has nothing to crop and says so by failing
            self._cache.crop(-n)


class CutWindow(Cut):
    """Sliding windows and short convolutions: their layers keep what they have passed until the next crop."""

    way = "cut, window recorded"

    def __init__(self, cache: Any) -> None:
        super().__init__(cache)
        cache.activate_past_recording()
        self._recorded = 0  # tokens read since the last crop

    def before(self, length: int, tokens: Sequence[int]) -> None:
        """Let go of what lies behind a long pass, or a prompt would be kept whole in every window."""
        if len(tokens) > REACH:
            super().rollback(length, 0, lambda start, tokens: None)
            self._recorded = 0
        self._recorded += len(tokens)

    def rollback(self, length: int, n: int, read: Read) -> None:
        """Cut off n entries, and with n = 0 too what the windows have passed."""
        assert n <= self._recorded, f"{n} tokens to take back, but only {self._recorded} are recorded"
        super().rollback(length, n, read)
        self._recorded = 0


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The states in front of a pass, and the tokens of the pass."""

    length: int
    states: list[dict[str, Any]]  # one a layer
    tokens: Sequence[int]


class Replay:
    """Running states: a copy in front of each pass; going back ends in the middle of one at most.

    A draft's one-token passes need no second reading. The target's pass over k + 1 tokens is put back as a
    whole and its accepted part read again at once, so that a round's time has that pass in it.
    """

    way = "snapshot and replay"

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._snapshots: list[_Snapshot] = []

    def before(self, length: int, tokens: Sequence[int]) -> None:
        """Copy the states, and drop copies that no rollback will need."""
        self._snapshots.append(_Snapshot(length, [_state(layer) for layer in self._cache.layers], tuple(tokens)))
        while len(self._snapshots) > 1 and self._snapshots[1].length <= length - REACH:
            del self._snapshots[0]

    def rollback(self, length: int, n: int, read: Read) -> None:
        """Put the states back to the last copy that is old enough; read again what it lacks."""
        if n:
            snapshot = next((s for s in reversed(self._snapshots) if s.length <= length - n), None)
            assert snapshot is not None, f"{n} tokens to take back, but no snapshot is that old"
            for layer, state in zip(self._cache.layers, snapshot.states, strict=True):
                _put_back(layer, state, length - snapshot.length)
            again = snapshot.tokens[: length - n - snapshot.length]
            if again:
                read(snapshot.length, again)
        self._snapshots.clear()


def kind_of(cache: Any) -> type[Cut | Replay] | None:
    """Return the kind of a cache that has been through one pass: only then a layer knows which states it keeps.

    None where a layer is of no known class (see `unknown_layers`).
    """
    names = {type(layer).__name__ for layer in cache.layers}
    if names <= GROWING:
        return Cut
    if names <= GROWING | RECORDING and cache.is_croppable:
        return CutWindow
    return None if unknown_layers(cache) else Replay


def unknown_layers(cache: Any) -> list[str]:
    """Return the layer classes whose states nothing here knows how to take back."""
    return sorted({type(layer).__name__ for layer in cache.layers} - GROWING - RECORDING - STATE)


def lengths(cache: Any) -> set[int]:
    """Return the lengths that the layers report: one value, or none where no layer counts tokens."""
    counting = (layer for layer in cache.layers if getattr(layer, "is_initialized", False))
    return {layer.get_seq_length() for layer in counting if hasattr(layer, "get_seq_length")}


def _state(layer: Any) -> dict[str, Any]:
    """Return copies of all that a pass changes in a layer, except keys and values that can be cut off."""
    name = type(layer).__name__
    if name in GROWING:
        return {}
    kept = ("keys", "values") if name == STATE_AND_GROWING else ()
    return {attribute: _copy(value) for attribute, value in vars(layer).items() if attribute not in kept}


def _put_back(layer: Any, state: dict[str, Any], n: int) -> None:
    """Make a layer what it was n tokens ago."""
    vars(layer).update(state)
    if type(layer).__name__ in GROWING:
        layer.crop(-n)
    elif type(layer).__name__ == STATE_AND_GROWING:
        DynamicLayer.crop(layer, -n)


def _copy(value: Any) -> Any:
    """Return a copy of the tensors in a value, each without the storage it may be a slice of."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copy(item) for item in value)
    return value
