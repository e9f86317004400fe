"""What the Worth it? page shows of an analysis: means, the outlook of each source, the numbers that tint the text.

Knows: which figure belongs to which source. Does not know how anything looks or is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from simulator.worth.flatness import GREEDY, NGRAM, SAMPLED, TOPS, Analysis
from simulator.worth.outlook import Costs, Mean, Outlook, mean, outlook

DETERMINISTIC = (GREEDY, NGRAM)


@dataclass(frozen=True, slots=True)
class Findings:
    """The means of an analysis."""

    p_max: Mean
    entropy: Mean  # bits
    masses: tuple[Mean, ...]  # for each k of TOPS
    alphas: Mapping[str, Mean]  # by source, over the positions at which it drafts; without those that never do
    hits: Mapping[str, float]  # by source, the share of positions at which it drafts
    ceilings: Mapping[str, float]  # by deterministic source, E[max p] over those positions


def findings(a: Analysis) -> Findings:
    """Return the means of what is scored so far, at least one position."""
    drafted = {source: ~np.isnan(track.alpha) for source, track in a.tracks.items()}
    used = [source for source in drafted if drafted[source].any()]
    return Findings(
        p_max=_mean(a.p_max),
        entropy=_mean(a.entropy),
        masses=tuple(_mean(a.mass[:, i]) for i in range(len(TOPS))),
        alphas={source: _mean(a.tracks[source].alpha) for source in used},
        hits={source: float(drafted[source].mean()) for source in drafted},
        ceilings={s: float(a.p_max[drafted[s]].mean(dtype=float)) for s in used if s in DETERMINISTIC},
    )


def outlooks(found: Findings, costs: Callable[[str], Costs]) -> dict[str, Outlook]:
    """Return what each source gains under its costs."""
    return {source: outlook(alpha, found.hits[source], costs(source)) for source, alpha in found.alphas.items()}


def quantities(a: Analysis) -> list[str]:
    """Return the names of the numbers that can tint the text."""
    return ["p_max", "entropy", *a.tracks, *(["p_text"] if a.text is not None else [])]


def values(a: Analysis, quantity: str) -> np.ndarray:
    """Return a quantity at every position, [n], scaled to 0..1; NaN where there is none."""
    if quantity == "entropy":
        return a.entropy / a.most_entropy if a.most_entropy else np.zeros_like(a.entropy)
    return a.tracks[quantity].alpha if quantity in (SAMPLED, GREEDY, NGRAM) else getattr(a, quantity)


def _mean(values: np.ndarray) -> Mean:
    found = mean(values)
    assert found is not None  # at least one position is scored
    return found
