"""Rounds made by hand, and a stopwatch, for the widget tests."""

import time
from dataclasses import replace

from simulator.records import DraftedToken, ExtraToken, Kind, Position, RoundTrace, StopReason, Verdict

A, R, D = Verdict.ACCEPTED, Verdict.REJECTED, Verdict.DISCARDED
NAMES = {1: "·near", 2: "·our", 3: "·hath", 4: "<eos>", 5: "·late"}


def label(token: int) -> str:
    return NAMES.get(token, f"#{token}")


def draft(position: int, verdict: Verdict, token: int = 1, p: float = 0.3, q: float = 0.4) -> Position:
    u = {A: 0.25, R: 0.9, D: None}[verdict]
    drafted = DraftedToken(token, p, q, min(1.0, p / q), 0.5, u, verdict)
    return Position(position, 10 + position, drafted, None, None, None)


def a_round(verdicts: str, index: int = 0, stop: StopReason | None = None, extra: bool = True) -> RoundTrace:
    """Build a round from letters: 'AAR' is two accepted, one rejected; the extra token follows from them."""
    places = [draft(i, {"A": A, "R": R, "D": D}[v], i) for i, v in enumerate(verdicts, 1)]
    emitted = [p.drafted.token_id for p in places if p.drafted.verdict is A]
    if extra:
        at = verdicts.find("R")
        kind = Kind.RESIDUAL if at >= 0 else Kind.BONUS if verdicts else Kind.PLAIN
        token = ExtraToken(3, kind, 0.1, 0.5)
        if at >= 0:
            places[at] = replace(places[at], extra=token)
        else:
            places.append(Position(len(verdicts) + 1, 10, None, token, None, None))
        emitted.append(3)
    return RoundTrace(index, 10, tuple(places), tuple(emitted), 1.0, 2.0, 3.0, stop)


REJECTED, BONUS, PLAIN = a_round("AARDD"), a_round("AAAA"), a_round("")
ENDED = a_round("AAADD", stop=StopReason.END_TOKEN, extra=False)
ALL = (REJECTED, BONUS, PLAIN, ENDED, a_round("R"), a_round("A"))


def median_ms(work, times: int = 21) -> float:
    """Return the median CPU time of one call; CPU time, because other processes must not fail the test."""
    spent = []
    for i in range(times):
        start = time.process_time()
        work(i)
        spent.append(1000 * (time.process_time() - start))
    return sorted(spent)[times // 2]
