"""Acceptance figures of traced runs: what their counts say, and what the kept distributions say.

Knows: rounds in brief and the overlaps of their positions. Does not know: files, Qt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.body import Acceptance, Agreement, agreement_of
from simulator.acceptance.from_counts import Judged, histogram_of, mixed, steps_of_rounds
from simulator.metrics import AcceptanceFigures, emitting, from_summary, tally_of
from simulator.records import Run
from simulator.trace.columns import SUMMARY
from simulator.trace.store import parts_of, summary_of


def of_runs(source: str, runs: Sequence[Run]) -> Acceptance:
    """Return everything that traced runs say; several are pooled by their counts, never by their rates."""
    briefs = [summary_of(run.rounds) for run in runs]
    every = np.concatenate([np.zeros(0, SUMMARY), *briefs])
    whole = [emitting(b[b["drafted"] == run.config.k]) for run, b in zip(runs, briefs, strict=True) if run.config.k]
    full = np.concatenate([np.zeros(0, SUMMARY), *whole])
    judged = _judged(emitting(every))
    places, overlaps, tested = _positions_of(runs)
    return Acceptance(
        source, _single(from_summary(emitting(every))), steps_of_rounds(judged), histogram_of(judged), _by_length(full),
        _alphas(full), _agreement(overlaps[tested], sum(a * n for (_, _, a), n in judged.items())),
        rules=tuple(sorted({run.config.rule for run in runs})), notes=mixed(judged),
        single=_single_positions(places, overlaps),
    )  # fmt: skip


def _single(figures: AcceptanceFigures) -> dict[str, float | None]:
    return {name: value for name, value in asdict(figures).items() if not name.startswith("per_position")}


def _judged(brief: NDArray[np.void]) -> Counter[Judged]:
    """Count how often each kind of round occurs."""
    tally: Counter[Judged] = Counter()
    for row, n in tally_of(brief).items():
        tally[row[:3]] += n
    return tally


def _lengths(full: NDArray[np.void]) -> list[int]:
    return sorted(set(full["drafted"].tolist()))  # not np.unique: its first call imports numpy.ma, in 40 ms


def _by_length(full: NDArray[np.void]) -> dict[int, tuple[int, ...]]:
    return {k: histogram_of(_judged(full[full["drafted"] == k])) for k in _lengths(full)}


def _alphas(full: NDArray[np.void]) -> dict[int, float]:
    """Return the mean overlap of the tested positions of each draft length, where all of them carry it."""
    means = {k: from_summary(full[full["drafted"] == k]).alpha for k in _lengths(full)}
    return {k: mean for k, mean in means.items() if mean is not None}


def _positions_of(runs: Sequence[Run]) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
    """Return number, overlap (NaN: not kept) and whether it was tested, of every position that has a draft."""
    parts = [part.overlaps() for run in runs for part in parts_of(run.rounds)]
    parts.append((np.zeros(0, np.int32), np.zeros(0), np.zeros(0, bool)))
    places, overlaps, tested = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    return places, overlaps, tested


def _single_positions(places: NDArray[np.int32], overlaps: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the mean overlap of each position over all rounds that drafted it, discarded ones included."""
    if np.isnan(overlaps).any() or not overlaps.size:
        return ()
    sums, counts = np.bincount(places, np.minimum(1.0, overlaps)), np.bincount(places)
    return tuple((sums[1:] / counts[1:]).tolist())


def _agreement(overlaps: NDArray[np.float64], accepted: int) -> Agreement | None:
    """Return the comparison where every tested position carries its overlap."""
    return agreement_of(overlaps, accepted) if overlaps.size and not np.isnan(overlaps).any() else None
