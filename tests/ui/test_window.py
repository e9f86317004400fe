"""The window as a person uses it: numbers that agree, measuring, exporting, settings, dialogs."""

import csv
import json
from collections import Counter

import pytest
from PySide6.QtCore import Qt

from simulator.metrics import from_rounds
from simulator.records import Kind, Sampling, Verdict
from tests.ui.stub import _row, stub_pair
from ui import theme
from ui.main_window import MainWindow
from ui.page_stack import LATER, TITLES, scrolled
from ui.states import State
from ui.widgets.digits import prob
from ui.widgets.origin import Origin


@pytest.fixture(autouse=True)
def short_sweeps(monkeypatch):
    monkeypatch.setattr("simulator.jobs.SWEEP_TOKENS", 6)


@pytest.fixture
def ran(new_window, until):
    """Make a window whose run is over and shown."""

    def make(**config):
        window = new_window(**{"max_new_tokens": 20, **config})
        window.session.set_speed(0)
        window.session.play(True)
        until(lambda: window.session.state is State.FINISHED and window.session.playback.at_end)
        return window

    return make


def shown_origins(window) -> Counter:
    window.foot.ribbon.resize(4000, 400)
    return Counter(token.origin for _, token in window.foot.ribbon.visible() if token.origin is not Origin.PROMPT)


@pytest.mark.parametrize("source", ["model", "ngram"])
def test_the_ribbon_counts_what_the_metrics_count(ran, source):
    """SD-047: an app coloured tokens in a pattern that could not be true."""
    window = ran(source=source, prompt="to be or not to be or not to")
    shown, figures = shown_origins(window), from_rounds(window.session.rounds)
    assert shown[Origin.ACCEPTED] == figures.accepted
    assert shown[Origin.REJECTED] == figures.tested - figures.accepted
    assert shown[Origin.DISCARDED] == figures.drafted - figures.tested
    assert shown[Origin.PLAIN] == sum(r.extra is not None and r.extra.kind is Kind.PLAIN for r in window.session.rounds)
    extras = shown[Origin.RESIDUAL] + shown[Origin.BONUS] + shown[Origin.PLAIN]
    assert shown[Origin.ACCEPTED] + extras == figures.emitted == 20


def test_the_p_on_the_cards_is_the_targets_p(ran):
    """SD-047: what is shown is what was computed; here the target's table is known."""
    window = ran()
    text = list(b"to be, or not")
    for trace in window.session.rounds:
        window.session.seek(trace.index)
        drafted = []
        for place, card in zip(trace.positions, window.stage.cards._cards, strict=False):
            row = _row(1, 257, 0, *[*text, *drafted][-2:])
            if place.drafted is not None:
                token = place.drafted
                assert token.p == pytest.approx(row[token.token_id], abs=1e-6)
                assert card.p == prob(token.p)
                assert (token.verdict is Verdict.ACCEPTED) == (token.u_accept is not None
                                                               and token.u_accept < token.accept_prob)  # fmt: skip
                drafted.append(token.token_id)
            if place.extra is not None:
                assert place.extra.p == pytest.approx(row[place.extra.token_id], abs=1e-6)
        text += trace.emitted


def test_without_drafting_there_are_plain_rounds_and_no_acceptance(ran, new_session, until):
    """SD-025: acceptance was 0 % or NaN, and token id 0 stood in the draft columns."""
    window = ran(k=0)
    assert shown_origins(window) == {Origin.PLAIN: 20}
    assert len(window.session.rounds) == 20
    window.stage._refresh_numbers()
    values = {f._figure.caption: f._figure.value_text for f in window.stage.figures._cells}
    assert values["tokens/round"] == "1.00"
    assert values["alpha, Σ\u00a0min(p,\u00a0q)"] == "–"
    window.stage.theory.sliders["k"].setValue(0)
    window.stage.theory.plot.redraw_now()
    assert window.stage.theory.plot.model.curve("speedup")[0] == 1.0


