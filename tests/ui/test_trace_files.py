"""Traces in the window: saved, opened, shown like a run of its own, and never taken for one."""

import csv
import gzip
import json
import threading
import time
from dataclasses import replace

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent

from simulator.errors import UserError
from simulator.export import write_csv
from simulator.files import ExportError
from simulator.measure import Sweep
from simulator.records import RunConfig, StopReason
from simulator.round_cost import Cost
from simulator.text.texts import SavedTexts
from simulator.trace.file import load_trace, open_trace, save_trace
from simulator.trace.store import Rounds
from tests.simulator.tiny import untimed
from tests.ui.stub import PROMPT, Table, loader, stub_pair
from ui.exporting import on_screen
from ui.main_window import MainWindow
from ui.states import State

REST = 200  # tokens, more than a test waits for


def made(target: str = "1", **kwargs):
    """Return a pair whose contents are known; another target, another digit."""
    pair = stub_pair(Table(int(target)), **kwargs)
    draft = replace(pair.draft, sha256="2" * 64) if pair.draft else None
    return replace(pair, target=replace(pair.target, sha256=target * 64), draft=draft)


@pytest.fixture
def window(new_window):
    """A window with a pair whose contents are known."""
    return new_window(pair=made, max_new_tokens=REST)


@pytest.fixture
def go(until):
    """Do so many rounds, one by one."""

    def go(session, rounds: int):
        while len(session.rounds) < rounds:
            before = len(session.rounds)
            session.next_round()
            until(lambda before=before: len(session.rounds) > before)
        return untimed(session.rounds[:rounds])

    return go


@pytest.fixture
def file(new_session, go, tmp_path):
    """Write the trace of a run that was stopped behind so many rounds."""

    def make(rounds: int = 5, name: str = "run.trace", texts: bool = True, **config):
        session = new_session(pair=made, **{"max_new_tokens": REST, **config})
        go(session, rounds)
        shown = on_screen(session)
        save_trace(tmp_path / name, [shown.run], shown.meta(), texts=shown.texts if texts else None)
        return tmp_path / name

    return make


@pytest.fixture
def open_in(until):
    """Open a file in a window, as the menu does."""

    def open_in(window, path):
        before = window.session.opened
        window.files.open(path)
        until(lambda: window.session.opened is not before or window.notice.isVisible())
        return window.session.opened

    return open_in


def everything_said(window) -> tuple:
    """Return what pages, ribbon and timeline show of the round on screen."""
    window.stage.refresh()
    labels = [token.text for _, token in window.foot.ribbon.visible()]
    cards = [(c.tag, c.token, c.p, c.q) for c in window.stage.cards._cards]
    figures = [f._figure.value_text for f in window.stage.figures._cells][:2]
    return window.stage._head.text(), labels, cards, figures, window.foot.timeline.caption()


# --- saving


def test_the_run_is_saved_from_the_menu_and_reads_back_bit_for_bit(window, go, until, monkeypatch, tmp_path):
    go(window.session, 4)
    path = tmp_path / "x.trace"
    monkeypatch.setattr("ui.file_desk.QFileDialog.getSaveFileName", lambda *_: (str(path), ""))
    window.menus.save.trigger()
    until(window.notice.isVisible)
    assert str(path) in window.notice.text()
    trace = open_trace(path)
    assert trace.runs == (window.session.run,)
    assert trace.meta["prompts"] == [PROMPT]
    assert trace.meta["models"]["target"]["sha256"] == "1" * 64
    label = window.session.pair.texts.label
    assert all(trace.texts.label(t) == label(t) for t in (*trace.runs[0].prompt, *trace.runs[0].tokens))
    assert [p.name for p in tmp_path.iterdir()] == ["x.trace"]


def test_without_a_run_there_is_nothing_to_save(new_window):
    window = new_window(pair=None)
    assert not window.menus.save.isEnabled()
    with pytest.raises(UserError, match="no run to export"):
        window.files.exporter.save("x", window.session)


