"""Several sources of acceptance figures as one: counts are added, rates never.

Knows: which counts add up and what is lost where one source lacks them. Does not know: where the sources came from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simulator.acceptance.body import Acceptance, Agreement, Step
from simulator.acceptance.from_counts import MIXED, derived


def merged(source: str, parts: Sequence[Acceptance]) -> Acceptance:
    """Return several sources as one, by their counts; what one of them lacks is lacking in the whole."""
    if len(parts) == 1:
        return parts[0]
    counts = {name: _total([part.figures[name] for part in parts])
              for name in ("rounds", "drafted", "tested", "accepted", "emitted")}  # fmt: skip
    full = {k: _added([part.full[k] for part in parts if k in part.full]) for k in _keys(part.full for part in parts)}
    known = [part.agreement for part in parts if part.agreement is not None]
    agreement = _pooled(known) if len(known) == len(parts) else None
    figures = derived(**counts) | {"undrafted": _total([part.figures["undrafted"] for part in parts])}
    figures["alpha"] = agreement.expected / agreement.tested if agreement is not None else None
    rules = tuple(sorted({rule for part in parts for rule in part.rules}))
    every = dict.fromkeys(note for part in parts for note in part.notes)
    lengths = [note for note in every if note.startswith(MIXED)]  # one of them is enough: the one with most lengths
    notes = (*(note for note in every if note not in lengths), *sorted(lengths, key=len)[-1:])
    return Acceptance(source, figures, _summed([part.steps for part in parts]),
                      _added([part.histogram for part in parts]) if all(part.histogram for part in parts) else (),
                      full, _mean_alphas(parts), agreement, rules=rules, notes=notes)  # fmt: skip


def _total(values: Sequence[float | None]) -> int | None:
    known = [int(v) for v in values if v is not None]
    return sum(known) if len(known) == len(values) else None


def _added(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the sum of rows of counts, short ones padded."""
    return tuple(sum(row[i] for row in rows if i < len(row)) for i in range(max(map(len, rows), default=0)))


def _keys(maps: Iterable[Mapping[int, Any]]) -> list[int]:
    return sorted({k for each in maps for k in each})


def _summed(rows: Sequence[tuple[Step, ...]]) -> tuple[Step, ...]:
    """Return positions counted over several sources; a source with shorter drafts accepted nothing further on."""
    if not all(rows):
        return ()
    drafting = sum(row[0].drafting for row in rows)
    steps = []
    for i in range(max(map(len, rows))):
        here = [row[i] for row in rows if i < len(row)]
        reached = [step.reached for step in here]
        known = [n for n in reached if n is not None]
        steps.append(Step(sum(s.passed for s in here), drafting, sum(known) if len(known) == len(here) else None))
    return tuple(steps)


def _pooled(parts: Sequence[Agreement]) -> Agreement:
    return Agreement(sum(a.tested for a in parts), sum(a.accepted for a in parts), sum(a.expected for a in parts),
                     math.sqrt(sum(a.deviation**2 for a in parts)))  # fmt: skip


def _mean_alphas(parts: Sequence[Acceptance]) -> dict[int, float]:
    """Return alpha by draft length, each source weighted by its tested tokens."""
    means = {}
    for k in _keys(part.alphas for part in parts):
        rows = [(part.alphas[k], sum(min(i + 1, k) * n for i, n in enumerate(part.full[k])))
                for part in parts if k in part.alphas]  # fmt: skip
        means[k] = sum(alpha * n for alpha, n in rows) / sum(n for _, n in rows)
    return means
