"""Rounds into columns: the way there; `columns` is the way back.

Knows: which number goes where. Does not know: who asks, or how long the columns live.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from simulator.records import Bars, Position, RoundTrace, Shape
from simulator.trace.columns import (
    BARS,
    BARS_Q,
    DRAFTED,
    DTYPES,
    ENTROPY_Q,
    EXTRA,
    KINDS,
    OVERLAP,
    POSITIONS,
    ROUNDS,
    SHAPE,
    STOPS,
    TV,
    U_ACCEPT,
    U_DRAFT,
    VERDICTS,
    Columns,
    columns,
    concatenated,
)


def pack(rounds: Iterable[RoundTrace]) -> Columns:
    """Return the rounds as columns.

    TypeError for bars whose arrays are not int32 and float32, OverflowError for a token id beyond 32 bits: what a
    column cannot hold to the last bit is refused.
    """
    heads, rows, shown = [], [], []
    emitted: list[int] = []
    for r in rounds:
        stop = STOPS.index(r.stop)
        heads.append((r.index, r.context_length, r.draft_ms, r.verify_ms, r.round_ms, len(r.positions),
                      len(r.emitted), stop))  # fmt: skip
        emitted += r.emitted
        for position in r.positions:
            rows.append(_row(position))
            if position.bars is not None:
                shown.append(position.bars)
    for bars in shown:
        _check_bars(bars)
    return columns({
        "rounds": np.array(heads, ROUNDS), "positions": np.array(rows, POSITIONS),
        "emitted": np.array(emitted, DTYPES["emitted"]), "ids": concatenated("ids", [b.ids for b in shown]),
        "p": concatenated("p", [b.p for b in shown]), "q": concatenated("q", [b.q for b in shown if b.q is not None]),
    })  # fmt: skip


def _row(position: Position) -> tuple[Any, ...]:
    flags, m = 0, 0
    token: tuple[Any, ...] = (0, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
    extra: tuple[Any, ...] = (0, 0.0, 0.0, 0)
    shape: tuple[Any, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)
    if (d := position.drafted) is not None:
        flags |= DRAFTED | (d.u_draft is not None) * U_DRAFT | (d.u_accept is not None) * U_ACCEPT
        token = (d.token_id, d.p, d.q, d.accept_prob, _or_0(d.u_draft), _or_0(d.u_accept), VERDICTS.index(d.verdict))
    if (e := position.extra) is not None:
        flags |= EXTRA
        extra = (e.token_id, e.p, e.u, KINDS.index(e.kind))
    if (s := position.shape) is not None:
        flags |= SHAPE | (s.overlap is not None) * OVERLAP | (s.tv is not None) * TV
        flags |= (s.entropy_q is not None) * ENTROPY_Q
        shape = tuple(_or_0(getattr(s, f.name)) for f in fields(Shape))
    if (b := position.bars) is not None:
        flags, m = flags | BARS | (b.q is not None) * BARS_Q, len(b.ids)
    return (position.position, position.context_length, flags, m, *token, *extra, *shape)


def _or_0(value: float | None) -> float:
    return 0.0 if value is None else value


def _check_bars(bars: Bars) -> None:
    for name, dtype in (("ids", "int32"), ("p", "float32"), ("q", "float32")):
        row = getattr(bars, name)
        if row is not None and (row.dtype != dtype or row.shape != (len(bars.ids),)):
            raise TypeError(f"bars.{name} must be {len(bars.ids)} values of {dtype}, not {row.shape} of {row.dtype}")
