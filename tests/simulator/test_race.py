"""The race: tokens come when their round ended, one at a time and never early; greedy lanes agree or say why not."""

from dataclasses import replace
from itertools import accumulate, pairwise, takewhile

import numpy as np
import pytest
import torch

from simulator.drafts.model import ModelDraft
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.exactness.sequence import Divergence, divergence
from simulator.loading import Pair, Progress, load_pair
from simulator.measure import run_once
from simulator.models.table import TableModel
from simulator.race import Lane, Race, Underway, lane_of, race, race_job, shown_at
from simulator.records import RunConfig, Sampling, StopReason
from simulator.runner import Control
from tests.simulator.tiny import GREEDY, FakeTime, P, Q, Script, Timed, fixed, unlike
from tests.ui.rounds import a_round


def run(target, source, prompt=(0,), config=None, **options) -> tuple[Race, list]:
    """Race to the end; return the race and what came before it."""
    *said, result = race(target, source, list(prompt), config or RunConfig(k=2, max_new_tokens=12), **options)
    return result, said


def timed(ms_of_rounds: list[float], verdicts: list[str]) -> Lane:
    """Return the lane of rounds that took so many ms."""
    rounds = [replace(a_round(v, i), round_ms=ms) for i, (v, ms) in enumerate(zip(verdicts, ms_of_rounds, strict=True))]
    return lane_of(rounds, 7.0, StopReason.BUDGET)


def test_a_rounds_tokens_arrive_together_when_it_ends():
    lane = timed([3.0, 0.1, 0.2, 5.5], ["AAR", "", "R", "AA"])
    assert lane.arrivals == (3.0, 3.0, 3.0, 3.0 + 0.1, 3.0 + 0.1 + 0.2, *[3.0 + 0.1 + 0.2 + 5.5] * 3)
    assert lane.passes == (1, 1, 1, 2, 3, 4, 4, 4)
    assert lane.origins == ("accepted", "accepted", "residual", "plain", "residual", "accepted", "accepted", "bonus")
    assert lane.ms == 3.0 + 0.1 + 0.2 + 5.5
    assert lane.tokens_per_second == 1000 * 8 / lane.ms


def test_a_round_that_an_end_token_cut_has_no_extra_token():
    lane = lane_of([a_round("AAADD", stop=StopReason.END_TOKEN, extra=False)], 0.0, StopReason.END_TOKEN)
    assert lane.origins == ("accepted",) * 3
    assert len(lane.arrivals) == len(lane.tokens) == len(lane.labels) == len(lane.passes) == 3


@pytest.mark.parametrize("t", [-1.0, 0.0, 2.999, 3.0, 3.05, 3.1, 8.0, 8.8, 1e9])
def test_what_is_shown_is_what_has_arrived(t):
    lane = timed([3.0, 0.1, 0.2, 5.5], ["AAR", "", "R", "AA"])
    assert shown_at(lane, t) == sum(arrival <= t for arrival in lane.arrivals)


