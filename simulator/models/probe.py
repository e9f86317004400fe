"""A few tokens read in pieces, taken back and read again: is a model's rollback exact?

Knows the `LanguageModel` protocol only. Tables of layer classes cannot tell whether a model keeps a state
outside its cache, or forgets its state when several tokens arrive at once; a look at the numbers can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.models.base import LanguageModel

if TYPE_CHECKING:
    import torch

TOKENS = 8
# Same passes again, another split into passes. In half precision another split rounds differently at every layer.
TOLERANCE = {"float64": (1e-3, 1e-2), "float32": (1e-3, 1e-2)}
HALF_TOLERANCE = (0.05, 0.5)


def rollback_fault(model: LanguageModel, rows: int) -> str | None:
    """Return how a model with embedding `rows` fails to go back, None where it does not; it is reset before and after.

    Logits that are not finite are no fault of the rollback: whoever samples from them says so.
    """
    n = min(TOKENS, model.max_length or TOKENS)
    tokens = [(3 + 7 * i) % rows for i in range(n)]
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
    same, split = TOLERANCE.get(str(once.dtype).removeprefix("torch."), HALF_TOLERANCE)
    if _distance(first, once[n // 2 :]) > split:
        return "tokens read in two passes give other logits than in one"
    if _distance(again, first) > same or _distance(newest, once[-1:]) > split:
        return "tokens taken back and read again give other logits"
    return None


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return the distance of logits [n, vocab] from b as a fraction of b's own spread."""
    a, b = a.float(), b.float()
    return float((a - b).norm() / (b - b.mean()).norm().clamp(min=1e-6))
