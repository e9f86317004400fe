"""How the values of the table of runs are written, and what each column means.

Knows: digits, signs, openings of prompts. Does not know: rows.
"""

from __future__ import annotations

from typing import Any

from simulator.grids.table import DEFINITIONS
from ui.widgets.digits import prob

TITLES = 40  # characters of a prompt in a row


def opening(text: str, length: int = TITLES) -> str:
    """Return the beginning of a prompt in one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def shown(name: str, value: Any) -> str:
    """Return a value as the table writes it; a dash where there is none."""
    if value is None:
        return "–"
    if name in ("tokens_per_round", "formula", "correlated"):
        return f"{value:.2f}"
    if name in ("speedup", "predicted"):
        return f"{value:.2f} ×"
    if name in ("alpha", "rho"):
        return prob(value)
    if name == "source":
        return {"ngram": "n-gram"}.get(value, value)
    if name == "tokens_per_second":
        return f"{value:,.0f}"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value


def sentence(name: str) -> str:
    """Return a column's definition as a sentence."""
    text = DEFINITIONS[name]
    return f"{text[0].upper()}{text[1:]}."
