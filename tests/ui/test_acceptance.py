"""The Acceptance page: the engine's own figure first, sources, laws on one axis, published rows into the sliders."""

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractSpinBox

from simulator.acceptance.counters import read_counters
from simulator.acceptance.names import NAMES
from simulator.acceptance.published import PUBLISHED
from simulator.acceptance.truncated import frequency_order, truncate
from simulator.records import RunStarted
from simulator.theory.tokens_per_round import equivalent_alpha
from tests.simulator.acceptance.test_rounds_csv import a_run
from ui.pages.acceptance import AcceptancePage
from ui.pages.theory_panel import TheoryPanel
from ui.widgets.paste_dialog import PasteDialog

VLLM = '{"acceptance_histogram": [39, 1, 0, 3], "num_spec_tokens": 3, "num_draft_tokens": 129}'
OMNI = next(p for p in PUBLISHED if p.per_position)


@pytest.fixture
def page(shown_page, session):
    return shown_page(AcceptancePage(session))


def put(session, counts, k=3):
    """Let the session hold a run of these accepted counts."""
    run = a_run(counts, k)
    session.started = RunStarted(replace(run.config), run.prompt, 1.0)
    session.rounds.extend(run.rounds)


def cells(page, column=1):
    table = page.rates.table
    return [table.item(row, column).text().strip() for row in range(table.rowCount())]


def test_before_the_first_round_the_page_says_what_to_do(page):
    assert "No round yet" in page._head.text()
    assert page.source.shown.text() == ""
    assert "–" in cells(page)
    page.rates.rates.redraw_now()
    assert page.rates.rates.message


@pytest.mark.parametrize("engine", NAMES)
def test_the_engines_own_figure_is_answered_at_once(page, session, engine):
    put(session, [3, 1, 0, 2])
    page.rates.choose_engine(engine)
    page.refresh()
    assert page._head.text().startswith(f"6 of 12 drafted tokens were accepted. In {engine}: '")
    marked = [row for row in cells(page, 0) if row.startswith("▸")]
    assert len(marked) == len(NAMES[engine])


def test_every_definition_of_the_reference_trace_side_by_side(page, session):
    put(session, [3, 1, 0, 2])
    page.refresh()
    assert cells(page)[:6] == ["2.50", "2.50", ".5", ".667", "1.50", ".6"]
    assert cells(page)[7:] == [".750 .500 .250", ".750 .667 .500"]
    assert "✓" in page.rates.agreement.text()
    assert "N = 9" in page.rates.agreement.text()
    page.rates.rates.redraw_now()
    assert page.rates.rates.bars[0].opts["height"].tolist() == [0.75, 0.5, 0.25]
    assert "2 / 3 = .667" in page.rates.rates.read_out(2, 0.1)


def test_pasted_counters_bring_their_engines_names_and_the_run_comes_back(page, session):
    put(session, [3, 1, 0, 2])
    page.rates.choose_engine("LM Studio")
    page.show_counters(read_counters(VLLM))
    assert page.rates.engine == "vLLM"
    assert "1.23" in page._head.text()
    assert ".0775" in page._head.text()
    assert page.source.run.isEnabled()
    page.source.run.click()
    assert "2.50" in page._head.text()
    assert not page.source.run.isEnabled()


def test_files_are_read_on_another_thread_and_a_bad_one_is_one_sentence(page, session, tmp_path, until):
    path, told = tmp_path / "rounds.csv", []
    path.write_text("drafted,accepted\n3,3\n3,1\n3,0\n3,2\n", "utf-8")
    session.problem.connect(lambda sentence, _: told.append(sentence))
    page.source.open([path])
    until(lambda: not page.source.asker.busy)
    assert cells(page)[2] == ".5"
    page.source.open([tmp_path / "missing.csv"])
    until(lambda: told)
    assert "missing.csv cannot be read" in told[0]
    assert cells(page)[2] == ".5"


