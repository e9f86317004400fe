"""With a draft of another vocabulary the emitted law is still exactly p, and greedy text is the target's own.

Every drafted token and every verdict is asked of the real engine, once in each piece of [0, 1) between thresholds.
q itself is compared with an oracle in float64 from the definition: what the draft reads is translated, rows without a
counterpart leave, the rest is normalised and spread.
"""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import torch

from simulator.drafts.base import no_checkpoint
from simulator.drafts.model import UNKNOWN_TOKEN, ModelDraft
from simulator.engine import speculate
from simulator.models.table import TableModel
from simulator.records import RunConfig, Sampling
from simulator.sampling import probabilities
from simulator.verify import accept_probability
from tests.simulator.test_lossless import distance, target_law, text_law
from tests.simulator.tiny import GREEDY, canned, cdf, fixed, llama, perturbed, pieces, play, random_law

PROMPT = (0,)


@dataclass(frozen=True)
class Case:
    """Sizes, the map and the feed of one kind of pair."""

    vocab: int  # rows of the target
    rows: int  # output rows of the draft
    to_target: tuple[int, ...] | None = None
    feed: tuple[int, ...] | None = None

    def source(self, law, kind=ModelDraft):
        arrays = [None if m is None else np.array(m) for m in (self.to_target, self.feed)]
        return kind(TableModel(law, self.rows), Sampling(), self.vocab, *arrays)

    def read(self, token):
        """Return what the draft reads for a token of the text, -1 for nothing."""
        if self.feed is not None:
            return self.feed[token]
        names = self.to_target or tuple(range(self.rows))
        return names.index(token) if token in names else -1

    def q(self, law, text):
        """Return q [vocab] behind the text, None where the draft cannot read it."""
        read = tuple(map(self.read, text))
        if min(read) < 0:
            return None
        row = np.zeros(self.vocab)
        for j, share in enumerate(law(read)):
            t = (self.to_target or range(self.rows))[j]
            if 0 <= t < self.vocab:
                row[t] = share
        return row / row.sum()


CASES = {
    "padded, fewer rows": Case(4, 3),
    "padded, more rows": Case(3, 5),
    "few": Case(4, 4, (0, -1, 2, 3), (0, 2, 2, 3)),
    "few, nothing to read for one": Case(4, 4, (0, -1, 2, 3)),
    "reduced, cut down": Case(4, 3, (2, 0, -1), (1, 0, 0, 1)),
    "reduced, whole embedding": Case(4, 2, (3, 1), (0, 1, 2, 3)),
    "reduced, shortlist": Case(4, 4, (-1, 1, 2, -1), (0, 1, 2, 3)),
}


class RemovedAfterSoftmax(ModelDraft):
    """The wrong way: q of the accept ratio is not what was drawn from, for rows leave behind the softmax."""

    def _fill(self, row, logits, position):
        super()._fill(row, logits, position)
        row *= probabilities(logits, self._sampling)[0][self._rows].sum()


def emitted_law(monkeypatch, case, k, budget, kind=ModelDraft):
    """Return the law of the texts that the engine emits, and the target's."""
    law_p, law_q = random_law(case.vocab, 1), random_law(case.rows, 2)
    target, source = TableModel(law_p, case.vocab), case.source(law_q, kind)

    @cache
    def q_behind(text):
        source.reset()
        proposal = source.propose(text, np.array([0.5]), no_checkpoint)
        return proposal.q[0] if proposal.tokens else None

    def one_round(text, left):
        law, context = defaultdict(float), PROMPT + text
        room = min(k, left - 1) if q_behind(context) is not None else 0
        for tokens in itertools.product(range(case.vocab), repeat=room):
            texts = [context + tokens[:i] for i in range(room + 1)]
            if any(q_behind(t)[x] == 0 for t, x in zip(texts, tokens, strict=False)):
                continue
            ps, qs = [law_p(t) for t in texts], [q_behind(t) for t in texts[:room]]
            chosen = [pieces(*cdf(q))[np.flatnonzero(q).tolist().index(t)] for q, t in zip(qs, tokens, strict=True)]
            tests = [pieces(accept_probability(ps[i][t], qs[i][t])) for i, t in enumerate(tokens)]
            left_over = [np.maximum(p - q, 0) for p, q in zip(ps, qs, strict=False)]
            extra = pieces(*(c for row in (*ps, *left_over) for c in cdf(row)))
            for *accept, (u_extra, width) in itertools.product(*tests, extra):
                fill = [0.5] * (k - room)
                canned(monkeypatch, [*(u for u, _ in accept), *fill], u_extra, [*(u for u, _ in chosen), *fill])
                config = RunConfig(k=k, max_new_tokens=left, detail=False)
                _, trace, *_ = itertools.islice(speculate(target, source, context, config), 2)
                assert tuple(p.drafted.token_id for p in trace.positions if p.drafted) == tokens
                law[trace.emitted] += width * math.prod(w for _, w in (*chosen, *accept))
        return law

    return text_law(one_round, budget), target_law(lambda text: law_p(PROMPT + text), case.vocab, budget)