def test_the_times_are_the_rounds_own_and_add_up_exactly():
    """On a clock that only passes move: 10 ms a plain pass, 12 a verify pass of 3, 1 a draft step."""
    clock = FakeTime()
    target = Timed(P, clock, lambda n: 0.010 if n == 1 else 0.012)
    source = ModelDraft(Timed(P, clock, lambda n: 0.001), Sampling(), 3)
    found, _ = run(target, source, clock=clock)
    assert found.plain.arrivals == pytest.approx([10.0 * i for i in range(1, 13)])
    assert found.plain.passes == tuple(range(1, 13))
    assert found.speculative.arrivals == pytest.approx([14.0 * (i // 3 + 1) for i in range(12)])  # p = q: all accepted
    assert found.speedup == pytest.approx((12 / 56) / (12 / 120))
    assert found.ms == found.plain.ms


def test_lanes_are_the_runs_that_the_engine_makes():
    target, source = unlike()
    config = RunConfig(k=3, seed=5, max_new_tokens=30)
    found, _ = run(target, source, (1, 2), config)
    for lane, drafts, k in ((found.plain, None, 0), (found.speculative, source, 3)):
        expected = run_once(target, drafts, [1, 2], RunConfig(k=k, seed=5, max_new_tokens=30))
        assert lane.tokens == expected.tokens
        ends = list(accumulate(len(r.emitted) for r in expected.rounds))
        assert [lane.passes.index(i) for i in range(1, len(ends) + 1)] == [0, *ends[:-1]]
        assert all(a <= b for a, b in pairwise(lane.arrivals))
        assert lane.stop is StopReason.BUDGET
    assert found.divergence is None
    assert found.prompt_tokens == 2


def test_stops_are_per_token():
    """An end token in the middle of a round ends the lane at that token, and nothing behind it arrives."""
    target = fixed((0.0, 0.0, 1.0))
    config = RunConfig(k=3, max_new_tokens=12, end_tokens=frozenset({2}))
    found, _ = run(target, Script([2, 2, 2], 3), config=config)
    for lane in (found.plain, found.speculative):
        assert lane.tokens == (2,)
        assert lane.stop is StopReason.END_TOKEN
    budget, _ = run(fixed(P), Script([0, 0, 0], 3), config=RunConfig(k=3, max_new_tokens=5))
    assert [len(lane.tokens) for lane in (budget.plain, budget.speculative)] == [5, 5]


def test_greedy_lanes_of_one_table_are_equal():
    target, source = unlike()
    source = ModelDraft(source.model, GREEDY, target.vocab)
    found, _ = run(target, source, config=RunConfig(k=3, max_new_tokens=40, sampling=GREEDY))
    assert found.plain.tokens == found.speculative.tokens
    assert found.divergence == Divergence(40)


class Unsteady(TableModel):
    """A model whose logits depend a little on how many tokens it reads at once, as rounding does."""

    def __init__(self, margin: float, noise: float) -> None:
        super().__init__(lambda text: [0.0, margin, -5.0], 3, are_logits=True)
        self.noise = noise

    def extend(self, tokens, keep=None):
        logits = super().extend(tokens, keep).clone()
        logits[:, 0] += self.noise * (len(tokens) > 1)
        return logits


def test_a_divergence_is_reported_with_the_targets_margin_and_called_a_tie_when_it_is_one():
    config = RunConfig(k=2, max_new_tokens=6, sampling=GREEDY)
    found, said = run(Unsteady(1e-6, 2e-6), Script([1, 1], 3), (0, 0, 1), config)
    d = found.divergence
    assert (d.at, d.speculative, d.plain) == (0, 0, 1)
    assert d.margin == pytest.approx(1e-6)
    assert d.tie
    assert isinstance(said[-1], Progress)
    sure, _ = run(fixed((0.1, 0.6, 0.3)), Script([2, 2], 3), config=RunConfig(k=2, max_new_tokens=6, sampling=GREEDY,
                                                                              rule="always"))  # fmt: skip
    assert (sure.divergence.at, sure.divergence.speculative, sure.divergence.plain) == (0, 2, 1)
    assert sure.divergence.margin == pytest.approx(np.log(2))
    assert not sure.divergence.tie


class Coarse(TableModel):
    """A model with logits in bfloat16, one step of that dtype apart, that every width computes alike."""

    def extend(self, tokens, keep=None):
        return super().extend(tokens, keep).to(torch.bfloat16)


def test_logits_one_step_of_their_dtype_apart_are_a_tie():
    """Passes of all widths behind one text rounded alike by luck, and a bfloat16 pair was said to be wrong."""
    found = divergence(Coarse(lambda text: [9.0, 9.0625, -5.0], 3, are_logits=True), [0], (0, 1), (1, 1), 3)
    assert found.margin == 0.0625
    assert found.tie
    clear = divergence(Coarse(lambda text: [8.0, 9.0, -5.0], 3, are_logits=True), [0], (0, 1), (1, 1), 3)
    assert not clear.tie


def test_progress_never_falls_and_lanes_are_measured_in_turn():
    _, said = run(fixed(P), ModelDraft(fixed(Q), Sampling(), 3), config=RunConfig(k=2, max_new_tokens=200))
    fractions = [p.fraction for p in said if isinstance(p, Progress)]
    assert fractions == sorted(fractions)
    lanes = [u.speculative for u in said if isinstance(u, Underway)]
    assert lanes == sorted(lanes)
    assert {False, True} == set(lanes)
    assert len(lanes) <= 2 * 21


@pytest.mark.parametrize("after", [0, 1, 5, 15, 40])
def test_a_cancelled_race_is_no_race(after):
    calls = 0

    def checkpoint() -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Stopped

    events = race(fixed(P), ModelDraft(fixed(Q), Sampling(), 3), [0],
                  RunConfig(k=2, max_new_tokens=60, sampling=GREEDY), checkpoint=checkpoint)  # fmt: skip
    said = takewhile(lambda event: not isinstance(event, Race), events)
    with pytest.raises(Stopped):
        list(said)


def test_what_cannot_race_is_said_in_a_sentence():
    with pytest.raises(UserError, match="k = 0"):
        run(fixed(P), Script([0], 3), config=RunConfig(k=0))
    with pytest.raises(UserError, match="no token can follow"):
        run(fixed(P), Script([0], 3), config=RunConfig(k=2, max_new_tokens=0))


@pytest.fixture(scope="module")
def pair() -> Pair:
    *_, last = load_pair(device="cpu")
    return last


@pytest.mark.parametrize("sampling", [Sampling(), GREEDY])
def test_the_bundled_pair_races(pair, sampling):
    config = RunConfig(k=4, seed=3, sampling=sampling, max_new_tokens=24)
    *_, found = race_job(pair, "To be, or not to be", config)(Control())
    assert isinstance(found, Race)
    for lane in (found.plain, found.speculative):
        assert lane.labels == tuple(pair.texts.label(t) for t in lane.tokens)
        assert 0 < lane.arrivals[0] <= lane.ms
        assert len(lane.tokens) == 24 or lane.stop is StopReason.END_TOKEN
    assert found.plain.passes == tuple(range(1, len(found.plain.tokens) + 1))
    assert found.speculative.passes[-1] < len(found.speculative.tokens)
    if sampling is GREEDY:
        assert found.divergence.at is None or found.divergence.tie
