"""Logits to probabilities, and a token from probabilities and a given uniform.

The only place where either happens, for target and draft alike: what is sampled from,
what enters the ratio and what is shown are the same arrays. Knows nothing about models.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import UserError
from simulator.parameters import check
from simulator.records import FloatArray, Sampling

if TYPE_CHECKING:
    import torch


class BrokenLogitsError(UserError):
    """A model produced logits that define no distribution (NaN, +inf, or nothing but -inf)."""


def checked(sampling: Sampling) -> Sampling:
    """Return the sampling settings with every value inside its limits; raise `UserError` otherwise."""
    return Sampling(
        temperature=check("temperature", sampling.temperature),
        top_k=int(check("top_k", sampling.top_k)),
        top_p=check("top_p", sampling.top_p),
        min_p=check("min_p", sampling.min_p),
    )


COLDEST = 1e-30  # as good as 0 for float32 logits; a float32 below 1e-38 would turn 0 / temperature into NaN


def probabilities(logits: torch.Tensor, sampling: Sampling, model: str = "the model", first: int = 1) -> FloatArray:
    """Return the distributions [n, vocab] (float32) that logits [n, vocab] of any dtype stand for.

    Order: temperature, top-k, top-p, min-p, each by transformers' own processor, so that
    the rules at ties and boundaries are the ones people know (min-p keeps p >= min_p * max p).
    The maximum is subtracted before the temperature divides: no overflow at any temperature.
    Raise `BrokenLogitsError` when a row has NaN, +inf or no finite entry; it names the model and the row's
    position in the round, `first` being that of row 0.
    """
    scores: FloatArray = logits.float().cpu().numpy()  # NumPy: for rows of some thousand a torch call costs more
    top = np.maximum.reduce(scores, -1, keepdims=True)
    if not np.isfinite(top).all():
        row = int(np.flatnonzero(~np.isfinite(top[:, 0]))[0])
        raise BrokenLogitsError(
            f"The logits of {model} at position {first + row} of this round are not a distribution (NaN or infinite). "
            "Nothing was emitted from them; check the weights and the dtype, then start again."
        )
    if sampling.temperature == 0:
        return one_hot(scores.argmax(-1), scores.shape[-1])
    scores = scores - top
    if sampling.temperature != 1:
        with np.errstate(over="ignore"):  # -inf is the right end of it
            scores /= np.float32(max(sampling.temperature, COLDEST))
    for processor in _filters(sampling.top_k, sampling.top_p, sampling.min_p):
        scores = processor(None, _tensor(scores)).numpy()
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, -1, keepdims=True)
    return scores


def _tensor(rows: FloatArray) -> torch.Tensor:
    import torch

    return torch.from_numpy(rows)


@lru_cache(maxsize=64)
def _filters(top_k: int, top_p: float, min_p: float) -> tuple[Any, ...]:
    from transformers.generation.logits_process import MinPLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    chosen: list[Any] = []
    if top_k > 0:
        chosen.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        chosen.append(TopPLogitsWarper(top_p))
    if min_p > 0:
        chosen.append(MinPLogitsWarper(min_p))
    return tuple(chosen)


def one_hot(tokens: NDArray[np.integer[Any]], vocab: int) -> FloatArray:
    """Return [n, vocab] with all mass on the given tokens [n]: the q of a deterministic draft."""
    rows = np.zeros((len(tokens), vocab), dtype=np.float32)
    rows[np.arange(len(tokens)), tokens] = 1.0
    return rows


def draw(weights: NDArray[np.floating[Any]], u: float) -> int:
    """Return the token that the uniform u in [0, 1) selects from weights [vocab], by inverse CDF.

    The running sum is float64 (a float32 one over 262,144 entries ends at .9996) and u is scaled by
    its end, so weights need not be normalised. A token of weight 0 is never returned, at either end.
    """
    cdf = weights.astype(np.float64).cumsum()
    token = int(cdf.searchsorted(u * cdf[-1], side="right"))
    if token < len(cdf):
        return token
    return int(cdf.searchsorted(cdf[-1], side="left"))  # u * end was rounded up to the end: the last with any weight