def test_saving_can_be_cancelled_and_leaves_the_old_file(window, go, until, monkeypatch, tmp_path):
    go(window.session, 2)
    (tmp_path / "x.trace").write_text("old")
    reached, release = threading.Event(), threading.Event()

    def slow(path, runs, meta, progress, texts):
        def told(share):
            reached.set()
            release.wait(10)
            progress(share)

        save_trace(path, runs, meta, told, texts)

    monkeypatch.setattr("ui.exporting.save_trace", slow)
    window.files.exporter.save(tmp_path / "x.trace", window.session)
    until(lambda: reached.is_set() and window.files.writing.isVisible())
    with pytest.raises(UserError, match="still being written"):
        window.files.exporter.save(tmp_path / "y.trace", window.session)
    window.files.writing.cancelled.emit()
    release.set()
    assert not window.files.writing.isVisible()
    window.close()
    assert window.ended
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.trace", "old")]
    assert not window.notice.isVisible()


@pytest.mark.parametrize("name", ["no/such/x.trace", "."])
def test_a_place_that_cannot_be_written_is_a_sentence(window, go, tmp_path, name):
    go(window.session, 1)
    for write in (window.files.exporter.save, window.files.exporter.export):
        with pytest.raises(ExportError, match="cannot be written"):
            write(tmp_path / name, window.session)
    assert list(tmp_path.iterdir()) == []


def test_a_table_can_be_cancelled_too(window, go, until, monkeypatch, tmp_path):
    """The export of a long run could neither be seen nor ended."""
    go(window.session, 3)
    reached = threading.Event()

    def checked(path, runs, texts, meta, progress):
        def told(share):
            reached.set()
            time.sleep(0.2)
            progress(share)

        write_csv(path, runs, texts, meta, told)

    monkeypatch.setattr("ui.exporting.write_csv", checked)
    window.files.exporter.export(tmp_path / "x.csv", window.session)
    until(reached.is_set)
    window.files.exporter.cancel()
    window.close()
    assert window.ended
    assert list(tmp_path.iterdir()) == []


# --- opening


@pytest.mark.parametrize("pair", [None, made, lambda: made("3")], ids=["no pair", "the same pair", "another pair"])
def test_an_opened_run_looks_as_it_did_whatever_is_loaded(new_window, file, open_in, go, until, pair):
    window = new_window(pair=made, max_new_tokens=REST)
    go(window.session, 5)
    window.session.seek(3, 1)
    expected = everything_said(window)
    path = file()
    other = new_window(pair=pair, prompt="something else", k=2, size=(1280, 800))
    opened = open_in(other, path)
    assert (other.session.opened, other.session.playback.cursor.round) == (opened, 0)
    assert untimed(other.session.rounds[:]) == untimed(window.session.rounds[:])
    other.session.seek(3, 1)
    window.files.strip.setVisible(True)  # takes as much room there
    until(lambda: other.foot.ribbon.width() == window.foot.ribbon.width())
    assert everything_said(other)[0] == expected[0]
    assert everything_said(other)[1:] == expected[1:]
    assert other.session.config.k == 4
    assert other.session.prompt.text == PROMPT
    assert "run.trace" in other.files.strip.text()
    assert other.windowTitle() == "run.trace - SpecScope"


def test_steps_and_clicks_go_through_the_rounds_without_a_pair(new_window, file, open_in, qtbot):
    window = new_window(pair=None)
    open_in(window, file(4))
    session = window.session
    assert session.state is State.FINISHED
    session.next_round()
    assert session.playback.cursor.round == 1
    session.step()
    assert (session.playback.cursor.round, session.playback.cursor.phase) == (2, 0)
    session.back()
    window.foot.timeline.round_chosen.emit(3)
    assert session.playback.cursor.round == 3
    session.set_speed(0)
    session.seek(0)
    session.play(True)
    qtbot.waitUntil(lambda: session.playback.at_end and not session.playback.playing)
    assert not window.transport._buttons["step"].isEnabled()
    assert "the run was stopped: load stub-1 ← stub-2" in window.stage._head.text()
    assert not window.menus.run["measure"].isEnabled()
    for title in ("Exactness", "Acceptance", "Cost", "Race", "Worth it?", "Runs"):
        window.show_page(title)
    assert "run.trace" in window.views[2]._shown.source


