"""What each rule emits at one position, in closed form: law, acceptance, TV to p, tokens per round.

Knows: float64 rows p and q of one position. Does not know the rules' code in `verify`: the tests prove, by
enumeration over every branch of that code, that the two agree to 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.exactness.rules import CARDS, Lossless
from simulator.theory.tokens_per_round import expected_tokens
from simulator.verify import token_rule, typical_threshold

FloatArray = NDArray[np.float64]
Closed = tuple[FloatArray, float]  # emitted law [vocab], acceptance
Formula = Callable[[FloatArray, FloatArray, float], Closed]

MOST_VALUES = 1024  # different values that `_block_tokens` carries on


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """What comes of a rule at one position."""

    emitted: FloatArray  # [vocab], the law of the position's token
    acceptance: float  # probability that the drafted token is kept
    tv: float  # 1/2 sum |emitted - p|; exactly 0 where the rule is lossless


def law(name: str, p: ArrayLike, q: ArrayLike, parameter: float | None = None) -> Law:
    """Return the named rule's law for p and q [vocab]; `parameter` as in `verify.token_rule`.

    Source of each formula: reference table of the rules, `rules.CARDS`.
    """
    p, q, card = np.asarray(p, np.float64), np.asarray(q, np.float64), CARDS[name]
    given = parameter if parameter is not None else card.parameter.default if card.parameter else 0.0
    emitted, acceptance = _FORMULAS[name](p, q, given)
    tv = 0.0 if card.lossless is Lossless.YES else 0.5 * float(np.abs(emitted - p).sum())
    return Law(emitted, min(1.0, acceptance), tv)


def draft_law(name: str, q: ArrayLike) -> FloatArray:
    """Return the law [vocab] of the drafted token under this rule: q, or all mass on its argmax (a greedy draft)."""
    q = np.asarray(q, np.float64)
    return _one_hot(q) if CARDS[name].greedy_draft else q


def tokens_per_round(name: str, p: ArrayLike, q: ArrayLike, k: int, parameter: float | None = None) -> float:
    """Return the expected tokens of a round of k drafts if every position had this p and q, independently.

    (1 - a^(k+1)) / (1 - a) with the rule's acceptance a (Leviathan Eq. 1); block verification carries spare
    probability from token to token and has its own sum.
    """
    if name == "block":
        return _block_tokens(np.asarray(p, np.float64), np.asarray(q, np.float64), k)
    return float(expected_tokens(law(name, p, q, parameter).acceptance, k))


@dataclass(frozen=True, slots=True)
class Account:
    """How one token comes to its probability of being emitted: kept drafts plus replacements of refused ones."""

    drafted: float  # chance that the token is drafted
    chance: float  # that it is then kept
    refused: float  # chance that a draft is refused whose replacement can be this token
    weight: float  # chance that the replacement is this token, given such a refusal

    @property
    def kept(self) -> float:
        """Return the chance that the token is emitted as an accepted draft."""
        return self.drafted * self.chance

    @property
    def replaced(self) -> float:
        """Return the chance that it is emitted in place of a refused draft."""
        return self.refused * self.weight


def account(name: str, p: ArrayLike, q: ArrayLike, token: int, parameter: float | None = None) -> Account:
    """Return the two ways in which a token (an index into p and q) is emitted under the rule."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    rule, draft = token_rule(name, parameter), draft_law(name, q)
    chance, refill = rule.chance(p, q), rule.refill(p, q)
    refused = draft * (1.0 - chance)
    total = float(refused.sum())
    if rule.leaves_out:  # a refused x is replaced by t with refill(t) / (sum - refill(x)), never by x itself
        others = np.delete(np.arange(len(p)), token)
        left = refill.sum() - refill[others]
        ways = np.divide(refused[others] * refill[token], left, out=np.zeros(len(others)), where=left > 0)
        total = float(refused[others].sum())
        weight = float(ways.sum()) / total if total > 0 else 0.0
    else:
        weight = float(refill[token] / refill.sum()) if refill.any() else 0.0
    return Account(float(draft[token]), float(chance[token]), total, weight)


# The formulas


def _exact(p: FloatArray, q: FloatArray, _: float) -> Closed:
    return p, float(np.minimum(p, q).sum())


