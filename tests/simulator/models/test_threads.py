"""The number of threads is timed, quickest first and fewest among equals, and changes nothing but the time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from simulator.drafts.model import ModelDraft
from simulator.engine import Stopped
from simulator.models import llama
from simulator.models.llama import WIDEST, LlamaDecoder
from simulator.models.paths import decoder_for
from simulator.models.products import TRIED, Packed, Plain, trial
from simulator.models.threads import MOST_TURNS, SECONDS, TIE, at_most, calibrate, candidates, quickest, threads_of
from simulator.records import Sampling
from tests.simulator.models.test_llama import build, ids
from tests.simulator.tiny import play, untimed

packed = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")


@pytest.fixture
def eight() -> Iterator[None]:
    """Let torch have eight threads, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield
    torch.set_num_threads(before)


class Machine:
    """A clock that moves by what work takes: seconds by the number of threads, more in the first turn."""

    def __init__(self, seconds: dict[int, float], first: dict[int, float] | None = None) -> None:
        self.now, self.seconds, self.first = 0.0, seconds, first or {}
        self.worked: list[tuple[int, int]] = []  # number, threads

    def clock(self) -> float:
        return self.now

    def work(self, number: int) -> None:
        threads = torch.get_num_threads()
        late = threads in {t for _, t in self.worked}
        self.now += self.seconds[threads] if late else self.first.get(threads, self.seconds[threads])
        self.worked.append((number, threads))


@pytest.mark.parametrize(
    ("allowed", "counts"),
    [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 4]), (7, [1, 2, 4, 7]), (16, [1, 2, 4, 8, 16])],
)
def test_powers_of_two_are_tried_and_all_that_are_allowed(allowed, counts):
    assert candidates(allowed) == counts


@pytest.mark.parametrize(
    ("times", "best"),
    [
        ({1: [4.0], 2: [2.0], 4: [1.0]}, 4),
        ({1: [2.0], 2: [1.0], 4: [3.0]}, 2),
        ({1: [1.0], 2: [1.0], 4: [1.0]}, 1),
        ({1: [1 + TIE / 2], 2: [1.0]}, 1),
        ({1: [1 + TIE * 2], 2: [1.0]}, 2),
        ({1: [1.0, 9.0, 9.0], 2: [8.0, 8.0, 8.0]}, 2),  # the median, not the best
        ({1: [1.05], 2: [1.03], 4: [1.0]}, 2),  # as good as the best, not as the next
    ],
)
def test_the_fewest_threads_as_good_as_the_quickest_are_taken(times, best):
    assert quickest(times) == best


def test_counts_take_turns_and_none_starts_with_its_first_time(eight):
    machine = Machine({1: 0.004, 2: 0.002, 4: 0.003, 8: 0.005}, first={2: 0.1})
    assert calibrate(machine.work, clock=machine.clock) == 2
    assert [t for _, t in machine.worked[:8]] == [1, 2, 4, 8, 1, 2, 4, 8]
    assert [n for n, _ in machine.worked] == list(range(len(machine.worked)))
    assert torch.get_num_threads() == 8


def test_a_calibration_ends_after_its_time_or_when_more_tells_nothing_new(eight):
    slow = Machine(dict.fromkeys((1, 2, 4, 8), 1.0))
    calibrate(slow.work, clock=slow.clock)
    assert len(slow.worked) == 8  # a turn to warm up and one that counts
    middling = Machine(dict.fromkeys((1, 2, 4, 8), 0.01))
    calibrate(middling.work, clock=middling.clock)
    assert SECONDS <= middling.now <= SECONDS + 0.04
    quick = Machine(dict.fromkeys((1, 2, 4, 8), 1e-6))
    calibrate(quick.work, clock=quick.clock)
    assert len(quick.worked) == 4 * (MOST_TURNS + 1)


def test_one_thread_needs_no_calibration():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    machine = Machine({1: 1.0})
    assert calibrate(machine.work, clock=machine.clock) == 1
    assert machine.worked == []
    torch.set_num_threads(before)


