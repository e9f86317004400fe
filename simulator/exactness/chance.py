"""The tail of the chi-square law, without SciPy.

Knows: the regularised incomplete gamma function. Does not know: what is tested with it.
"""

from __future__ import annotations

import math

STEPS = 100_000  # far more than any argument needs
TINY = 1e-300


def chi_square_tail(x: float, df: int) -> float:
    """Return the chance that a chi-square variable with df degrees of freedom is x or larger.

    ValueError for x < 0 or df < 1. Source: Q(df/2, x/2) by series or continued fraction (Press et al., Numerical
    Recipes, section 6.2).
    """
    if not x >= 0 or df < 1:
        raise ValueError(f"chi_square_tail needs x >= 0 and df >= 1, not {x} and {df}.")
    a, z = df / 2.0, x / 2.0
    if z == 0.0 or math.isinf(z):
        return 1.0 if z == 0.0 else 0.0
    scale = math.exp(a * math.log(z) - z - math.lgamma(a))
    return min(1.0, max(0.0, 1.0 - scale * _series(a, z) if z < a + 1.0 else scale * _fraction(a, z)))


def _series(a: float, z: float) -> float:
    """Return sum_n z^n / (a (a + 1) ... (a + n)): the lower incomplete gamma function without its factor."""
    term = total = 1.0 / a
    for n in range(1, STEPS):
        term *= z / (a + n)
        total += term
        if term < total * 1e-16:
            break
    return total


def _fraction(a: float, z: float) -> float:
    """Return the upper incomplete gamma function without its factor, by Lentz's method."""
    b = z + 1.0 - a
    c, d = 1.0 / TINY, 1.0 / b
    result = d
    for n in range(1, STEPS):
        weight = -n * (n - a)
        b += 2.0
        d = 1.0 / (weight * d + b or TINY)
        c = b + weight / c or TINY
        result *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return result
