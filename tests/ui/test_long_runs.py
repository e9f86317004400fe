"""Runs of many rounds: what takes longer with them is done on another thread, or a stretch in each turn."""

import gc
import random
import threading
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication

from simulator.acceptance.from_runs import of_runs
from simulator.errors import UserError
from simulator.grids.brief import brief_of
from simulator.grids.run import pair_name
from simulator.metrics import from_rounds
from simulator.records import Run, RunConfig, RunFinished, RunStarted, StopReason
from simulator.text.prompts import Prompt
from simulator.text.texts import NO_TEXTS
from simulator.trace.packing import pack
from simulator.trace.store import Rounds, RoundStore, as_columns
from tests.ui.rounds import ALL
from ui import stage_model
from ui.app import spare_collector
from ui.bench_scale import repeated
from ui.bench_turns import long_turns
from ui.pages.acceptance import AcceptancePage
from ui.pages.runs import RunsPage
from ui.run_counter import AT_ONCE
from ui.runs_words import STRETCH, first_difference
from ui.session import State
from ui.stage_model import Totals, stage_numbers
from ui.widgets import line_breaks
from ui.widgets.line_breaks import LineBreaks
from ui.widgets.origin import Origin
from ui.widgets.ribbon_layout import flow
from ui.widgets.run_text import END, RunText
from ui.widgets.token_text import NEWLINE

LONG = AT_ONCE + 100  # rounds


def rounds_of(count: int) -> list:
    return list(repeated(pack(ALL), count, vocab=50))


def end_of(session, count: int) -> Run:
    """Let a run of so many rounds end in the session, and return it."""
    session.reset()
    session.started = RunStarted(session.config, (1,), 1.0)
    session._enter(State.RUNNING)
    session.rounds += rounds_of(count)
    session._finish(RunFinished(StopReason.BUDGET))
    return session.run


class Gate:
    """Stands before a function: notes the threads that call it, and holds them up until it is open."""

    def __init__(self, function):
        self._function, self.threads, self.open = function, [], threading.Event()
        self.open.set()

    def __call__(self, *arguments):
        self.threads.append(threading.current_thread())
        assert self.open.wait(60)
        return self._function(*arguments)


@pytest.fixture
def counting(monkeypatch):
    """The gate before what counts a run that has ended."""
    gate = Gate(brief_of)
    monkeypatch.setattr("ui.run_counter.brief_of", gate)
    monkeypatch.setattr("ui.run_counter.PAINTED_S", 0.0)
    yield gate
    gate.open.set()


@pytest.fixture
def page(counting, qtbot, new_session):
    """A page of runs with a pair."""
    page = RunsPage(new_session())
    qtbot.addWidget(page)
    page.show()
    yield page
    counting.open.set()
    assert page.shutdown()


# A run that ends


def test_a_long_run_that_ends_is_counted_on_another_thread_to_the_same_record(page, counting, until):
    s = page._session
    run = end_of(s, LONG)
    assert page.desk.runs == []
    until(lambda: page.desk.runs and not page.busy)
    assert threading.main_thread() not in counting.threads
    assert page.desk.runs == [brief_of(run, pair_name(s.pair), s.prompt, 0, s.texts)]
    assert page.model.rowCount() == 1


def test_no_run_is_lost_that_ends_while_another_is_counted(page, counting, until):
    s = page._session
    counting.open.clear()
    for seed, count in enumerate((LONG, 3, LONG + 1)):
        s.configure(seed=seed)
        end_of(s, count)
    s.reset()
    assert page.desk.runs == []
    counting.open.set()
    until(lambda: len(page.desk.runs) == 3)
    assert [(r.setting.seed, len(r.drafted)) for r in page.desk.runs] == [(0, LONG), (1, 3), (2, LONG + 1)]


def test_the_table_is_not_written_without_the_run_that_is_being_counted(page, counting, until, tmp_path):
    counting.open.clear()
    end_of(page._session, LONG)
    with pytest.raises(UserError, match="still being counted"):
        page.desk.export(tmp_path / "runs.csv", "")
    counting.open.set()
    until(lambda: not page.busy)
    page.desk.export(tmp_path / "runs.csv", "")
    until((tmp_path / "runs.csv").exists)


