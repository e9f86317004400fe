"""A finished run in brief: settings, tokens, counts and times, enough for every figure, small enough for thousands.

Knows: what to keep of a `records.Run`. Does not know: files, grids as a whole, how figures are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.grids.grid import PLAIN, Setting
from simulator.grids.sums import Sums, lengths_of, times_of
from simulator.records import Run, Sampling, StopReason
from simulator.text.prompts import Prompt
from simulator.text.texts import Texts
from simulator.text.token_text import StreamText
from simulator.trace.store import parts_of, summary_of

ALONE = 0  # sitting of a run that was made by itself, with no plain run beside it


@dataclass(frozen=True)
class Brief:
    """One finished run. The rows drafted .. round_ms have one entry a round.

    What takes time that grows with the rounds is computed once, by `prepare` where whoever asks later has no time.
    """

    setting: Setting
    models: str  # target, draft, device and dtype, as `models_of` writes them
    prompt: Prompt
    sampling: Sampling
    max_new_tokens: int
    sitting: int  # which stretch of work it was made in; speeds are compared inside one only
    stop: StopReason
    notices: tuple[str, ...]
    prefill_ms: float
    tokens: tuple[int, ...]
    labels: tuple[str, ...]  # of the tokens, in visible characters
    text: str
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]
    emitted: tuple[int, ...]
    overlaps: tuple[float, ...]  # sum min(p, q) of each tested position, in order
    draft_ms: tuple[float, ...]
    verify_ms: tuple[float, ...]
    round_ms: tuple[float, ...]

    @property
    def tested(self) -> tuple[int, ...]:
        """Return how many drafted tokens each round judged: a residual token stands for a rejection."""
        rows = zip(self.drafted, self.accepted, self.emitted, strict=True)
        return tuple(a + (a < d and e > a) for d, a, e in rows)

    @property
    def first_overlaps(self) -> tuple[float, ...]:
        """Return sum min(p, q) of each drafting round's first position, which is tested whatever came before it."""
        tested = np.array(self.tested, int)
        ends = tested.cumsum()
        if not len(ends) or ends[-1] != len(self.overlaps):
            return ()
        firsts: list[float] = np.array(self.overlaps)[(ends - tested)[tested > 0]].tolist()
        return tuple(firsts)

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """Return where each token came from, in the words of `records`: accepted, residual, bonus or plain."""
        return tuple(self._origins())

    @cached_property
    def sums(self) -> Sums:
        """Return what the figures need of the rounds."""
        firsts = self.first_overlaps
        return Sums(
            sum(self.round_ms) / 1000, (sum(self.overlaps), len(self.overlaps)), (sum(firsts), len(firsts)),
            *lengths_of(self.drafted, self.accepted),
            times_of(self.setting.k, self.drafted, self.draft_ms, self.verify_ms, self.round_ms),
        )  # fmt: skip

    @property
    def tokens_per_second(self) -> float | None:
        """Return tokens per second of decoding, prefill not counted."""
        return len(self.tokens) / self.sums.seconds if self.sums.seconds > 0 else None

    def prepare(self) -> None:
        """Compute what a screen will ask for; what it asks for afterwards takes no time, however long the run."""
        for name in ("origins", "sums"):
            getattr(self, name)

    def _origins(self) -> Iterator[str]:
        for d, a, e in zip(self.drafted, self.accepted, self.emitted, strict=True):
            yield from ["accepted"] * a
            if e > a:
                yield "plain" if d == 0 else "residual" if a < d else "bonus"


def models_of(target: str, draft: str | None, device: str, dtype: str) -> str:
    """Return what made a run, in a line: runs of other models are never pooled with it."""
    return f"{target} ← {draft or '-'}, {device} {dtype}"


def brief_of(run: Run, models: str, prompt: Prompt, prompt_index: int, texts: Texts, sitting: int = ALONE) -> Brief:
    """Return the run in brief; probabilities keep 7 decimals (they were float32), times a tenth of a microsecond."""
    stream = StreamText(texts, run.prompt)
    stream.push(*run.tokens)
    c, brief = run.config, summary_of(run.rounds)
    source, rule = (c.source, c.rule) if c.k else (PLAIN, PLAIN)
    kept = (overlaps[tested] for _, overlaps, tested in (part.overlaps() for part in parts_of(run.rounds)))
    overlaps = tuple(round(o, 7) for row in kept for o in row.tolist() if o == o)
    drafted, accepted, emitted = (tuple(brief[name].tolist()) for name in ("drafted", "accepted", "emitted"))
    draft_ms, verify_ms, round_ms = (
        tuple(round(ms, 4) for ms in brief[name].tolist()) for name in ("draft_ms", "verify_ms", "round_ms")
    )
    found = Brief(
        Setting(prompt_index, c.seed, c.sampling.temperature, source, rule, c.k), models, prompt,
        c.sampling, c.max_new_tokens, sitting, run.stop, run.notices, round(run.prefill_ms, 4), run.tokens,
        tuple(texts.label(t) for t in run.tokens), stream.shown, drafted, accepted, emitted, overlaps,
        draft_ms, verify_ms, round_ms,
    )  # fmt: skip
    found.prepare()
    return found
