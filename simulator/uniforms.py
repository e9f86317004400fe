"""Where every random number of a run comes from: a counter-based generator, one block per round.

A round's numbers depend on (seed, round index) alone: not on k, not on what was drawn before,
not on anything else the program does. So a run can be resumed, replayed or clipped without
shifting a single later draw, and k = 0 draws exactly what plain decoding draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RoundUniforms:
    """The uniforms in [0, 1) of one round."""

    draft: NDArray[np.float64]  # [k], one per drafted token
    accept: NDArray[np.float64]  # [k], one per acceptance test
    extra: float  # for the residual, bonus or plain token


def round_uniforms(seed: int, index: int, k: int) -> RoundUniforms:
    """Return the uniforms of round `index` (0, 1, ...) for up to k drafted tokens, from Philox(seed, index)."""
    block = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, index])).random(2 * k + 1)
    return RoundUniforms(draft=block[1::2], accept=block[2::2], extra=float(block[0]))