def test_a_page_closes_while_a_run_is_counted(page, counting, until):
    counting.open.clear()
    end_of(page._session, LONG)
    end_of(page._session, LONG + 1)
    until(lambda: counting.threads)
    threading.Timer(0.1, counting.open.set).start()
    assert page.shutdown()
    assert len(counting.threads) == 1


def test_what_the_page_asks_of_a_run_takes_no_longer_with_more_rounds(page, until):
    """The figures, and the text beside the table, were computed from all rounds in one turn: seconds of 100,000."""

    class Rows(tuple):
        def __iter__(self):
            raise AssertionError("somebody goes through all rounds")

    run = brief_of(Run(RunConfig(), (1,), rounds_of(LONG), 1.0, StopReason.BUDGET), "m", Prompt("a"), 0, NO_TEXTS)
    for name in ("labels", "origins", "drafted", "accepted", "emitted", "overlaps", "draft_ms", "verify_ms",
                 "round_ms"):  # fmt: skip
        run.__dict__[name] = Rows(getattr(run, name))
    page.desk.take_run(run, "file")
    until(lambda: page.desk.runs and not page.busy)
    page.choose(run)
    page.regroup("seed")
    until(lambda: not page.busy)
    assert page.model.groups[0].figures.rounds == LONG


# Acceptance


@pytest.fixture
def acceptance(shown_page, session, monkeypatch):
    """The page of acceptance, and the gate before its counting."""
    gate = Gate(of_runs)
    monkeypatch.setattr("ui.run_figures.of_runs", gate)
    yield shown_page(AcceptancePage(session)), gate
    gate.open.set()


def put(session, count: int) -> None:
    session.started = RunStarted(RunConfig(), (1,), 1.0)
    session.rounds += rounds_of(count)


def test_a_long_run_s_acceptance_is_counted_on_another_thread_to_the_same_figures(acceptance, session, until):
    page, gate = acceptance
    put(session, LONG)
    gate.open.clear()
    page.refresh()
    assert page._head.text() == f"Counting {LONG} rounds …"
    gate.open.set()
    until(lambda: page._shown is not None)
    assert threading.main_thread() not in gate.threads
    assert page._shown == of_runs("this run", [session.run])
    assert "drafted tokens were accepted" in page._head.text()


def test_a_run_that_grew_while_it_was_counted_is_counted_again(acceptance, session, until):
    page, gate = acceptance
    put(session, LONG)
    gate.open.clear()
    page.refresh()
    until(lambda: gate.threads)
    session.rounds += rounds_of(10)
    page.refresh()
    gate.open.set()
    until(lambda: page._shown is not None and page._shown.figures["rounds"] == LONG + 10)


def test_a_run_that_was_put_away_while_it_was_counted_is_not_told(acceptance, session, until):
    page, gate = acceptance
    put(session, LONG)
    gate.open.clear()
    page.refresh()
    until(lambda: gate.threads)
    session.reset()
    page.refresh()
    gate.open.set()
    put(session, 4)
    page.refresh()
    until(lambda: page._shown is not None)
    assert page._shown == of_runs("this run", [session.run])


# The Stage's numbers


def test_the_numbers_of_the_first_n_rounds_are_those_of_the_rounds():
    rounds = RoundStore()
    rounds.extend(rounds_of(300))
    totals = Totals()
    for n in (1, 7, 300, 40):
        assert totals.follow(rounds, n)
        numbers, figures = stage_numbers(totals.first(n), 4, None), from_rounds(rounds[:n])
        assert numbers.tokens_per_round == pytest.approx(figures.acceptance_length, rel=1e-12)
        assert numbers.with_speculation == pytest.approx(1000 * figures.emitted / sum(r.round_ms for r in rounds[:n]))
        assert (numbers.alpha is None) == (figures.alpha is None)
    assert totals.follow((), 0)
    assert stage_numbers(totals.first(0), 4, None).tokens_per_round is None


