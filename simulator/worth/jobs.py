"""What the inference thread does for the question whether drafting is worth it: analyse a text or a file, look closer.

Each function returns a `runner.Job`; a job yields Progress and `Analysis` records, or one `Look`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.errors import UserError
from simulator.loading import Pair, Progress
from simulator.models.base import CHUNK, prefill
from simulator.records import FloatArray, Position, Sampling
from simulator.reduction import bars, shapes
from simulator.runner import Control, Job
from simulator.sampling import probabilities
from simulator.worth.flatness import GREEDY, NGRAM, NONE, SAMPLED, Analysis, Sheet, read_rows, rows_per_pass, score
from simulator.worth.rows_file import open_rows

MOST_CHARACTERS = 500_000  # of a text: most novels; what is read of a longer one is said in its name
PIECE = 1 << 16  # characters encoded at once: the tokenizer is locked meanwhile, and the window needs it too


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be analysed: one of token ids, text, a text file and an .npz file of rows."""

    name: str
    ids: tuple[int, ...] | None = None
    text: str | None = None
    path: Path | None = None
    rows: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """The p and q of one position, cut to bars."""

    index: int
    position: Position


def analyse_job(pair: Pair, subject: Subject, sampling: Sampling) -> Job:
    """Score every position of the subject; yields Progress and Analysis in turn, the last one complete."""

    def job(control: Control) -> Iterator[Any]:
        yield Progress(f"Reading {subject.name} ...", None)
        control.checkpoint()
        if subject.rows is not None:
            parts = _score_rows(subject.rows, subject.name, sampling, control)
        else:
            draft = pair.draft.model if pair.draft else None
            ids, name = _ids(pair, subject, control)
            parts = score(pair.target.model, draft, ids, sampling, name, control.checkpoint)
        for part in parts:
            yield part
            text = f"Reading {subject.name}: {part.n:,} of {part.wanted:,} positions ..."
            yield Progress(text, part.n / part.wanted)

    return job


def look_job(pair: Pair, subject: Subject, analysis: Analysis, index: int) -> Job:
    """Compute one position anew, with the context that it had; yields a Look."""

    def job(control: Control) -> Iterator[Any]:
        if subject.rows is None and analysis.context[index] > CHUNK:
            yield Progress(f"Reading {analysis.context[index]:,} tokens of context ...", None)
        if subject.rows is not None:
            p, q = _row_of_file(subject.rows, analysis, index)
        else:
            p, q = _row_of_text(pair, analysis, index, control)
        rows = p[None], np.zeros((0, p.size), p.dtype) if q is None else q[None]
        figure = shapes(*rows)[0]
        token = analysis.token(index)
        kept = bars(*rows, [() if token == NONE else (token,)])[0]
        yield Look(index, Position(index + 1, int(analysis.context[index]), None, None, figure, kept))

    return job


def read_text(path: Path) -> str:
    """Return the first MOST_CHARACTERS + 1 characters of a UTF-8 file; raise `UserError` with a sentence otherwise."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a file: choose a text file.")
    try:
        with path.open(encoding="utf-8") as stream:
            return stream.read(MOST_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text in UTF-8 (byte {error.start} of a block does not fit).") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} cannot be read: {reason}. Choose another file.") from error


def _ids(pair: Pair, subject: Subject, control: Control) -> tuple[Sequence[int], str]:
    """Return the subject's token ids and name; a text is encoded in pieces that end with a line where they can."""
    name = subject.name
    if subject.ids is not None:
        return subject.ids, name
    text = subject.text if subject.text is not None else read_text(subject.path or Path())
    if len(text) > MOST_CHARACTERS:
        text, name = text[:MOST_CHARACTERS], f"{name} (its first {MOST_CHARACTERS:,} characters)"
    start = [] if pair.start_token is None else [pair.start_token]
    ids: list[int] = []
    while text:
        control.checkpoint()
        cut = text.rfind("\n", 0, PIECE) + 1 if len(text) > PIECE else 0
        piece, text = text[: cut or PIECE], text[cut or PIECE :]
        found = pair.encode(piece)
        ids += found[len(start) :] if ids and found[:1] == start else found
    return ids, name


def _score_rows(path: Path, name: str, sampling: Sampling, control: Control) -> Iterator[Analysis]:
    file = open_rows(path)
    sources = ([SAMPLED, GREEDY] if file.q else []) + ([NGRAM] if file.ids is not None else [])
    sheet = Sheet(name, file.vocab, sampling, file.n, file.ids, 0, sources)
    step = rows_per_pass(file.vocab)
    drafts = file.rows("q", step) if file.q else None
    for logits in file.rows("p", step):
        control.checkpoint()
        q = _after(next(drafts), sampling) if drafts is not None else None
        sheet.add(_after(logits, sampling), q, 0)
        yield sheet.analysis()


def _row_of_file(path: Path, analysis: Analysis, index: int) -> tuple[FloatArray, FloatArray | None]:
    file = open_rows(path)
    if (file.n, file.vocab) != (analysis.wanted, analysis.vocab):
        raise UserError(f"{path} has changed since it was analysed: analyse it again.")
    rows = [_after(next(file.rows(which, 1, index)), analysis.sampling)[0] for which in ("p", "q")[: 1 + bool(file.q)]]
    return rows[0], rows[1] if file.q else None


def _row_of_text(pair: Pair, analysis: Analysis, index: int, control: Control) -> tuple[FloatArray, FloatArray | None]:
    assert analysis.text is not None
    at = index + analysis.offset
    context = analysis.text[at - int(analysis.context[index]) : at].tolist()
    models = [pair.target.model, *([pair.draft.model] if pair.draft and SAMPLED in analysis.tracks else [])]
    rows = []
    for model in models:
        model.reset()
        prefill(model, context[:-1], control.checkpoint)
        read = read_rows(model, context[-1:], analysis.sampling, pair.target.model.vocab, at, control.checkpoint)
        rows.append(read[0])
        model.reset()
    return rows[0], rows[1] if len(rows) > 1 else None


def _after(logits: FloatArray, sampling: Sampling) -> FloatArray:
    """Return what the file's logits [n, V] are after temperature and filters, as a model's would be."""
    import torch

    return probabilities(torch.from_numpy(np.ascontiguousarray(logits)), sampling, "the file")
