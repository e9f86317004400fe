"""Runs, settings and measurements of a session: what may be done when, and that nothing disturbs a trace."""

import random
import threading

import pytest

from simulator.errors import UserError
from simulator.records import Sampling, StopReason
from tests.simulator.tiny import untimed
from tests.ui.stub import PROMPT, Table, loader, stub_pair
from ui.states import ALLOWED, State


@pytest.fixture(autouse=True)
def short_sweeps(monkeypatch):
    monkeypatch.setattr("simulator.jobs.SWEEP_TOKENS", 6)


@pytest.fixture
def go(until):
    """Do rounds one by one until the session has so many."""

    def go(session, rounds: int):
        while len(session.rounds) < rounds and session.state is not State.FINISHED:
            before = len(session.rounds)
            session.next_round()
            until(lambda before=before: len(session.rounds) > before)
        return untimed(session.rounds[:rounds])

    return go


def test_a_loaded_pair_is_ready_and_a_step_shows_the_first_phase(new_session, until):
    session = new_session()
    assert session.config.end_tokens == session.pair.end_tokens
    session.step()
    until(lambda: session.playback.cursor.round == 0)
    assert (session.state, session.playback.cursor.phase) == (State.RUNNING, 0)
    assert session.started.prompt == tuple(PROMPT.encode())


def test_a_step_in_the_moment_of_loading_is_not_lost(new_session, monkeypatch, until):
    """The end of the load took away the control of the run that had begun meanwhile, and the step hung for ever."""
    session, last_word = new_session(pair=None), threading.Event()

    def load_job(*_, **__):
        def job(control):
            yield stub_pair()
            last_word.wait(5)

        return job

    monkeypatch.setattr("ui.session_busy.load_job", load_job)
    session.load("stub", None)
    until(lambda: session.state is State.READY)
    session.step()
    last_word.set()
    until(lambda: session.playback.cursor.round == 0)


def test_a_run_ends_with_its_budget(new_session, go, until):
    session = new_session(max_new_tokens=7)
    go(session, 99)
    until(lambda: session.state is State.FINISHED)
    assert session.finished.stop is StopReason.BUDGET
    assert len(session.run.tokens) == 7
    before = len(session.rounds)
    session.play(True)
    session.step()
    assert (session.playback.playing, len(session.rounds)) == (False, before)


def test_playing_computes_only_a_lead_and_a_pause_holds_the_thread(new_session, qtbot, until):
    session = new_session(max_new_tokens=10_000)
    session.play(True)
    until(lambda: len(session.rounds) >= 9)
    session.play(False)
    reached = session.playback.cursor.round
    qtbot.wait(100)
    assert session.playback.cursor.round == reached
    assert len(session.rounds) <= reached + 1 + 9


@pytest.mark.parametrize("change", [{"k": 2}, {"prompt": "?"}, {"seed": 5}, {"sampling": Sampling(0.5)}])
def test_a_changed_setting_puts_the_run_away_and_the_same_value_does_not(new_session, go, change):
    session = new_session()
    go(session, 3)
    session.configure(**{name: getattr(session, name, None) or getattr(session.config, name) for name in change})
    assert len(session.rounds) == 3
    session.configure(**change)
    assert (session.state, session.rounds, session.started) == (State.READY, [], None)


def test_a_value_outside_its_limits_is_refused_and_changes_nothing(new_session):
    session = new_session()
    for change in ({"k": 17}, {"seed": -1}, {"sampling": Sampling(top_p=0)}, {"rule": "guess"}):
        with pytest.raises(UserError):
            session.configure(**change)
    assert session.config.k == 4


@pytest.mark.parametrize("source", ["model", "ngram"])
def test_a_run_after_another_equals_one_in_a_fresh_window(new_session, go, source):
    """SD-032: n-gram tables and caches of one run drafted for the next."""
    used, fresh = new_session(prompt="to and fro " * 20, source=source), new_session(prompt="a rose", source=source)
    go(used, 4)
    used.configure(k=3)
    go(used, 2)
    used.reset()
    used.configure(prompt="a rose", k=4)
    assert go(used, 5) == go(fresh, 5)


