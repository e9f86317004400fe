"""Whether a draft's vocabulary suits a target's, judged by contents and never by size alone, and what translates them.

Knows tokens by id, as the bytes they stand for (see `tokens`). Loads no weights and no torch.

Speculative decoding emits exactly p as long as the q that tokens are drawn from is the q in the accept ratio. So draft
rows without a counterpart leave before the softmax, the others are spread over the target's ids (`Diagnosis.map`), and
what the draft reads (`Diagnosis.feed`, see `respelling`) is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from simulator.errors import UserError
from simulator.local.folder_files import TOKENIZERS
from simulator.local.model_files import Entry
from simulator.text import respelling
from simulator.text.glyphs import visible
from simulator.text.tokens import Ids, Tokens, map_of, rows_of, tokens_of

__all__ = ["Diagnosis", "describe", "diagnose", "tokens_of"]

Kind = Literal["identical", "padded", "few", "reduced", "different", "unknown"]
Example = tuple[int, str | None, str | None]  # id, the target's token, the draft's token; None = no entry
Pairs = Sequence[tuple[int, int]]  # (target id, draft id)

FEW = 100  # ids at most that may differ for a pair to be tried at all ...
FEW_SHARE = 1 / 50  # ... and at most this share of the smaller vocabulary (one id in any case)
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What became of comparing two vocabularies.

    identical: the same entries and rows. padded: the same entries, more rows on one side. few: some entries differ;
    the pair runs if the user agrees, and those ids are never drafted. reduced: the draft has rows for some of the
    target's ids, by its map. different: refused. unknown: a file is missing or damaged.
    """

    kind: Kind
    sentence: str
    target_size: int = 0  # entries of the tokenizer
    draft_size: int = 0
    target_rows: int = 0  # of the output layer, by config.json; where that does not say, entries
    draft_rows: int = 0
    differing: int = 0  # ids below target_rows whose tokens differ; under a map, draft rows
    examples: tuple[Example, ...] = ()  # the first three of them
    map: Ids | None = field(default=None, compare=False)  # [draft rows] -> target id, -1 = none; None: the same ids
    feed: Ids | None = field(default=None, compare=False)  # [target rows] -> what the draft reads for it, -1 = nothing

    @property
    def usable(self) -> bool:
        """Return whether the pair can run, if need be with the user's consent."""
        return self.kind not in ("different", "unknown")

    @property
    def needs_consent(self) -> bool:
        """Return whether the user must agree first: entries differ."""
        return self.kind == "few"


def diagnose(target: Entry, draft: Entry) -> Diagnosis:
    """Compare two models by their tokenizers, configs and, for a reduced draft vocabulary, its map."""
    try:
        mapped = map_of(draft)
        ours = tokens_of(target)
        theirs = {} if mapped is not None and not _has_tokenizer(draft) else tokens_of(draft)
        pair = _Pair(target.name, draft.name, ours, theirs, _rows(target, ours)[1], *_rows(draft, theirs))
        return pair.by_id() if mapped is None else pair.by_map(mapped)
    except UserError as error:
        return Diagnosis("unknown", str(error))


def _has_tokenizer(entry: Entry) -> bool:
    return any((entry.path / name).is_file() for name in TOKENIZERS)