def test_the_published_draft_stands_among_the_laws_to_the_printed_digits(page):
    page.show_published(OMNI)
    assert page.tabs.currentWidget() is page.beyond
    answers = {a.name: a for a in page.beyond.axis.answers}
    assert round(answers["independence"].value, 2) == 1.62
    assert [round(v, 2) for v in (answers["any dependence"].low, answers["any dependence"].high)] == [1.05, 3.74]
    assert round(answers["measured"].value, 2) == 3.16
    assert page.beyond.rho.value() == 0.79
    assert round(answers["Beta model"].value, 2) == 3.16
    page.beyond.rho.setValue(0.0)
    moved = {a.name: a for a in page.beyond.axis.answers}
    assert moved["Beta model"].value < answers["Beta model"].value
    page.tabs.setCurrentWidget(page.addup)
    assert "as one constant alpha" in [c._figure.caption for c in page.addup.figures._cells][3]
    assert page.addup.figures._cells[3]._figure.value_text == ".8"


def test_the_cut_vocabulary_says_which_tv_adds_up(page):
    p, q = np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.5, 0.3]])
    page.addup.set_truncation(truncate(p, q, frequency_order(q[0])))
    assert "The two numbers add up" in page.addup.said.text()
    page.addup.choose(2)
    said = page.addup.said.text()
    assert "acceptance .5" in said
    assert "= .75" in said
    assert "(.5) is missing" in said


def test_a_published_row_loads_as_reported_until_a_slider_moves(qtbot):
    panel = TheoryPanel()
    qtbot.addWidget(panel)
    row = next(p for p in PUBLISHED if p.setting == "T5-XXL 11B, EnDe, draft T5-small, T = 0")
    panel.take_reported(row)
    assert [panel.sliders[n].value() for n in ("alpha", "k", "c")] == [0.75, 7, 0.02]
    assert "Leviathan" in panel.reported.text()
    assert panel.plot.reported.shown.speedup == 3.4
    panel.take_reported(OMNI)
    assert panel.sliders["alpha"].value() == pytest.approx(equivalent_alpha(3.16, 7), abs=0.005)
    assert "what gives the reported" in panel.reported.text()
    panel.sliders["c"].setValue(0.3)
    assert panel.reported.isHidden()
    assert panel.plot.reported.shown is None


def test_every_published_row_can_be_loaded(page, qtbot):
    panel = TheoryPanel()
    qtbot.addWidget(panel)
    page.reported.connect(panel.take_reported)
    for i, row in enumerate(PUBLISHED):
        page.published.table.selectRow(i)
        page.published.load.click()
        assert row.source in panel.reported.text()
        assert row.setting in page.published.said.text()


@pytest.fixture
def dialog(qtbot, until):
    """The dialog, and how to paste into it and wait for the answer."""
    made = PasteDialog()
    qtbot.addWidget(made)

    def paste(text):
        made.text.setPlainText(text)
        assert made.found is None, "what was understood is of another text"
        until(lambda: not made._timer.isActive() and not made._asker.busy)

    made.paste = paste
    yield made
    made.reject()


def test_the_paste_dialog_says_what_it_understood(dialog):
    ok = dialog.buttons.button(dialog.buttons.StandardButton.Ok)
    assert not ok.isEnabled()
    dialog.paste('{"draft_n": 3, "draft_n_accepted": 4}')
    assert "rate above 1" in dialog.said.text()
    assert not ok.isEnabled()
    dialog.paste(VLLM)
    assert "rounds 43" in dialog.said.text()
    ok.click()
    assert dialog.found.histogram == (39, 1, 0, 3)


def test_a_large_paste_is_read_on_another_thread(dialog, monkeypatch):
    """900 kB were read in half a second on the GUI thread, and another megabyte of one letter in minutes."""
    threads = []

    def slow(text):
        threads.append(threading.current_thread())
        return read_counters(text)

    monkeypatch.setattr("simulator.acceptance.jobs.read_counters", slow)
    dialog.paste('{"per_step_accepted": [' + ",".join(["1"] * 100_000) + '], "num_spec_tokens": 3}')
    assert "rounds 100,000" in dialog.said.text()
    dialog.paste("x" * 1_200_000)
    assert "characters: paste the counters only" in dialog.said.text()
    assert threading.main_thread() not in threads


