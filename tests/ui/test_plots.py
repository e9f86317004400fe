"""The plots show the numbers they were given: identities, bounds, marks, states, and what a frame costs."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from simulator.measure import MeasuredPoint, Spread
from simulator.records import ExtraToken, Kind
from simulator.theory.speedup import speedup
from simulator.theory.tokens_per_round import expected_tokens
from ui import theme
from ui.plots.base import FRAME_MS
from ui.plots.columns import REST, columns_of
from ui.plots.curve_plot import K_MAX, CurvePlot
from ui.plots.picture import picture, picture_menu, save_picture
from ui.plots.pq_plot import PQPlot
from ui.plots.residual_plot import ResidualPlot
from ui.plots.scales import ceiling, tick_step, ticks

WORDS = ("·the", "⏎", "·Northumberland's", "<b>&", "s", "")
WIDTHS = (280, 520, 760, 1400)
POINT = MeasuredPoint(3, Spread(1.33, 1.28, 1.38), Spread(2.4, 2.3, 2.5), Spread(200.0, 190.0, 210.0))


def label(token):
    return WORDS[token % len(WORDS)]


@pytest.fixture
def show(qtbot):
    """Return a function that shows a plot of a size and draws what is due."""

    def _show(plot, width=760, height=330):
        qtbot.addWidget(plot)
        plot.resize(width, height)
        plot.show()
        QApplication.processEvents()
        plot.redraw_now()
        return plot

    return _show


@pytest.fixture
def both_plots(show):
    """Return a function that shows a position in a p/q plot and in the residual plot under it."""

    def _both(position, width=760):
        plots = PQPlot(), ResidualPlot()
        for plot, height in zip(plots, (330, 200), strict=True):
            plot.set_position(position, label)
            show(plot, width, height)
        return plots

    return _both


def stacks(plot, layer):
    """Return what a layer of bars draws: column -> (bottom, top, width), in real units also for the rest."""
    found = {}
    for box in layer.rects():
        index = plot.columns.at(box.center().x())
        scale = plot.divisor if plot.columns.ids[index] == REST else 1
        found[index] = box.top() * scale, box.bottom() * scale, box.width()
    return found


# Identities


def test_green_and_blue_bars_add_up_to_p(both_plots, position):
    plot, _ = both_plots(position)
    green, blue = stacks(plot, plot.both), stacks(plot, plot.missed)
    for i, p in enumerate(plot.columns.p):
        top = max(stack[i][1] for stack in (green, blue) if i in stack) if i in green or i in blue else 0.0
        assert top == pytest.approx(p, abs=1e-12)
        if i in green and i in blue:
            assert blue[i][0] == pytest.approx(green[i][1], abs=1e-12)


def test_green_and_red_bars_add_up_to_q(both_plots, tail_rejection):
    plot, _ = both_plots(tail_rejection)
    green, red = stacks(plot, plot.both), stacks(plot, plot.excess)
    for i, q in enumerate(plot.columns.q):
        assert max(green.get(i, (0, 0))[1], red.get(i, (0, 0))[1]) == pytest.approx(q, abs=1e-12)


def test_a_token_is_blue_or_red_but_never_both(both_plots, position):
    plot, _ = both_plots(position)
    shared = set(stacks(plot, plot.missed)) & set(stacks(plot, plot.excess))
    assert all(plot.columns.ids[i] == REST for i in shared)


@pytest.mark.parametrize("capacity", [4, 9, 20])
def test_the_rest_is_what_the_shown_tokens_leave(position, capacity):
    c = columns_of(position, capacity)
    assert c.p.sum() == pytest.approx(1, abs=1e-6)
    if c.q is not None:
        assert c.q.sum() == pytest.approx(1, abs=1e-6)
        assert c.both.sum() == pytest.approx(position.shape.overlap, abs=1e-6)
        assert c.missed.sum() == pytest.approx(position.shape.tv, abs=1e-6)


def test_the_rest_misses_and_over_drafts_at_once(tail_rejection):
    """A rest bar of min(sum p, sum q) would hide that its tokens differ one by one."""
    c = columns_of(tail_rejection, 9)
    assert c.ids[-1] == REST
    assert c.missed[-1] > 0
    assert c.excess[-1] > 0


def test_residual_bars_sum_to_one_with_the_rest(both_plots, tail_rejection, huge, crossing):
    for position in (tail_rejection, huge, crossing):
        _, plot = both_plots(position)
        assert sum(top for _, top, _ in stacks(plot, plot.bars).values()) == pytest.approx(1, abs=1e-12)


def test_the_worked_example(both_plots, crossing):
    plot, residual = both_plots(crossing)
    order = [plot.columns.index(token) for token in (0, 1, 2)]
    assert plot.columns.both[order] == pytest.approx([0.2, 0.3, 0.2])
    assert residual.columns.residual[order] == pytest.approx([1, 0, 0], abs=1e-7)
    assert REST not in plot.columns.ids


# What is shown


@pytest.mark.parametrize("width", WIDTHS)
def test_the_drafted_and_the_extra_token_always_have_a_column(both_plots, position, width):
    plot, residual = both_plots(position, width)
    for token in (position.drafted, position.extra):
        if token is not None:
            assert token.token_id in plot.columns.ids
            assert any(c.name == plot.name(token.token_id) for c in plot.callouts.callouts)
    if plot.columns.q is not None and position.shape.tv:
        assert residual.columns.ids.tolist() == plot.columns.ids.tolist()


@pytest.mark.parametrize("width", WIDTHS)
def test_two_plots_of_one_width_line_up(both_plots, tail_rejection, width):
    above, below = both_plots(tail_rejection, width)
    for x in (*above.columns.x, *above.columns.gaps):
        places = [p.plotItem.vb.mapViewToScene(QPointF(x, 0)).x() for p in (above, below)]
        assert places[0] == pytest.approx(places[1], abs=0.01)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_number_of_bars_is_bounded(both_plots, huge, width):
    plot, _ = both_plots(huge, width)
    assert plot.columns.ids.size <= 20
    assert sum(len(layer.rects()) for layer in (plot.both, plot.missed, plot.excess)) <= 41


def test_tail_tokens_stand_behind_a_gap(both_plots, tail_rejection):
    plot, _ = both_plots(tail_rejection)
    steps = np.diff(plot.columns.x)
    assert np.count_nonzero(steps > 1.5) == 2
    assert len(plot.columns.gaps) == 2


def test_bars_stay_below_the_callouts_and_a_large_rest_says_its_scale(both_plots, position):
    plot, _ = both_plots(position)
    assert plot.tops.max() <= plot.limit + 1e-12
    if plot.columns.ids[-1] == REST and plot.divisor > 1:
        assert str(plot.divisor) in plot.axis.labels[-1].text


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_and_callouts_never_overlap(both_plots, position, width):
    plot, _ = both_plots(position, width)
    for a, b in combinations(plot.axis._boxes(), 2):
        assert not a.intersects(b)
    for a, b in combinations(plot.callouts._boxes(), 2):
        assert not a.intersects(b)


def test_small_probabilities_keep_digits_that_tell(both_plots, huge):
    plot, _ = both_plots(huge)
    drafted = next(c for c in plot.callouts.callouts if c.marker == "triangle")
    assert "p 0 " not in drafted.text()
    assert "e-" in drafted.text() or ".0000" in drafted.text()


def test_a_token_that_looks_like_markup_is_shown_as_text(both_plots, position):
    plot, _ = both_plots(position)
    text = "".join(plot.column_text(i) for i in range(plot.columns.ids.size))
    assert "<b><b>" not in text


def test_the_read_out_gives_a_column_s_numbers(both_plots, crossing):
    plot, _ = both_plots(crossing)
    text = plot.read_out(float(plot.columns.x[plot.columns.index(1)]), 0.1)
    assert all(part in text for part in ("token id 1", ">.3<", ">.5<", ">-.2<", ">.6<"))
    assert plot.read_out(7.4, 0.1) == ""


def test_moving_the_mouse_over_a_plot_is_harmless(both_plots, position):
    for plot in both_plots(position):
        for x in range(0, plot.width(), 40):
            place, none = QPointF(x, plot.height() / 2), Qt.MouseButton.NoButton
            args = QEvent.Type.MouseMove, place, plot.mapToGlobal(place), none, none, Qt.KeyboardModifier.NoModifier
            QApplication.sendEvent(plot.viewport(), QMouseEvent(*args))


# States


def test_without_a_position_both_plots_say_what_they_wait_for(both_plots):
    assert all(plot.message for plot in both_plots(None))


def test_p_equal_to_q_has_no_residual(both_plots, equal):
    """0/0 once put NaN into every entry (SD-002)."""
    plot, residual = both_plots(equal)
    assert residual.message == "none (p = q)"
    assert not plot.missed.rects()
    assert not plot.excess.rects()
    assert np.isfinite(residual.columns.residual).all()


def test_a_bonus_position_shows_p_alone_and_says_why(both_plots, bonus):
    plot, residual = both_plots(bonus)
    assert "proposed nothing" in plot.caption
    assert not plot.missed.rects()
    assert "drawn from p" in residual.message


def test_an_accepted_draft_s_residual_is_dimmed(both_plots, accepted, tail_rejection):
    _, dimmed = both_plots(accepted)
    _, full = both_plots(tail_rejection)
    assert "Not needed" in dimmed.caption
    assert dimmed.bars.opacity() < 0.5 < full.bars.opacity()


def test_the_resampled_token_is_marked_with_its_uniform(both_plots, tail_rejection):
    _, residual = both_plots(replace(tail_rejection, extra=ExtraToken(200, Kind.RESIDUAL, 1e-4, 0.123)))
    assert [c.marker for c in residual.callouts.callouts] == ["diamond"]
    assert ".123" in residual.callouts.callouts[0].text()


def test_with_the_trace_off_the_drafted_numbers_remain(both_plots, untraced):
    plot, residual = both_plots(untraced)
    assert ".0021" in plot.message
    assert residual.message


def test_states_follow_each_other_without_leftovers(both_plots, crossing, bonus, untraced):
    plot, residual = both_plots(crossing)
    for position in (None, bonus, untraced, crossing):
        for view in (plot, residual):
            view.set_position(position, label)
            view.redraw_now()
    assert not plot.message
    assert plot.plotItem.isVisible()
    assert plot.columns.p.sum() == pytest.approx(1)


# The curve


@pytest.fixture
def curve(show):
    plot = CurvePlot()
    plot.set_model(0.75, 0.1, 0.05, 6)
    return show(plot, 560, 380)


def test_the_curve_is_the_formula(curve):
    k, values = curve.formula.getData()
    assert k.tolist() == list(range(K_MAX + 1))
    assert values == pytest.approx(speedup(0.75, 0.1, k.astype(int), 0.05))
    assert curve.comparison.getData()[1] == pytest.approx(speedup(0.75, 0.1, k.astype(int)))


@pytest.mark.parametrize(("c_verify", "best"), [(0.0, 5), (0.05, 4), (0.25, 2)])
def test_the_best_k_is_named(curve, c_verify, best):
    curve.set_model(0.75, 0.1, c_verify, 9)
    curve.redraw_now()
    texts = [callout.text() for callout in curve.callouts.callouts]
    assert any(f"best k = {best}:" in text for text in texts)
    assert any("k = 9:" in text for text in texts)


def test_when_no_k_pays_the_plot_says_so(curve):
    curve.set_model(0.3, 0.6, 0.1, 4)
    curve.redraw_now()
    assert "do not draft" in curve.callouts.callouts[0].text()


def test_tokens_per_round_need_no_cost(curve):
    curve.set_quantity("tokens")
    curve.redraw_now()
    assert curve.formula.getData()[1] == pytest.approx(expected_tokens(0.75, np.arange(K_MAX + 1)))


def test_measured_points_carry_their_interval(curve):
    plain = MeasuredPoint(0, Spread(1, 1, 1), Spread(1, 1, 1), Spread(150.0, 150.0, 150.0))
    curve.set_measured([plain, POINT])
    curve.redraw_now()
    assert curve.measured.getData()[0].tolist() == [0, 3]
    assert curve.whiskers.opts["top"] == pytest.approx([0.0, 0.05])
    curve.set_quantity("tokens")
    curve.redraw_now()
    assert curve.whiskers.opts["top"] == pytest.approx([0.0, 0.1])


@pytest.mark.parametrize(("alpha", "c", "k"), [(0.0, 1.0, 16), (1.0, 0.0, 0), (0.5, 0.5, 16), (0.99, 0.01, 1)])
def test_extreme_sliders_stay_in_range(curve, alpha, c, k):
    curve.set_model(alpha, c, 0.0, k)
    curve.redraw_now()
    values = curve.formula.getData()[1]
    low, high = curve.plotItem.vb.viewRange()[1]
    assert low <= values.min()
    assert values.max() <= high
    for a, b in combinations(curve.callouts._boxes(), 2):
        assert not a.intersects(b)


@pytest.mark.parametrize("c_verify", [0.0, 0.05, 0.125, 0.18, 0.3])
def test_the_curve_does_not_run_through_the_words_below_it(curve, c_verify):
    """At costs where long drafts end between .5 and .75, 'slower than plain decoding' lay under the curve."""
    curve.resize(350, 280)
    curve.set_model(0.67, 0.105, c_verify, 4, 0.19)
    curve.redraw_now()
    words, view = curve._slow_text, curve.plotItem.vb
    box = view.mapToView(words.mapRectToParent(words.boundingRect()).topLeft())
    right = view.mapToView(words.mapRectToParent(words.boundingRect()).bottomRight()).x()
    k, speed = curve.formula.getData()
    beside = speed[(k >= box.x() - 0.5) & (k <= right + 0.5)]
    assert not words.isVisible() or beside.min() >= box.y()


def test_a_slider_storm_costs_a_bounded_number_of_redraws_and_the_last_value_wins(curve, qtbot, monkeypatch):
    """Dragging once queued every intermediate value; the view lagged seconds behind (SD-067)."""
    drawn, draw = [], CurvePlot.draw
    monkeypatch.setattr(CurvePlot, "draw", lambda self: (drawn.append(self.model), draw(self)))
    start = time.monotonic()
    for i in range(500):
        curve.set_model(i / 500, 0.1, 0.05, i % 17)
        QApplication.processEvents()
    seconds = time.monotonic() - start
    qtbot.waitUntil(lambda: bool(drawn) and drawn[-1] == curve.model, timeout=200)
    assert curve.model.alpha == 499 / 500
    assert len(drawn) <= seconds * 1000 / FRAME_MS + 3


def test_setting_the_same_model_again_draws_nothing(curve, monkeypatch, qtbot):
    monkeypatch.setattr(CurvePlot, "draw", lambda self: pytest.fail("drawn without a change"))
    curve.set_model(0.75, 0.1, 0.05, 6)
    qtbot.wait(3 * FRAME_MS)


# Every plot


def all_plots(position):
    plots = PQPlot(), ResidualPlot(), CurvePlot()
    for plot in plots[:2]:
        plot.set_position(position, label)
    plots[2].set_model(0.7, 0.1, 0.08, 5)
    plots[2].set_measured([POINT])
    return plots


def test_a_hidden_plot_draws_nothing_until_it_is_shown(qtbot, monkeypatch, crossing):
    drawn, draw = [], PQPlot.draw
    monkeypatch.setattr(PQPlot, "draw", lambda self: (drawn.append(1), draw(self)))
    plot = PQPlot()
    qtbot.addWidget(plot)
    for _ in range(20):
        plot.set_position(crossing, label)
    qtbot.wait(3 * FRAME_MS)
    assert not drawn
    plot.show()
    qtbot.waitUntil(lambda: bool(drawn))
    assert not plot.message


def test_three_hundred_repaints_in_a_loop(show, tail_rejection, bonus):
    """PySide6 6.12.0 lost a reference to None on every void Qt call and aborted within seconds of plotting."""
    plots = [show(plot) for plot in all_plots(tail_rejection)]
    for i in range(300):
        plots[0].set_position((tail_rejection, bonus)[i % 2], label)
        plots[1].set_position((bonus, tail_rejection)[i % 2], label)
        plots[2].set_model(i / 300, 0.1, 0.05, i % 17)
        for plot in plots:
            plot.redraw_now()
            plot.viewport().repaint()


@pytest.mark.parametrize("name", ["huge", "tail_rejection"])
def test_a_new_position_costs_far_less_than_a_frame(show, request, name, accepted):
    """CPU time of this process, so that a busy machine does not fail it (SD-071)."""
    plot, costs = show(PQPlot()), []
    for i in range(40):
        start = time.process_time()
        plot.set_position(request.getfixturevalue(name) if i % 2 else accepted, label)
        plot.redraw_now()
        plot.viewport().repaint()
        costs.append(time.process_time() - start)
    assert np.median(costs) < 0.016


def test_slider_to_paint_takes_less_than_a_frame(curve):
    costs = []
    for i in range(40):
        start = time.process_time()
        curve.set_model(0.5 + i / 100, 0.1, 0.05, i % 17)
        curve.redraw_now()
        curve.viewport().repaint()
        costs.append(time.process_time() - start)
    assert np.median(costs) < 0.016


def test_plots_follow_a_change_of_theme(show, qapp, tail_rejection):
    plots = [show(plot) for plot in all_plots(tail_rejection)]
    try:
        for name in ("light", "dark"):
            theme.apply(qapp, name)
            QApplication.processEvents()
            for plot in plots:
                image = plot.grab().toImage()
                assert image.pixelColor(2, image.height() - 3).name() == theme.THEMES[name].panel
                assert plot.plotItem.getAxis("left").textPen().color().name() == theme.THEMES[name].muted
    finally:
        theme.apply(qapp, "dark")


def test_axes_have_no_si_prefix(show, position):
    for plot in all_plots(position):
        show(plot)
        for side in ("left", "bottom"):
            axis = plot.plotItem.getAxis(side)
            assert not axis.autoSIPrefix
            assert axis.autoSIPrefixScale == 1.0
        strings = [text for level in plot.plotItem.getAxis("left")._tickLevels or [] for _, text in level]
        assert all(set(text) <= set("0123456789.") for text in strings)


@pytest.mark.parametrize("button", [Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton])
def test_dragging_moves_nothing_and_opens_no_foreign_menu(show, qtbot, crossing, button):
    for plot in map(show, all_plots(crossing)):
        before, middle = plot.plotItem.vb.viewRange(), plot.rect().center()
        qtbot.mouseClick(plot.viewport(), button, pos=middle)
        qtbot.mousePress(plot.viewport(), button, pos=middle)
        qtbot.mouseMove(plot.viewport(), middle + QPoint(60, 30))
        qtbot.mouseRelease(plot.viewport(), button, pos=middle + QPoint(60, 30))
        assert plot.plotItem.vb.viewRange() == before
        assert QApplication.activePopupWidget() is None


def test_the_menu_offers_only_what_works(show, crossing):
    """pyqtgraph's export menu ended in 'max() of an empty sequence' on bars (SD-066)."""
    for plot in map(show, all_plots(crossing)):
        menu = picture_menu(plot)
        assert [action.text() for action in menu.actions()] == ["Save picture…"]
        assert not plot.plotItem.vb.menuEnabled()
        menu.close()


