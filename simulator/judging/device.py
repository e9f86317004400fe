"""A round on the device that the target is on: one wait and one small transfer, whatever the vocabulary.

Knows the exact rule and the cut to bars as tensor operations that never wait. `host` is the oracle: same tokens, same
verdicts, same bars. At 152,064 rows a position has 1.2 MB of p and q; what comes back is some 850 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint, DraftSource, Queued, Queueing
from simulator.judging.base import Judged, until_end_token
from simulator.judging.host import proposed
from simulator.models.base import Following
from simulator.records import Bars, Kind, RunConfig, Shape
from simulator.reduction import KEPT
from simulator.sampling import distributions, draw_there, require_finite, to_host
from simulator.uniforms import RoundUniforms
from simulator.verify import Outcome, accept_probability

IDS = 2**32 - 1  # above every token id

Fetched = Mapping[str, NDArray[np.float64]]


class Device:
    """Judges where the target is; drafts are drawn there too, if the draft is there as well."""

    def __init__(self, target: Any, source: DraftSource | None, config: RunConfig) -> None:
        self.target, self.source, self._config = target, source, config
        self._device: torch.device = target.device
        self._queueing: Queueing | None = None
        if isinstance(source, Queueing) and isinstance(target, Following) and source.queue_device == self._device:
            self._queueing = source

    def draft(self, text: Sequence[int], uniforms: NDArray[np.float64], checkpoint: Checkpoint) -> Queued:
        """Return what the source drafts, without waiting where the source can."""
        if self._queueing is not None and len(uniforms):
            return self._queueing.queue(text, uniforms, checkpoint)
        proposal = proposed(self.source, text, uniforms, self.target.vocab, checkpoint)
        tokens = torch.tensor(proposal.tokens, dtype=torch.long)
        q = self._there(torch.from_numpy(proposal.q))
        return Queued(self._there(tokens), q, proposal.u, proposal.notice, known=proposal.tokens)

    def verify(self, pending: int, draft: Queued) -> torch.Tensor:
        """Return the target's logits [n + 1, vocab]."""
        if draft.known is not None:
            return self.target.extend([pending, *draft.known])
        return self.target.follow(torch.cat([self._there(torch.tensor([pending])), draft.tokens]))

    def judge(self, logits: torch.Tensor, draft: Queued, u: RoundUniforms) -> Judged:
        """Return the verdict of the exact rule."""
        n, q = len(draft.u), draft.q
        p = distributions(logits, self._config.sampling)
        u_accept = self._there(torch.tensor(u.accept[:n].tolist(), dtype=torch.float64))
        parts = verdict(p, q, draft.tokens, u_accept, u.extra)
        if self._config.detail:
            parts |= figures(p, q)
        maxima = {"p_max": p.amax(-1), "q_max": q.amax(-1)}  # NaN in a row that is no distribution
        found = fetched({"tokens": draft.tokens, **maxima, **parts})  # the one wait
        require_finite(found["q_max"], draft.model)
        require_finite(found["p_max"], self.target.name)

        tokens, p_x, q_x = tuple(found["tokens"].astype(int).tolist()), found["p"].tolist(), found["q"].tolist()
        limits = [accept_probability(*both) for both in zip(p_x, q_x, strict=True)]
        passed = len([*takewhile(lambda i: u.accept[i] < limits[i], range(n))])
        assert passed == int(found["accepted"][0]), (passed, found)  # the same division of the same numbers
        judged = until_end_token(tokens, self._config.end_tokens)
        accepted = min(passed, judged)
        kind = Kind.RESIDUAL if accepted < judged else Kind.BONUS if judged else Kind.PLAIN
        outcome = Outcome(accepted, min(accepted + 1, judged), int(found["extra"][0]), kind)
        return Judged(tokens, draft.u, p_x, q_x, limits, outcome, float(found["p_extra"][0]),
                      partial(_details, found, tokens, outcome))  # fmt: skip

    def _there(self, values: torch.Tensor) -> torch.Tensor:
        """Return a tensor on the device, without waiting for what it still has to do."""
        return values.to(self._device, non_blocking=True)