def test_a_stop_ends_a_calibration_and_gives_the_threads_back(eight):
    def broken(number: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        calibrate(broken)
    assert torch.get_num_threads() == 8


def test_threads_are_lowered_for_a_while_and_never_raised(eight):
    with at_most(3):
        assert torch.get_num_threads() == 3
        with at_most(5):
            assert torch.get_num_threads() == 3
    assert torch.get_num_threads() == 8


@packed
def test_a_trial_reads_another_layer_for_each_number_of_rows(monkeypatch):
    layers = [[Packed(np.ones((8, 16), np.float32)), Packed(np.ones((24, 8), np.float32))] for _ in range(3)]
    asked = []
    monkeypatch.setattr(Packed, "product", lambda self, x: asked.append((self, x.shape)))
    work = trial(layers)
    assert work is not None
    for number in range(3):
        work(number)
    place = {weight: i for i, layer in enumerate(layers) for weight in layer}
    assert [place[weight] for weight, _ in asked] == [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]
    assert [shape for _, shape in asked[:4]] == [(n, inputs) for n in TRIED for inputs in (16, 8)]
    assert trial([[Plain(np.ones((8, 16), np.float32))]]) is None


@packed
@pytest.mark.parametrize("shape", [(576, 576), (576, 3072), (2048, 4099), (96, 1999)])
@pytest.mark.parametrize("n", [1, 4, 5, 9, 33])
def test_the_bits_of_a_packed_product_do_not_depend_on_the_threads(eight, shape, n):
    """Otherwise a stopwatch would choose among texts."""
    generator = np.random.default_rng(n)
    made = Packed(generator.standard_normal(shape[::-1], dtype=np.float32))
    x = generator.standard_normal((n, shape[0]), dtype=np.float32)
    whole = made.product(x).tobytes()
    for threads in (1, 2, 3, 4, 6):
        with at_most(threads):
            assert made.product(x).tobytes() == whole, threads


@pytest.fixture
def large(eight, monkeypatch) -> LlamaDecoder:
    """A model whose products are packed, though it is small."""
    monkeypatch.setattr(llama, "weight", lambda rows, model_bytes, room: Packed(rows))
    made = decoder_for(build(hidden_size=128, intermediate_size=256), "large")
    assert isinstance(made, LlamaDecoder)
    return made


@packed
def test_decoding_takes_the_calibrated_threads_and_a_prompt_all(large, monkeypatch):
    assert large.threads in candidates(8)
    large.threads, seen, product = 2, [], Packed.product
    monkeypatch.setattr(Packed, "product", lambda self, x: seen.append(torch.get_num_threads()) or product(self, x))
    for n, threads in ((1, 2), (5, 2), (WIDEST, 2), (WIDEST + 1, 8)):
        large.extend(ids(n), keep=1)
        assert set(seen) == {threads}
        seen.clear()
    assert torch.get_num_threads() == 8


@packed
def test_a_run_is_the_same_on_any_number_of_threads(large):
    sampling = Sampling(temperature=0.8)
    rounds = []
    for threads in (1, 2, 8):
        large.threads = threads
        large.reset()
        draft = ModelDraft(decoder_for(build(seed=2, hidden_size=128, intermediate_size=256), "draft"), sampling, 128)
        run = play(large, draft, ids(50), k=4, sampling=sampling, max_new_tokens=40, seed=7)
        rounds.append(untimed(run.rounds))
    assert len(rounds[0]) > 1
    assert rounds[0] == rounds[1] == rounds[2]


def test_each_path_tells_its_threads(eight):
    """The general path keeps all of torch's: there the bits depend on their number."""
    small = decoder_for(build(), "small")
    assert small.threads is None
    assert threads_of(small) == 1
    small.threads = 4
    assert threads_of(small) == 4
    assert threads_of(decoder_for(build().bfloat16(), "general")) == 8


@packed
def test_a_model_is_calibrated_where_it_is_loaded(monkeypatch):
    """A first round that paid for it would be the slowest of a run, and no measure of anything."""
    asked = []
    monkeypatch.setattr(llama, "weight", lambda rows, model_bytes, room: Packed(rows))
    monkeypatch.setattr(llama, "calibrate", lambda work, checkpoint: asked.append(checkpoint) or 4)
    stop = Machine({}).clock
    made = decoder_for(build(), "large", None, stop)
    assert (asked, made.threads) == ([stop], 4)
    made.extend(ids(3))
    assert asked == [stop]