def _resample(p: FloatArray, q: FloatArray, _: float) -> Closed:
    both = np.minimum(p, q)
    return both + (1.0 - both.sum()) * p, float(both.sum())


def _equality(p: FloatArray, q: FloatArray, _: float) -> Closed:
    return p, float((p * q).sum())


def _equality_fresh(p: FloatArray, q: FloatArray, _: float) -> Closed:
    match = p * q
    return match + (1.0 - match.sum()) * p, float(match.sum())


def _equality_or_ratio(p: FloatArray, q: FloatArray, _: float) -> Closed:
    emitted, alpha = _resample(p, q, _)
    return emitted, alpha + float((p * (q - np.minimum(p, q))).sum())


def _one_hot_draft(p: FloatArray, q: FloatArray, _: float) -> Closed:
    return p, float(p[q.argmax()])


def _softmax(p: FloatArray, q: FloatArray, _: float) -> Closed:
    x = int(q.argmax())
    chance, left = min(1.0, float(p[x] / q[x])), np.maximum(0.0, p - q)
    return chance * _one_hot(q) + ((1.0 - chance) * left / left.sum() if left.any() else 0.0), chance


def _argmax(p: FloatArray, q: FloatArray, _: float) -> Closed:
    return _one_hot(p), float(p.argmax() == q.argmax())


def _lenience(p: FloatArray, q: FloatArray, l: float) -> Closed:  # noqa: E741 - the paper's letter
    kept, left = np.minimum(q, p / l), np.maximum(0.0, p - l * q)
    refused = max(0.0, 1.0 - float(kept.sum()))
    return kept + (refused * left / left.sum() if left.any() else 0.0), float(kept.sum())


def _typical(p: FloatArray, q: FloatArray, epsilon: float) -> Closed:
    kept = q * (p > typical_threshold(p, epsilon))
    return kept + (1.0 - kept.sum()) * p, float(kept.sum())


def _always(p: FloatArray, q: FloatArray, _: float) -> Closed:
    return q, 1.0


_FORMULAS: dict[str, Formula] = {
    "exact": _exact,
    "resample": _resample,
    "equality": _equality,
    "equality-fresh": _equality_fresh,
    "equality-or-ratio": _equality_or_ratio,
    "one-hot": _one_hot_draft,
    "softmax": _softmax,
    "argmax": _argmax,
    "lenience": _lenience,
    "typical": _typical,
    "block": _exact,
    "always": _always,
}


def _one_hot(row: FloatArray) -> FloatArray:
    return np.asarray(np.arange(len(row)) == int(row.argmax()), np.float64)


# The tokens per round of block verification


def _block_tokens(p: FloatArray, q: FloatArray, k: int) -> float:
    """Return 1 + sum_i E[p_i], p_i = min(1, p_(i-1) p(x)/q(x)) with x ~ q: p_i is the chance to keep i or more.

    Exact while there are at most MOST_VALUES different p_i, beyond that to about 1e-6: near ones are put together.
    Source: Sun et al. 2024, proof of theorem 1.
    """
    live = q >= np.finfo(q.dtype).tiny  # below it p / q overflows, and a token so rare adds nothing to a float64 sum
    ratio, weight = p[live] / q[live], q[live]
    if ratio.size > MOST_VALUES:
        ratio, weight = _merged(ratio, weight, ratio / (1.0 + ratio))
    values, mass, total = np.ones(1), np.ones(1), 1.0
    for _ in range(k):
        values, mass = np.minimum(1.0, np.outer(values, ratio)).ravel(), np.outer(mass, weight).ravel()
        total += float(values @ mass)
        if values.size > MOST_VALUES:
            values, mass = _merged(values, mass, values)
    return total


def _merged(values: FloatArray, mass: FloatArray, place: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return values and masses with those in the same cell of `place` (0..1) replaced by their mean."""
    cell = np.minimum((place * MOST_VALUES).astype(np.int64), MOST_VALUES - 1)
    sums, means = (np.bincount(cell, w, MOST_VALUES).astype(np.float64) for w in (mass, mass * values))
    return means[sums > 0] / sums[sums > 0], sums[sums > 0]
