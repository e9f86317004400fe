"""Counters as lines of text: vLLM's Prometheus page, and the acceptance lines of vLLM's and llama.cpp's logs.

Knows: the lines' layouts, and when a count follows from rounded figures without a choice.
Does not know: which figures follow from the counts (`acceptance`).
"""

from __future__ import annotations

import math
import re

from simulator.acceptance.counters import Counts, number, whole
from simulator.errors import UserError

_METRIC = re.compile(
    r"^\W*(?:vllm[:_])?spec_decode_num_(drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)(?:_total)?"
    r"(?![a-z_])\s*(\{[^}]*\})?\s*[|,:=]?\s*([^\s|]+)",
    re.M,
)
_NUMBER = r"([-+\w.]++(?:,\d+)?)"  # with a decimal comma too, so that it is refused and not cut
_GAP = ".{0,300}?"  # between two figures of a line: bounded, so that no text takes quadratic time
_VLLM = re.compile(
    rf"Mean acceptance length: {_NUMBER}{_GAP}Accepted: {_NUMBER} tokens, Drafted: {_NUMBER} tokens"
    r"(?:, Per-position acceptance rate: ([\d., ]+?))?(?:, Avg|\s*$)",
    re.M,
)
_LLAMA = re.compile(
    rf"draft acceptance(?: rate)? = {_NUMBER} \(\s*{_NUMBER} accepted /\s*{_NUMBER} generated\)"
    rf"(?:, mean acceptance length =\s*{_NUMBER})?(?:, acceptance rate per position = \(([^)]*)\))?"
)
_SGLANG = re.compile(rf"accept len: {_NUMBER},(?: accept rate: {_NUMBER},)?")
_SGLANG_GAUGE = re.compile(r"^\W*sglang:spec_accept_(length|rate)(?:\{[^}]*\})?\s*[|,:=]?\s*([^\s|]+)", re.M)
_LLAMA_TOTALS = re.compile(rf"#gen drafts =\s*(\d+){_GAP}#gen tokens =\s*(\d+), #acc tokens =\s*(\d+)")


def read_lines(text: str) -> list[Counts]:
    """Return what the lines say, an empty list where there are none of a known layout; `UserError` as they demand."""
    found = []
    if _METRIC.search(text):
        found.append(_prometheus(text))
    found += [_vllm(*m.groups()) for m in _VLLM.finditer(text)]
    drafts = {(m[3], m[2]): m[1] for m in _LLAMA_TOTALS.finditer(text)}
    found += [_llama(m, drafts) for m in _LLAMA.finditer(text)]
    found += _sglang(text)
    if _METRIC.search(text) and len(found) > 1:
        raise UserError("The text holds a metrics page and log lines, which count the same rounds twice: paste one.")
    return found


def _prometheus(text: str) -> Counts:
    sums: dict[str, int] = {}
    places: dict[int, int] = {}
    seen: set[tuple[str, str]] = set()
    for name, labels, shown in _METRIC.findall(text):
        if (name, labels) in seen:
            raise UserError(f"The text holds spec_decode_num_{name}{labels} twice: paste one scrape only.")
        seen.add((name, labels))
        n = whole(f"spec_decode_num_{name}", shown)
        if name != "accepted_tokens_per_pos":
            sums[name] = sums.get(name, 0) + n
            continue
        label = re.search(r'position="?(\d+)', labels)
        if label is None:
            raise UserError("A line of accepted_tokens_per_pos has no position label: copy whole lines.")
        places[int(label[1])] = places.get(int(label[1]), 0) + n
    if places and sorted(places) != list(range(len(places))):
        raise UserError(f"The positions {sorted(places)} have a gap: copy all lines of accepted_tokens_per_pos.")
    passed = tuple(places[i] for i in range(len(places))) or None
    engines = max((sum(1 for n, _ in seen if n == name) for name in sums), default=1)
    notes = (f"{engines} engines are pooled.",) if engines > 1 else ()
    return Counts("vLLM", sums.get("drafts"), sums.get("draft_tokens"), sums.get("accepted_tokens"),
                  k=len(places) or None, passed=passed, notes=notes)  # fmt: skip


