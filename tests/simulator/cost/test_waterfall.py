"""The waterfall adds up, whatever the numbers, and each step is the thing it is named after."""

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cost.waterfall import from_sweep, waterfall
from simulator.measure import sweep
from simulator.records import RunConfig
from simulator.theory.speedup import speedup
from tests.simulator.test_measure import P8, Q8, timed_pair


@given(
    st.floats(0, 1), st.floats(0, 2), st.integers(1, 16), st.floats(1, 17), st.floats(-0.1, 3), st.floats(-0.1, 2),
    st.floats(0.05, 8),
)  # fmt: skip
def test_the_steps_sum_to_the_measured_speedup(alpha, c, k, tokens, verify, fixed, measured):
    fall = waterfall(alpha, c, k, tokens, verify, fixed, measured)
    assert [s.name for s in fall.steps] == ["correlation", "verify", "fixed", "rest"]
    assert fall.promised + sum(s.size for s in fall.steps) == pytest.approx(measured, abs=1e-12)
    assert fall.steps[-1].after == measured
    assert fall.predicted == pytest.approx(tokens / (1 + k * c + verify + fixed))


def test_each_step_has_the_size_that_its_cause_has():
    fall = waterfall(0.8, 0.1, 5, 4.0, 0.3, 0.2, 2.0)
    assert fall.promised == pytest.approx(speedup(0.8, 0.1, 5)) == pytest.approx(2.45952)
    after = {s.name: s.after for s in fall.steps}
    assert after == pytest.approx({"correlation": 4 / 1.5, "verify": 4 / 1.8, "fixed": 2.0, "rest": 2.0})
    assert fall.rest_share == pytest.approx(0, abs=1e-12)


def test_a_cause_that_is_absent_has_no_step():
    tokens = (1 - 0.8**6) / 0.2
    fall = waterfall(0.8, 0.1, 5, tokens, 0.0, 0.0, 2.4)
    assert [s.size for s in fall.steps[:3]] == pytest.approx([0, 0, 0], abs=1e-12)
    assert fall.rest_share == pytest.approx((2.45952 - 2.4) / 2.4, abs=1e-5)


@pytest.mark.parametrize(("verify", "fixed", "measured"), [(-2.0, 0.0, 1.0), (0.0, -1.6, 1.0), (0.0, 0.0, 0.0)])
def test_a_round_without_time_is_refused(verify, fixed, measured):
    with pytest.raises(ValueError, match="no waterfall"):
        waterfall(0.8, 0.1, 5, 4.0, verify, fixed, measured)


def test_a_measured_sweep_falls_by_the_verify_cost_that_its_clock_has():
    clock, target, source = timed_pair(P8, Q8, lambda n: 0.1 + 0.012 * (n - 1), lambda n: 0.01)
    *_, last = sweep(target, source, [0], RunConfig(max_new_tokens=400), ks=(0, 5), repeats=2, clock=clock)
    fall = from_sweep(last, 5)
    assert (fall.alpha, fall.c) == pytest.approx((0.8, 0.1), abs=1e-6)
    # five more positions, .12 each; fewer in the last round of a repeat
    parts = [(costs[5].tokens, costs[5].drafted) for costs in last.repeats]
    after, before = (median(t / (1 + each * d) for t, d in parts) for each in (0.22, 0.1))
    assert fall.steps[1].size == pytest.approx(after - before)
    assert fall.steps[2].size == pytest.approx(0, abs=1e-9)
    assert fall.rest_share < 0.05
    assert from_sweep(last, 4) is None
    assert from_sweep(last, 0) is None