@pytest.mark.parametrize("scale", [1, 2])
def test_a_picture_is_the_screen_in_whole_pixels(show, crossing, tmp_path, scale):
    plot = show(PQPlot())
    plot.set_position(crossing, label)
    image = picture(plot, scale)
    assert (image.width(), image.height()) == (760 * scale, 330 * scale)
    assert image.pixelColor(2, 2).name() == theme.current().panel
    save_picture(plot, str(tmp_path / "p.png"), scale)
    assert (tmp_path / "p.png").stat().st_size > 1000
    if scale == 1:
        assert image == plot.grab().toImage().convertToFormat(image.format())


def test_a_picture_that_cannot_be_made_is_refused_with_a_reason(show, crossing, tmp_path):
    plot = show(PQPlot())
    with pytest.raises(ValueError, match="no pixels"):
        picture(plot, 0)
    with pytest.raises(OSError, match="Cannot write"):
        save_picture(plot, str(tmp_path / "missing" / "p.png"))


@pytest.mark.parametrize(("width", "height"), [(260, 140), (300, 200), (800, 240), (2400, 1200)])
def test_any_size_can_be_drawn(show, tail_rejection, width, height):
    for plot in all_plots(tail_rejection):
        assert not show(plot, width, height).grab().isNull()


def test_ticks_share_their_decimals_and_ends_move_in_steps():
    assert [text for _, text in ticks(0, 0.1, 0.02)] == ["0", ".02", ".04", ".06", ".08", ".10"]
    assert [text for _, text in ticks(0.5, 2, 0.5)] == [".5", "1.0", "1.5", "2.0"]
    assert ceiling(0.098, (0.05, 0.1)) == 0.1
    assert ceiling(3, (0.05, 0.1)) == 0.1
    assert tick_step(1.0, 200, 30) == 0.2
    assert tick_step(1.0, 5, 30) == 1.0


def test_pyqtgraph_is_the_version_the_bars_were_written_for():
    assert pg.__version__ == "0.14.0"


def test_a_change_of_position_paints_each_plot_once(show, tail_rejection, crossing, monkeypatch):
    """pyqtgraph moves its items when a paint begins, which asked for a second paint of everything."""
    plot = show(PQPlot())
    plot.set_position(crossing, str)
    plot.redraw_now()
    QApplication.processEvents()
    painted = []
    original = PQPlot.paintEvent
    monkeypatch.setattr(PQPlot, "paintEvent", lambda self, event: (painted.append(1), original(self, event))[1])
    plot.set_position(tail_rejection, str)
    plot.redraw_now()
    for _ in range(5):
        QApplication.processEvents()
    assert len(painted) == 1
