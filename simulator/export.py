"""Runs as a table: a CSV row per drafted position and per residual, bonus or plain token, and a file that explains it.

Knows: the columns and what they mean, what spreadsheets do to text. Does not know: how anything was computed.

Whoever has the CSV alone can recompute every verdict: accept_prob = min(1, p / q), accepted where u_accept is below it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from simulator.files import ExportError, Progress, check_file, plain, write_together
from simulator.records import DraftedToken, ExtraToken, Position, RoundTrace, Run, Shape, Verdict
from simulator.text.texts import Texts

__all__ = ["COLUMNS", "ExportError", "check_writable", "guard", "meta_path", "write_csv"]

SCHEMA_VERSION = 1
COLUMNS = {
    "run": "number of the run in this file, from 0; see `runs`",
    "round": "number of the round in its run, from 0",
    "position": "position in the round, 1 .. k + 1; a residual stands at the position of the rejection it follows",
    "context_length": "tokens before this position, prompt included",
    "kind": "draft: proposed by the draft source; residual: drawn from norm(max(0, p - q)) after a rejection; "
    "bonus: drawn from p after all drafted tokens were accepted; plain: drawn from p in a round without a draft",
    "source": "draft source of the run",
    "rule": "acceptance rule of the run",
    "token_id": "number of the token in the vocabulary",
    "token": "the token's bytes as a JSON string in quotes; see `rules`",
    "text": "the token's text, safe to open in a spreadsheet; see `rules`",
    "p": "target probability of this token, after temperature and filters",
    "q": "draft probability of this token, after temperature and filters; 1 for a deterministic source",
    "accept_prob": "what the rule compares u_accept with; min(1, p / q) by the exact rule",
    "u_draft": "the uniform number that drew the token from q; blank for a deterministic source",
    "u_accept": "the uniform number of the test: accepted where it is below accept_prob; blank if never tested",
    "u_extra": "the uniform number that drew the residual, bonus or plain token",
    "verdict": "accepted: passed its test; rejected: the first that failed; discarded: never tested, behind a "
    "rejection or an end token; emitted: residual, bonus or plain",
    "emitted": "1 if the token joined the text, else 0",
    "overlap": "sum of min(p, q) over the vocabulary: the position's acceptance probability",
    "tv": "sum of max(0, p - q) over the vocabulary = 1 - overlap: the residual's mass",
    "entropy_p": "entropy of the target's distribution, nats",
    "entropy_q": "entropy of the draft's distribution, nats",
    "p_max": "largest target probability",
    "draft_ms": "milliseconds of the round's whole proposal, the same on each of its rows",
    "verify_ms": "milliseconds of the target's pass over the round, the same on each of its rows",
    "round_ms": "milliseconds of the whole round, sampling and trace included, the same on each of its rows",
}
RULES = {
    "token": "A JSON string in its quotes; bytes that are no UTF-8 are written as \\udc80 .. \\udcff for 0x80 .. 0xff. "
    'In Python: json.loads(cell).encode("utf-8", "surrogateescape").',
    "text": "An apostrophe is put in front of a text cell that a spreadsheet could run as a formula: one that begins, "
    "after blanks and unseen characters if any, with = + - @ or their full-width forms, or whose leading blanks hold a "
    "tab or a line break. Source and rule are guarded too. Bytes that are no whole character are <F0 9F 99>, "
    "control characters but tab and line breaks as their pictures (␀ for NUL).",
    "numbers": "Never guarded; '.' is the decimal point; the shortest form that reads back to the same 64-bit float.",
    "blank": "A blank cell: the value does not exist there.",
    "file": "UTF-8 without a byte-order mark, RFC 4180 quotes, CRLF at the end of each row.",
}
_FORMULA = frozenset("=+-@＝＋－＠﹢﹣﹦﹫")
_PICTURES = {c: 0x2400 + c for c in range(0x20) if chr(c) not in "\t\r\n"}  # many readers end a cell or file at NUL
Row = dict[str, str]


def write_csv(
    path: Path | str, runs: Sequence[Run], texts: Texts, meta: Mapping[str, Any],
    progress: Progress = lambda share: None,
) -> None:  # fmt: skip
    """Write the runs as CSV to `path`, and `meta` with all definitions beside it (`meta_path`): both or neither.

    `progress` is told the share that is done; what it raises ends the writing.
    Raises `ExportError` where a file cannot be written; older files of these names then stay as they were.
    """
    path = Path(path)
    explained = _meta(runs, meta)
    write_together({
        path: lambda file: _write_rows(file, runs, texts, progress),
        meta_path(path): lambda file: _write_json(file, explained),
    })  # fmt: skip


def check_writable(path: Path | str) -> None:
    """Raise `ExportError` where a file at `path`, or the one beside it, could not be written; leave nothing behind."""
    for each in (Path(path), meta_path(path)):
        check_file(each)


def meta_path(path: Path | str) -> Path:
    """Return where the explaining file of a CSV lies: x.meta.json for x.csv."""
    path = Path(path)
    stem = path.stem if path.suffix.lower() == ".csv" else path.name
    return path.with_name(f"{stem}.meta.json") if path.name else path


def guard(text: str) -> str:
    """Return the text with an apostrophe in front if a spreadsheet could take it for a formula (see `RULES`)."""
    lead = 0
    while lead < len(text) and (text[lead].isspace() or not text[lead].isprintable()):
        lead += 1
    risky = text[lead : lead + 1] in _FORMULA or any(c in text[:lead] for c in "\t\r\n")
    return f"'{text}" if risky else text


def rows(runs: Sequence[Run], texts: Texts, progress: Progress = lambda share: None) -> Iterator[Row]:
    """Yield one row per drafted token and one per residual, bonus or plain token, in order; no key where no value."""
    done, whole = 0, sum(len(run.rounds) for run in runs)
    for number, run in enumerate(runs):
        for each in run.rounds:
            for position in each.positions:
                yield from _position_rows(number, run, each, position, texts)
            done += 1
            progress(done / whole)


def _position_rows(number: int, run: Run, each: RoundTrace, position: Position, texts: Texts) -> Iterator[Row]:
    common = {
        "run": str(number), "round": str(each.index), "position": str(position.position),
        "context_length": str(position.context_length), "source": guard(run.config.source),
        "rule": guard(run.config.rule), "draft_ms": _number(each.draft_ms), "verify_ms": _number(each.verify_ms),
        "round_ms": _number(each.round_ms),
    } | _shape_cells(position.shape)  # fmt: skip
    if position.drafted is not None:
        yield common | _token_cells(position.drafted.token_id, texts) | _drafted_cells(position.drafted)
    if position.extra is not None:
        yield common | _token_cells(position.extra.token_id, texts) | _extra_cells(position.extra)


def _token_cells(token_id: int, texts: Texts) -> Row:
    text = texts.text(token_id).translate(_PICTURES)
    return {"token_id": str(int(token_id)), "token": texts.escaped(token_id), "text": guard(text)}


def _drafted_cells(token: DraftedToken) -> Row:
    numbers = {n: _number(getattr(token, n)) for n in ("p", "q", "accept_prob", "u_draft", "u_accept")}
    emitted = "1" if token.verdict is Verdict.ACCEPTED else "0"
    return {"kind": "draft", "verdict": str(token.verdict), "emitted": emitted} | numbers


def _extra_cells(token: ExtraToken) -> Row:
    return {
        "kind": str(token.kind), "verdict": "emitted", "emitted": "1", "p": _number(token.p),
        "u_extra": _number(token.u),
    }  # fmt: skip


def _shape_cells(shape: Shape | None) -> Row:
    return {} if shape is None else {name: _number(value) for name, value in asdict(shape).items()}


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _write_rows(file: BinaryIO, runs: Sequence[Run], texts: Texts, progress: Progress) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    try:
        writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows(runs, texts, progress))
    finally:
        text.detach()  # flushes; the caller syncs and closes the file


def _write_json(file: BinaryIO, value: Any) -> None:
    file.write((json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace"))


def _meta(runs: Sequence[Run], meta: Mapping[str, Any]) -> Any:
    own = {"schema": "specscope-rounds", "schema_version": SCHEMA_VERSION}
    listed = [_about(number, run) for number, run in enumerate(runs)]
    return plain({**own, **meta, **own, "runs": listed, "rules": RULES, "definitions": COLUMNS})


def _about(number: int, run: Run) -> dict[str, Any]:
    config = run.config
    return {
        "run": number, "seed": config.seed, "k": config.k, "rule": config.rule, "source": config.source,
        "sampling": config.sampling, "prompt_tokens": len(run.prompt), "rounds": len(run.rounds),
        "emitted": len(run.tokens), "prefill_ms": run.prefill_ms, "stop": run.stop, "notices": run.notices,
    }  # fmt: skip
