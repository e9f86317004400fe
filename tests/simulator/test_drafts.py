"""Draft sources: what they propose, with which q, and what they remember."""

import itertools

import numpy as np
import pytest
import torch

from simulator.drafts.base import no_checkpoint
from simulator.drafts.model import CONTEXT_FULL, ModelDraft
from simulator.drafts.ngram import HELP, NgramDraft, lookup
from simulator.engine import Stopped
from simulator.models.base import CHUNK
from simulator.models.table import TableModel
from simulator.records import Sampling, Verdict
from tests.simulator.tiny import GREEDY, P, Q, fixed, play, random_law


@pytest.mark.parametrize(
    ("context", "k", "found"),
    [
        ([7], 3, ()),
        ([], 3, ()),
        ([1, 1, 1], 3, (1,)),  # the suffix never matches itself
        ([1, 2, 3, 1, 2], 3, (3, 1, 2)),
        ([5, 6, 1, 5, 6, 2, 5, 6], 2, (2, 5)),  # the latest match wins
        ([1, 2, 0, 1, 2], 1, (0,)),  # token 0 where it really follows
        ([1, 2, 3, 4], 3, ()),  # no match: no placeholder
        ([1, 2, 3, 1, 2], 0, ()),
    ],
)
def test_lookup_of_the_last_two_tokens(context, k, found):
    assert lookup(context, (2,), k) == found


def test_longer_matches_come_first():
    context = [9, 1, 2, 3, 7, 4, 2, 3, 8, 5, 3, 6, 1, 2, 3]
    assert lookup(context, (3, 2, 1), 1) == (7,)
    assert lookup(context, (2, 1), 1) == (8,)
    assert lookup(context, (1,), 1) == (6,)
    assert lookup([4, 1, 2, 3, 9, 3], (3, 2, 1), 2) == (9, 3)  # else shorter ones


def slow_lookup(context, sizes, k):
    """Return what `lookup` does, by the definition."""
    for n in sizes:
        for start in range(len(context) - n - 1, -1, -1):
            if context[start : start + n] == context[len(context) - n :]:
                return tuple(context[start + n : start + n + k])
    return ()


def test_lookup_agrees_with_its_definition_on_every_short_text():
    for length in range(1, 8):
        for context in itertools.product((0, 1), repeat=length):
            for k in (1, 3):
                assert lookup(context, (3, 2, 1), k) == slow_lookup(list(context), (3, 2, 1), k)


def test_ngram_proposals_have_one_hot_q_and_no_uniforms():
    proposal = NgramDraft(9).propose([1, 2, 0, 1, 2], np.full(3, 0.5), no_checkpoint)
    assert proposal.tokens == (0, 1, 2)
    assert proposal.q.tolist() == np.eye(9)[[0, 1, 2]].tolist()
    assert proposal.u == (None, None, None)
    nothing = NgramDraft(9).propose([1], np.full(3, 0.5), no_checkpoint)
    assert (nothing.tokens, nothing.q.shape) == ((), (0, 9))
    assert "latest wins" in HELP


def test_ngram_drafts_come_from_the_runs_own_text():
    target, source = fixed([0.1] * 10), NgramDraft(10)
    play(target, source, [8, 9] * 100, k=4, max_new_tokens=10)
    run = play(target, source, [0, 1, 2, 3] * 5, k=4, max_new_tokens=40)
    text = [*run.prompt, *run.tokens]
    for trace in run.rounds:
        tokens = [p.drafted.token_id for p in trace.positions if p.drafted]
        before = text[: trace.context_length]
        assert not tokens or any(before[i : i + len(tokens)] == tokens for i in range(len(before)))
    assert {p.drafted.q for t in run.rounds for p in t.positions if p.drafted} == {1.0}