def test_counting_a_long_run_anew_costs_a_frame_whatever_its_length(page, session):
    """Every refresh built all rounds anew: 17 to 29 ms, and more with each round. Measured now: 5 to 9 ms."""
    put(session, [3, 1, 0, 2] * 50)
    page.refresh()
    costs = []
    for _ in range(12):
        session.rounds.extend(a_run([3, 1, 0, 2] * 50).rounds)
        start = time.thread_time()
        page.refresh()
        costs.append(time.thread_time() - start)
    assert len(session.rounds) == 2600
    assert sorted(costs)[len(costs) // 2] < 0.05
    assert min(costs[-4:]) < 3 * min(costs[:4]) + 0.005


# Looks


@pytest.mark.parametrize("width", [1150, 1790])
@pytest.mark.parametrize("engine", ["vLLM", "SGLang"])
def test_every_name_stands_whole_in_the_table(page, session, qtbot, width, engine):
    """'Mean acceptance length (+2)': who else calls it so, and what else it is called, was in the tooltip only."""
    put(session, [3, 1, 0, 2] * 5)
    page.rates.choose_engine(engine)
    page.resize(width, 600)
    page.refresh()
    qtbot.wait(50)
    table = page.rates.table
    names = cells(page, 3)
    assert names[0] == "vLLM, llama.cpp: Mean acceptance length; EAGLE papers: average acceptance length τ"
    for name, said in ((n, words) for n, words in NAMES.items() if n != "llama.cpp"):
        for called in said.values():
            assert any(called in cell and name in cell for cell in names)
    for row in range(table.rowCount()):
        assert table.rowHeight(row) >= table.sizeHintForRow(row) - 1
    assert table.horizontalScrollBar().maximum() == 0


def test_the_engine_is_chosen_where_the_head_line_is_whatever_the_tab(page, session):
    """On three of four tabs the head line spoke of an engine that could not be changed there."""
    put(session, [3, 1, 0, 2])
    page.refresh()
    for tab in (page.rates, page.beyond, page.addup, page.published):
        page.tabs.setCurrentWidget(tab)
        assert page.rates.engines.isVisible()
        page.rates.choose_engine("gpt-fast")
        assert "'mean accepted' is accepted / rounds = 1.50" in page._head.text()
        page.rates.choose_engine("vLLM")
        assert "In vLLM" in page._head.text()


def test_before_the_first_round_every_tab_says_so_and_offers_no_fit(page):
    """The laws' plot was blank, and two buttons that could do nothing could be pressed."""
    assert "open a pair and step it" in page._head.text()
    page.tabs.setCurrentWidget(page.beyond)
    page.beyond.axis.redraw_now()
    assert "appear here" in page.beyond.axis.message
    assert not page.beyond.fit.isEnabled()
    assert not page.beyond.match.isEnabled()
    assert page.rates.rates.missing != page.rates.lengths.missing
    assert "Open a pair" in page.addup.plot.missing


def test_the_head_line_speaks_of_what_is_shown(page, session):
    """Over the laws of a published draft it went on about the run of this window."""
    put(session, [3, 1, 0, 2])
    page.refresh()
    page.show_published(OMNI)
    assert page._head.text().startswith("As reported, not measured here: ")
    assert "3.16 of 7" in page._head.text()
    page.tabs.setCurrentWidget(page.rates)
    assert page._head.text().startswith("6 of 12")
    page.source.run.click()
    page.tabs.setCurrentWidget(page.beyond)
    assert page._head.text().startswith("6 of 12")
    assert page.beyond.head.text().startswith("In the 4 rounds that drafted 3: 1.50 of 3")


def test_what_an_engine_prints_is_said_where_it_cannot_be_counted(page):
    counters = {"spec_accept_length": 2.5, "spec_accept_rate": 0.5, "spec_verify_ct": 40, "completion_tokens": 100}
    page.show_counters(read_counters(json.dumps({"meta_info": counters})))
    assert "is emitted / rounds, printed as 2.50" in page._head.text()
    assert "is accepted / drafted, printed as .5" in page._head.text()


def test_the_cut_is_read_in_tokens_not_in_steps_of_the_slider(page):
    """Beside 'n = 249' stood 28, the number of the step."""
    p, q = np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.5, 0.3]])
    page.tabs.setCurrentWidget(page.addup)
    page.addup.set_truncation(truncate(p, q, frequency_order(q[0])))
    page.addup.choose(2)
    assert page.addup.kept.text() == "n = 2"
    assert not [w for w in page.addup.size.findChildren(QAbstractSpinBox) if w.isVisible()]
