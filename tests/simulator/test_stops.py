"""Where a run ends and what it refuses: end tokens, budgets, context ends, stops, prompts and settings."""

import itertools

import pytest

from simulator.drafts.model import CONTEXT_FULL, UNKNOWN_TOKEN, ModelDraft
from simulator.drafts.ngram import NgramDraft
from simulator.engine import Stopped, speculate
from simulator.errors import UserError
from simulator.models.table import TableModel
from simulator.records import RunConfig, RunFinished, RunStarted, Sampling, StopReason
from tests.simulator.tiny import ALWAYS, NEVER, UNIFORM, P, Q, Script, canned, fixed, play, unlike, untimed, verdicts

END = 7


@pytest.mark.parametrize(
    ("script", "accept", "extra", "emitted", "marks"),
    [
        ([1, 2, END, 3, 4], "yyyyy", 0.5, (1, 2, END), "aaadd"),
        ([END, 1, 2, 3, 4], "yyyyy", 0.5, (END,), "adddd"),
        ([1, 2, 3, 4, END], "yyyyy", 0.5, (1, 2, 3, 4, END), "aaaaa"),
        ([1, 2, 3, 4, 5], "yynyy", NEVER, (1, 2, END), "aardd"),  # as the residual token
        ([1, 2, 3, 4, 5], "yyyyy", NEVER, (1, 2, 3, 4, 5, END), "aaaaa"),  # as the bonus token
        ([1, 6, 2, 3, 4], "yyyyy", 0.5, (1, 6), "aaddd"),  # the other end token of two
        ([1, END, 2, 3, 4], "ynyyy", 0.0, (1, 0), "arddd"),  # rejected: the text goes on
    ],
)
def test_an_end_token_stops_the_round_at_its_place(monkeypatch, script, accept, extra, emitted, marks):
    """The whole block was once committed and only its last token tested: text ran on after the end."""
    canned(monkeypatch, [ALWAYS if a == "y" else NEVER for a in accept], extra)
    target, source = fixed(UNIFORM), Script(script, 8)
    run = play(target, source, [0, 0], k=5, max_new_tokens=20, end_tokens=frozenset({6, END}))
    trace, ended = run.rounds[0], emitted[-1] in (6, END)
    assert trace.emitted == emitted
    assert verdicts(trace) == marks
    assert trace.stop is (StopReason.END_TOKEN if ended else None)
    if ended:
        assert run.stop is StopReason.END_TOKEN
        assert len(run.rounds) == 1
        assert target.tokens == (0, 0, *emitted[:-1])  # nothing after the end, and the end itself pending
        assert (trace.extra is None) == (trace.accepted == len(emitted))


def test_an_end_token_in_the_prompt_is_no_end():
    run = play(fixed(P), None, [2], max_new_tokens=3, k=0, end_tokens=frozenset({2}), seed=1)
    assert run.tokens


@pytest.mark.parametrize(("k", "budget"), [(3, 2), (8, 6), (5, 1), (5, 0), (0, 4)])
@pytest.mark.parametrize("script", [None, [0] * 8])
def test_the_budget_counts_tokens_and_clips_the_draft(monkeypatch, k, budget, script):
    if script:
        canned(monkeypatch, [ALWAYS] * 8)  # every draft accepted
    target, source = unlike(8) if script is None else (fixed(UNIFORM), Script(script, 8))
    run = play(target, source, [1], k=k, max_new_tokens=budget)
    assert len(run.tokens) == budget
    assert run.stop is StopReason.BUDGET
    left = budget
    for trace in run.rounds:
        assert trace.drafted <= max(0, min(k, left - 1))  # room for the extra token
        left -= len(trace.emitted)


@pytest.mark.parametrize(
    "wrong", [{"max_new_tokens": -1}, {"k": -1}, {"k": 17}, {"seed": -1}, {"seed": 10**400}, {"rule": "hope"}]
)
def test_wrong_settings_are_refused_before_the_first_pass(wrong):
    """An unknown rule surfaced as a KeyError in the first round, a seed past a float's range as an OverflowError."""
    target = fixed(P)
    with pytest.raises(UserError):
        play(target, None, [0], **wrong)
    assert target.length == 0


def test_a_shorter_run_begins_like_a_longer_one():
    target, source = unlike()
    long = play(target, source, [0], k=3, max_new_tokens=30, seed=4)
    for budget in range(1, 12):
        short = play(target, source, [0], k=3, max_new_tokens=budget, seed=4)
        unclipped = [r for r in short.rounds if budget - (r.context_length - 1) > 3 + 1]
        assert untimed(short.rounds[: len(unclipped)]) == untimed(long.rounds[: len(unclipped)])


