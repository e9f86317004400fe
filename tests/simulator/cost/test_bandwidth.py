"""Times of passes by width, the knee, and the machine's ceiling, with clocks that only the test moves."""

import itertools
from types import SimpleNamespace

import pytest

from simulator.cost import bandwidth
from simulator.cost.bandwidth import Machine, measure_machine, size_of
from simulator.cost.machine import MachineCost, measure_cost
from simulator.cost.roofline import Size
from simulator.cost.verify_time import LEAST_REPEATS, WIDTHS, Knee, WidthTime, knee, time_widths
from simulator.engine import Stopped
from simulator.loading import Progress
from simulator.measure import Spread
from tests.simulator.tiny import FakeTime, Timed, llama
from tests.ui.stub import stub_pair


def finish(generator):
    """Return what a generator yields and what it returns."""
    told = []
    while True:
        try:
            told.append(next(generator))
        except StopIteration as stop:
            return told, stop.value


def timed(seconds):
    clock = FakeTime()
    return clock, Timed((0.5, 0.5), clock, seconds)


def points(time, widths=WIDTHS):
    return [WidthTime(n, Spread(time(n), time(n), time(n))) for n in widths]


def test_passes_are_timed_by_width_behind_the_prompt_and_taken_back():
    clock, model = timed(lambda n: 0.010 + 0.002 * max(0, n - 8))
    told, times = finish(time_widths(model, [0, 1, 0], clock, repeats=4))
    assert told == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [t.width for t in times] == list(WIDTHS)
    assert [t.ms.median for t in times] == pytest.approx([10 + 2 * max(0, n - 8) for n in WIDTHS])
    assert model.length == 0


def test_the_first_turn_warms_up_and_counts_for_nothing():
    clock, model = timed(lambda n: 0.0)
    model._seconds = lambda n: 3.0 if clock.now < 5 else 0.01
    _, times = finish(time_widths(model, [0], clock, widths=(1, 2, 3), repeats=2))
    assert all(t.ms == Spread(*[pytest.approx(10)] * 3) for t in times)


def test_a_hiccup_belongs_to_no_width():
    """Lowest and highest of fifteen passes showed the machine's longest pause in every other width."""
    clock, model = timed(lambda n: 0.0)
    passes = itertools.count()
    model._seconds = lambda n: 3.0 if next(passes) == 11 else 0.01 + 0.001 * clock.now % 0.002
    _, times = finish(time_widths(model, [0], clock, widths=(1, 2, 3), repeats=8))
    assert all(10 <= t.ms.low <= t.ms.median <= t.ms.high <= 12 for t in times)


def test_a_slow_model_is_timed_less_often_and_a_short_context_less_wide():
    clock, model = timed(lambda n: 5.0)
    model.max_length = 12
    told, times = finish(time_widths(model, [0] * 8, clock))
    assert [t.width for t in times] == [1, 2, 3, 4]
    assert len(told) == LEAST_REPEATS + 1


def test_a_stop_ends_the_measurement_between_two_passes():
    clock, model = timed(lambda n: 0.01)

    def checkpoint():
        if clock.now > 0.1:
            raise Stopped

    with pytest.raises(Stopped):
        finish(time_widths(model, [0], clock, checkpoint=checkpoint))
    assert clock.now < 0.13


@pytest.mark.parametrize("width", [1, 4, 9, 20])
def test_the_knee_is_found_where_it_is(width):
    found = knee(points(lambda n: 8 + 0.5 * max(0, n - width)))
    assert (found.width, found.flat_ms, found.slope_ms) == pytest.approx((width, 8, 0.5), abs=1e-6)
    assert found.at(width + 2) == pytest.approx(9)


def test_flat_times_have_no_knee_within_reach_and_two_points_none_at_all():
    assert knee(points(lambda n: 8.0)) == Knee(WIDTHS[-1], pytest.approx(8.0), 0.0)
    assert knee(points(lambda n: 8.0 - 0.01 * n)).slope_ms == 0  # noise must not make a pass cheaper
    assert knee(points(lambda n: 8.0, (1, 2))) is None


def test_the_ceiling_is_bytes_and_operations_over_the_best_time(monkeypatch):
    monkeypatch.setattr(bandwidth, "COPY_BYTES", {"cpu": 1 << 16})
    monkeypatch.setattr(bandwidth, "SQUARE", {"cpu": 8})
    ticks = iter(range(10**6))
    told, machine = finish(measure_machine("cpu", "float32", 3 << 20, lambda: next(ticks) * 0.5))
    assert machine == Machine(copy=2 * 65536 / 0.5, product=(3 << 20) / 0.5, peak=2 * 512 / 0.5, product_bytes=3 << 20)
    assert machine.bandwidth == machine.product
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)


def test_every_weight_that_a_token_reads_counts_once():
    """An untied input table is looked up, not read; a tied one is the output layer and is."""
    tied = llama(0)
    table = tied.model.get_input_embeddings().weight.numel()
    whole = sum(p.numel() for p in tied.model.parameters())
    loaded = SimpleNamespace(model=tied, entry=SimpleNamespace(name="tiny"))
    assert size_of(loaded) == Size("tiny", whole - table, cached=2 * 2 * 2 * 8, attention=2 * 4 * 8)
    tied.model.get_output_embeddings().weight = tied.model.get_input_embeddings().weight
    assert size_of(loaded).parameters == whole - table


def test_of_experts_only_the_share_that_a_token_uses_counts():
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    config = Qwen3MoeConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, moe_intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, num_experts=8, num_experts_per_tok=2,
        tie_word_embeddings=True,
    )  # fmt: skip
    model = Qwen3MoeForCausalLM(config)
    loaded = SimpleNamespace(model=SimpleNamespace(model=model), entry=SimpleNamespace(name="moe"))
    experts = sum(p.numel() for n, p in model.named_parameters() if ".experts." in n)
    assert experts == 8 * 3 * 16 * 8
    assert size_of(loaded).parameters == sum(p.numel() for p in model.parameters()) - experts * 3 / 4


def test_the_achieved_fraction_is_bytes_read_over_time_over_bandwidth():
    times = (WidthTime(1, Spread(2.0, 2.0, 2.0)),)
    found = MachineCost(times, None, 10, Machine(4e9, 8e9, 1e12, 0), Size("s", 1e6, cached=100), 4.0)
    assert found.read_bytes == 4e6 + 10 * 100 * 4
    assert found.bandwidth_fraction == pytest.approx(4.004e6 / 2e-3 / 8e9)
    assert MachineCost(times, None, 10, Machine(4e9, 8e9, 1e12, 0), None, 4.0).bandwidth_fraction is None


def test_the_whole_measurement_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr(bandwidth, "COPY_BYTES", {"cpu": 1 << 16})
    monkeypatch.setattr(bandwidth, "SQUARE", {"cpu": 8})
    told, found = finish(measure_cost(stub_pair(), [5, 6, 7]))
    assert told[-1] is found
    fractions = [p.fraction for p in told if isinstance(p, Progress)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1)
    assert found.size is None  # a table has no weights to count
    assert found.context == 3
