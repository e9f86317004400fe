"""What rounds cost and what their parts add up to, with times that only the test decides."""

import pytest

from simulator.cost.waterfall import from_sweep, middle, of_costs
from simulator.measure import sweep
from simulator.records import RoundTrace, RunConfig
from simulator.round_cost import cost, draft_line, run_costs
from tests.simulator.test_measure import P8, Q8, timed_pair

STAIRS = {1: 10.0, 2: 10.0, 3: 10.0, 4: 13.0, 5: 19.0}  # ms by width: flat, then two steps of different height


def a_round(k: int, draft_ms: float, verify_ms: float, other_ms: float, emitted: int = 1) -> RoundTrace:
    """Return a round with these times; `positions` only has to count its drafted tokens."""

    class Round(RoundTrace):
        drafted = property(lambda self: k)

    return Round(0, 1, (), (0,) * emitted, draft_ms, verify_ms, draft_ms + verify_ms + other_ms)


def made() -> tuple[list[RoundTrace], dict[int, list[RoundTrace]]]:
    """Return plain rounds of 12 ms and rounds of k = 1..4 whose passes climb the stairs."""
    plain = [a_round(0, 0.0, 10.0, 2.0)] * 5
    return plain, {k: [a_round(k, 1.2 * k, STAIRS[k + 1], 3.0, 2)] * 5 for k in (1, 2, 3, 4)}


def test_the_parts_of_a_round_add_up_to_it():
    plain, drafting = made()
    costs = run_costs(plain, {0: plain, **drafting})
    assert [*costs] == [0, 1, 2, 3, 4]
    assert (costs[0].draft, costs[0].verify + costs[0].other) == pytest.approx((0, 1))
    for k, each in costs.items():
        assert each.draft + each.verify + each.other == pytest.approx((1.2 * k + STAIRS[k + 1] + 2 + bool(k)) / 12)


def test_a_pass_that_climbs_in_steps_is_predicted_exactly_where_a_line_is_not():
    plain, drafting = made()
    costs, line = run_costs(plain, drafting), cost(plain, drafting)
    for k in drafting:
        true = 2 * 12 / (1.2 * k + STAIRS[k + 1] + 3)  # tokens * plain ms / round ms
        assert of_costs(0.5, costs, k).predicted == pytest.approx(true)
    of_line = 2 / (1 + 3 * (line.c + line.c_verify) + line.fixed)
    assert of_line != pytest.approx(2 * 12 / (3.6 + 13 + 3), rel=0.04)


def test_a_dearer_first_draft_step_after_full_acceptance_enters_the_mean():
    """The median of the draft times left the second token that the draft then reads out of c."""
    rounds = [a_round(1, 1.0, 10.0, 0.0)] * 6 + [a_round(1, 1.6, 10.0, 0.0)] * 4
    assert cost([a_round(0, 0.0, 10.0, 0.0)], {1: rounds}).c == pytest.approx(0.124)


def test_a_hiccup_changes_no_cost_of_a_step_but_is_part_of_the_runs_speed():
    rounds = [a_round(2, 2.0, 10.0, 1.0, 2)] * 9 + [a_round(2, 2.0, 400.0, 1.0, 3)]
    plain = [a_round(0, 0.0, 10.0, 0.0)] * 3
    assert cost(plain, {2: rounds}) == cost(plain, {2: rounds[:9]})
    here = run_costs(plain, {2: rounds})[2]
    assert (here.rounds, here.draft, here.verify, here.tokens) == pytest.approx((10, 0.2, 4.9, 2.1))


def test_rounds_of_another_k_are_no_cost_of_a_step_but_part_of_the_runs_speed():
    """The last ones of a run, and those in which a source found less to draft or nothing."""
    plain, whole, short = a_round(0, 0.0, 10.0, 0.0), a_round(4, 4.0, 12.0, 0.0, 5), a_round(1, 1.0, 10.0, 0.0)
    assert cost([plain], {4: [whole, short]}) == cost([plain], {4: [whole]})
    here = run_costs([plain], {4: [whole, short]})[4]
    assert (here.rounds, here.draft, here.tokens, here.drafted) == pytest.approx((2, 0.25, 3, 2.5))
    assert here.tokens / (here.draft + here.verify + here.other) == pytest.approx(6 / 27 * 10)
    assert [*run_costs([plain], {4: [short], 3: [whole]})] == [0]


