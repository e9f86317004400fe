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
    if not logits.is_cpu:
        return on_host(distributions(logits, sampling), model, first)
    scores: FloatArray = logits.float().numpy()  # NumPy: for rows of some thousand a torch call costs more
    top = np.maximum.reduce(scores, -1, keepdims=True)
    if not np.isfinite(top).all():
        raise _broken(top[:, 0], model, first)
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


def _broken(numbers: NDArray[np.floating[Any]], model: str, first: int) -> BrokenLogitsError:
    """Return the error of rows [n] of which one's number is not finite."""
    row = int(np.flatnonzero(~np.isfinite(numbers))[0])
    return BrokenLogitsError(
        f"The logits of {model} at position {first + row} of this round are not a distribution (NaN or infinite). "
        "Nothing was emitted from them; check the weights and the dtype, then start again."
    )


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


def distributions(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Return `probabilities` [n, vocab] where the logits are, without waiting for them.

    A row that is no distribution comes out as NaN, every entry of it.
    """
    import torch

    scores = logits.float()
    scores = scores - scores.amax(-1, keepdim=True)  # NaN, or -inf and a NaN, where the maximum is not finite
    if sampling.temperature == 0:
        best = scores.argmax(-1, keepdim=True)
        return torch.zeros_like(scores).scatter_(-1, best, 1.0) + scores.gather(-1, best)  # the maximum is 0 or NaN
    if sampling.temperature != 1:
        scores = scores / max(sampling.temperature, COLDEST)
    for processor in _filters(sampling.top_k, sampling.top_p, sampling.min_p):
        scores = processor(None, scores)
    weights = scores.exp()
    return weights / weights.sum(-1, keepdim=True)


def on_host(rows: torch.Tensor, model: str, first: int = 1) -> FloatArray:
    """Return rows [n, vocab] of `distributions` as an array, with one wait; raise as `probabilities` does."""
    array: FloatArray = to_host(rows)
    require_finite(array[:, 0], model, first)
    return array


def to_host(values: torch.Tensor) -> NDArray[Any]:
    """Return values as an array, waiting once for the device that they are on."""
    import torch

    if values.is_cuda:
        stream = torch.cuda.current_stream(values.device)
        values = values.to("cpu", non_blocking=True)  # into pinned memory, which the device writes to by itself
        stream.synchronize()
    array: NDArray[Any] = values.cpu().numpy()
    return array


def require_finite(numbers: NDArray[np.floating[Any]], model: str, first: int = 1) -> None:
    """Raise `BrokenLogitsError` where one entry of each row, [n], is not finite: `distributions` breaks whole rows."""
    if not np.isfinite(numbers).all():
        raise _broken(numbers, model, first)


def draw_there(weights: torch.Tensor, u: float) -> torch.Tensor:
    """Return the token [1] that `draw` selects from weights [vocab] which sum to less than 2, without waiting for it.

    A device adds in any order, and rounding would make its running sum depend on that order, and decrease here and
    there. Rounded to multiples of 2**-52 first, all sums are exact in float64: this one is what every order gives, and
    another token than `draw`'s only where u lies within that rounding of a threshold (about one draw in 2**28 at
    152,064 rows). A token of weight 0 is never returned.
    """
    import torch

    cdf = ((weights.double() + 1) - 1).cumsum(-1)
    token = torch.searchsorted(cdf, u * cdf[-1:], right=True)
    last = torch.searchsorted(cdf, cdf[-1:])  # as in `draw`
    return torch.where(token < len(cdf), token, last).clamp(max=len(cdf) - 1)  # NaN lies beyond the end


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