@pytest.mark.parametrize("name", CASES)
def test_the_emitted_law_is_exactly_the_targets_for_every_kind(monkeypatch, name):
    """By enumeration through the engine; float32 rows, so to 1e-6."""
    law, expected = emitted_law(monkeypatch, CASES[name], k=1, budget=2)
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    assert distance(law, expected) < 1e-6


@pytest.mark.parametrize("name", ["reduced, cut down", "reduced, whole embedding"])
def test_so_it_is_with_two_drafted_tokens(monkeypatch, name):
    law, expected = emitted_law(monkeypatch, CASES[name], k=2, budget=3)
    assert distance(law, expected) < 1e-6


def test_rows_that_leave_behind_the_softmax_fail_the_same_check(monkeypatch):
    law, expected = emitted_law(monkeypatch, CASES["few"], k=1, budget=2, kind=RemovedAfterSoftmax)
    assert distance(law, expected) > 1e-2


@pytest.mark.parametrize("name", CASES)
def test_q_is_the_oracles_and_drafted_ids_are_the_targets(name):
    case, law = CASES[name], random_law(CASES[name].rows, 2)
    proposal = case.source(law).propose([0, 2, 0], np.array([0.1, 0.6, 0.95]), no_checkpoint)
    text = (0, 2, 0)
    for row, token, u in zip(proposal.q, proposal.tokens, proposal.u, strict=True):
        q = case.q(law, text)
        assert row == pytest.approx(q, abs=1e-6)
        assert (row[q == 0] == 0).all()
        assert token == int(np.searchsorted(np.cumsum(q), u, side="right"))
        text = (*text, token)
    assert len(proposal.tokens) == 3


def test_filters_count_only_rows_with_a_counterpart():
    """With top-k = 2 before the rows leave, the draft would be left with a single token, or none."""
    model = fixed((0.4, 0.3, 0.2, 0.1))
    draft = ModelDraft(model, Sampling(top_k=2), 6, np.array([-1, 5, 1, 0]), np.zeros(6, np.int64))
    assert draft.propose([0], np.array([0.5]), no_checkpoint).q[0].tolist() == pytest.approx([0, 0.4, 0, 0, 0, 0.6])


def test_a_token_that_nothing_can_stand_for_ends_drafting_with_a_notice():
    draft = ModelDraft(fixed((0.5, 0.5)), Sampling(), 4, np.array([2, 0]))
    assert draft.propose([0, 2], np.array([0.5]), no_checkpoint).tokens
    draft.reset()
    draft.prefill([0, 1, 0], no_checkpoint)
    assert draft.model.length == 0
    ended = draft.propose([0, 1, 0], np.array([0.5]), no_checkpoint)
    assert (ended.tokens, ended.notice) == ((), UNKNOWN_TOKEN)


def cut_down(target, rows, noise=0.15):
    """Return a copy of the target with these rows of embedding and output layer (-1: a row of noise), a little off."""
    from transformers import LlamaForCausalLM

    copy = perturbed(target, noise).model
    config = type(copy.config)(**{**copy.config.to_dict(), "vocab_size": len(rows)})
    draft = LlamaForCausalLM(config)
    state = copy.state_dict()
    generator = torch.Generator().manual_seed(3)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        made = state[name].std() * torch.randn((len(rows), 32), generator=generator)
        known = torch.tensor([r >= 0 for r in rows])
        made[known] = state[name][torch.tensor([r for r in rows if r >= 0])]
        state[name] = made
    draft.load_state_dict(state)
    return type(target)(draft, "cut-down")


SHUFFLED = np.random.default_rng(5).permutation(128)[:64]
PAIRS = {
    "padded, fewer rows": (range(120), None, None),
    "padded, more rows": ([*range(128), *[-1] * 8], None, None),
    "few": (range(128), [-1 if i in (11, 40) else i for i in range(128)], [12 if i == 11 else i for i in range(128)]),
    "reduced": (SHUFFLED, SHUFFLED, [int(np.argmin(abs(SHUFFLED - i))) for i in range(128)]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_greedy_text_with_a_draft_of_another_vocabulary_is_the_targets_own(name):
    rows, *maps = PAIRS[name]
    target = llama(1)
    source = ModelDraft(
        cut_down(target, list(rows)), GREEDY, target.vocab, *(None if m is None else np.array(m) for m in maps)
    )
    settings = {"sampling": GREEDY, "max_new_tokens": 48}
    kept = drafted = 0
    for prompt in ([5, 6, 7], [40, 11, 90, 3]):
        plain = play(target, None, prompt, k=0, **settings)
        run = play(target, source, prompt, k=4, **settings)
        assert run.tokens == plain.tokens
        kept, drafted = kept + sum(t.accepted for t in run.rounds), drafted + sum(t.drafted for t in run.rounds)
    assert 0 < kept < drafted
