"""Is a model's rollback exact: a few tokens read in pieces, taken back and read again.

Knows the `LanguageModel` protocol only. Tables of layer classes cannot tell whether a model keeps a state
outside its cache, or forgets its state when several tokens arrive at once; a look at the numbers can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.models.base import LanguageModel

if TYPE_CHECKING:
    import torch

TOKENS = 8
FULL = (1e-4, 5e-4)  # distances allowed: the same passes again; the tokens split into other passes
HALF = (0.05, 0.2)  # in half precision, where another split rounds differently in every layer


def rollback_fault(model: LanguageModel, rows: int, *, half: bool = False) -> str | None:
    """Return how a model with embedding `rows` fails to go back, None where it does not; it is reset before and after.

    `half` says that its weights have half precision, which the logits need not show.
    Logits that are not finite are no fault of the rollback: whoever samples from them says so.
    """
    tokens = _tokens(rows, model.max_length)
    n = len(tokens)
    model.reset()
    once = model.extend(tokens)  # [n, vocab]
    model.reset()
    if n < 2 or not bool(once.isfinite().all()):
        return None
    model.extend(tokens[: n // 2])
    first = model.extend(tokens[n // 2 :])
    model.rollback(n - n // 2)
    again = model.extend(tokens[n // 2 :])
    model.rollback(1)
    newest = model.extend(tokens[-1:])
    model.reset()
    same, split = HALF if half else FULL  # the weights' precision: some models widen their logits
    if _distance(first, once[n // 2 :]) > split:
        return "tokens read in two passes give other logits than in one"
    if _distance(again, first) > same or _distance(newest, once[-1:]) > split:
        return "tokens taken back and read again give other logits"
    return None


def disagreement(model: LanguageModel, oracle: LanguageModel, rows: int, *, half: bool = False) -> str | None:
    """Return how a model differs from another path over the same weights, or how it fails to go back; both are reset.

    `rows` and `half` as in `rollback_fault`.
    """
    tokens = _tokens(rows, model.max_length)
    oracle.reset()
    expected = oracle.extend(tokens)
    oracle.reset()
    fault = rollback_fault(model, rows, half=half)
    if fault or not bool(expected.isfinite().all()):
        return fault
    distances = [_distance(model.extend(tokens), expected)]
    model.reset()
    distances += [_distance(model.extend([token]), expected[i : i + 1]) for i, token in enumerate(tokens)]
    model.reset()
    _, split = HALF if half else FULL
    near = all(distance <= split for distance in distances)  # not a number is not near
    return None if near else "its logits differ from those of the growing cache"


def _tokens(rows: int, most: int | None) -> list[int]:
    """Return a few tokens that have a row, and a place."""
    return [(3 + 7 * i) % rows for i in range(min(TOKENS, most or TOKENS))]


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return the distance of logits [n, vocab] from b as a fraction of b's own spread."""
    a, b = a.float(), b.float()
    return float((a - b).norm() / (b - b.mean()).norm().clamp(min=1e-6))
