"""The inference thread: order, permits, stop, replacement, errors, and its end."""

import threading
import time
from types import SimpleNamespace

import pytest
import torch

from simulator.drafts.model import ModelDraft
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.jobs import run_job
from simulator.models.table import TableModel
from simulator.records import RoundTrace, RunConfig, RunFinished, RunStarted, Sampling, StopReason
from simulator.runner import Control, JobEvent, Runner
from tests.simulator.tiny import P, Q, fixed, play, untimed

PATIENCE = 10.0


@pytest.fixture
def runner():
    before = set(threading.enumerate())
    made = Runner()
    yield made
    assert made.close()
    assert set(threading.enumerate()) == before


def until(runner: Runner, enough) -> list[JobEvent]:
    """Take events, as the window's timer does, until there are enough."""
    events, deadline = [], time.monotonic() + PATIENCE
    while not enough(events):
        assert time.monotonic() < deadline, events
        events += runner.take()
        threading.Event().wait(0.001)
    return events


def ended(number: int):
    return lambda events: any(e.done and e.job == number for e in events)


def rounds(events: list[JobEvent]) -> list[RoundTrace]:
    return [e.value for e in events if isinstance(e.value, RoundTrace)]


def pair(target: TableModel | None = None) -> SimpleNamespace:
    """Return what a job needs of a loaded pair."""
    target = target or fixed(P)
    return SimpleNamespace(
        target=SimpleNamespace(model=target, device="cpu"), end_tokens=frozenset(), encode=lambda text: [0, 1],
        source=lambda name, sampling: ModelDraft(fixed(Q), sampling, 3),
    )  # fmt: skip


def endless(control):
    while True:
        control.wait_for_permit()
        yield "round"


class Gate:
    """A law that lets each pass through only when the test says so."""

    def __init__(self) -> None:
        self.inside, self.go, self.passes = threading.Semaphore(0), threading.Semaphore(0), 0

    def __call__(self, context):
        self.passes += 1
        self.inside.release()
        assert self.go.acquire(timeout=PATIENCE)
        return P


def test_a_job_yields_its_values_in_order_and_then_its_end(runner):
    number, _ = runner.submit(lambda control: iter("abc"))
    events = until(runner, ended(number))
    assert events == [*(JobEvent(number, v) for v in "abc"), JobEvent(number, done=True)]
    assert runner.take() == []


