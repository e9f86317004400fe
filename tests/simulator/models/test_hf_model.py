"""transformers models: cache arithmetic, rollback, and speculative text equal to plain text."""

import numpy as np
import pytest
import torch

from simulator.drafts.base import no_checkpoint
from simulator.drafts.model import CONTEXT_FULL, ModelDraft
from simulator.drafts.ngram import NgramDraft
from simulator.models.hf import HFModel
from simulator.records import Kind, Sampling, Verdict
from tests.simulator.tiny import ALWAYS, GREEDY, NEVER, canned, llama, perturbed, play

PROMPT = [3, 14, 15, 92, 65, 35, 89, 79, 32, 38]


def fresh_logits(model: HFModel, text) -> torch.Tensor:
    """Return the logits [n, vocab] of one pass over the whole text without a cache."""
    with torch.inference_mode():
        return model.model(input_ids=torch.tensor([list(text)]), use_cache=False).logits[0]


@pytest.fixture(scope="module")
def target() -> HFModel:
    return llama(1)


@pytest.fixture(scope="module")
def draft(target) -> HFModel:
    return perturbed(target, 0.7)


@pytest.fixture(params=["full attention", "sliding window"])
def model(request) -> HFModel:
    return llama(2, window=8 if request.param == "sliding window" else 0)


def test_logits_after_every_rollback_equal_a_fresh_pass(model):
    """Rolling a sliding window back raised an error from its eighth token on."""
    rng, text = np.random.default_rng(0), []
    for step in range(30):
        tokens = rng.integers(0, 128, rng.integers(1, 7)).tolist()
        logits = model.extend(tokens)
        text += tokens
        assert logits.shape == (len(tokens), 128)
        assert (logits - fresh_logits(model, text)[-len(tokens) :]).abs().max() < 1e-4, step
        n = int(rng.integers(0, len(tokens)))
        model.rollback(n)
        del text[len(text) - n :]
        assert model.length == len(text)
    assert model.extend([5, 6, 7], keep=1).shape == (1, 128)
    model.reset()
    assert model.length == 0
    assert (model.extend(PROMPT) - fresh_logits(model, PROMPT)).abs().max() < 1e-4


def test_a_rollback_beyond_the_beginning_is_a_fault(target):
    target.reset()
    target.extend([1, 2])
    with pytest.raises(AssertionError):
        target.rollback(3)


@pytest.mark.parametrize(
    ("length", "k", "accepted"), [*((10, 4, a) for a in range(5)), (128, 5, 0), (128, 5, 2), (128, 5, 5)]
)
def test_cache_lengths_and_trims_of_a_round(monkeypatch, length, k, accepted):
    """Draft caches were trimmed two entries too far each round, so the draft slowly lost its context."""
    target, draft = llama(1, sharpness=0.1), llama(2, sharpness=200)  # p nearly flat below a peaked q
    canned(monkeypatch, [ALWAYS] * accepted + [NEVER] * (k - accepted), draft=[0.5] * k)
    trims = {model.name: [] for model in (target, draft)}
    for model in (target, draft):
        rollback = model.rollback
        monkeypatch.setattr(
            model, "rollback", lambda n, model=model, rollback=rollback: (trims[model.name].append(n), rollback(n))
        )
    prompt = np.random.default_rng(0).integers(0, 128, length).tolist()
    [trace, *_] = play(target, ModelDraft(draft, Sampling(), 128), prompt, k=k, max_new_tokens=k + 1).rounds
    assert trace.accepted == accepted
    assert length + len(trace.emitted) == length + accepted + 1
    if accepted < k:  # the round used the whole budget otherwise, so the lengths are those behind it
        assert trims["tiny-1"][0] == k - accepted
        assert trims["tiny-2"][0] == k - accepted - 1
    else:
        assert (target.length, draft.length) == (length + k, length + k - 1)
        assert trims == {"tiny-1": [0], "tiny-2": [0]}


def test_after_each_round_both_caches_hold_the_text_and_no_more(target, draft):
    source = ModelDraft(draft, Sampling(), 128)
    commit, seen = source.commit, []

    def watched(context):
        commit(context)
        seen.append((target.length, draft.length, len(context)))

    source.commit = watched
    run = play(target, source, PROMPT, k=4, max_new_tokens=60, seed=3)
    for trace, (ours, theirs, length) in zip(run.rounds, seen, strict=True):
        assert ours == length - 1  # one token is pending
        assert theirs == length - 1 - (trace.accepted == trace.drafted > 0)  # and the last draft is unread
    assert {t.accepted for t in run.rounds} >= {0, 1, 4}


