"""Loading a pair: it can be cancelled, overtaken or fail, and the window breathes meanwhile (SD-070, SD-033)."""

import gc
import threading
import time
import weakref

import pytest
from PySide6.QtCore import QElapsedTimer, QTimer

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET
from simulator.errors import UserError
from tests.simulator.tiny import untimed
from tests.ui.stub import Table, loader, pair_with_start_token, stub_pair
from ui.states import State


@pytest.fixture
def finds(monkeypatch):
    """Say what loading finds, in so many slices of so many seconds."""
    return lambda found, *slices: monkeypatch.setattr("ui.session_busy.load_job", loader(found, *slices))


def stubborn(release: threading.Event):
    """A load that heeds no request to stop, like a library's own loader, and succeeds late."""

    def pair():
        release.wait(5)
        return stub_pair()

    return pair


def test_cancelling_is_acknowledged_at_once_and_the_old_pair_goes_on(new_session, finds, until):
    release = threading.Event()
    session = new_session()
    old, progress = session.pair, []
    session.progress_changed.connect(progress.append)
    finds({"slow": stubborn(release)})
    session.load("slow", None)
    until(lambda: len(progress) >= 2)
    before = time.thread_time()
    session.cancel()
    assert time.thread_time() - before < 0.2
    assert (session.state, session.pair, progress[-1]) == (State.READY, old, None)
    session.step()
    release.set()
    until(lambda: session.playback.cursor.round == 0)
    assert session.pair is old


def test_cancelling_the_first_load_leaves_nothing_loaded(new_session, finds):
    session = new_session(pair=None)
    finds({"slow": stub_pair}, 100, 0.02)
    session.load("slow", None)
    session.cancel()
    assert (session.state, session.pair) == (State.EMPTY, None)
    session.cancel()
    session.step()
    session.measure()
    assert session.state is State.EMPTY


@pytest.mark.parametrize("first_ends", ["early", "late"])
def test_the_second_load_wins_whichever_ends_first(new_session, finds, qtbot, first_ends, until):
    release, second = threading.Event(), stub_pair(Table(5))
    session = new_session(pair=None)
    finds({"first": stubborn(release), "second": lambda: second})
    session.load("first", None)
    if first_ends == "early":
        release.set()
    session.load("second", None)
    release.set()
    until(lambda: session.state is State.READY)
    qtbot.wait(50)
    assert session.pair is second


def alive(name: str) -> int:
    """Return how many decoders of a class there are."""
    gc.collect()
    return sum(type(each).__name__ == name for each in gc.get_objects())


@pytest.mark.parametrize("first_is_at", ["Starting torch", "Loading shakespeare-target-6m"])
def test_a_pair_asked_for_while_another_loads_is_the_only_one_seen_and_kept(session, until, first_is_at):
    """Two real loads: of the first neither a pair nor a word nor its weights are left."""
    before, pairs, said = alive("LlamaDecoder"), [], []
    session.pair_changed.connect(lambda: pairs.append(session.pair.target.entry.name))
    session.progress_changed.connect(lambda progress: said.append(progress.text if progress else ""))
    session.load(DEFAULT_TARGET, DEFAULT_DRAFT)
    until(lambda: any(text.startswith(first_is_at) for text in said))
    said.clear()
    session.load("shakespeare-draft-1m", None)
    until(lambda: session.state is State.READY)
    assert pairs == ["shakespeare-draft-1m"]
    assert not [text for text in said if DEFAULT_TARGET in text]
    assert alive("LlamaDecoder") == before + 1


def test_a_failed_load_keeps_pair_run_and_trace(new_session, finds, until):
    """Playing seemed to go on after a failed load, but nothing moved."""
    session, undisturbed, problems = new_session(), new_session(), []
    session.problem.connect(lambda *problem: problems.append(problem))
    for each in (session, undisturbed):
        each.set_speed(0)
        each.play(True)
        until(lambda each=each: len(each.rounds) >= 3)
    finds({"broken": lambda: UserError("The weights are damaged.")})
    session.load("broken", None)
    until(lambda: session.state is not State.LOADING)
    assert problems == [("The weights are damaged.", "")]
    assert not session.playback.playing
    session.play(True)
    for each in (session, undisturbed):
        until(lambda each=each: each.state is State.FINISHED)
    assert untimed(session.rounds) == untimed(undisturbed.rounds)


def test_a_setting_changed_while_loading_leaves_a_clean_start(new_session, finds, until):
    session = new_session()
    session.next_round()
    until(lambda: session.rounds)
    finds({"slow": stub_pair}, 100, 0.02)
    session.load("slow", None)
    session.configure(k=1)
    session.cancel()
    assert (session.state, session.rounds) == (State.READY, [])
    session.next_round()
    until(lambda: len(session.rounds) == 1)


def test_a_replaced_pair_and_a_late_one_are_set_free(new_session, finds, until):
    session = new_session()
    old, late, release = weakref.ref(session.pair.target.model), [], threading.Event()

    def too_late():
        release.wait(5)
        pair = stub_pair()
        late.append(weakref.ref(pair.target.model))
        return pair

    finds({"late": too_late, "new": stub_pair})
    session.load("late", None)
    session.cancel()
    session.load("new", None)
    release.set()
    until(lambda: session.state is State.READY)
    gc.collect()
    assert old() is None
    assert not late or late[0]() is None


def test_the_window_breathes_while_a_slow_load_goes_on(new_window, finds, until):
    """Three tries, because the gap of a heartbeat is also that of a machine with other work."""
    window = new_window(pair=None)
    finds({"slow": stub_pair}, 60, 0.02)
    longest = []
    while len(longest) < 3 and min(longest, default=999) > 250:
        gaps, watch = [], QElapsedTimer()
        beat = QTimer(window, interval=50)
        beat.timeout.connect(lambda gaps=gaps, watch=watch: gaps.append(watch.restart()))
        watch.start()
        beat.start()
        window.session.load("slow", None)
        assert window.progress.isVisible()
        assert window.progress._cancel.isEnabled()
        until(lambda: window.session.state is State.READY)
        beat.stop()
        assert not window.progress.isVisible()
        longest.append(max(gaps))
    assert min(longest) <= 250


def test_an_empty_prompt_begins_with_the_token_for_it(new_session, until):
    """SD-033: with a beginning-of-text token the text starts from it alone."""
    session = new_session(pair=pair_with_start_token, prompt="")
    assert session.obstacle is None
    session.next_round()
    until(lambda: session.rounds)
    assert session.started.prompt == (session.pair.start_token,)


def test_an_empty_prompt_without_such_a_token_disables_the_run_and_says_why(new_window):
    """SD-033: without one, nothing runs, and a sentence says what is missing."""
    window = new_window(prompt="")
    session = window.session
    session.step()
    session.measure()
    assert (session.state, session.playback.wanted) == (State.READY, 0)
    assert not any(window.transport._buttons[name].isEnabled() for name in ("step", "round", "play"))
    assert "prompt is empty" in window.stage._head.text()
    session.configure(prompt=" ")
    assert window.transport._buttons["step"].isEnabled()


@pytest.mark.parametrize("source", ["model", "ngram"])
def test_a_prompt_of_one_token_runs(new_session, source, until):
    session = new_session(prompt="a", source=source)
    session.next_round()
    until(lambda: session.rounds)
    assert session.rounds[0].drafted == (4 if source == "model" else 0)