def test_a_model_draft_draws_each_token_from_the_q_it_reports():
    law = random_law(5, 3)
    draft = ModelDraft(TableModel(law, 5), Sampling(), 5)
    proposal = draft.propose([0, 1], np.array([0.1, 0.5, 0.9]), no_checkpoint)
    for i in range(3):
        q = law((0, 1, *proposal.tokens[:i]))
        assert proposal.q[i] == pytest.approx(q, abs=1e-7)
        assert proposal.tokens[i] == int(np.searchsorted(np.cumsum(q), proposal.u[i], side="right"))
    assert proposal.u == (0.1, 0.5, 0.9)


def test_filters_and_temperature_reach_the_drafts_q():
    draft = ModelDraft(fixed((0.4, 0.3, 0.2, 0.1)), Sampling(top_k=2), 4)
    assert draft.propose([0], np.array([0.99]), no_checkpoint).q[0].tolist() == pytest.approx([4 / 7, 3 / 7, 0, 0])
    greedy = ModelDraft(fixed(Q), GREEDY, 3).propose([0], np.array([0.0]), no_checkpoint)
    assert (greedy.tokens, greedy.q.tolist()) == ((1,), [[0, 1, 0]])


def test_a_greedy_draft_of_a_sampled_target_is_judged_as_one_hot():
    run = play(fixed(P), ModelDraft(fixed(Q), GREEDY, 3), [0], k=1, max_new_tokens=200)
    drafted = [p.drafted for t in run.rounds for p in t.positions if p.drafted]
    assert {(d.token_id, d.q) for d in drafted} == {(1, 1.0)}
    assert {d.accept_prob for d in drafted} == {float(np.float32(0.3))}
    assert {d.verdict for d in drafted} == {Verdict.ACCEPTED, Verdict.REJECTED}


def test_the_draft_reads_every_token_once_and_forgets_what_was_rejected():
    model, reads = fixed(Q), []
    extend = model.extend
    model.extend = lambda tokens, keep=None: (reads.append(list(tokens)), extend(tokens, keep))[1]
    draft = ModelDraft(model, Sampling(), 3)
    draft.prefill([0, 1, 2], no_checkpoint)
    first = draft.propose([0, 1, 2], np.full(3, 0.5), no_checkpoint).tokens
    draft.commit([0, 1, 2, first[0], 2])  # one accepted, then the residual 2
    assert model.tokens == (0, 1, 2, first[0])
    draft.propose([0, 1, 2, first[0], 2], np.full(2, 0.5), no_checkpoint)
    draft.commit([0, 1, 2, first[0], 2, 1, 1, 0])  # both accepted and a bonus: its own last proposal is unread
    assert model.tokens == (0, 1, 2, first[0], 2, 1)
    draft.propose([0, 1, 2, first[0], 2, 1, 1, 0], np.full(1, 0.5), no_checkpoint)
    assert reads == [[0, 1], [2], [first[0]], [first[1]], [2], [1], [1, 0]]
    draft.reset()
    assert model.length == 0


@pytest.mark.parametrize(("length", "tokens"), [(29, 4), (30, 3), (31, 2), (32, 1), (33, 0), (40, 0)])
def test_no_draft_pass_reaches_a_position_the_draft_does_not_have(length, tokens):
    model = fixed(Q, max_length=32)
    draft = ModelDraft(model, Sampling(), 3)
    draft.prefill([0] * length, no_checkpoint)
    proposal = draft.propose([0] * length, np.full(4, 0.5), no_checkpoint)
    assert len(proposal.tokens) == tokens
    assert proposal.notice == (CONTEXT_FULL if tokens == 0 else None)
    assert model.length <= 32


def test_a_long_prompt_is_read_in_chunks_with_a_checkpoint_before_each():
    """A stop while the draft read a long prompt waited for all of it, and the first round was charged for it."""
    model, passes = fixed(Q), []
    model.extend = lambda tokens, keep=None: (passes.append(len(tokens)), torch.zeros(1, 3))[1]
    checks = itertools.count()

    def checkpoint():
        if next(checks) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        ModelDraft(model, Sampling(), 3).prefill([0] * (3 * CHUNK + 1), checkpoint)
    assert passes == [CHUNK, CHUNK]
