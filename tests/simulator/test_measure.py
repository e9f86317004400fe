"""Speed: what is counted, what is timed, what a round costs; with clocks that only the models move."""

import itertools
from statistics import median

import pytest

from simulator.drafts.model import ModelDraft
from simulator.engine import Stopped
from simulator.judging import host
from simulator.measure import TURN, Spread, in_turns, run_once, spread, sweep, tokens_per_second, trace_ratios
from simulator.records import RoundTrace, RunConfig, Sampling
from simulator.round_cost import Cost, cost
from simulator.theory.speedup import best_k, speedup
from tests.simulator.tiny import FakeTime, Timed, fixed

P, Q = (0.6, 0.4, 0.0), (0.6, 0.0, 0.4)  # overlap .6: token 0 is always accepted, token 2 never
P8, Q8 = (0.8, 0.2, 0.0), (0.8, 0.0, 0.2)


def timed_pair(p, q, target_s, draft_s):
    clock = FakeTime()
    target, draft = Timed(p, clock, target_s), Timed(q, clock, draft_s)
    return clock, target, ModelDraft(draft, Sampling(), len(p))


def a_round(ms, drafted=0, draft_ms=0.0, emitted=1) -> RoundTrace:
    """Return a round of that many milliseconds; `positions` only has to count its drafted tokens."""

    class Round(RoundTrace):
        drafted = property(lambda self: self.index)

    return Round(drafted, 1, (), (0,) * emitted, draft_ms, ms - draft_ms, ms)


def test_tokens_per_second_leaves_out_both_models_reading_of_the_prompt():
    """The draft read the prompt inside the first round, so every short speculative run looked slower than it was."""
    clock, target, source = timed_pair(
        (0.0, 1.0), (0.0, 1.0), lambda n: 2.0 if n == 99 else 0.06, lambda n: 1.0 if n == 99 else 0.01
    )
    run = run_once(target, source, [0] * 100, RunConfig(k=4, max_new_tokens=50), clock=clock)
    assert run.prefill_ms == pytest.approx(3000)
    assert len(run.rounds) == 10
    assert len(run.tokens) == 50
    assert run.rounds[0].draft_ms == pytest.approx(40)
    assert tokens_per_second(run.rounds) == pytest.approx(50 / 1.0)


def test_tokens_are_counted_as_emitted_not_as_rounds():
    rounds = [a_round(100.0, emitted=n) for n in (1, 4, 2, 3, 1, 5, 2, 3, 1, 3)]
    assert tokens_per_second(rounds) == pytest.approx(25)
    assert tokens_per_second([]) is None


def test_a_slow_draft_is_measured_as_the_slowdown_that_theory_says():
    clock, target, source = timed_pair(P, Q, lambda n: 0.1, lambda n: 0.07)
    expected = speedup(0.6, 0.7, 4)
    assert expected == pytest.approx(0.606737, abs=1e-6)
    *_, last = sweep(target, source, [0], RunConfig(max_new_tokens=600), ks=(0, 4), clock=clock)
    assert [p.k for p in last.points] == [0, 4]
    assert last.points[0].speedup == Spread(1, 1, 1)
    assert last.points[1].speedup.median == pytest.approx(expected, rel=0.1)
    assert last.figures.alpha == pytest.approx(0.6, abs=1e-6)
    assert (last.cost.step_ms, last.cost.c) == pytest.approx((100, 0.7))
    assert (last.cost.c_verify, last.cost.fixed) == pytest.approx((0, 0), abs=1e-9)
    assert best_k(0.6, last.cost.c, last.cost.c_verify, last.cost.fixed)[0] == 0  # the advice: do not


def test_a_dear_verify_pass_is_found_in_the_measured_cost():
    clock, target, source = timed_pair(P8, Q8, lambda n: 0.1 + 0.012 * (n - 1), lambda n: 0.01)
    *_, last = sweep(target, source, [0], RunConfig(max_new_tokens=600), ks=(0, 5), clock=clock)
    assert (last.cost.c, last.cost.c_verify, last.cost.fixed) == pytest.approx((0.1, 0.12, 0))
    predicted = speedup(0.8, last.cost.c, 5, last.cost.c_verify, last.cost.fixed)
    assert predicted == pytest.approx(1.7568, abs=1e-4)
    assert speedup(0.8, 0.1, 5) == pytest.approx(2.45952, abs=1e-5)
    assert last.points[1].speedup.median == pytest.approx(predicted, rel=0.1)


def test_runs_taken_in_turns_are_the_runs_taken_alone_and_reading_anew_is_not_counted():
    """A machine that was slow for some seconds spoiled one whole run and left the others alone."""
    config, turns = RunConfig(k=2, max_new_tokens=2 * TURN + 5), []

    def step(name):
        return lambda n: turns.append(name) or (50.0 if n > 5 else 0.1)

    clock, target, source = timed_pair(P, Q, step("target"), step("draft"))
    contenders = [(source, config), (None, RunConfig(max_new_tokens=10, k=0)), (source, RunConfig(k=1, seed=3))]
    alone = [run_once(target, each, [0] * 9, settings, clock=clock) for each, settings in contenders]
    found = list(in_turns(target, contenders, [0] * 9, clock=clock))
    whole, done = found[-1]
    assert done == 1
    assert [run.tokens for run in whole] == [run.tokens for run in alone]
    assert [[r.round_ms for r in run.rounds] for run in whole] == [
        pytest.approx([r.round_ms for r in run.rounds]) for run in alone
    ]
    assert [run.prefill_ms for run in whole] == pytest.approx([run.prefill_ms for run in alone])
    assert [[run is not None for run in runs] for runs, _ in found[:4]] == [
        [False] * 3, [False, True, False], [False, True, False], [False, True, False]
    ]  # fmt: skip
    assert [part for _, part in found] == sorted(part for _, part in found)