def test_take_returns_no_more_than_asked_and_keeps_the_rest(runner):
    finished = threading.Event()

    def job(control):
        yield from range(9)
        finished.set()

    number, _ = runner.submit(job)
    assert finished.wait(PATIENCE)
    assert [[e.value for e in runner.take(4)] for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [e.value for e in until(runner, ended(number))] == [8, None]


def test_permits_bound_the_rounds_and_can_be_taken_back(runner):
    number, control = runner.submit(run_job(pair(), "", RunConfig(k=2, max_new_tokens=500)))
    until(runner, lambda events: any(isinstance(e.value, RunStarted) for e in events))
    control.allow_up_to(2)
    assert len(rounds(until(runner, lambda events: len(rounds(events)) == 2))) == 2
    control.allow_up_to(1)  # fewer than were started: a pause
    control.allow_up_to(5)
    assert len(rounds(until(runner, lambda events: len(rounds(events)) == 3))) == 3
    assert runner.take() == []
    control.stop()
    assert until(runner, ended(number))[-1] == JobEvent(number, done=True)


def test_a_run_job_gives_the_engines_own_events_and_can_be_resumed(runner):
    config = RunConfig(k=2, max_new_tokens=12, seed=3)
    number, control = runner.submit(run_job(pair(), "", config))
    control.allow_up_to(10**6)
    whole = [e.value for e in until(runner, ended(number))[:-1]]
    assert (type(whole[0]), whole[-1]) == (RunStarted, RunFinished(StopReason.BUDGET))
    alone = play(fixed(P), ModelDraft(fixed(Q), Sampling(), 3), [0, 1], k=2, max_new_tokens=12, seed=3)
    assert untimed(whole[1:-1]) == untimed(alone.rounds)
    number, control = runner.submit(run_job(pair(), "", config, earlier=whole[1:3]))
    control.allow_up_to(10**6)
    rest = rounds(until(runner, ended(number)))
    assert untimed([*whole[1:3], *rest]) == untimed(alone.rounds)


@pytest.mark.parametrize(("where", "k"), [("prefill", 1), ("draft", 2), ("draft", 1), ("target", 1)])
def test_a_stop_waits_for_the_pass_that_has_begun_and_no_other(runner, where, k):
    gate = Gate()
    gated, free = TableModel(gate, 3), TableModel(lambda context: Q, 3)
    target, draft = (free, gated) if where == "draft" else (gated, free)
    both = pair(target)
    both.source = lambda name, sampling: ModelDraft(draft, sampling, 3)
    both.encode = lambda text: [0, 1] if where == "prefill" else [0]  # one token leaves nothing to prefill
    number, control = runner.submit(run_job(both, "", RunConfig(k=k, max_new_tokens=50)))
    control.allow_up_to(100)
    assert gate.inside.acquire(timeout=PATIENCE)
    control.stop()
    for _ in range(8):
        gate.go.release()
    events = until(runner, ended(number))
    assert rounds(events) == ([] if where != "target" else rounds(events)[:1])
    assert gate.passes == (2 if where == "target" else 1)  # the target's one pass covers k + 1 positions
    assert target.length == (0 if where == "draft" else target.length)  # no pass over what the draft proposed
    assert events[-1].error is None


def test_the_second_submit_wins(runner):
    first, _ = runner.submit(endless)
    second, _ = runner.submit(lambda control: iter("x"))
    events = until(runner, ended(second))
    assert [e for e in events if e.job == first][-1] == JobEvent(first, done=True)
    assert [e.value for e in events if e.job == second] == ["x", None]


def test_a_job_overtaken_while_it_waited_never_begins(runner):
    begun, gate, entered = [], threading.Event(), threading.Event()

    def blocking(control):
        entered.set()
        gate.wait(PATIENCE)
        control.checkpoint()
        yield "too late"

    def job(name):
        def run(control):
            begun.append(name)
            return iter(())

        return run

    runner.submit(blocking)
    assert entered.wait(PATIENCE)
    overtaken, _ = runner.submit(job("overtaken"))
    last, _ = runner.submit(job("last"))
    gate.set()
    events = until(runner, ended(last))
    assert begun == ["last"]
    assert [e for e in events if e.job == overtaken] == [JobEvent(overtaken, done=True)]
    assert not any(e.value for e in events)


def failing(error):
    def job(control):
        yield 1
        raise error

    return job


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (UserError("The file x is missing."), "The file x is missing."),
        (ValueError("first\nsecond"), "Something went wrong that SpecScope did not expect: ValueError: first"),
        (AssertionError(), "Something went wrong that SpecScope did not expect: AssertionError: no further word"),
        (MemoryError(), "The device ran out of memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate\n2 GiB"), "The device ran out of memory"),
    ],
)
def test_an_error_is_one_sentence_and_the_thread_goes_on(runner, error, sentence):
    number, _ = runner.submit(failing(error))
    last = until(runner, ended(number))[-1]
    assert last.error.startswith(sentence)
    assert "\n" not in last.error
    assert (last.details is None) == isinstance(error, UserError)
    if last.details:
        assert "Traceback" in last.details
    after, _ = runner.submit(lambda control: iter("y"))
    assert until(runner, ended(after))[0].value == "y"


def test_close_ends_a_job_that_waits_for_a_permit():
    runner = Runner()
    _, control = runner.submit(endless)
    control.allow_up_to(1)
    until(runner, lambda events: len(events) == 1)
    start = time.monotonic()
    assert runner.close()
    assert time.monotonic() - start < 5
    assert not any(t.name == "inference" for t in threading.enumerate())


def test_close_says_when_the_thread_did_not_end_in_time():
    runner, gate, entered = Runner(), threading.Event(), threading.Event()

    def deaf(control):
        entered.set()
        gate.wait(PATIENCE)
        yield

    runner.submit(deaf)
    assert entered.wait(PATIENCE)
    assert runner.close(timeout=0.05) is False
    gate.set()
    assert runner.close() is True


def test_the_thread_takes_the_torch_threads_it_was_given():
    runner = Runner(threads=1)
    number, _ = runner.submit(lambda control: iter([torch.get_num_threads()]))
    assert until(runner, ended(number))[0].value == 1
    assert runner.close()


def test_a_stopped_control_never_waits():
    control = Control()
    control.stop()
    for wait in (control.checkpoint, control.wait_for_permit):
        with pytest.raises(Stopped):
            wait()
