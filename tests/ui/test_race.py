"""The Race page: replays what came when it came, says who won and what is comparable, never lies about its settings."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from simulator.exactness.sequence import Divergence
from simulator.race import Lane, Race, shown_at
from simulator.records import RunConfig, Sampling, StopReason
from tests.ui.stub import Table, loader, stub_pair
from ui import race_words
from ui.pages.race import RacePage
from ui.replay import SPEEDS, Replay
from ui.states import State
from ui.widgets.race_bar import MEASURE_KEYS, REPLAY_KEYS

WORDS = ("·the", "·and", "ing", "·King", "⏎", "·Westmoreland", ",")
GREEDY = Sampling(temperature=0)


def made_lane(n: int, per_pass: int, ms: float, tokens: tuple[int, ...] = ()) -> Lane:
    """Return a lane of n tokens, `per_pass` at a time, a pass every so many ms."""
    passes = tuple(i // per_pass + 1 for i in range(n))
    last = ["plain" if per_pass == 1 else "bonus" if i % 2 else "residual" for i in range(n)]
    origins = tuple(last[i] if i % per_pass == per_pass - 1 else "accepted" for i in range(n))
    return Lane(4.0, tokens or tuple(range(n)), tuple(WORDS[i % 7] for i in range(n)), tuple(ms * p for p in passes),
                origins, passes, StopReason.BUDGET)  # fmt: skip


def made_race(n: int = 60, ms: float = 14.0, plain_n: int = 0, divergence=None, **config) -> Race:
    """Return a race: plain 10 ms a token, speculative 3 tokens each so many ms."""
    return Race(RunConfig(**config), 9, made_lane(plain_n or n, 1, 10.0), made_lane(n, 3, ms), divergence)


@pytest.fixture
def new_page(new_session, qtbot):
    """Make pages, shown, with a clock that the test moves; `now` is a list of one time in seconds."""

    def make(size=(1137, 600), **config) -> RacePage:
        now = [100.0]
        made = RacePage(new_session(**config), clock=lambda: now[0])
        made.now = now
        qtbot.addWidget(made)
        made.resize(*size)
        made.show()
        qtbot.waitExposed(made)
        return made

    return make


def later(page, ms: float) -> None:
    """Let the clock go on, and one tick of the display come."""
    page.now[0] += ms / 1000
    page.tick()


def shown(page) -> tuple[int, int]:
    assert page.tracks.shown() == tuple(text.shown for text in page.texts)
    return page.tracks.shown()


def expected(race: Race, ms: float) -> tuple[int, int]:
    return shown_at(race.plain, ms), shown_at(race.speculative, ms)


# The moment


def test_the_replay_goes_by_the_clock_and_not_by_ticks():
    replay = Replay()
    replay.load(1000.0)
    replay.play(5.0)
    for now in (5.001, 5.1, 5.1, 5.4):
        replay.tick(now)
    assert replay.at == pytest.approx(400.0)
    replay.tick(7.0)
    assert (replay.at, replay.playing) == (1000.0, False)
    replay.play(8.0)
    assert (replay.at, replay.playing) == (0.0, True)


@pytest.mark.parametrize("speed", SPEEDS)
def test_speed_stretches_time_and_a_change_makes_nothing_jump(speed):
    replay = Replay()
    replay.load(10_000.0)
    replay.play(0.0)
    replay.tick(1.0)
    replay.set_speed(speed, 1.5)
    assert replay.at == pytest.approx(1500.0)
    replay.tick(2.0)
    assert replay.at == pytest.approx(1500.0 + 500.0 * speed)
    replay.seek(4000.0, 3.0)
    replay.tick(3.1)
    assert replay.at == pytest.approx(4000.0 + 100.0 * speed)
    replay.pause()
    replay.tick(9.0)
    assert replay.at == pytest.approx(4000.0 + 100.0 * speed)


def test_an_empty_replay_never_plays():
    replay = Replay()
    replay.play(1.0)
    assert not replay.playing


# What is shown


@pytest.mark.parametrize("speed", SPEEDS)
def test_both_lanes_show_exactly_what_has_arrived(new_page, speed):
    page, race = new_page(), made_race()
    page.set_race(race)
    page.bar.set_speed(speed)
    page.play(True)
    at = 0.0
    while page.replay.playing:
        later(page, 17.3)
        at = min(at + 17.3 * speed, race.ms)
        assert page.replay.at == pytest.approx(at)
        assert shown(page) == expected(race, page.replay.at)
    assert shown(page) == (60, 60)
    assert not page._timer.isActive()


def test_a_token_is_there_at_its_arrival_and_not_before(new_page):
    page, race = new_page(), made_race()
    page.set_race(race)
    for lane, i in ((race.plain, 0), (race.speculative, 1)):
        for arrival in lane.arrivals[::7]:
            page.seek(arrival - 1e-6)
            before = shown(page)[i]
            page.seek(arrival)
            assert before == lane.arrivals.index(arrival)
            assert shown(page)[i] == shown_at(lane, arrival) > before


def test_the_slider_scrubs_both_ways(new_page):
    page, race = new_page(), made_race()
    page.set_race(race)
    for value in (5000, 10_000, 0, 2500):
        page.bar.slider.setValue(value)
        assert page.replay.at == pytest.approx(race.ms * value / 10_000)
        assert shown(page) == expected(race, page.replay.at)


def test_clocks_stop_at_the_finish_and_speeds_end_as_measured(new_page):
    page, race = new_page(), made_race()
    page.set_race(race)
    page.seek(race.ms)
    for i, lane in enumerate((race.plain, race.speculative)):
        assert page.tracks.texts(i) == (race_words.clock(lane.ms), f"{lane.tokens_per_second:,.0f} tokens/s")
    page.seek(race.speculative.ms)
    assert [page.tracks.texts(i)[0] for i in (0, 1)] == [race_words.clock(race.speculative.ms)] * 2


def test_speeds_change_four_times_a_second_at_most_while_playing(new_page):
    page = new_page()
    page.set_race(made_race(n=600))
    page.play(True)
    seen = []
    for _ in range(60):
        later(page, 16.7)
        seen.append(page.tracks.texts(1)[1])
    changes = sum(a != b for a, b in pairwise(seen))
    assert 1 <= changes <= 5


def test_the_newest_token_stays_in_view(new_page):
    page, race = new_page(size=(900, 560)), made_race(n=900)
    page.set_race(race)
    for share in (0.2, 0.5, 0.9, 1.0, 0.3, 0.0, 0.7):
        page.seek(race.ms * share)
        for text in page.texts:
            orders = [token.order for _, token in text._visible()]
            assert not text.shown or max(orders) == text.shown - 1
    page.resize(700, 640)
    QApplication.processEvents()
    assert all(max(t.order for _, t in text._visible()) == text.shown - 1 for text in page.texts)


@pytest.mark.parametrize("size", [(1137, 600), (1780, 880)])
def test_what_is_painted_piece_by_piece_is_the_whole_picture(new_page, size):
    page = new_page(size=size)
    page.set_race(made_race(n=500, divergence=Divergence(101, 100, 1, 2, 1e-6, 1e-6), sampling=GREEDY))
    page.play(True)
    page._timer.stop()  # the test's ticks only
    for _ in range(150):
        later(page, 16.7)
        QApplication.processEvents()
    pieces = page.screen().grabWindow(page.winId()).toImage()
    whole = page.grab().toImage()
    assert pieces.convertToFormat(whole.format()) == whole


def test_a_tick_with_2000_tokens_a_lane_takes_less_than_a_frame(new_page):
    """Thread time: other processes must not fail the test."""
    page = new_page(size=(1780, 880))
    page.set_race(made_race(n=2000))
    page.play(True)
    page._timer.stop()
    spent = []
    for _ in range(120):
        start = time.thread_time()
        later(page, 167.0)  # the whole race, each tick ten times as much as on a display
        QApplication.processEvents()
        spent.append(1000 * (time.thread_time() - start))
    assert shown(page) == (2000, 2000)
    assert sorted(spent)[len(spent) // 2] < 16


def test_a_hidden_page_does_not_play(new_page):
    page = new_page()
    page.set_race(made_race())
    page.play(True)
    page.hide()
    assert not page.replay.playing
    assert not page._timer.isActive()


# Measuring


def measured(page, until) -> Race:
    last = page.race
    page.bar.measure_button.click()
    until(lambda: page.race is not last and page._session.state is not State.MEASURING)
    return page.race


def test_one_press_measures_and_replays(new_page, until):
    page = new_page(k=3, max_new_tokens=24, seed=4)
    assert "Press Measure" in page._head.text()
    assert not page.bar.play_button.isEnabled()
    race = measured(page, until)
    assert page.replay.playing
    assert (race.config.k, race.config.seed, len(race.plain.tokens)) == (3, 4, 24)
    later(page, race.ms + 1)
    assert not page.replay.playing
    assert shown(page) == (len(race.plain.tokens), len(race.speculative.tokens))
    assert "seed 4" in page._with.text()
    assert "draws from the same law" in page._notice.text()


def test_greedy_lanes_are_compared(new_page, until):
    page = new_page(k=3, max_new_tokens=24, sampling=GREEDY)
    race = measured(page, until)
    assert race.plain.tokens == race.speculative.tokens
    assert page._notice.text() == "✓ Both greedy texts are the same, all 24 tokens."


def test_cancelling_in_the_middle_keeps_the_last_race(new_page, until, monkeypatch):
    slow = [0.0]
    pair = stub_pair(Table(1, before=lambda: time.sleep(slow[0])))  # this is the work
    monkeypatch.setattr("tests.ui.test_race.stub_pair", lambda: pair)
    page = new_page(max_new_tokens=24)
    monkeypatch.setattr("ui.session_busy.load_job", loader({"slow": lambda: pair}))
    page._session.load("slow", None)
    until(lambda: page._session.pair is pair)
    race = measured(page, until)
    page.pause()
    page.seek(race.ms / 2)
    before = shown(page), page._head.text()
    slow[0] = 0.01
    page.bar.measure_button.click()
    until(lambda: page.tracks.underway is not None and page.tracks.underway.tokens)
    assert "one after the other" in page._head.text()
    assert [text.shown for text in page.texts] == [0, 0]
    page._session.cancel()
    assert page.race is race
    assert (shown(page), page._head.text()) == before
    assert page.tracks.underway is None
    assert page.bar.measure_button.isEnabled()
    assert page.bar.play_button.isEnabled()


@pytest.mark.parametrize(
    "change", [{"k": 2}, {"seed": 9}, {"prompt": "other"}, {"sampling": GREEDY}, {"max_new_tokens": 9}]
)
def test_a_change_of_settings_marks_the_race_as_earlier_and_going_back_takes_the_mark_away(new_page, until, change):
    page = new_page(k=3, max_new_tokens=12)
    measured(page, until)
    before = {name: getattr(page._session, name, None) or getattr(page._session.config, name) for name in change}
    assert not page._head.text().startswith("Of an earlier setting")
    page._session.configure(**change)
    assert page._head.text().startswith("Of an earlier setting: ")
    assert "other settings than the window has now" in page._with.text()
    page._session.configure(**before)
    assert not page._head.text().startswith("Of an earlier setting")


def test_another_pair_marks_the_race_as_earlier_even_with_the_same_settings(new_page, until, monkeypatch):
    page = new_page(k=3, max_new_tokens=12)
    race = measured(page, until)
    monkeypatch.setattr("ui.session_busy.load_job", loader({"other": lambda: stub_pair(Table(5))}))
    page._session.load("other", None)
    until(lambda: page._session.state is State.READY)
    assert page.race is race
    assert page._head.text().startswith("Of an earlier setting: ")
    assert "stub-1" in page._with.text()
    measured(page, until)
    assert "stub-5" in page._with.text()
    assert not page._head.text().startswith("Of an earlier setting")


def test_loading_another_pair_while_measuring_keeps_the_last_race(new_page, until, monkeypatch):
    page = new_page(k=3, max_new_tokens=12)
    race = measured(page, until)
    monkeypatch.setattr("ui.session_busy.load_job", loader({"other": stub_pair}))
    page.measure()
    page._session.load("other", None)
    until(lambda: page._session.state is State.READY)
    assert page.race is race
    assert page.tracks.underway is None
    assert "earlier setting" in page._head.text()


def test_what_cannot_race_says_so(new_page, until, session, qtbot):
    page = new_page(k=0)
    assert "k of at least 1" in page._head.text()
    assert not page.bar.measure_button.isEnabled()
    page.measure()
    assert page._session.state is State.READY
    page._session.configure(k=2)
    assert page.bar.measure_button.isEnabled()
    page._session.configure(prompt="")
    assert "prompt is empty" in page._head.text()
    empty = RacePage(session)
    qtbot.addWidget(empty)
    assert "Open a pair" in empty._head.text()
    assert not empty.bar.measure_button.isEnabled()


def test_a_race_that_fails_is_told_and_leaves_the_last_one(new_page, until):
    page = new_page(k=2, max_new_tokens=12)
    race, told = measured(page, until), []
    page._session.problem.connect(lambda sentence, _: told.append(sentence))
    page._session.configure(max_new_tokens=0)
    page.measure()
    until(lambda: told)
    assert "no token can follow" in told[0]
    assert page.race is race
    assert page._session.state is State.READY


# Words


def test_the_headline_says_who_won_by_how_much_and_over_what():
    won = race_words.headline(made_race())
    assert won.text == ("Speculative decoding wins by 0.32 s: 60 tokens in 0.28 s, plain decoding in 0.60 s. "
                        "That is 2.14 times as fast.")  # fmt: skip
    assert won.colour == "both"
    lost = race_words.headline(made_race(ms=60.0))
    assert lost.text.startswith("Plain decoding wins by 0.60 s: 60 tokens in 0.60 s, speculative decoding in 1.20 s.")
    assert "only 0.50 times" in lost.text
    assert race_words.headline(made_race(ms=30.0)).text.startswith("A dead heat")
    unequal = race_words.headline(made_race(plain_n=40)).text
    assert (
        unequal
        == "Speculative decoding has 2.14 times the speed per token: 60 tokens in 0.28 s, plain decoding 40 in 0.40 s."
    )


def lane(origins: str, ms: float, stop=StopReason.BUDGET) -> Lane:
    """Return a lane of one-token passes with these origins: p(lain), a(ccepted), r(esidual)."""
    names = tuple({"p": "plain", "a": "accepted", "r": "residual"}[o] for o in origins)
    n = len(names)
    arrivals = tuple(ms * (i + 1) for i in range(n))
    return Lane(4.0, tuple(range(n)), ("x",) * n, arrivals, names, tuple(range(1, n + 1)), stop)


@pytest.mark.parametrize(
    ("plain", "drafting", "source", "begins", "has"),
    [("p", "p", "model", "No race: nothing was drafted in 1 token, ", "allow more tokens"),
     ("p" * 60, "p" * 60, "ngram", "No race: nothing was drafted in 60 tokens, ", "No n-gram"),
     ("p", "a", "model", "Too short to tell: ", "0.020 s for 1 token, plain decoding 0.010 s for 1."),
     ("p" * 60, "ar", "model", "Too short to tell: ", "race longer texts"),
     ("p" * 8, "ar" * 4, "model", "Plain decoding wins", "8 tokens")],
)  # fmt: skip
def test_a_difference_that_one_slow_pass_makes_is_no_victory(new_page, plain, drafting, source, begins, has):
    """With a budget of one token nothing is drafted, yet it said that plain decoding wins by 5 ms."""
    race = Race(RunConfig(source=source), 9, lane(plain, 10.0), lane(drafting, 20.0), None)
    head = race_words.headline(race)
    assert head.text.startswith(begins)
    assert has in head.text
    won = begins.startswith("Plain")
    assert (race.winner is race.plain) is won
    assert (head.colour == "excess") is won
    page = new_page()
    page.set_race(race)
    page.seek(race.ms)
    assert [page.tracks._first(i) for i in (0, 1)] == [won, False]


def test_who_is_first_at_the_finish_is_who_the_headline_names():
    for ms in (14.0, 29.9, 30.0, 60.0):
        race, text = made_race(ms=ms), race_words.headline(made_race(ms=ms)).text
        assert text.startswith("A dead heat") is (race.winner is None)
        assert text.startswith("Speculative decoding wins") is (race.winner is race.speculative)
        assert text.startswith("Plain decoding wins") is (race.winner is race.plain)


@pytest.mark.parametrize(
    ("origins", "stop", "shown", "text"),
    [("p", StopReason.BUDGET, 1, "1 of 1 token from 1 pass · "),
     ("ppp", StopReason.BUDGET, 2, "2 of 3 tokens from 2 passes"),
     ("ppp", StopReason.END_TOKEN, 3, "3 of 3 tokens from 3 passes, the last an end token · "),
     ("ppp", StopReason.END_TOKEN, 2, "2 of 3 tokens from 2 passes · "),
     ("ppp", StopReason.CONTEXT, 3, "from 3 passes, then the context was full · ")],
)  # fmt: skip
def test_a_lane_says_how_many_tokens_came_and_why_no_more_do(origins, stop, shown, text):
    assert text in race_words.count(lane(origins, 10.0, stop), shown)


def test_the_conditions_name_the_source_in_words():
    race = replace(made_race(), config=RunConfig(source="ngram"))
    assert race_words.conditions(race, stub_pair(), "x").startswith("stub-1 ← n-gram lookup · ")
    assert race_words.conditions(made_race(), stub_pair(), "x").startswith("stub-1 ← stub-2 · ")


def test_the_notice_says_what_is_comparable():
    assert "texts may differ" in race_words.comparable(made_race()).text
    lossy = race_words.comparable(made_race(rule="always"))
    assert "not lossless" in lossy.text
    assert "same law" not in lossy.text
    tie = Divergence(11, 10, 10, 10, 1e-6, 2e-6)
    said = race_words.comparable(made_race(sampling=GREEDY, divergence=tie))
    assert (said.sign, said.colour) == ("≈", "extra")
    assert "token 11" in said.text
    assert "A tie" in said.text
    wrong = race_words.comparable(made_race(sampling=GREEDY, divergence=replace(tie, margin=0.7)))
    assert (wrong.sign, wrong.colour) == ("✗", "excess")
    at_zero = race_words.comparable(made_race(sampling=GREEDY, divergence=Divergence(60), rule="always"))
    assert "not lossless" in at_zero.text


@pytest.mark.parametrize("ms", [0.4, 5.0, 99.0, 612.0, 12_345.0, 999_999.0])
def test_a_time_is_written_with_digits_that_tell(ms):
    text = race_words.seconds(ms)
    assert text.endswith(" s")
    assert float(text[:-2]) == pytest.approx(ms / 1000, rel=0.02, abs=5e-4)


def test_every_part_of_a_lane_has_its_definition(new_page):
    page = new_page()
    page.set_race(made_race())
    assert set(race_words.definitions()) == {"name", "bar", "count", "clock", "rate"}
    boxes = [page.tracks._box(i, part) for i in (0, 1) for part in race_words.definitions()]
    for i, box in enumerate(boxes):
        assert page.tracks.rect().contains(box.toAlignedRect())
        assert not any(other.intersects(box) for other in boxes[i + 1 :])


# Keys


def test_the_windows_keys_keep_working_on_the_race_page(new_window, qtbot, until):
    window = new_window(k=3, max_new_tokens=12)
    page = next(view for view in window.views if view.title == "Race")
    window.show_page("Race")
    window.activateWindow()
    until(lambda: QApplication.activeWindow() is window)
    qtbot.keyClick(window, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    until(lambda: page.race is not None and window.session.state is State.READY)
    page.pause()
    qtbot.keyClick(window, Qt.Key.Key_F5)
    assert page.replay.playing
    asked = []
    for name, action in window.menus.run.items():
        action.triggered.disconnect()
        action.triggered.connect(lambda _=False, name=name: asked.append(name))
    for widget in (page.bar.measure_button, page.bar.play_button, page.bar.slider):
        widget.setFocus()
        for key in (Qt.Key.Key_Space, Qt.Key.Key_R, Qt.Key.Key_P):
            qtbot.keyClick(widget, key)
    assert asked == ["step", "round", "play"] * 3
    asked.clear()
    page.pause()
    page.seek(page.race.ms / 2)
    page.bar.slider.setFocus()
    at = page.replay.at
    qtbot.keyClick(page.bar.slider, Qt.Key.Key_Right)
    assert page.replay.at > at
    assert asked == []
    shortcuts = {action.shortcut().toString() for action in window.menus.run.values()}
    assert not shortcuts & {MEASURE_KEYS, REPLAY_KEYS}