def test_the_targets_context_end_stops_the_run_without_a_pass_beyond_it():
    target = TableModel(lambda context: UNIFORM, 8, max_length=10)
    fed = []
    extend = target.extend
    target.extend = lambda tokens, keep=None: (fed.append(target.length + len(tokens)), extend(tokens, keep))[1]
    run = play(target, Script([0] * 8, 8), [1, 2, 3], k=6, max_new_tokens=50)
    assert run.stop is StopReason.CONTEXT
    assert max(fed) == 10  # the last position was used
    assert len(run.prompt) + len(run.tokens) == 11
    with pytest.raises(UserError, match=r"11 tokens.*at most 10"):
        play(target, None, [0] * 11)


def test_a_full_draft_context_is_noticed_and_the_target_goes_on():
    target = fixed(P)
    draft = fixed(P, max_length=32)
    run = play(target, ModelDraft(draft, Sampling(), 3), [0] * 30, k=4, max_new_tokens=40)
    assert run.rounds[0].drafted == 3  # fed at positions 29, 30, 31
    assert [t.drafted for t in run.rounds[1:]] == [0] * (len(run.rounds) - 1)
    assert len(run.tokens) == 40
    assert run.notices == (CONTEXT_FULL,)
    assert play(target, ModelDraft(draft, Sampling(), 3), [0] * 33, k=4, max_new_tokens=5).rounds[0].drafted == 0


def test_a_token_without_a_row_in_the_draft_ends_drafting_with_a_notice():
    """A padded target can emit ids past the draft's embedding: reading one there was an index error."""
    draft = fixed([0.25] * 4)
    run = play(fixed(UNIFORM), ModelDraft(draft, Sampling(), 8), [0], k=2, max_new_tokens=40, seed=1)
    first = next(i for i, t in enumerate(run.tokens) if t >= 4)
    assert len(run.tokens) == 40
    assert run.notices == (UNKNOWN_TOKEN,)
    assert all(t.drafted == 0 for t in run.rounds if t.context_length > first + 1)
    assert play(fixed(UNIFORM), ModelDraft(draft, Sampling(), 8), [7], k=2, max_new_tokens=3).rounds[0].drafted == 0


def test_a_draft_with_more_rows_never_proposes_what_the_target_lacks():
    source = ModelDraft(fixed([0.1, 0.1, 0.1, 0.7]), Sampling(), 3)
    run = play(fixed(P), source, [0], k=4, max_new_tokens=60)
    drafted = {p.drafted.token_id for t in run.rounds for p in t.positions if p.drafted}
    assert drafted == {0, 1, 2}
    assert run.rounds[0].positions[0].bars.q.tolist() == pytest.approx([1 / 3] * 3)


def test_nothing_follows_earlier_rounds_that_had_ended():
    """A run that had reached its end token went on behind it when it was resumed."""
    ends = frozenset({0, 1, 2})
    ended = play(fixed(P), None, [0], k=0, end_tokens=ends).rounds
    again = list(speculate(fixed(P), None, [0], RunConfig(k=0, end_tokens=ends), earlier=ended))
    assert again[1:] == [RunFinished(StopReason.END_TOKEN)]
    budget = list(speculate(fixed(P), None, [0], RunConfig(k=0, max_new_tokens=1), earlier=ended))
    assert budget[1:] == [RunFinished(StopReason.BUDGET)]


def test_edge_prompts():
    target = fixed(P)
    with pytest.raises(UserError, match="prompt is empty"):
        play(target, None, [])
    for bad in (3, -1):
        with pytest.raises(UserError, match=rf"token id {bad}.*3 rows"):
            play(target, None, [0, bad])
    for source in (None, NgramDraft(3), ModelDraft(fixed(Q), Sampling(), 3)):
        run = play(target, source, [2], k=2, max_new_tokens=3)
        assert len(run.tokens) == 3
        assert run.rounds[0].drafted == (2 if source and source.name == "model" else 0)


def test_a_stop_ends_the_run_behind_its_whole_rounds():
    passes = itertools.count()

    def checkpoint():
        if next(passes) == 12:
            raise Stopped

    target, source = unlike()
    events = list(speculate(target, source, [0] * 4, RunConfig(k=4), checkpoint=checkpoint))
    assert events[-1] == RunFinished(StopReason.STOPPED)
    assert [e.stop for e in events[1:-1]] == [None] * len(events[1:-1])
    assert untimed(events[1:-1]) == untimed(play(target, source, [0] * 4, k=4).rounds[: len(events) - 2])

    def at_once():
        raise Stopped

    started, finished = speculate(target, source, [0] * 4, RunConfig(), checkpoint=at_once)
    assert (type(started), finished) == (RunStarted, RunFinished(StopReason.STOPPED))
    assert target.length == 0