def _rows(entry: Entry, tokens: Tokens) -> tuple[int, int]:
    """Return the rows of the input embedding and of the output layer."""
    entries = max(tokens, default=-1) + 1
    read, written = rows_of(entry)
    return read or entries, written or entries


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two vocabularies; `rows` are those of an output layer, `draft_read` those of the draft's embedding."""

    target: str
    draft: str
    ours: Tokens
    theirs: Tokens
    target_rows: int
    draft_read: int
    draft_rows: int

    def by_id(self) -> Diagnosis:
        """Compare id by id. Entries that the target has no row for can never be emitted and so do not count."""
        ids = sorted(i for i in self.ours.keys() | self.theirs.keys() if i < self.target_rows)
        differing = [(i, i) for i in ids if self.ours.get(i) != self.theirs.get(i)]
        if not differing:
            return self._same()
        if len(differing) > self._few():
            return self._refused(differing)
        rows = np.arange(self.draft_rows)
        rows[self.target_rows :] = -1
        rows[[i for i, _ in differing if i < self.draft_rows]] = -1
        return self._with_consent(differing, rows, self._fed_by_id())

    def by_map(self, mapped: Ids) -> Diagnosis:
        """Compare along the map of a reduced vocabulary; where the draft has no tokenizer, the map stands alone.

        Three kinds: a model cut down to its own short list of ids; a shortened output layer behind a whole embedding
        (EAGLE-3); a whole model that is to draft a short list of ids only (FR-Spec).
        """
        fault = self._fault(mapped)
        if fault:
            raise UserError(f"The vocabulary map of {self.draft} does not fit {self.target}: {fault}.")
        shortlist = len(mapped) < self.draft_rows >= len(self.ours) and mapped.max() < self.draft_rows
        whole = shortlist or self.draft_read != self.draft_rows
        differing = self._differing_by_map(mapped, whole)
        if len(differing) > self._few():
            return self._refused(differing)
        rows = np.full(self.draft_rows, -1)
        rows[mapped[mapped >= 0] if shortlist else np.flatnonzero(mapped >= 0)] = mapped[mapped >= 0]
        rows[np.isin(rows, [t for t, _ in differing])] = -1
        feed = self._fed_by_id() if whole else respelling.by_map(self.ours, rows, self.target_rows)
        return self._with_consent(differing, rows, feed) if differing else self._reduced(rows, feed)

    def _differing_by_map(self, mapped: Ids, whole: bool) -> list[tuple[int, int]]:
        """Return (target id, draft id) of mapped tokens that differ; a cut-down model's folder may keep either ids."""
        if not self.theirs:
            return []
        named = [(t, j) for j, t in enumerate(mapped.tolist()) if t >= 0]
        kept = [(t, t) for t, _ in named if self.ours.get(t) != self.theirs.get(t)]
        own = [(t, j) for t, j in named if self.ours.get(t) != self.theirs.get(j)]
        return kept if whole else min(kept, own, key=len)

    def _fed_by_id(self) -> Ids:
        return respelling.by_id(self.ours, self.theirs, self.target_rows, self.draft_read)

    def _fault(self, mapped: Ids) -> str | None:
        named = mapped[mapped >= 0]
        if not len(named) or len(mapped) > self.draft_rows:
            return f"it has {len(mapped):,} entries for {self.draft_rows:,} rows"
        if mapped.min() < -1 or mapped.max() >= self.target_rows:
            bad = mapped.min() if mapped.min() < -1 else mapped.max()
            return f"it names the id {bad}, but the target has {self.target_rows:,} rows"
        if len(np.unique(named)) < len(named):
            return "it names one id twice"
        return None

    def _few(self) -> int:
        return max(1, min(FEW, int(FEW_SHARE * min(len(self.ours), len(self.theirs)))))

    # Verdicts

    def _made(self, kind: Kind, sentence: str, differing: Pairs = (), rows: Ids | None = None,
              feed: Ids | None = None) -> Diagnosis:  # fmt: skip
        return Diagnosis(
            kind, sentence, len(self.ours), len(self.theirs), self.target_rows, self.draft_rows, len(differing),
            self._examples(differing), rows, feed,
        )  # fmt: skip

    def _examples(self, differing: Pairs) -> tuple[Example, ...]:
        return tuple((t, _seen(self.ours.get(t)), _seen(self.theirs.get(d))) for t, d in differing[:SHOWN])

    def _same(self) -> Diagnosis:
        same_size = len(self.ours) == len(self.theirs)
        entries = f"the same {len(self.theirs):,} entries as {self.target}" if same_size else (
            f"{len(self.theirs):,} entries and agrees with {self.target} on each id that has a row there"
        )  # fmt: skip
        if self.target_rows == self.draft_rows:
            return self._made("identical" if same_size else "padded", f"{self.draft} has {entries}.")
        rest = "q is 0 on the rest" if self.draft_rows < self.target_rows else "the rest is never drafted"
        padded = f"it has {self.draft_rows:,} rows against {self.target_rows:,}"
        lacks = max(self.ours, default=-1) >= self.draft_read  # tokens that the target reads and the draft cannot
        feed = self._fed_by_id() if lacks else None
        return self._made("padded", f"{self.draft} has {entries}; {padded}: the pair works, {rest}.", feed=feed)

    def _differ(self, differing: Pairs) -> str:
        """Return both sizes, how many ids differ, and the first of them with both tokens."""
        shown = ", ".join(
            f"{i} ({_quoted(a)} in the target, {_quoted(b)} in the draft)" for i, a, b in self._examples(differing)
        )
        return (
            f"their vocabularies ({len(self.theirs):,} and {len(self.ours):,} entries) differ in {len(differing):,} "
            f"{'id' if len(differing) == 1 else 'ids'}: {'first ' if len(differing) > SHOWN else ''}{shown}."
        )

    def _refused(self, differing: Pairs) -> Diagnosis:
        sentence = f"{self.draft} cannot draft for {self.target}: {self._differ(differing)}"
        return self._made("different", sentence, differing)

    def _with_consent(self, differing: Pairs, rows: Ids, feed: Ids) -> Diagnosis:
        sentence = (
            f"{self.draft} suits {self.target} but for a few entries: {self._differ(differing)} "
            "If you go on, such ids are never drafted (q = 0)."
        )
        return self._made("few", sentence, differing, rows, feed)

    def _reduced(self, rows: Ids, feed: Ids) -> Diagnosis:
        sentence = (
            f"{self.draft} drafts {int((rows >= 0).sum()):,} of the {len(self.ours):,} entries of {self.target}, by "
            "its map: the pair works, q is 0 on the others."
        )
        return self._made("reduced", sentence, (), rows, feed)


def _seen(raw: bytes | None) -> str | None:
    return None if raw is None else visible(raw)


def _quoted(token: str | None) -> str:
    return "no entry" if token is None else f"'{token}'"


def describe(found: Diagnosis) -> list[str]:
    """Return the diagnosis as a small table for people: sizes, rows, differing ids, verdict; empty where unknown."""
    if found.kind == "unknown":
        return []
    verdict = "usable with --accept-differing" if found.needs_consent else "usable" if found.usable else "not usable"
    return [
        f"{'':18}{'target':>12}{'draft':>12}",
        f"{'tokenizer entries':18}{found.target_size:12,}{found.draft_size:12,}",
        f"{'output rows':18}{found.target_rows:12,}{found.draft_rows:12,}",
        f"{'differing ids':18}{found.differing:12,}",
        *(f"  id {i}: {_quoted(a)} in the target, {_quoted(b)} in the draft" for i, a, b in found.examples),
        f"{'verdict':18}  {found.kind}, {verdict}",
    ]