def verdict(
    p: torch.Tensor, q: torch.Tensor, tokens: torch.Tensor, u_accept: torch.Tensor, u_extra: float
) -> dict[str, torch.Tensor]:
    """Return what `verify.exact` decides about p [n + 1, vocab], q [n, vocab], tokens [n] and u_accept [n] (float64).

    p, q [n]: the tokens' own; accepted [1]: how many are kept; extra [1] with p_extra and q_extra [1]: the token drawn.
    """
    n = len(tokens)
    p_x, q_x = (rows.gather(1, tokens[:, None])[:, 0] for rows in (p[:n], q))
    kept = u_accept < p_x.double() / q_x.double()
    accepted = kept.long().cumprod(0).sum(0, keepdim=True)
    row = p.index_select(0, accepted)[0]
    q_row = q.index_select(0, accepted.clamp(max=n - 1))[0] * (accepted < n) if n else torch.zeros_like(row)
    left = (row - q_row).clamp(min=0)  # p itself behind the last token, where q counts as 0
    extra = draw_there(torch.where(left.any(), left, row), u_extra)
    return {"p": p_x, "q": q_x, "accepted": accepted, "extra": extra, "p_extra": row[extra], "q_extra": q_row[extra]}


def figures(p: torch.Tensor, q: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return what `reduction.shapes` and `reduction.bars` say about p [n + 1, vocab] and q [n, vocab].

    tv, entropy_q [n], entropy_p [n + 1], and the `KEPT` largest entries: ids, p_top [n + 1, m], q_top [n, m].
    """
    n, vocab = len(q), p.shape[1]
    height = torch.cat([torch.maximum(p[:n], q), p[n:]])
    # float32 numbers from 0 on are in the order of their bits; the id below them puts the first of equal ones first
    keys = (height.view(torch.int32).long() << 32) + (IDS - torch.arange(vocab, device=p.device))
    ids = IDS - (keys.topk(min(KEPT, vocab)).values & IDS)
    return {
        "tv": (p[:n] - q).clamp_(min=0).sum(-1, dtype=torch.float64).clamp_(max=1),
        "entropy_p": 0 - torch.xlogy(p, p).sum(-1), "entropy_q": 0 - torch.xlogy(q, q).sum(-1),
        "ids": ids, "p_top": p.gather(1, ids), "q_top": q.gather(1, ids[:n]),
    }  # fmt: skip


def fetched(parts: Mapping[str, torch.Tensor]) -> Fetched:
    """Return all parts as float64 arrays of their shapes, with one wait and one transfer."""
    flat = to_host(torch.cat([part.double().flatten() for part in parts.values()]))
    ends = np.cumsum([part.numel() for part in parts.values()])[:-1]
    return {name: piece.reshape(part.shape)
            for (name, part), piece in zip(parts.items(), np.split(flat, ends), strict=True)}  # fmt: skip


def _details(
    found: Fetched, tokens: Sequence[int], outcome: Outcome, always: Sequence[Sequence[int]]
) -> tuple[list[Shape], list[Bars]]:
    n, count = len(tokens), len(always)
    tv, entropies_q = found["tv"].tolist(), found["entropy_q"].tolist()
    entropies_p, p_max = found["entropy_p"].tolist(), found["p_max"].tolist()
    figures = [
        Shape(1 - tv[i], tv[i], entropies_p[i], entropies_q[i], p_max[i]) if i < n
        else Shape(None, None, entropies_p[i], None, p_max[i])
        for i in range(count)
    ]  # fmt: skip
    shown = []
    for i, named in enumerate(always):
        own = {tokens[i]: (found["p"][i], found["q"][i])} if i < n else {}
        if i == outcome.accepted:
            own.setdefault(outcome.extra, (found["p_extra"][0], found["q_extra"][0]))
        ids = found["ids"][i].astype(np.int32)
        lower = sorted({*named} - {*ids.tolist()}, key=lambda t: (-max(own[t]), t))
        p = np.array([*found["p_top"][i], *(own[t][0] for t in lower)], np.float32)
        q = np.array([*found["q_top"][i], *(own[t][1] for t in lower)], np.float32) if i < n else None
        shown.append(Bars(np.array([*ids, *lower], np.int32), p, q))
    return figures, shown