def test_another_pair_goes_on_with_nothing_and_measures_nothing_beside_it(new_window, file, open_in):
    window = new_window(pair=lambda: made("3"))
    open_in(window, file(3))
    session = window.session
    session.seek(2)
    session.step()
    session.play(True)
    session.tick()
    assert (session.state, len(session.rounds), session._control) == (State.FINISHED, 3, None)
    assert session.foreign
    assert not window.menus.run["measure"].isEnabled()
    assert "Other models are loaded" in window.files.strip.text()
    session._set_sweep(Sweep((), 1.0, Cost(2.0, 0.07, 0.031, 0.2), None))
    assert session.run_sweep is None
    assert not window.views[-2].subjects.run.isEnabled()  # the text's ids are not this tokenizer's


def test_the_same_pair_goes_on_exactly_as_if_the_run_had_not_been_stopped(window, file, open_in, go):
    path = file(4, seed=9)
    session = window.session
    session.configure(seed=9)
    expected = go(session, 9)
    session.configure(seed=1)
    open_in(window, path)
    assert (session.state, session.config.seed, session.foreign) == (State.RUNNING, 9, False)
    session.seek(3)
    assert go(session, 9) == expected
    assert "Rounds 1 to 4 are the file's" in window.files.strip.text()
    window.stage.refresh()
    assert window.stage.figures._cells[-1]._figure.caption == "tokens/s, file and here"
    assert on_screen(session).meta()["continued"]["from_round"] == 4


def test_playing_a_stopped_run_goes_on_behind_the_files_last_round(window, file, open_in, until):
    """It stood still at the last round: only the press of Play looked whether rounds were missing."""
    open_in(window, file(20))
    window.session.set_speed(0)
    window.session.play(True)
    until(lambda: len(window.session.rounds) > 22)


def test_a_run_that_ended_is_over_and_says_why(window, file, open_in):
    open_in(window, file(1, max_new_tokens=1, k=0))
    session = window.session
    assert (session.state, session.finished.stop) == (State.FINISHED, StopReason.BUDGET)
    assert window.stage._head.text().endswith("The run ends here: it has all the tokens asked for.")


def test_starting_over_makes_the_run_anew_with_the_loaded_pair(window, file, open_in, go):
    open_in(window, file(3, seed=5))
    rounds = untimed(window.session.rounds[:])
    window.menus.run["reset"].trigger()
    session = window.session
    assert (session.opened, session.state, session.config.seed) == (None, State.READY, 5)
    assert not window.files.strip.isVisible()
    assert go(session, 3) == rounds


def test_closing_a_file_brings_the_settings_and_points_from_before(window, file, open_in, until, monkeypatch):
    monkeypatch.setattr("simulator.jobs.SWEEP_TOKENS", 6)
    session = window.session
    session.configure(k=2, prompt="mine")
    session.measure()
    until(lambda: session.state is State.READY)
    points = session.sweep
    for path in (file(2), file(3, "other.trace", seed=3)):
        open_in(window, path)
    assert (session.config.seed, session.sweep) == (3, None)
    session.close_file()
    assert (session.opened, session.state) == (None, State.READY)
    assert (session.config.k, session.config.seed, session.prompt.text) == (2, 0, "mine")
    assert points is session.sweep is not None
    assert window.windowTitle() == "SpecScope"
    assert not window.menus.close_file.isEnabled()


def test_without_a_pair_a_closed_file_leaves_an_empty_window(new_window, file, open_in):
    window = new_window(pair=None)
    open_in(window, file(2))
    window.session.close_file()
    assert (window.session.state, len(window.session.rounds)) == (State.EMPTY, 0)