def _vllm(length: str, accepted: str, drafted: str, rates: str | None) -> Counts:
    a, d, tau = whole("Accepted", accepted), whole("Drafted", drafted), _float("Mean acceptance length", length)
    return _from_rounded("vLLM", a, d, tau, _rates(rates))


def _llama(m: re.Match[str], drafts: dict[tuple[str, str], str]) -> Counts:
    rate, accepted, drafted, length, rates = m.groups()
    a, d = whole("accepted", accepted), whole("generated", drafted)
    rounds = drafts.get((accepted, drafted))
    tau = None if length is None else _float("mean acceptance length", length)
    found = _from_rounded("llama.cpp", a, d, tau, _rates(rates), int(rounds) if rounds else None)
    return _with_printed(found, draft_acceptance_rate=_float("draft acceptance", rate))


def _sglang(text: str) -> list[Counts]:
    """Return the averages that SGLang prints without counts: of its log lines the last, or the gauges of one scrape."""
    names = {"length": "acceptance_length", "rate": "draft_acceptance_rate"}
    gauges = {names[name]: _float(f"spec_accept_{name}", shown) for name, shown in _SGLANG_GAUGE.findall(text)}
    lines = [(m[1], m[2]) for m in _SGLANG.finditer(text)]
    if lines:
        length, rate = lines[-1]
        gauges["acceptance_length"] = _float("accept len", length)
        gauges |= {"draft_acceptance_rate": _float("accept rate", rate)} if rate else {}
    if not gauges:
        return []
    note = "SGLang prints these as averages without their counts"
    note += f"; this is the last of {len(lines)} log lines." if len(lines) > 1 else "."
    return [Counts("SGLang", printed=gauges, notes=(note,))]


def _from_rounded(
    engine: str, accepted: int, drafted: int, tau: float | None, rates: tuple[float, ...], rounds: int | None = None
) -> Counts:
    """Return the counts, with the rounds and passes that the rounded figures leave no choice about."""
    notes = []
    if rounds is None and tau is not None:
        rounds = _only_rounds(accepted, tau)
        if rounds is not None:
            notes.append(f"{rounds} rounds: the only number that gives a length of {tau:.2f} with {accepted} accepted.")
    passed = _only_passes(rates, rounds, accepted) if rates and rounds else None
    if rates and passed is None:
        notes.append(f"Per position the engine printed {', '.join(f'{r:g}' for r in rates)}, without the counts.")
    found = Counts(engine, rounds, drafted, accepted, k=len(rates) or None, passed=passed, notes=tuple(notes))
    return _with_printed(found, tau_counters=tau)


def _with_printed(c: Counts, **printed: float | None) -> Counts:
    known = {name: value for name, value in printed.items() if value is not None}
    return Counts(c.engine, c.rounds, c.drafted, c.accepted, c.emitted, c.k, c.passed, c.histogram, c.each,
                  {**c.printed, **known}, c.notes)  # fmt: skip


def _only_rounds(accepted: int, tau: float) -> int | None:
    """Return the one number of rounds with 1 + accepted / rounds = tau to two digits; None if none or several."""
    if not accepted or tau <= 1.005:
        return None
    least, most = math.ceil(accepted / (tau - 1 + 0.00501)), math.floor(accepted / (tau - 1 - 0.00501))
    return least if least == most else None


def _only_passes(rates: tuple[float, ...], rounds: int, accepted: int) -> tuple[int, ...] | None:
    """Return the passes behind rates of three digits where they add up to the accepted tokens; else None."""
    passes = tuple(round(rate * rounds) for rate in rates)
    near = all(abs(n / rounds - rate) <= 0.000501 for n, rate in zip(passes, rates, strict=True))
    return passes if near and rounds < 1000 and sum(passes) == accepted else None


def _rates(text: str | None) -> tuple[float, ...]:
    rates = tuple(_float("acceptance rate per position", part) for part in (text or "").split(",") if part.strip())
    if any(rate > 1 for rate in rates):
        raise UserError(
            f"A rate per position is {max(rates):g}, but no rate can exceed 1: check what was copied, and write "
            "decimals with a point."
        )
    return rates


def _float(name: str, text: str) -> float:
    return number(name, text.strip())