def test_c_is_the_slope_of_the_drafts_time_and_a_dearer_first_step_is_fixed():
    """Spread over all steps it made short drafts look 5 % cheaper than they are, and long ones dearer."""
    plain, drafting = made()
    assert draft_line(list(run_costs(plain, drafting).values())) == pytest.approx((0.1, 0))
    dearer = {k: [a_round(k, 1.2 * k + 0.6, 12.0, 0.0)] * 5 for k in (1, 2, 4)}
    assert draft_line(list(run_costs(plain, dearer).values())) == pytest.approx((0.1, 0.05))
    fitted = cost(plain, dearer)
    assert (fitted.c, fitted.c_verify, fitted.fixed) == pytest.approx((0.1, 0, 0.05))
    assert of_costs(0.5, run_costs(plain, dearer), 2).predicted == pytest.approx(1 / (1 + 0.2 + 0.05))
    assert draft_line([]) == (0, 0)


def test_of_a_single_k_all_of_the_draft_counts_as_its_steps():
    costs = run_costs([a_round(0, 0, 12, 0)], {4: [a_round(4, 4.8, 12, 0)]})
    assert draft_line(list(costs.values())) == pytest.approx((0.1, 0))


def test_rounds_that_drafted_less_make_a_draft_step_no_cheaper():
    plain = [a_round(0, 0, 12, 0)]
    rounds = {k: [a_round(n, 1.2 * n, 12, 0) for n in (k, k, 0, 1)] for k in (2, 4, 8)}
    costs = run_costs(plain, rounds)
    assert draft_line(list(costs.values())) == pytest.approx((0.1, 0))
    for k in rounds:
        assert of_costs(0.5, costs, k).rest_share == pytest.approx(0, abs=1e-12)


def test_without_plain_rounds_there_is_no_cost():
    assert run_costs([], made()[1]) == {}
    assert cost([], made()[1]) is None


def test_on_a_clock_of_stairs_prediction_and_measurement_agree_to_what_the_last_rounds_change():
    """The criterion itself, k = 1..8, with no machine in it: what remains is the end of each run."""
    stairs = [0.0, 0.1, 0.1, 0.1, 0.104, 0.13, 0.131, 0.132, 0.17, 0.171]
    clock, target, source = timed_pair(
        P8, Q8, lambda n: stairs[n] if n < 10 else 9.0, lambda n: 0.012 + 0.003 * (n > 1)
    )
    config = RunConfig(max_new_tokens=200)
    *_, last = sweep(target, source, [0], config, ks=range(9), repeats=2, clock=clock)
    measured = {p.k: p.speedup.median for p in last.points if p.k}
    errors = [abs(from_sweep(last, k).predicted / measured[k] - 1) for k in measured]
    assert sum(errors) / len(errors) < 0.02
    assert max(errors) < 0.05


def test_a_slow_repeat_changes_neither_the_middle_waterfall_nor_its_rest():
    """Costs pooled over repeats against a median of speeds left a tenth unexplained on a machine that wavered."""
    plain, drafting = made()
    slow = {k: [a_round(k, 4 * r.draft_ms, 3 * r.verify_ms, 9.0, 2) for r in rounds] for k, rounds in drafting.items()}
    repeats = [run_costs(plain, rounds) for rounds in (drafting, slow, drafting)]
    for k in drafting:
        falls = [of_costs(0.5, costs, k) for costs in repeats]
        assert middle(falls) == falls[0] != falls[1]
        assert falls[0].rest_share == pytest.approx(0, abs=1e-12)


def test_the_middle_waterfall_ends_at_the_median_of_the_measured_speedups():
    clock, target, source = timed_pair(P8, Q8, lambda n: 0.1 + 0.01 * n, lambda n: 0.012)
    for repeats in (2, 3):
        *_, last = sweep(target, source, [0], RunConfig(max_new_tokens=60), ks=(0, 2, 5), repeats=repeats, clock=clock)
        assert len(last.repeats) == repeats
        assert last.whole == {2, 5}
        for point in last.points[1:]:
            fall = from_sweep(last, point.k)
            assert fall.measured == pytest.approx(point.speedup.median, rel=1e-12)
            assert fall.promised + sum(step.size for step in fall.steps) == pytest.approx(fall.measured, rel=1e-12)