def test_a_file_without_texts_shows_ids_until_its_target_is_loaded(new_window, file, open_in, monkeypatch, until):
    window = new_window(pair=None)
    open_in(window, file(2, texts=False))
    session = window.session
    token = session.rounds[0].extra.token_id
    assert session.texts.label(token) == f"‹{token}›"
    assert f"‹{token}›" in window.stage._head.text()
    assert "no token texts" in window.files.strip.text()
    monkeypatch.setattr("ui.session_busy.load_job", loader({"made": made}, 3, 0.05))
    session.load("made", None)
    session.seek(1)  # a file's rounds need no models
    assert session.playback.cursor.round == 1
    until(lambda: session.state is State.RUNNING)
    session.seek(0)
    assert session.opened is not None
    assert session.texts.label(token) == session.pair.texts.label(token)
    assert f"‹{token}›" not in window.stage._head.text()
    assert "no token texts" not in window.files.strip.text()
    assert [t.text for _, t in window.foot.ribbon.visible()][: len(PROMPT)] == [c.replace(" ", "·") for c in PROMPT]


def test_a_pair_that_comes_later_leaves_the_opened_run_on_screen(new_window, file, open_in, monkeypatch, until):
    window = new_window(pair=None)
    monkeypatch.setattr("ui.session_busy.load_job", loader({"made": lambda: made("3")}, 20, 0.05))
    window.session.load("made", None)
    open_in(window, file(3))
    assert window.session.state is State.LOADING
    until(lambda: window.session.state is State.FINISHED)
    assert len(window.session.rounds) == 3
    assert window.session.foreign


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_load_that_comes_to_nothing_goes_back_to_the_opened_run(
    new_window, file, open_in, monkeypatch, until, cancelled
):
    window = new_window(pair=None)
    open_in(window, file(2))
    monkeypatch.setattr("ui.session_busy.load_job", loader({"made": UserError("No.")}, 2 + 98 * cancelled, 0.02))
    window.session.load("made", None)
    if cancelled:
        window.session.cancel()
    until(lambda: window.session.state is State.FINISHED)
    window.session.next_round()
    assert window.session.playback.cursor.round == 1


def test_the_table_of_an_opened_run_is_the_one_that_its_own_window_wrote(new_window, file, open_in, until, tmp_path):
    path = file(4)
    first, second = new_window(pair=made), new_window(pair=None)
    for window, name in ((first, "a.csv"), (second, "b.csv")):
        open_in(window, path)
        window.files.exporter.export(tmp_path / name, window.session)
        until(window.notice.isVisible)
    tables = [(tmp_path / name).read_bytes() for name in ("a.csv", "b.csv")]
    assert tables[0] == tables[1]
    rows = list(csv.DictReader(tables[0].decode().splitlines()))
    assert [int(r["token_id"]) for r in rows if r["emitted"] == "1"] == list(first.session.run.tokens)
    meta = json.loads((tmp_path / "b.meta.json").read_text("utf-8"))
    assert meta["models"]["target"]["name"] == "stub-1"
    assert meta["prompts"] == [PROMPT]


def test_every_run_of_a_file_is_in_the_table_and_can_be_shown(new_window, until, tmp_path, file, open_in):
    paths = [file(3, f"{seed}.trace", seed=seed, max_new_tokens=12) for seed in (4, 5, 6)]
    runs = [load_trace(path)[0][0] for path in paths]
    texts, meta = SavedTexts({i: bytes([i]) for i in range(256)}), open_trace(paths[0]).meta
    save_trace(tmp_path / "all.trace", runs, meta, texts=texts)
    window = new_window(pair=made)
    open_in(window, tmp_path / "all.trace")
    desk = window.pages.view("Runs").desk
    until(lambda: len(desk.runs) == 3)
    assert [r.setting.seed for r in desk.runs] == [4, 5, 6]
    assert [r.tokens for r in desk.runs] == [run.tokens for run in runs]
    assert desk.speeds() == {}  # of another machine
    strip = window.files.strip
    assert [strip.runs.itemText(i) for i in range(3)] == [f"run {n} of 3: k = 4, seed {n + 3}" for n in (1, 2, 3)]
    strip.runs.activated.emit(2)
    assert window.session.opened.index == 2
    assert window.session.config.seed == 6
    assert untimed(window.session.rounds[:]) == untimed(runs[2].rounds)
    assert strip.runs.currentIndex() == 2
    assert on_screen(window.session).run == runs[2]


