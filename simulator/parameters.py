"""Each setting a person can change, declared once: limits, default, unit, help.

The command line, the window's controls and the CSV's metadata are made from these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from simulator.errors import UserError


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number with its limits; `minimum` and `maximum` are inclusive unless `above` says otherwise."""

    name: str
    label: str
    default: float
    minimum: float
    maximum: float
    help: str
    integer: bool = False
    above_minimum: bool = False  # True: the minimum itself is not allowed
    decimals: int = 2
    step: float = 0.01

    def check(self, value: float) -> float:
        """Return the value as its own type; raise `UserError` with the limits when it is outside them."""
        number = -math.inf < value < math.inf and (not self.integer or value == int(value))
        low = value > self.minimum if self.above_minimum else value >= self.minimum
        if not (number and low and value <= self.maximum):
            shown = value if isinstance(value, int) else f"{value:g}"
            raise UserError(f"{self.label} is {shown}, but it must be {self.limits()}.")
        return int(value) if self.integer else float(value)

    def limits(self) -> str:
        """Return the allowed values in words."""
        kind = "a whole number" if self.integer else "a number"
        low = "above" if self.above_minimum else "from"
        return f"{kind} {low} {self.minimum:g} to {self.maximum:g}"


PARAMETERS = {
    p.name: p
    for p in (
        Parameter("k", "draft length k", 4, 0, 16, "Tokens the draft proposes before the target looks. 0 = plain "
                  "decoding.", integer=True, step=1, decimals=0),
        Parameter("temperature", "temperature", 1.0, 0, 10, "Divides the logits of target and draft alike. 0 = "
                  "greedy: all mass on the largest logit, the lowest id among equals.", step=0.05),
        Parameter("top_k", "top-k", 0, 0, 10_000_000, "Keep only the k most probable tokens of p and of q. 0 = off.",
                  integer=True, step=1, decimals=0),
        Parameter("top_p", "top-p", 1.0, 0, 1, "Keep the smallest set of most probable tokens whose mass reaches "
                  "top-p. 1 = off.", above_minimum=True),
        Parameter("min_p", "min-p", 0.0, 0, 1, "Keep tokens with at least min-p times the largest probability. "
                  "Applied after the temperature. 0 = off."),
        Parameter("seed", "seed", 0, 0, 2**63 - 1, "Number that determines every random draw of a run.",
                  integer=True, step=1, decimals=0),
        Parameter("max_new_tokens", "max new tokens", 96, 0, 1_000_000, "The run ends after this many tokens.",
                  integer=True, step=1, decimals=0),
        Parameter("alpha", "alpha", 0.7, 0, 1, "Acceptance rate: the chance that one drafted token is accepted, "
                  "sum min(p, q) averaged over positions (Leviathan et al. 2022)."),
        Parameter("c", "c", 0.15, 0, 2, "Time of one draft step divided by the time of one target step.",
                  decimals=3, step=0.005),
        Parameter("c_verify", "c_verify", 0.0, 0, 1, "Extra cost of each additional verified position, in target "
                  "steps. 0 = verifying k + 1 positions costs one step.", decimals=3, step=0.005),
        Parameter("fixed", "fixed", 0.0, 0, 2, "What a speculative round costs once, whatever k is, in target steps: "
                  "overhead of the loop and of the two models taking turns.", decimals=3, step=0.005),
        Parameter("rho", "rho", 0.0, 0, 0.99, "Correlation of acceptance within a context (Beta model): 0 = "
                  "independent, as the plain formula assumes."),
    )
}  # fmt: skip


def check(name: str, value: float) -> float:
    """Return the checked value of the named parameter."""
    return PARAMETERS[name].check(value)
