"""A pair that needs no weights: tables over bytes behind a real tokenizer, and loaders that a test can hold up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from simulator.catalog import Entry
from simulator.loading import Loaded, Pair, Progress
from simulator.models.table import TableModel
from simulator.runner import Control, Job
from simulator.text.token_text import TokenTexts
from tests.simulator.text_samples import byte_fallback, byte_level

VOCAB = 257  # the bytes and an end token
LETTERS = np.frombuffer(b" etaoinshrdlu,.\n", np.uint8)
PROMPT = "to be, or not"


@cache
def _row(seed: int, vocab: int, first: int, *last: int) -> np.ndarray:
    """Return a law over the letters that follows the last tokens; laws of two seeds are alike by three fifths."""
    common, own = (np.random.default_rng([s, *last]).dirichlet(np.full(len(LETTERS), 0.5)) for s in (0, seed))
    row = np.zeros(vocab)
    row[LETTERS + first] = 0.6 * common + 0.4 * own
    return row


class Table(TableModel):
    """A table model that calls `before()` ahead of each pass, on the inference thread."""

    def __init__(self, seed: int, vocab: int = VOCAB, first: int = 0, before: Callable[[], Any] = lambda: None) -> None:
        super().__init__(lambda text: _row(seed, vocab, first, *text[-2:]), vocab, name=f"stub-{seed}")
        self.before = before

    def extend(self, tokens, keep=None):
        self.before()
        return super().extend(tokens, keep)


def entry(name: str) -> Entry:
    """Return the catalogue entry of a model that lies nowhere."""
    return Entry(name, Path("nowhere") / name, "Table", None, VOCAB, None, "F32", 0, None)


def stub_pair(target: TableModel | None = None, draft: TableModel | None = None, *, lone: bool = False) -> Pair:
    """Return a pair over bytes without a beginning-of-text token; `lone` leaves the draft model out."""
    target, draft = target or Table(1), None if lone else draft or Table(2)
    loaded = [Loaded(entry(m.name), m, "cpu", "float32") for m in (target, draft) if m is not None]
    texts = TokenTexts(byte_level(), target.vocab)
    return Pair(loaded[0], loaded[1] if draft else None, texts, frozenset({256}), None)


def pair_with_start_token() -> Pair:
    """Return a pair whose tokenizer begins every text with a token of its own."""
    tokenizer = byte_fallback()
    rows, first = len(tokenizer), tokenizer.convert_tokens_to_ids("<0x00>")
    loaded = [Loaded(entry(m.name), m, "cpu", "float32") for m in (Table(1, rows, first), Table(2, rows, first))]
    texts = TokenTexts(tokenizer, rows, bos_id=tokenizer.bos_token_id)
    return Pair(loaded[0], loaded[1], texts, frozenset({tokenizer.eos_token_id}), tokenizer.bos_token_id)


def loader(found: dict[str, Any], slices: int = 1, seconds: float = 0.0) -> Callable[..., Job]:
    """Return a stand-in for `load_job`: slices of so many seconds, then the named pair, error, or call's result."""

    def load_job(target: str, draft: str | None, **options: Any) -> Job:
        def job(control: Control) -> Iterator[Any]:
            for i in range(slices):
                control.checkpoint()
                yield Progress(f"Loading {target} ...", i / slices)
                time.sleep(seconds)  # this is the work; tests themselves wait for conditions
            control.checkpoint()
            result = found[target]() if callable(found[target]) else found[target]
            if isinstance(result, Exception):
                raise result
            yield result

        return job

    return load_job