def test_a_run_that_ends_here_behind_a_files_rounds_stays_with_the_file(window, file, open_in, until):
    open_in(window, file(2, max_new_tokens=12))
    desk = window.pages.view("Runs").desk
    until(lambda: len(desk.runs) == 1)
    window.session.set_speed(0)
    window.session.play(True)
    until(lambda: window.session.state is State.FINISHED)
    until(lambda: len(desk.runs) == 2)
    assert len({r.models for r in desk.runs}) == 1
    assert desk.runs[1].models.endswith("run.trace")


# --- what goes wrong


BAD = {
    "damaged": (lambda whole: whole[:500] + b"\0" + whole[501:], "is damaged or cut short"),
    "cut": (lambda whole: whole[: len(whole) // 2], "is damaged or cut short"),
    "empty": (lambda whole: b"", "is empty"),
    "a table": (lambda whole: b"run,round,position\r\n0,0,1\r\n", "is a table (CSV)"),
    "another kind": (lambda whole: b"\x89PNG\r\n\x1a\n" + bytes(99), "is no SpecScope trace"),
    "newer": (
        lambda whole: gzip.compress(b'{"format":"specscope-trace","version":9,"meta":{}}\n'),
        "has version 9, but this SpecScope reads",
    ),
}


@pytest.mark.parametrize("bad", [*BAD, "a folder", "missing"])
def test_what_is_no_trace_is_a_sentence_and_what_was_there_stays(window, file, go, until, tmp_path, bad):
    path, expected = tmp_path / "x.trace", "it is a folder" if bad == "a folder" else "does not exist"
    if bad == "a folder":
        path.mkdir()
    elif bad in BAD:
        change, expected = BAD[bad]
        path.write_bytes(change(file().read_bytes()))
    before = go(window.session, 3)
    window.files.open(path)
    until(window.notice.isVisible)
    assert expected in window.notice.text()
    assert "\n" not in window.notice.text()
    assert (window.session.opened, window.session.state) == (None, State.RUNNING)
    assert untimed(window.session.rounds[:]) == before
    go(window.session, 4)


def test_opening_ends_a_run_that_is_going_on_and_nothing_of_it_comes_later(window, file, open_in, until, qtbot):
    path = file(3)
    session = window.session
    session.set_speed(0)
    session.configure(max_new_tokens=10_000, seed=77)
    session.play(True)
    until(lambda: len(session.rounds) > 20)
    open_in(window, path)
    qtbot.wait(100)
    assert len(session.rounds) == 3
    assert not session.playback.playing


def test_while_something_is_measured_a_file_waits(window, file, open_in, until, monkeypatch):
    monkeypatch.setattr("simulator.jobs.SWEEP_TOKENS", 6)
    path = file(3)
    window.session.measure()
    open_in(window, path)
    assert "being measured" in window.notice.text()
    with pytest.raises(UserError, match="being measured"):
        window.session.show(None)
    until(lambda: window.session.state is State.READY)
    assert window.session.sweep is not None


def test_of_two_files_the_one_asked_for_last_is_shown(window, file, until, monkeypatch):
    first, second = file(2, "first.trace"), file(4, "second.trace")
    held, release = threading.Event(), threading.Event()

    def slow(path, progress):
        if path == first:
            held.set()
            release.wait(10)
        return open_trace(path, progress)

    monkeypatch.setattr("ui.trace_files.open_trace", slow)
    shown = []
    window.session.opened_changed.connect(lambda: shown.append(window.session.opened.name))
    window.files.open(first)
    until(held.is_set)
    window.files.open(second)
    release.set()
    until(lambda: window.session.opened is not None)
    assert shown == ["second.trace"]


def test_reading_is_shown_and_can_be_cancelled(window, file, until, qtbot, monkeypatch):
    path, release = file(2), threading.Event()

    def slow(path, progress):
        release.wait(10)
        return open_trace(path, progress)

    monkeypatch.setattr("ui.trace_files.open_trace", slow)
    window.files.open(path)
    until(window.files.reading.isVisible)
    qtbot.mouseClick(window.files.reading._cancel, Qt.MouseButton.LeftButton)
    release.set()
    qtbot.wait(300)
    assert not window.files.reading.isVisible()
    assert (window.session.opened, window.session.state) == (None, State.READY)


@pytest.mark.parametrize("what", ["reading", "writing"])
def test_the_window_can_be_closed_meanwhile(window, file, go, until, monkeypatch, tmp_path, what):
    begun, path = threading.Event(), file(2)

    def long(progress):
        begun.set()
        while True:
            time.sleep(0.01)
            progress(0.5)

    monkeypatch.setattr("ui.trace_files.open_trace", lambda path, progress: long(progress))
    monkeypatch.setattr("ui.exporting.save_trace", lambda path, runs, meta, progress, texts: long(progress))
    go(window.session, 1)
    window.files.open(path) if what == "reading" else window.files.exporter.save(tmp_path / "x", window.session)
    until(begun.is_set)
    window.close()
    assert window.ended


# --- dropping


def drop(window: MainWindow, *urls: QUrl) -> None:
    data = QMimeData()
    data.setUrls(list(urls))
    window.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                                Qt.KeyboardModifier.NoModifier))  # fmt: skip