def test_lookup_that_never_matches_drafts_nothing(ran):
    window = ran(source="ngram", prompt="".join(chr(c) for c in range(48, 56)), max_new_tokens=1)
    assert shown_origins(window) == {Origin.PLAIN: 1}
    assert [c.tag for c in window.stage.cards._cards] == ["plain"]


def test_measuring_shows_its_progress_and_snap_takes_its_values(new_window, until):
    window = new_window()
    theory, seen = window.stage.theory, []
    window.session.progress_changed.connect(lambda p: seen.append((p, window.progress.isVisible())))
    assert not theory.snap_button.isEnabled()
    theory.measure_button.click()
    assert not theory.measure_button.isEnabled()
    until(lambda: window.session.state is State.READY)
    fractions = [p.fraction for p, visible in seen if p is not None and visible]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert not window.progress.isVisible()
    theory.snap_button.click()
    sweep = window.session.sweep
    for name, value in (("c", sweep.cost.c), ("c_verify", sweep.cost.c_verify), ("fixed", sweep.cost.fixed),
                        ("alpha", sweep.figures.alpha)):  # fmt: skip
        assert theory.sliders[name].value() == pytest.approx(value, abs=0.006)
    theory.plot.redraw_now()
    assert theory.plot.model.c == theory.sliders["c"].value()
    assert len(theory.plot.points) == 9


def test_measuring_can_be_cancelled_with_the_button(new_window, until, qtbot):
    window = new_window()
    window.session.measure()
    until(window.progress.isVisible)
    qtbot.mouseClick(window.progress._cancel, Qt.MouseButton.LeftButton)
    assert (window.session.state, window.progress.isVisible()) == (State.READY, False)


def test_the_run_is_exported_from_the_menu(ran, until, monkeypatch, tmp_path):
    monkeypatch.setattr("simulator.commands.content_hash", lambda path: "0" * 64)
    window, path = ran(), tmp_path / "rounds.csv"
    monkeypatch.setattr("ui.main_window.QFileDialog.getSaveFileName", lambda *_: (str(path), ""))
    window.menus.export.trigger()
    until(window.notice.isVisible)
    assert str(path) in window.notice.text()
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    emitted = [int(row["token_id"]) for row in rows if row["emitted"] == "1"]
    assert tuple(emitted) == window.session.run.tokens
    assert json.loads((tmp_path / "rounds.meta.json").read_text("utf-8"))["prompts"] == ["to be, or not"]


def test_nothing_is_exported_without_a_run_or_a_name(new_window, monkeypatch, tmp_path):
    window = new_window()
    assert not window.menus.export.isEnabled()
    monkeypatch.setattr("ui.main_window.QFileDialog.getSaveFileName", lambda *_: ("", ""))
    window.files.export_csv()
    window.save_picture()
    assert not window.notice.isVisible()
    monkeypatch.setattr("ui.main_window.QFileDialog.getSaveFileName", lambda *_: (str(tmp_path / "x.csv"), ""))
    window.files.export_csv()
    assert window.notice.text() == "There is no run to export yet: step at least once."
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_a_run_is_said(ran):
    window = ran()
    assert window.stage._head.text().endswith("The run ends here: it has all the tokens asked for.")
    assert not window.transport._buttons["play"].isEnabled()
    window.session.reset()
    assert window.transport._buttons["play"].isEnabled()


def test_settings_of_the_bar_reach_the_run_and_the_seed_says_when_it_has_no_effect(new_window):
    """SD-048: at temperature 0 the seed changes nothing, and people took that for a fault."""
    window = new_window()
    boxes, config = window.settings_bar._boxes, lambda: window.session.config
    for name, value in (("k", 2), ("seed", 9), ("top_k", 5), ("top_p", 0.9), ("min_p", 0.05), ("temperature", 0.0)):
        boxes[name].setValue(value)
    assert (config().k, config().seed, config().sampling) == (2, 9, Sampling(0.0, 5, 0.9, 0.05))
    assert not boxes["seed"].isEnabled()
    assert "no effect" in boxes["seed"].toolTip()
    assert window.settings_bar._filter_button.text() == "top-k 5, top-p 0.9, min-p 0.05"
    assert len({window.settings_bar.rule.itemText(i) for i in range(window.settings_bar.rule.count())}) > 1


