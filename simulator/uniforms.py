"""Where every random number of a run comes from: a counter-based generator, one block per round.

A round's numbers depend on (seed, round index) alone: not on k, not on what was drawn before,
not on anything else the program does. So a run can be resumed, replayed or clipped without
shifting a single later draw, and k = 0 draws exactly what plain decoding draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

TOGETHER = 16  # rounds whose numbers are drawn at once


@dataclass(frozen=True, slots=True)
class RoundUniforms:
    """The uniforms in [0, 1) of one round."""

    draft: NDArray[np.float64]  # [k], one per drafted token
    accept: NDArray[np.float64]  # [k], one per acceptance test
    extra: float  # for the residual, bonus or plain token


def round_uniforms(seed: int, index: int, k: int) -> RoundUniforms:
    """Return the uniforms of round `index` (0, 1, ...) for up to k drafted tokens, from Philox(seed, index)."""
    return _rounds(seed, index // TOGETHER, k)[index % TOGETHER]


@lru_cache(maxsize=4)
def _rounds(seed: int, block: int, k: int) -> list[RoundUniforms]:
    """Return those of the next rounds too: a generator made between two passes takes as long as seven in a row."""
    return [_one_round(seed, block * TOGETHER + i, k) for i in range(TOGETHER)]


def _one_round(seed: int, index: int, k: int) -> RoundUniforms:
    numbers = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, index])).random(2 * k + 1)
    numbers.flags.writeable = False
    return RoundUniforms(draft=numbers[1::2], accept=numbers[2::2], extra=float(numbers[0]))