def test_a_file_that_is_dropped_is_opened(window, file, until):
    assert window.acceptDrops()
    path = QUrl.fromLocalFile(str(file(2)))
    drop(window, QUrl("https://example.org/x.trace"))
    drop(window, path, path)
    assert window.notice.text() == "2 files were dropped: drop a single trace file."
    assert window.session.opened is None
    drop(window, path)
    until(lambda: window.session.opened is not None)
    assert not window.notice.isVisible()


# --- size


def test_showing_a_long_run_rebuilds_only_what_is_seen(window, file, open_in, monkeypatch, until, tmp_path):
    """A hundred thousand rounds as objects would take a minute and gigabytes."""
    path = file(30)
    ((run,), meta) = load_trace(path)
    long = [replace(run.rounds[i % 30], index=i) for i in range(6_000)]
    save_trace(tmp_path / "long.trace", [replace(run, rounds=long)], meta)
    built = []
    monkeypatch.setattr(Rounds, "__iter__", lambda self: pytest.fail("all rounds were rebuilt"))
    original = Rounds._at
    monkeypatch.setattr(Rounds, "_at", lambda self, i: (built.append(i), original(self, i))[1])
    open_in(window, tmp_path / "long.trace")
    window.session.seek(5_999)
    assert len(set(built)) < 300
    assert window.foot.timeline.caption() == "round 6000 of 6000"


def test_settings_that_this_version_does_not_have_leave_the_toolbar_alone(window, file, open_in, tmp_path):
    ((run,), meta) = load_trace(file(3))
    strange = replace(run, config=replace(RunConfig(rule="of tomorrow", k=40), end_tokens=run.config.end_tokens))
    save_trace(tmp_path / "strange.trace", [strange], meta)
    window.session.configure(k=3)
    open_in(window, tmp_path / "strange.trace")
    assert (window.session.config.k, window.session.config.rule) == (3, "exact")
    assert (window.session.state, len(window.session.rounds)) == (State.FINISHED, 3)
    window.show_page("Acceptance")
