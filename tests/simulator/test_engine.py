"""Rounds with table models, number by number: golden positions, plain decoding, resuming, seeds, broken logits."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from simulator.drafts.model import ModelDraft
from simulator.drafts.ngram import NgramDraft
from simulator.engine import autoregress, speculate
from simulator.models.table import TableModel
from simulator.records import Kind, RoundTrace, RunConfig, RunStarted, Sampling, Verdict
from simulator.sampling import BrokenLogitsError
from tests.simulator.tiny import (
    ALWAYS,
    GREEDY,
    NEVER,
    UNIFORM,
    P,
    Q,
    Script,
    canned,
    fixed,
    play,
    unlike,
    untimed,
    verdicts,
)


def test_a_round_says_everything_about_its_golden_positions(monkeypatch):
    canned(monkeypatch, accept=[0.9, 0.55, 0.7], extra=0.99, draft=[0.1, 0.5, 0.8])
    target = fixed(P)
    source = ModelDraft(fixed(Q), Sampling(), 3)
    [trace] = play(target, source, [1, 1], k=3, max_new_tokens=4).rounds[:1]
    assert [p.drafted.token_id for p in trace.positions] == [0, 1, 2]
    assert [p.drafted.accept_prob for p in trace.positions] == pytest.approx([1, 0.6, 2 / 3], abs=1e-6)
    assert [p.drafted.u_draft for p in trace.positions] == [0.1, 0.5, 0.8]
    assert [p.drafted.u_accept for p in trace.positions] == [0.9, 0.55, 0.7]
    assert [p.context_length for p in trace.positions] == [2, 3, 4]
    assert verdicts(trace) == "aar"
    assert (trace.extra.token_id, trace.extra.kind, trace.extra.u) == (0, Kind.RESIDUAL, 0.99)
    assert trace.extra.p == pytest.approx(0.5, abs=1e-7)
    assert trace.emitted == (0, 1, 0)
    assert [p.extra is not None for p in trace.positions] == [False, False, True]
    assert [p.shape.overlap for p in trace.positions] == pytest.approx([0.7] * 3, abs=1e-6)


def test_a_token_behind_a_rejection_is_discarded_and_was_never_tested(monkeypatch):
    canned(monkeypatch, accept=[ALWAYS, NEVER, ALWAYS, ALWAYS])
    trace = play(fixed(UNIFORM), Script([0, 1, 2, 3], 8), [0], k=4, max_new_tokens=9).rounds[0]
    assert verdicts(trace) == "ardd"
    assert [p.drafted.u_accept for p in trace.positions] == [ALWAYS, NEVER, None, None]
    assert (trace.drafted, trace.tested, trace.accepted, len(trace.emitted)) == (4, 2, 1, 2)


@pytest.mark.parametrize("seed", range(5))
def test_k_0_is_plain_decoding_with_the_same_seed(seed):
    target, source = unlike()
    config = RunConfig(k=0, max_new_tokens=20, seed=seed)
    plain = [e for e in autoregress(target, [0, 1], replace(config, k=4)) if isinstance(e, RoundTrace)]
    zero = play(target, source, [0, 1], k=0, max_new_tokens=20, seed=seed)
    assert untimed(plain) == untimed(zero.rounds)
    assert len(zero.rounds) == 20
    assert {t.extra.kind for t in zero.rounds} == {Kind.PLAIN}
    assert all(t.drafted == 0 and t.draft_ms == 0 for t in zero.rounds)
    assert source.model.length == 0  # the draft read nothing


def test_an_ngram_source_that_never_matches_is_plain_decoding():
    cycle = TableModel(lambda context: np.eye(9)[min(len(context), 8)], 9)  # 0, 1, 2, ...: nothing repeats
    found = play(cycle, NgramDraft(9), [0], k=4, max_new_tokens=8)
    assert untimed(found.rounds) == untimed(play(cycle, None, [0], k=0, max_new_tokens=8).rounds)


@pytest.mark.parametrize("at", [1, 3, 7])
@pytest.mark.parametrize("source_name", ["model", "ngram", None])
def test_going_on_behind_earlier_rounds_gives_the_uninterrupted_trace(at, source_name):
    target, source = unlike()
    source = {"model": source, "ngram": NgramDraft(5), None: None}[source_name]
    config = RunConfig(k=3, max_new_tokens=30, seed=9)
    whole = play(target, source, [0, 1], k=3, max_new_tokens=30, seed=9).rounds
    events = list(speculate(target, source, [0, 1], config, earlier=whole[:at]))
    assert untimed([*whole[:at], *events[1:-1]]) == untimed(whole)
    assert isinstance(events[0], RunStarted)
    assert events[0].prompt == (0, 1)


def test_a_seed_repeats_its_run_and_another_does_not():
    target, source = unlike()
    runs = [play(target, source, [0], k=4, max_new_tokens=40, seed=s) for s in (42, 42, 43)]
    assert untimed(runs[0].rounds) == untimed(runs[1].rounds)
    assert runs[0].tokens != runs[2].tokens
    greedy = ModelDraft(source.model, GREEDY, 5)
    assert (
        len({play(target, greedy, [0], k=4, max_new_tokens=40, seed=s, sampling=GREEDY).tokens for s in range(5)}) == 1
    )


@pytest.mark.parametrize("source_name", ["model", "ngram"])
def test_a_run_leaves_nothing_to_the_next(source_name):
    def fresh():
        target, source = unlike()
        return target, source if source_name == "model" else NgramDraft(5)

    used = fresh()
    play(*used, [0, 1, 2, 3] * 20, k=4, max_new_tokens=20)
    list(itertools.islice(speculate(*used, [1], RunConfig(k=4)), 3))  # one given up in the middle
    runs = [play(*each, [4, 1, 0], k=3, max_new_tokens=15, seed=5) for each in (used, fresh())]
    assert untimed(runs[0].rounds) == untimed(runs[1].rounds)


@pytest.mark.parametrize("broken", [[math.nan] * 5, [0, 0, math.inf, 0, 0], [-math.inf] * 5])
@pytest.mark.parametrize("where", ["target", "draft"])
def test_broken_logits_end_the_run_by_name_and_emit_nothing(broken, where):
    bad = TableModel(lambda c: broken if len(c) == 6 else [0] * 5, 5, are_logits=True, name="cracked")
    good = fixed([0.2] * 5)
    target, draft = (bad, good) if where == "target" else (good, bad)
    events = speculate(target, ModelDraft(draft, Sampling(), 5), [0] * 5, RunConfig(k=3))
    assert isinstance(next(events), RunStarted)
    with pytest.raises(BrokenLogitsError, match=r"cracked at position 2 of this round"):
        next(events)
    again = play(good, ModelDraft(fixed([0.2] * 5), Sampling(), 5), [0] * 5, k=3, max_new_tokens=5)
    assert len(again.tokens) == 5  # the good model is as usable as before


def test_trace_off_changes_no_verdict_and_keeps_no_bars():
    target, source = unlike()
    on, off = (play(target, source, [0], k=3, max_new_tokens=20, detail=detail) for detail in (True, False))
    assert [[replace(p, shape=None, bars=None) for p in t.positions] for t in on.rounds] == [
        list(t.positions) for t in off.rounds
    ]


def test_every_verdict_follows_from_the_numbers_in_the_trace():
    target, source = unlike()
    for seed in range(20):
        for trace in play(target, source, [0], k=4, max_new_tokens=30, seed=seed).rounds:
            for position in trace.positions:
                d = position.drafted
                if d is None or d.verdict is Verdict.DISCARDED:
                    continue
                assert d.accept_prob == min(1, d.p / d.q)
                assert (d.u_accept < d.accept_prob) == (d.verdict is Verdict.ACCEPTED)
            accepted = tuple(p.drafted.token_id for p in trace.positions if p.drafted)[: trace.accepted]
            assert trace.emitted == accepted + ((trace.extra.token_id,) if trace.extra else ())
