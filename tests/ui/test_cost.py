"""The Cost page: measures once, keeps what belongs to the pair, and says what follows from it."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from PySide6.QtWidgets import QLabel

from simulator.cost import bandwidth
from simulator.cost.bandwidth import Machine
from simulator.cost.machine import MachineCost
from simulator.cost.roofline import HARDWARE, SIZES, Setting, Size, break_even_batch
from simulator.cost.verdict import verdict
from simulator.cost.verify_time import Knee, WidthTime, time_widths
from simulator.measure import MeasuredPoint, Spread, Sweep, sweep
from simulator.metrics import from_accepted_counts
from simulator.round_cost import Cost, RoundCost
from tests.ui.stub import loader, stub_pair
from ui import cost_words
from ui.pages.cost import CostPage
from ui.plots.batch_plot import Batch
from ui.states import State

torch.set_num_threads(1)  # tiny operations; imported here, because on a busy machine that takes a job's patience

SIZE = Size("stub", 1e6, 100, 50)


def made_sweep(alpha=0.6, c=0.2, c_verify=0.27, fixed=0.24, k=2) -> Sweep:
    """Return a complete sweep with k = 0 and one other point, whose parts add up to its speedup exactly."""
    figures = replace(from_accepted_counts([2, 1, 0, 1], k), alpha=alpha)
    tokens, verify, other = 2.0, 0.9 + k * c_verify, 0.1 + fixed
    speed = tokens / (k * c + verify + other)
    points = tuple(
        MeasuredPoint(n, *[Spread(v, v, v) for v in (ratio, length, 100 * ratio)])
        for n, ratio, length in ((0, 1.0, 1.0), (k, speed, tokens))
    )
    rounds = {0: RoundCost(0, 9, 0.0, 0.9, 0.1, 1.0, 0), k: RoundCost(k, 9, k * c, verify, other, tokens, k)}
    return Sweep(points, 1.0, Cost(10.0, c, c_verify, fixed), figures, (rounds,))


def made_cost() -> MachineCost:
    times = tuple(WidthTime(n, Spread(t, t - 1, t + 1)) for n, t in ((1, 8.0), (2, 8.0), (3, 8.0), (5, 12.0)))
    return MachineCost(times, Knee(3, 8.0, 2.0), 24, Machine(4e9, 8e9, 1e11, 4_000_000), SIZE, 4.0)


@pytest.fixture
def new_page(new_session, qtbot):
    """Make pages, shown, around sessions as `new_session` makes them."""

    def make(**config) -> CostPage:
        made = CostPage(new_session(**config))
        qtbot.addWidget(made)
        made.resize(1150, 700)
        made.show()
        qtbot.waitExposed(made)
        return made

    return make


@pytest.fixture
def page(new_page, monkeypatch):
    """The page with a stub pair that is fast to measure."""
    monkeypatch.setattr(bandwidth, "COPY_BYTES", {"cpu": 1 << 16})
    monkeypatch.setattr(bandwidth, "SQUARE", {"cpu": 8})
    monkeypatch.setattr("simulator.jobs.SWEEP_TOKENS", 6)
    monkeypatch.setattr("simulator.jobs.sweep", partial(sweep, repeats=1))
    monkeypatch.setattr("simulator.cost.machine.time_widths", partial(time_widths, widths=(1, 2, 3, 4), repeats=1))
    return new_page(k=2)


def filled(page):
    """Show a made sweep and made costs."""
    page._session._set_sweep(made_sweep())
    page._measured_pair = page._session.pair
    page._take(made_cost())
    for plot in (page.verify, page.waterfall, page.roofline, page.batch):
        plot.redraw_now()
    return page


def figures(page):
    return {cell._figure.caption: cell._figure.value_text for cell in page.figures._cells}


def test_one_press_measures_the_sweep_and_then_the_passes(page, until):
    session, kinds = page._session, []
    session.answered.connect(lambda answer: kinds.append(type(answer)))
    assert "Press Measure" in page._head.text()
    page.button.click()
    assert session.state is State.MEASURING
    assert not page.button.isEnabled()
    until(lambda: page.found is not None and session.state is State.READY)
    assert [p.k for p in session.sweep.points] == list(range(9))
    assert kinds == [MachineCost]
    assert [t.width for t in page.found.times][:3] == [1, 2, 3]
    assert "alpha" in page._head.text()
    assert page.waterfall.fall.k == 2
    assert page.button.text() == "Measure again"


def test_a_sweep_of_the_stage_is_not_measured_again(page, until):
    session, sweeps = page._session, []
    page._session._set_sweep(made_sweep())
    session.sweep_changed.connect(lambda: sweeps.append(session.sweep))
    page.button.click()
    until(lambda: page.found is not None and session.state is State.READY)
    assert sweeps == []


def test_a_cancelled_sweep_is_the_end_of_the_measurement(page, until, qtbot):
    page.button.click()
    page._session.cancel()
    qtbot.wait(50)  # long enough for a second half that must not begin
    assert page._session.state is State.READY
    assert page.found is None
    assert page.button.isEnabled()


def test_the_verdict_names_cost_break_even_best_k_and_what_would_have_to_change(page):
    text = filled(page)._head.text()
    assert text.startswith("Do not speculate here: verify costs .27 of a pass per token")
    assert "break-even alpha is .7, the measured one .6" in text  # at k = 2: a + a^2 = 2 (.2 + .27) + .24
    assert "The best k, 2, reaches .92 times".replace(".92", "0.92") in text
    assert "c below .09" in text  # .6 - .27 - .24


def test_where_it_pays_the_verdict_says_by_which_k_and_what_would_help_most():
    said = cost_words.sentence(verdict(made_sweep(alpha=0.8, c=0.05, c_verify=0.2, fixed=0.0)))
    assert said.replace("\xa0", " ").startswith("Speculate with k = 2: 1.33 times")
    assert "The largest lever is free verifying" in said


@pytest.mark.parametrize("c", [0.0, 0.5])
def test_no_draft_is_cheap_enough_where_verifying_alone_costs_more_than_alpha(c):
    said = cost_words.sentence(verdict(made_sweep(alpha=0.3, c=c, c_verify=0.5, fixed=0.3)))
    assert "not even a free draft" in said


def test_the_waterfall_on_screen_adds_up_and_names_every_step(page):
    fall = filled(page).waterfall.fall
    names = [text for _, text in page.waterfall.plotItem.getAxis("bottom")._tickLevels[0]]
    assert names == ["formula", "correlation", "verify", "fixed", "rest", "measured"]
    assert fall.promised + sum(s.size for s in fall.steps) == pytest.approx(fall.measured, abs=1e-12)
    assert fall.steps[-1].size == pytest.approx(0, abs=1e-12)
    assert figures(page)["unexplained rest"] == "0.0%"
    assert [label.textItem.toPlainText() for label in page.waterfall.labels][-1] == f"{fall.measured:.2f}×"
    assert page.waterfall.labels[2].textItem.toPlainText().startswith("−")


def test_another_k_shows_another_waterfall_or_says_that_it_was_not_measured(page):
    filled(page).k.setValue(3)
    assert page.waterfall.fall is None
    page.waterfall.redraw_now()
    assert "k = 3 was not measured" in page.waterfall.message


def test_a_sweep_in_which_nothing_was_drafted_says_so_and_the_passes_are_timed_all_the_same(page, until):
    """A text without a repeated n-gram left the page inviting to measure, for ever."""
    page._session.configure(source="ngram", prompt="x")
    plain = {0: RoundCost(0, 9, 0.0, 0.9, 0.1, 1.0, 0)}
    figures = from_accepted_counts([0, 0], 0)
    page._session._set_sweep(replace(made_sweep(), cost=None, figures=figures, repeats=(plain,)))
    assert page._head.text().startswith("Nothing was drafted: no n-gram of this text came before")
    page.waterfall.redraw_now()
    assert "Nothing was drafted" in page.waterfall.message
    page.button.click()
    until(lambda: page.found is not None and page._session.state is State.READY)
    assert page.button.text() == "Measure again"


def test_a_k_of_which_no_round_drafted_all_tokens_says_so(page):
    page._session._set_sweep(replace(made_sweep(), repeats=({0: made_sweep().repeats[0][0]},)))
    assert "no round drafted all of its k tokens" in page._head.text()
    three = replace(made_sweep(), points=(*made_sweep().points, replace(made_sweep().points[1], k=3)))
    page._session._set_sweep(three)
    page.k.setValue(3)
    page.waterfall.redraw_now()
    assert "No round drafted all of k = 3 tokens" in page.waterfall.message


def test_by_a_rule_that_keeps_more_the_verdict_has_the_rules_own_acceptance(page):
    page._session.configure(rule="always")
    page._session._set_sweep(replace(made_sweep(), figures=replace(made_sweep().figures, tested_acceptance_rate=1.0)))
    assert "the measured one 1" in page._head.text()
    assert page.waterfall.fall.alpha == 1.0
    assert page.controls.sliders["alpha"].value() == 1.0


def test_a_fit_leaves_with_its_measurement(page):
    plot = filled(page).verify
    assert len(plot.fit.getData()[0])
    plot.set_times(made_cost().times[:2], None, 1)
    plot.redraw_now()
    assert not len(plot.fit.getData()[0])
    assert not len(plot.linear.getData()[0])


def test_a_large_rest_is_marked(page):
    """Here of draft times that are no line in k: at k = 2 a draft step takes twice as long as at 1 and 4."""
    for factor, colour in ((1.0, "text"), (2.0, "extra")):
        costs = {0: RoundCost(0, 9, 0.0, 0.9, 0.1, 1.0, 0)}
        costs |= {k: RoundCost(k, 9, 0.3 * k * (factor if k == 2 else 1), 0.9, 0.1, 2.0, k) for k in (1, 2, 4)}
        page._session._set_sweep(replace(made_sweep(), repeats=(costs,)))
        (rest,) = [c._figure for c in page.figures._cells if c._figure.caption == "unexplained rest"]
        assert rest.colour_name == colour


def test_a_step_of_nothing_has_no_sign(page):
    filled(page)
    assert page.waterfall.labels[4].textItem.toPlainText() == "0.00×\n0%"


def test_passes_show_their_knee_and_the_machine_its_bandwidth(page):
    shown = figures(filled(page))
    assert shown["knee, tokens in a pass"] == "3"
    assert shown["GB/s, measured"] == "8"
    assert shown["of it used by a plain pass"] == "6%"  # 4.0096 MB / 8 ms / 8 GB/s
    words = [c.word for c in page.verify.callouts.callouts]
    assert words == ["k = 2: 1.00 passes", "knee: 3 tokens"] or words == ["knee: 3 tokens", "k = 2: 1.00 passes"]


def test_the_roofline_shows_this_machine_with_its_measured_passes(page):
    filled(page)
    setting = page.controls.setting
    assert setting.hardware.name == "this machine (cpu)"
    assert (setting.size, setting.weight_bytes, setting.batch) == (SIZE, 4.0, 1)
    assert [m.text for m in page.roofline.measured] == ["decode", "verify 3"]
    assert page.roofline.measured[0].speed == pytest.approx((2e6 + 4 * 24 * 50) / 8e-3)
    for name, other in (("weights", "4 bit"), ("batch", 8), ("device", "B300")):
        page.controls.choose(name, other)
        assert page.roofline.measured == ()  # measured points belong to no other setting
        filled(page)


def test_the_roofline_needs_no_models(new_page):
    page = new_page(pair=None)
    assert not page.button.isEnabled()
    page.controls.choose("device", "H100 SXM")
    page.controls.choose("context", 0)
    page.controls.choose("batch", 1)
    page.k.setValue(4)
    said = page._said.text()
    assert "16.1 GB in 4.79 ms" in said
    assert "81.1 µs" in said  # five positions of 8.03 B
    assert "is free." in said
    assert "free up to batch 59" in said  # 295.5 / 5
    page.controls.choose("batch", 1024)
    assert "costs 5.00 plain passes" in page._said.text()


def test_the_batch_curve_falls_below_one_where_the_sentence_says(page):
    curve = page.batch
    batch = Batch(Setting(HARDWARE[2], SIZES[1], 2.0), 4, 0.8, 0.05)
    curve.set_batch(batch)
    curve.redraw_now()
    x, y = curve.curve.getData()
    assert y[0] > 1 > y[-1]
    first = 2 ** x[(y < 1).argmax()]
    assert curve.even == break_even_batch(batch.setting, 4, 0.8, 0.05)
    assert first / 1.1 < curve.even <= first * 1.001


def test_measured_costs_stay_with_their_pair_and_leave_with_it(page, until, monkeypatch):
    filled(page)
    page._session.configure(prompt="another")
    assert page.found is not None  # the machine is the same; the sweep is not
    assert "measure again" in page._head.text()
    monkeypatch.setattr("ui.session_busy.load_job", loader({"stub": stub_pair}))
    page._session.load("stub", None)
    until(lambda: page._session.state is State.READY)
    assert page.found is None
    assert page.controls.combos["device"].findText("this machine (cpu)") == -1
    assert page.controls.setting.size in SIZES


def test_sliders_take_the_measured_alpha_and_c(page):
    filled(page)
    assert [page.controls.sliders[name].value() for name in ("alpha", "c")] == [0.6, 0.2]


def test_every_figure_says_what_it_is(page):
    assert all(len(cell.toolTip()) > 40 for cell in filled(page).figures._cells)
    assert any("What does a round cost" in label.text() for label in page.findChildren(QLabel))