def test_a_pair_without_a_draft_model_offers_lookup_only(new_window):
    source = new_window(pair=stub_pair(lone=True)).settings_bar.source
    assert source.currentData() == "ngram"
    assert not source.model().item(source.findData("model")).isEnabled()


def test_the_theme_is_switched_and_an_unknown_one_is_dark(new_window, qapp):
    window = new_window()
    try:
        window.switch_theme()
        assert theme.current().name == "light"
    finally:
        theme.apply(qapp, "purple")
    assert theme.current().name == "dark"


def test_in_larger_text_the_rail_shows_its_titles_whole(new_window, qapp, until):
    """The rail kept the width of the first size of text: 'Acceptance' was cut off in talks."""
    pages = new_window().pages
    before = qapp.font().pointSizeF()
    try:
        theme.set_text_size(qapp, before + 4)
        until(lambda: pages.rail.viewport().width() >= pages.rail.widget().minimumSizeHint().width())
        for button in pages.buttons.buttons():
            assert button.geometry().right() <= pages.rail.viewport().width()
            assert button.width() >= button.sizeHint().width()
    finally:
        theme.set_text_size(qapp, before)


def test_the_window_stands_with_the_stage_alone_and_the_other_pages_follow(new_session, qtbot, until):
    window = MainWindow(new_session(pair=None))
    qtbot.addWidget(window)
    assert window.pages.count() == 1
    window.show()
    until(lambda: window.pages.count() == len(TITLES))
    assert [view.title for view in window.views] == list(TITLES)
    window.close()


def test_a_page_asked_for_at_once_is_there(new_session, qtbot):
    window = MainWindow(new_session(pair=None))
    qtbot.addWidget(window)
    window.show_page("Cost")
    assert window.pages.currentWidget().widget().title == "Cost"
    assert window.pages.buttons.checkedButton().text() == "Cost"
    assert window.pages.count() == 2  # and the others wait
    window.close()


def test_no_page_is_built_beside_a_load(new_session, qtbot, until):
    """It made the load of a pair half as long again."""
    window = MainWindow(new_session())
    qtbot.addWidget(window)
    window.session.state = State.LOADING
    window.show()
    window.pages.build_next()
    assert window.pages.count() == 1
    window.session.state = State.READY
    until(lambda: window.pages.count() == len(TITLES))


def test_a_run_that_ends_before_its_page_is_built_is_among_the_runs(new_session, qtbot, until):
    window = MainWindow(new_session(max_new_tokens=20))
    qtbot.addWidget(window)
    assert window.pages.count() == 1
    for ended in (1, 2):  # at the end of the first one the page is built
        window.session.set_speed(0)
        window.session.play(True)
        until(lambda: window.session.state is State.FINISHED)
        assert len(window.pages.view("Runs").desk.runs) == ended
        window.session.configure(seed=ended)
    window.close()


@pytest.mark.parametrize("title", LATER)
def test_a_page_built_after_a_run_looks_as_if_it_had_always_been_there(ran, title, until):
    window = ran()
    early = window.views[TITLES.index(title)]
    late = type(early)(window.session)
    window.pages.addWidget(scrolled(late))

    def picture(page):
        window.pages.setCurrentIndex([window.pages.widget(i).widget() for i in range(window.pages.count())].index(page))
        return page.grab().toImage()

    until(lambda: picture(early) == picture(late))
    late.shutdown() if hasattr(late, "shutdown") else None