def test_seeds_decide_everything_and_nothing_else_does(new_session, go, until):
    """SD-048: the same seed twice is the same run, with a measurement between two of its rounds."""
    first, other = go(new_session(seed=42), 5), go(new_session(seed=43), 5)
    session = new_session(seed=42)
    go(session, 2)
    session.measure()
    until(lambda: session.state is State.RUNNING)
    assert session.sweep.cost is not None
    assert go(session, 5) == first != other


def test_a_measurement_can_be_cancelled_and_leaves_what_was_there(new_session, go, until):
    session = new_session()
    expected = go(new_session(), 4)
    go(session, 2)
    session.measure()
    until(lambda: session.state is State.RUNNING)
    complete = session.sweep
    session.measure()
    until(lambda: session.sweep is not complete)
    session.cancel()
    assert (session.state, session.sweep) == (State.RUNNING, complete)
    assert go(session, 4) == expected


def test_a_setting_changed_while_measuring_ends_the_measurement_and_its_progress(new_session):
    """The progress bar stayed for ever, with a Cancel that did nothing."""
    session, progress = new_session(), []
    session.progress_changed.connect(progress.append)
    session.measure()
    session.configure(k=2)
    assert (session.state, progress[-1]) == (State.READY, None)


def test_measured_points_go_with_the_settings_they_were_measured_at(new_session, until):
    session = new_session()
    session.measure()
    until(lambda: session.state is State.READY)
    session.configure(k=2, seed=7)
    assert session.sweep is not None
    session.configure(sampling=Sampling(0.5))
    assert session.sweep is None


def test_stop_keeps_the_rounds_and_ends_the_show(new_session, go, until):
    """Playing went on for seconds after Stop, through the rounds computed ahead."""
    session = new_session()
    session.play(True)
    until(lambda: len(session.rounds) >= 5)
    session.stop()
    assert (session.state, session.playback.playing) == (State.FINISHED, False)
    assert session.finished.stop is StopReason.STOPPED
    shown = session.playback.cursor.round
    session.next_round()
    assert len(session.rounds) >= 5
    assert session.playback.cursor.round >= shown


def test_stop_before_the_first_round_is_ready_again(new_session, until):
    """The state was 'finished' with nothing to show, and every button but Start over was dead."""
    gate = []
    session = new_session(pair=stub_pair(Table(1, before=lambda: gate.append(1))))
    session.play(True)
    session.stop()
    assert session.state is State.READY
    session.next_round()
    until(lambda: len(session.rounds) == 1)


def test_a_lone_target_drafts_from_the_text(new_session, go):
    session = new_session(pair=stub_pair(lone=True))
    assert session.config.source == "ngram"
    go(session, 3)


def test_a_state_is_entered_only_from_where_the_table_says(new_session):
    session = new_session()
    assert set(ALLOWED) == set(State)
    with pytest.raises(AssertionError):
        session._enter(State.EMPTY)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_pressed_the_next_run_is_the_same(new_session, go, qtbot, monkeypatch, seed):
    expected = go(new_session(), 3)
    session, rng = new_session(), random.Random(seed)
    monkeypatch.setattr(
        "ui.session_busy.load_job", loader({"good": stub_pair, "bad": lambda: UserError("No.")}, 2, 0.01)
    )
    actions = [
        session.step, session.next_round, session.back, session.stop, session.reset, session.measure, session.cancel,
        lambda: session.play(True), lambda: session.play(False), lambda: session.seek(rng.randrange(-1, 6)),
        lambda: session.configure(k=rng.randrange(6)), lambda: session.load(rng.choice(("good", "bad")), None),
        lambda: session.set_speed(rng.choice((0.0, 1.0, 10.0))), lambda: qtbot.wait(20), lambda: qtbot.wait(20),
    ]  # fmt: skip
    for _ in range(150):
        rng.choice(actions)()
    session.cancel()
    session.configure(k=4)
    session.reset()
    assert session.state is State.READY
    assert go(session, 3) == expected