def test_a_sweep_takes_turns_counts_no_warm_up_and_says_how_far_it_is():
    clock, target, source = timed_pair(P, Q, lambda n: 0.1, lambda n: 0.01)
    target._seconds = lambda n: 3.0 if clock.now < 3 else 0.1  # the first pass of all is the cold one
    sweeps = list(sweep(target, source, [0, 1], RunConfig(max_new_tokens=10), ks=(2,), repeats=3, clock=clock))
    assert [[p.k for p in s.points] for s in sweeps] == [[0], *[[0, 2]] * 6]
    assert [s.done for s in sweeps] == pytest.approx([*(i / 6 for i in range(1, 7)), 1.0])
    assert [s.cost is None for s in sweeps] == [True] * 6 + [False]
    assert sweeps[-1].points[0].tokens_per_second == Spread(*[pytest.approx(10)] * 3)
    speeds = sweeps[-1].points[1].tokens_per_second
    assert speeds.low < speeds.high  # each repeat has a seed of its own


def test_a_stopped_sweep_gives_no_point_for_its_last_half_run():
    """A run that was stopped in the middle was counted as a measured point."""
    passes = itertools.count()

    def checkpoint():
        if next(passes) >= 8 + 20 + 12:  # the warm-up, the first run, half the second
            raise Stopped

    config = RunConfig(max_new_tokens=20)
    sweeps = list(sweep(fixed(P), None, [0], config, ks=(), clock=itertools.count().__next__, checkpoint=checkpoint))
    assert [s.done for s in sweeps] == [pytest.approx(1 / 3)]


def test_spread_is_median_and_range():
    assert spread([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)


def made(k: int, c: float, c_verify: float, fixed: float) -> list[RoundTrace]:
    draft = 10 * c * k
    return [a_round(10 * (1 + k * (c + c_verify) + fixed), k, draft)] * 3


def test_cost_recovers_the_line_that_the_rounds_were_made_from():
    plain = [a_round(10.0)] * 3
    fitted = cost(plain, {0: plain, **{k: made(k, 0.2, 0.05, 0.1) for k in range(1, 9)}})
    assert (fitted.step_ms, fitted.c, fitted.c_verify, fitted.fixed) == pytest.approx((10, 0.2, 0.05, 0.1))
    single = cost(plain, {4: made(4, 0.2, 0.05, 0.1)})
    assert (single.c_verify, single.fixed) == pytest.approx((0.05 + 0.1 / 4, 0))


def test_a_hiccup_or_a_clipped_round_changes_no_cost():
    plain = [a_round(10.0)] * 5
    clipped = [a_round(300.0, 2, 1.0)] * 20 + [a_round(300.0)] * 20
    rounds = [*made(4, 0.2, 0.05, 0.0), a_round(900.0, 4, 700.0), *clipped]
    fitted = cost([*plain, a_round(500.0)], {4: rounds})
    assert (fitted.step_ms, fitted.c, fitted.c_verify) == pytest.approx((10, 0.2, 0.05))


@pytest.mark.parametrize(("c_verify", "fixed"), [(-0.02, 0.3), (0.05, -0.1), (-0.02, -0.1), (-0.02, 0.0)])
def test_no_cost_is_ever_negative(c_verify, fixed):
    """Noise made some of them negative, and theory refuses a negative cost."""
    fitted = cost([a_round(10.0)], {k: made(k, 0.2, c_verify, fixed) for k in (1, 4, 8)})
    assert min(fitted.c_verify, fitted.fixed) >= 0
    assert speedup(0.5, fitted.c, 4, fitted.c_verify, fitted.fixed) > 0


def test_without_plain_or_drafted_rounds_there_is_no_cost():
    assert cost([], {4: made(4, 0.2, 0, 0)}) is None
    assert cost([a_round(10.0)], {4: [a_round(12.0)]}) is None
    assert isinstance(cost([a_round(10.0)], {4: made(4, 0.2, 0, 0)}), Cost)


def test_what_a_trace_costs_is_told_round_by_round_on_a_machine_that_wavers(monkeypatch):
    """A round takes .2 s, .02 of it for the trace, and for ten seconds in twenty three times as long."""
    clock = FakeTime()

    def spend(seconds: float) -> float:
        return seconds * (1 if int(clock.now / 10) % 2 else 3)

    def slow(p, q, always):
        clock.now += spend(0.02)
        return details(p, q, always)

    details = host._details
    monkeypatch.setattr(host, "_details", slow)
    target, draft = (Timed(row, clock, lambda n: spend(0.06)) for row in (P8, Q8))
    source = ModelDraft(draft, Sampling(), 3)
    config = RunConfig(k=2, max_new_tokens=400)
    ratios = trace_ratios(target, source, [0], config, clock=clock)
    assert median(ratios) == pytest.approx(0.18 / 0.2)
    assert len(ratios) == len(run_once(target, source, [0], config).rounds)
    assert len(trace_ratios(target, source, [0], config, clock=clock, seconds=20.0)) < len(ratios) / 2
