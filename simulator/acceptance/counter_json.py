"""Counters as JSON, as a Python literal or as `name: value` pairs.

Knows: what vLLM, SGLang, llama.cpp and LM Studio call their counts. Does not know: what follows from them (`counters`).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from simulator.acceptance.counters import Counts, number, whole
from simulator.errors import UserError

KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    "vLLM": {
        "rounds": ("num_spec_steps", "num_drafts"), "drafted": ("num_draft_tokens",),
        "accepted": ("num_accepted_draft_tokens", "num_accepted_tokens"), "k": ("num_spec_tokens",),
        "histogram": ("acceptance_histogram",), "accepted_each": ("per_step_accepted",),
        "drafted_each": ("per_step_drafted",), "tau_counters": ("mean_acceptance_length",),
        "draft_acceptance_rate": ("draft_acceptance_rate",),
    },
    "SGLang": {
        "rounds": ("spec_verify_ct",),
        "accepted": ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"),
        "drafted": ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"),
        "histogram": ("spec_correct_drafts_histogram", "spec_accept_histogram"),
        "acceptance_length": ("spec_accept_length", "avg_spec_accept_length"),
        "draft_acceptance_rate": ("spec_accept_rate",),
    },
    "llama.cpp": {"drafted": ("draft_n",), "accepted": ("draft_n_accepted",), "emitted": ("predicted_n",)},
    "LM Studio": {
        "drafted": ("totalDraftTokensCount", "total_draft_tokens_count"),
        "accepted": ("acceptedDraftTokensCount", "accepted_draft_tokens_count"),
        "rejected": ("rejectedDraftTokensCount", "rejected_draft_tokens_count"),
        "ignored": ("ignoredDraftTokensCount", "ignored_draft_tokens_count"),
        "emitted": ("predictedTokensCount", "predicted_tokens_count", "completion_tokens"),
    },
    "counts": {
        "rounds": ("rounds",), "drafted": ("drafted",), "accepted": ("accepted",), "emitted": ("emitted",), "k": ("k",),
        "histogram": ("histogram",), "accepted_each": ("accepted_counts",), "drafted_each": ("drafted_counts",),
    },
}  # fmt: skip
SHARED = {"completion_tokens", "num_draft_tokens", "rounds", "drafted", "accepted", "emitted", "k"}  # name no engine
PRINTED = ("tau_counters", "acceptance_length", "draft_acceptance_rate")
_PAIR = re.compile(  # possessive throughout, so that no text takes quadratic time
    r"(?<!\w)([A-Za-z_]\w*+)[\"']?\s*+[:=]\s*+(\[[^\]:=]*+\]|[^\s,;:={}\[\]]++(?!\s*+[:=]))"
)
LISTS = ("histogram", "accepted_each", "drafted_each")


def read_json(text: str) -> list[Counts]:
    """Return what each object with known counts says, an empty list where there is none; `UserError` as they demand."""
    return [_counts(engine, fields) for engine, fields in _known(_objects(text))]


def _objects(text: str) -> Iterator[Any]:
    """Yield the values in the text: one JSON or Python literal, one a line, or `name: value` pairs."""
    value = _literal(text)
    if value is not None:
        yield value
        return
    lines = [_literal(line.strip().removeprefix("data:").strip().rstrip(",")) for line in text.splitlines()]
    if any(isinstance(v, dict | list) for v in lines):
        yield from (v for v in lines if isinstance(v, dict | list))
        return
    pairs: dict[str, Any] = {}
    for name, shown in _PAIR.findall(text):
        if name in pairs and name in _ALL:
            raise UserError(f"The text holds {name} twice: paste one request at a time, or as JSON.")
        pairs[name] = shown if (v := _literal(shown.strip("\"'"))) is None else v
    yield pairs


def _literal(text: str) -> Any:
    """Return the JSON value or Python literal that the text is, None if neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip()) if len(text) < 100_000 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _known(objects: Iterator[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (engine, its fields) for every object, however deep, that holds counts of an engine."""
    for value in objects:
        if isinstance(value, list):
            if value and all(isinstance(v, int | float) for v in value):
                raise UserError(
                    "A bare list can be a histogram or the accepted tokens of each round: write histogram: [...] or "
                    "accepted_counts: [...] with k: ..., so that it has one meaning."
                )
            yield from _known(iter(value))
        elif isinstance(value, dict):
            fields = {str(name): v for name, v in value.items()}
            engine = next((e for e, keys in _MARKS.items() if keys & set(fields)), None)
            if engine is not None:
                yield engine, fields
            else:
                below = [v for v in fields.values() if isinstance(v, dict | list)]
                inner = list(_known(v for v in below if isinstance(v, dict) or any(isinstance(x, dict) for x in v)))
                tokens = (
                    {n: v for n, v in fields.get("usage", {}).items()} if isinstance(fields.get("usage"), dict) else {}
                )
                yield from ((e, {**tokens, **f}) for e, f in inner)


def _counts(engine: str, fields: Mapping[str, Any]) -> Counts:
    """Return what the fields of one object say, by the engine's names."""
    got: dict[str, Any] = {}
    for name, keys in KEYS[engine].items():
        key = next((k for k in keys if fields.get(k) is not None), None)
        if key is not None:
            got[name] = _list(key, fields[key]) if name in LISTS else (
                number(key, fields[key]) if name in PRINTED else whole(key, fields[key]))  # fmt: skip
    printed = {name: got.pop(name) for name in PRINTED if name in got}
    rejected, ignored = got.pop("rejected", None), got.pop("ignored", None)
    parts = [n for n in (got.get("accepted"), rejected, ignored) if n is not None]
    if len(parts) > 1 and got.get("drafted") is not None and sum(parts) > got["drafted"]:
        raise UserError(
            f"{sum(parts)} tokens accepted, rejected and ignored are more than the {got['drafted']} drafted."
        )
    accepted, drafted = got.pop("accepted_each", None), got.pop("drafted_each", None)
    if accepted is not None and drafted is None and got.get("k") is not None and engine == "counts":
        drafted = (got["k"],) * len(accepted)
    if accepted is not None and drafted is not None:
        if len(accepted) != len(drafted):
            raise UserError(
                f"There are {len(accepted)} accepted counts for {len(drafted)} drafted ones: check the two."
            )
        got["each"] = tuple(zip(accepted, drafted, strict=True))
    elif accepted is not None:
        got["histogram"] = got.get("histogram") or tuple(accepted.count(i) for i in range(max(accepted, default=0) + 1))
    return Counts(engine, **got, printed=printed)


def _list(name: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise UserError(f"{name} must be a list of counts, not {str(value)[:40]}.")
    return tuple(whole(f"{name}[{i}]", v) for i, v in enumerate(value))


_ALL = {key for engine in KEYS.values() for keys in engine.values() for key in keys}
_MARKS = {
    engine: {key for keys in names.values() for key in keys}
    - (SHARED if engine != "counts" else {"k", "rounds", "emitted"})
    for engine, names in KEYS.items()
}
