"""The records that every part of SpecScope exchanges, and the words they use.

Knows: names, units and shapes. Does not know: torch, Qt, how anything is computed.

The words, used in the same sense everywhere (code, screen, CSV):

*drafted*    a token proposed by the draft source, drawn from q.
*accepted*   a drafted token that passed its test u < min(1, p/q) and was emitted.
*rejected*   the first drafted token of a round that failed its test. At most one per round.
*discarded*  a drafted token that was never tested: it stood behind a rejection or an end token.
*residual*   the token drawn from norm(max(0, p - q)) in place of a rejected one (vLLM: "recovered").
*bonus*      the token drawn from p at position k + 1 after all drafted tokens were accepted.
*plain*      the token drawn from p in a round that drafted nothing (k = 0, no n-gram match, baseline).
*emitted*    a token that joined the text: accepted, residual, bonus or plain.

p is the target's distribution and q the draft's, both after temperature and filters,
that is exactly the arrays that were sampled from. k is the draft length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]


class Verdict(StrEnum):
    """What became of a drafted token."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DISCARDED = "discarded"


class Kind(StrEnum):
    """Where a token that was not drafted came from."""

    RESIDUAL = "residual"
    BONUS = "bonus"
    PLAIN = "plain"


class StopReason(StrEnum):
    """Why a run ended."""

    BUDGET = "budget"
    END_TOKEN = "end token"
    CONTEXT = "context full"
    STOPPED = "stopped"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become probabilities, for target and draft alike (see `sampling.probabilities`)."""

    temperature: float = 1.0  # 0 = greedy: a one-hot distribution on the lowest-numbered maximum
    top_k: int = 0  # 0 = off
    top_p: float = 1.0  # 1 = off
    min_p: float = 0.0  # 0 = off


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that, with the models and the prompt, determines a run."""

    k: int = 4
    sampling: Sampling = field(default_factory=Sampling)
    rule: str = "exact"
    source: str = "model"
    seed: int = 0
    max_new_tokens: int = 96
    end_tokens: frozenset[int] = frozenset()
    detail: bool = True  # False leaves out bars, entropies and overlap ("trace off")


@dataclass(frozen=True, slots=True)
class Bars:
    """The tokens of one position worth drawing, by max(p, q), the drafted and the extra token always among them.

    The rest of the vocabulary is `1 - p.sum()` and `1 - q.sum()`.
    """

    ids: IntArray  # [m], m <= 34, sorted by max(p, q), largest first, equal ones by id
    p: FloatArray  # [m]
    q: FloatArray | None  # [m]; None where the draft gave no distribution (bonus and plain positions)


@dataclass(frozen=True, slots=True)
class Shape:
    """Whole-vocabulary figures of one position, computed from the full p and q before they were cut to bars."""

    overlap: float | None  # sum min(p, q) = the position's acceptance probability; None without q
    tv: float | None  # sum max(0, p - q) = 1 - overlap = the residual's mass; None without q
    entropy_p: float  # nats
    entropy_q: float | None  # nats
    p_max: float


@dataclass(frozen=True, slots=True)
class ExtraToken:
    """The one token of a round that was not drafted."""

    token_id: int
    kind: Kind
    p: float  # target probability of this token
    u: float  # the uniform that drew it, by inverse CDF over the residual (RESIDUAL) or p (BONUS, PLAIN)


@dataclass(frozen=True, slots=True)
class DraftedToken:
    """A drafted token with all that its verdict follows from."""

    token_id: int
    p: float  # target probability of this token
    q: float  # draft probability of this token; 1 for a deterministic source
    accept_prob: float  # what u_accept must stay below: min(1, p / q) by the exact rule, in float64
    u_draft: float | None  # the uniform that drew it from q; None for a deterministic source
    u_accept: float | None  # the uniform of its test; None when discarded
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Position:
    """One of the k + 1 positions that a target pass scores."""

    position: int  # 1 .. k + 1
    context_length: int  # tokens before this position
    drafted: DraftedToken | None
    extra: ExtraToken | None  # at the rejected position, or at the last one
    shape: Shape | None  # None with trace off
    bars: Bars | None  # None with trace off


@dataclass(frozen=True, slots=True)
class RoundTrace:
    """One round: what was proposed, judged and emitted, and how long it took."""

    index: int  # 0, 1, ...
    context_length: int  # tokens before the round, prompt included
    positions: tuple[Position, ...]  # drafted positions, plus the extra one where there is none among them
    emitted: tuple[int, ...]  # token ids that joined the text, in order
    draft_ms: float  # the whole proposal
    verify_ms: float  # the target's pass over all positions
    round_ms: float  # everything, sampling and trace included
    stop: StopReason | None = None  # set on the round that ended the run

    @property
    def drafted(self) -> int:
        """Return how many tokens were drafted."""
        return sum(p.drafted is not None for p in self.positions)

    @property
    def accepted(self) -> int:
        """Return how many drafted tokens were accepted."""
        return sum(p.drafted is not None and p.drafted.verdict is Verdict.ACCEPTED for p in self.positions)

    @property
    def tested(self) -> int:
        """Return how many drafted tokens were put to the test: accepted plus rejected."""
        return sum(p.drafted is not None and p.drafted.verdict is not Verdict.DISCARDED for p in self.positions)

    @property
    def extra(self) -> ExtraToken | None:
        """Return the residual, bonus or plain token; None when an end token cut the round before it."""
        return next((p.extra for p in self.positions if p.extra is not None), None)


@dataclass(frozen=True, slots=True)
class RunStarted:
    """First event of a run."""

    config: RunConfig
    prompt: tuple[int, ...]  # token ids, beginning-of-text token included
    prefill_ms: float  # target and draft reading all prompt tokens but the last


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Last event of a run."""

    stop: StopReason
    notices: tuple[str, ...] = ()  # sentences for the user, such as "The draft's context is full."


@dataclass(frozen=True, slots=True)
class Run:
    """A finished (or stopped) run as a whole: what the exports and the metrics read."""

    config: RunConfig
    prompt: tuple[int, ...]
    rounds: Sequence[RoundTrace]  # a tuple, or a `store.Rounds`: the same rounds in a tenth of the memory
    prefill_ms: float
    stop: StopReason
    notices: tuple[str, ...] = ()

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return all emitted token ids, in order."""
        known: tuple[int, ...] | None = getattr(self.rounds, "tokens", None)  # a store has them without its rounds
        return tuple(t for r in self.rounds for t in r.emitted) if known is None else known


Event = RunStarted | RoundTrace | RunFinished