def test_the_numbers_of_a_long_run_are_added_up_a_stretch_a_turn(new_window, until, monkeypatch):
    window, looked = new_window(pair=None), []
    of = stage_model.summary_of
    monkeypatch.setattr(stage_model, "summary_of", lambda rounds: (looked.append(len(rounds)), of(rounds))[1])
    monkeypatch.setattr(stage_model, "STRETCH", 1000)
    s = window.session
    put(s, 3500)
    s.playback.seek(3499)
    until(lambda: window.stage._totals.size == 3500 and not window.stage._text_timer.isActive())
    assert looked == [1000, 1000, 1000, 500]
    assert window.stage.figures._cells[0]._figure.value_text == f"{from_rounds(s.rounds).acceptance_length:.2f}"


# The text of a run


def plain_flow(texts, width):
    items = ((0, i, 0, Origin.ACCEPTED, text) for i, text in enumerate(texts))
    return [[token.order for token in line] for line in flow(items, len, width, newlines=True)]


@pytest.mark.parametrize("width", [1.0, 7.0, 40.0])
def test_line_breaks_are_those_of_the_layout(width, monkeypatch):
    monkeypatch.setattr(line_breaks, "STRETCH", 7)
    chance = random.Random(0)
    texts = [chance.choice(["a", "bb", "cccccccccc", NEWLINE, f"d{NEWLINE}"]) for _ in range(200)]
    breaks = LineBreaks(len(texts), texts.__getitem__, len, width)
    while not breaks.complete:
        breaks.more()
    assert [list(breaks.line(row)) for row in range(len(breaks))] == plain_flow(texts, width)
    assert all(i in breaks.line(breaks.row(i)) for i in range(len(texts)))


def test_a_long_text_is_broken_into_lines_a_stretch_a_turn_and_its_mark_comes_into_view(qtbot, until):
    count, turns = 20 * line_breaks.STRETCH, []
    text = RunText()
    qtbot.addWidget(text)
    text.resize(300, 80)
    text.show()
    found = text._find_more
    text._timer.timeout.disconnect()
    text._timer.timeout.connect(lambda: (turns.append(text._lines._done), found()))
    text.set_run(["word "] * count, ["accepted"] * count, count)
    assert text._lines._done == line_breaks.STRETCH
    until(lambda: text._lines.complete)
    assert turns == list(range(line_breaks.STRETCH, count + 1, line_breaks.STRETCH))
    assert [token.text for _, token in text._visible()][-1] == END
    assert text.marked_box() is not None
    top = text._lines.line(text.verticalScrollBar().value()).start
    text.resize(200, 80)
    until(lambda: text._lines.complete)
    assert top in text._lines.line(text.verticalScrollBar().value())


def test_the_first_difference_of_long_texts_is_where_it_is():
    a = tuple(range(3 * STRETCH))
    for at in (0, STRETCH - 1, STRETCH, 2 * STRETCH + 5):
        assert first_difference(a, (*a[:at], -1, *a[at + 1 :])) == at
    assert first_difference(a, a[: 2 * STRETCH]) == 2 * STRETCH
    assert first_difference(a, tuple(list(a))) is None


# All threads


def test_the_first_pair_and_what_came_with_it_is_not_searched_for_cycles_again_a_later_one_is(session):
    """A search through all of torch took a fifth of a second, in the midst of whatever the window did."""
    before = gc.get_freeze_count()
    spare_collector(session)
    try:
        session.pair_changed.emit()
        frozen = gc.get_freeze_count()
        assert frozen > before
        later = [[] for _ in range(1000)]
        session.pair_changed.emit()
        assert gc.get_freeze_count() <= frozen
        assert later
    finally:
        gc.unfreeze()


# The measurement


def test_every_turn_with_a_long_run_is_measured(new_window, monkeypatch):
    monkeypatch.setattr("ui.bench_turns.SETTLE_S", 0.0)
    window = new_window(pair=None)
    columns = as_columns(rounds_of(LONG))
    run = Run(RunConfig(k=4), (0,), Rounds(columns), 0.0, StopReason.BUDGET)
    found = long_turns(QApplication.instance(), window, run, repeats=2)["turn_ms"]
    assert {"open", "row", "regroup", "save", "end", "close", "page Acceptance"} <= set(found)
    assert all(0 < each["median"] <= each["max"] for each in found.values())
    runs = window.pages.view("Runs").desk.runs
    assert [len(r.drafted) for r in runs] == [LONG, LONG + 1] * 2
    assert replace(runs[0], models="") == replace(runs[2], models="")