@pytest.mark.parametrize("window", [0, 8])
def test_greedy_speculative_text_is_the_plain_greedy_text_for_every_k(target, draft, window):
    if window:
        target, draft = llama(3, window=window), llama(4, window=window)
    plain = play(target, None, PROMPT, k=0, sampling=GREEDY, max_new_tokens=64).tokens
    sources = [ModelDraft(draft, GREEDY, 128), NgramDraft(128)]
    accepted = 0
    for k in (1, 4, 8) if window else range(9):
        for source in sources:
            run = play(target, source, PROMPT, k=k, sampling=GREEDY, max_new_tokens=64)
            assert run.tokens == plain
            accepted += sum(t.accepted for t in run.rounds)
    assert accepted > 0


@pytest.mark.parametrize("sampling", [Sampling(), GREEDY, Sampling(temperature=0.5, top_k=20, top_p=0.9)])
def test_a_model_that_drafts_for_itself_is_always_accepted(target, sampling):
    own = HFModel(target.model, "itself")
    for seed in range(3):
        run = play(
            target, ModelDraft(own, sampling, 128), PROMPT, k=4, sampling=sampling, max_new_tokens=100, seed=seed
        )
        assert len(run.rounds) == 20
        assert sum(t.accepted for t in run.rounds) == 80
        drafted = [p.drafted for t in run.rounds for p in t.positions if p.drafted]
        assert min(d.accept_prob for d in drafted) > 0.999
        assert all(p.shape.overlap > 0.999 for t in run.rounds for p in t.positions if p.drafted)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.7, top_k=30, min_p=0.02)])
def test_the_p_in_the_trace_is_the_softmax_of_a_fresh_pass(target, draft, sampling):
    run = play(target, ModelDraft(draft, sampling, 128), PROMPT, k=4, sampling=sampling, max_new_tokens=40)
    logits = fresh_logits(target, [*run.prompt, *run.tokens]).double() / sampling.temperature
    if sampling.top_k:
        logits[logits < logits.topk(sampling.top_k).values[:, -1:]] = -torch.inf
        p = logits.softmax(-1)
        logits[p < sampling.min_p * p.amax(-1, keepdim=True)] = -torch.inf
    fresh = logits.softmax(-1).numpy()
    kinds, n = set(), len(run.prompt)
    for trace in run.rounds:
        for position in trace.positions[: len(trace.emitted)]:
            row = fresh[n - 1]
            assert np.abs(position.bars.p - row[position.bars.ids]).max() < 1e-6
            if position.drafted:
                assert position.drafted.p == pytest.approx(row[position.drafted.token_id], abs=1e-6)
                kinds.add(position.drafted.verdict)
            if position.extra:
                assert position.extra.p == pytest.approx(row[position.extra.token_id], abs=1e-6)
                kinds.add(position.extra.kind)
            n += 1
    assert kinds >= {Verdict.ACCEPTED, Verdict.REJECTED, Kind.RESIDUAL, Kind.BONUS}


def test_a_draft_with_32_positions_is_never_read_beyond_them(target):
    short = llama(5, positions=32)
    prompt = [*PROMPT, *PROMPT, *PROMPT]
    run = play(target, ModelDraft(short, Sampling(), 128), prompt, k=4, max_new_tokens=40)
    assert run.rounds[0].drafted == 3
    assert len(run.tokens) == 40
    assert run.notices == (CONTEXT_FULL,)
    assert short.length <= 32


def test_a_sliding_window_draft_that_never_reads_is_committed_all_the_same():
    draft = ModelDraft(llama(6, positions=4, window=8), Sampling(), 128)
    draft.prefill(PROMPT, no_checkpoint)
    assert draft.propose(PROMPT, np.full(3, 0.5), no_checkpoint).tokens == ()
    draft.commit([*PROMPT, 1])


def test_the_prompt_in_one_pass_and_token_by_token_give_the_same_first_token(target):
    whole = play(target, None, PROMPT, k=0, sampling=GREEDY, max_new_tokens=1)
    target.reset()
    for token in PROMPT:
        last = target.extend([token], keep=1)
    assert int(last.argmax()) == whole.tokens[0]
    assert whole.rounds[0].positions[0].bars.p.max() == 1
