"""The rule laboratory: asks first, draws on its own thread, shows what came, and concludes no more than that."""

import threading
import time

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel

from simulator.exactness.lab import Check, Noise
from simulator.exactness.laws import law
from simulator.exactness.pairs import EXAMPLES, REST
from simulator.exactness.rules import CARDS
from simulator.exactness.sequence import Divergence
from simulator.records import RoundTrace
from tests.conftest import pair, position_of
from ui import lab_words, sequence_words, theme
from ui.lab_model import from_example, usable
from ui.pages.exactness import ExactnessPage
from ui.states import State
from ui.widgets.digits import prob
from ui.widgets.draw_row import DRAWS


@pytest.fixture
def page(shown_page, session):
    """The page on the crossing example, shown, not yet asked."""
    made = ExactnessPage(session)
    return shown_page(made, before=lambda: made.source.choose("crossing"))


@pytest.fixture
def lab(page):
    """The page with the question behind it."""
    page.answer("")
    return page


def draw(page, until, draws=10_000):
    page.draw(draws)
    until(lambda: not page.experiment.running)
    page._show_numbers()
    for plot in (page.pair_plot, page.emitted_plot):
        plot.redraw_now()


def texts(page):
    """Return everything the page says."""
    labels = [w.text() for w in page.findChildren(QLabel)]
    buttons = [
        f"{w.text()} {w.accessibleName()} {w.accessibleDescription()}" for w in page.findChildren(QAbstractButton)
    ]
    return "\n".join([*labels, *buttons])


def go_to(session, *places):
    """Put a round of these positions under the cursor."""
    session.rounds.append(RoundTrace(len(session.rounds), 7, tuple(places), (0,), 1.0, 2.0, 3.0))
    session.playback.seek(len(session.rounds) - 1)


def figures(page):
    return {cell._figure.caption: cell._figure.value_text for cell in page.figures._cells}


# Predict first


def test_nothing_of_the_result_is_shown_before_the_prediction(page):
    assert page.stack.currentIndex() == 0
    assert not any(button.isEnabled() for button in page.draws.buttons.values())
    page.emitted_plot.redraw_now()
    assert "prediction" in page.emitted_plot.message
    assert not page.figures.isVisible()


@pytest.mark.parametrize(
    ("answer", "rule", "start"), [("p", "resample", "✗ Not quite"), ("residual", "exact", "✓ Right")]
)
def test_the_prediction_chooses_the_rule_and_is_explained_on_the_same_bars(page, answer, rule, start):
    page.predict.buttons[answer].click()
    assert page.rule.rule == rule
    assert page._head.text().startswith(start)
    assert ".15" in page._head.text()
    page.emitted_plot.redraw_now()
    assert page.emitted_plot.law.getData()[1][::2] == pytest.approx([0.35, 0.39, 0.26])  # what p instead would emit
    assert page.emitted_plot.ticks.getData()[1][::2] == pytest.approx([0.5, 0.3, 0.2])
    assert all(button.isEnabled() for button in page.draws.buttons.values())


def test_where_p_is_q_both_predictions_are_right(page):
    page.source.choose("equal")
    page.answer("p")
    assert "nothing is ever refused" in page._head.text()


# Drawing


def test_draws_run_on_a_thread_of_their_own_and_are_told_on_the_windows(lab, until):
    heard = set()
    lab.experiment.changed.connect(lambda: heard.add(threading.current_thread()))
    draw(lab, until, 100_000)
    assert heard == {threading.main_thread()}
    assert lab.experiment.tally.draws == 100_000
    assert "inference" in {t.name for t in threading.enumerate()}


def test_presses_add_up_and_clear_starts_anew(lab, until):
    draw(lab, until, 1)
    assert lab._head.text().startswith(("Drafted", "The draft was refused"))
    draw(lab, until)
    assert lab.experiment.tally.draws == 10_001
    lab.draws.end.click()
    assert lab.experiment.tally.draws == 0
    assert "do the bars fill up" in lab._head.text()


def test_the_bars_are_the_tally_green_below_blue(lab, until):
    draw(lab, until, 100_000)
    tally, plot = lab.experiment.tally, lab.emitted_plot
    kept, replaced = plot.kept.opts["height"], plot.replaced.opts["height"]
    assert kept == pytest.approx(tally.kept / 100_000)
    assert replaced == pytest.approx([tally.replaced[0] / 100_000])  # only A has a residual
    assert plot.replaced.opts["y0"] == pytest.approx(kept[:1])
    assert plot.ticks.getData()[1][::2] == pytest.approx(lab.setup.pair.p)
    assert len(plot.surplus.opts["x"]) == len(plot.lack.opts["x"]) == 0


def test_the_screen_states_draws_level_and_test(lab, until):
    """SD-050: a verdict without them is no verdict."""
    draw(lab, until)
    line = lab.draws._test.text().replace("\xa0", " ")
    assert "Chi-square test" in line
    assert "N = 10,000" in line
    assert "level .001" in line
    assert figures(lab)["draws N"] == "10,000"
    assert 0 < float(figures(lab)["noise, 99 % below"]) < 0.03


def test_a_lossy_rule_is_seen_failing(lab, until):
    lab.rule.choose("resample")
    draw(lab, until, 100_000)
    assert lab._head.text().startswith("✗ Not p")
    assert lab.emitted_plot.surplus.opts["x"].tolist() == [1, 2]  # B and C come too often
    assert lab.emitted_plot.lack.opts["x"].tolist() == [0]
    assert figures(lab)["closed-form TV"] == ".15"
    assert float(figures(lab)["measured TV"]) == pytest.approx(0.15, abs=0.006)


@pytest.mark.parametrize("name", ["exact", "equality", "one-hot", "block"])
def test_a_lossless_rule_passes_and_is_never_called_lossy(lab, until, name):
    """SD-015: 'equal to the target's draw' is lossless and accepts less."""
    lab.rule.choose(name)
    draw(lab, until, 20_000)
    said = texts(lab).replace(lab.rule.combo.currentText(), "")
    assert "not lossless" not in said
    assert "Not p" not in said
    assert figures(lab)["closed-form TV"] == "0"
    assert "✓ lossless" in said


def test_equality_says_that_it_keeps_fewer(lab):
    lab.rule.choose("equality")
    assert "keeps .31 of the drafts; the ratio rule keeps .7" in lab.proof._end.text()


def test_the_verdict_says_no_more_than_the_draws_do():
    exact = from_example("crossing")
    small = from_example("close").under("lenience", 0.95)
    passed, failed = Check(500, 3, 1.0, 0.6, 0.001), Check(500, 3, 40.0, 1e-9, 0.001)
    noise = Noise(0.02, 0.04)
    assert "too few" in lab_words.verdict(exact, None, None, 1).text
    assert "one experiment in 1,000" in lab_words.verdict(exact, failed, noise, 500).text
    hidden = lab_words.verdict(small, passed, noise, 500)
    assert "there is one" in hidden.text
    assert (hidden.sign, hidden.colour) == ("?", "extra")
    assert "rules out" in lab_words.about_test(Check(6, 3, float("inf"), 0.0, 0.001))
    assert lab_words.about_test(None) == ""


def test_stopping_is_quick_and_keeps_and_tests_what_was_drawn(lab, until):
    lab.draw(DRAWS[-1])
    until(lambda: lab.experiment.tally.draws > 0)
    start = time.process_time()
    lab.draws.end.click()
    assert time.process_time() - start < 0.1
    assert not lab.experiment.running
    drawn = lab.experiment.tally.draws
    assert 0 < drawn < DRAWS[-1]
    lab.experiment.poll()  # what the thread still had to say comes too late
    assert lab.experiment.tally.draws == drawn


def test_a_page_that_is_hidden_draws_nothing(lab, until):
    lab.draw(DRAWS[-1])
    lab.hide()
    assert not lab.experiment.running


def test_a_change_of_rule_while_drawing_forgets_the_draws(lab, until):
    lab.draw(DRAWS[-1])
    until(lambda: lab.experiment.tally.draws > 0)
    lab.rule.choose("always")
    assert lab.experiment.tally.draws == 0
    draw(lab, until, 1)
    assert lab.experiment.tally.draws == 1
    assert lab.experiment.tally.kept.sum() == 1


# The pair


@pytest.mark.parametrize("side", ["p", "q"])
def test_a_dragged_bar_is_set_by_hand_and_both_rows_stay_distributions(lab, side):
    lab.pair_plot.redraw_now()
    before = lab.setup.pair
    other = "q" if side == "p" else "p"
    drag(lab.pair_plot, 1, side, 0.1)
    after = lab.setup.pair
    assert lab.source.source == "hand"
    assert getattr(after, side)[1] == pytest.approx(0.1, abs=0.02)
    assert after.p.sum() == pytest.approx(1)
    assert after.q.sum() == pytest.approx(1)
    assert getattr(after, other).tolist() == getattr(before, other).tolist()
    assert "your own pair" in lab._head.text()
    assert before is EXAMPLES["crossing"].pair  # the example itself is as it was
    assert before.p.tolist() == [0.5, 0.3, 0.2]


def drag(plot, column, side, to):
    """Press on a bar, pull it to a value, let go."""
    x = column + (-0.2 if side == "p" else 0.2)

    def send(kind, y):
        at = QPointF(plot.mapFromScene(plot.plotItem.vb.mapViewToScene(QPointF(x, y))))
        buttons = Qt.MouseButton.NoButton if kind == QEvent.Type.MouseButtonRelease else Qt.MouseButton.LeftButton
        glob = QPointF(plot.viewport().mapToGlobal(at.toPoint()))
        event = QMouseEvent(kind, at, glob, Qt.MouseButton.LeftButton, buttons, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(plot.viewport(), event)

    send(QEvent.Type.MouseButtonPress, 0.05)
    for y in (0.2, to):
        send(QEvent.Type.MouseMove, y)
    send(QEvent.Type.MouseButtonRelease, to)


def test_a_click_chooses_a_column_without_moving_it(lab):
    lab.pair_plot.redraw_now()
    drag(lab.pair_plot, 2, "q", 0.2001)  # first press and ...
    lab.source.choose("crossing")
    lab.pair_plot.column_chosen.emit(2)
    assert lab.pair_plot.chosen == lab.emitted_plot.chosen == 2
    assert "'C'" in lab.proof._head.text()
    assert lab.setup.pair.q.tolist() == [0.2, 0.5, 0.3]


def test_bars_can_be_moved_and_chosen_by_keys(lab, qtbot):
    lab.pair_plot.setFocus()
    qtbot.keyClick(lab.pair_plot, Qt.Key.Key_Right)
    assert lab.pair_plot.chosen == 1
    qtbot.keyClick(lab.pair_plot, Qt.Key.Key_Up)
    assert lab.setup.pair.p[1] == pytest.approx(0.31)
    qtbot.keyClick(lab.pair_plot, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert lab.setup.pair.q[1] == pytest.approx(0.49)
    assert lab.pair_plot.chosen == 1


def test_a_position_of_the_run_is_folded_to_the_top_and_the_rest(lab, session):
    lab.source.choose("position")
    assert "No drafted position to show yet" in lab._head.text()
    place = position_of(*pair(2048, 5), drafted=90, extra=200)
    go_to(session, place)
    assert "position 1 of round 1" in lab._head.text()
    assert len(lab.setup.pair.ids) == 11
    assert lab.setup.pair.ids[-1] == REST
    assert lab.setup.labels[-1] == "rest"
    lab.source.top.setValue(4)
    assert len(lab.setup.pair.ids) == 5
    alpha = next(caption for caption in figures(lab) if caption.startswith("acceptance"))
    assert f"all tokens {prob(place.shape.overlap)}" in alpha
    assert law("exact", lab.setup.pair.p, lab.setup.pair.q).acceptance > place.shape.overlap


def test_a_bonus_position_gives_way_to_the_last_drafted_one(crossing, bonus):
    trace = RoundTrace(0, 7, (crossing, bonus), (0,), 1.0, 2.0, 3.0)
    assert usable(trace, 2) is crossing
    assert usable(RoundTrace(0, 7, (bonus,), (0,), 1.0, 2.0, 3.0), 1) is None
    assert usable(None, 1) is None


def test_moving_through_the_run_forgets_draws_of_another_position_only(lab, session, until, crossing):
    draw(lab, until)
    go_to(session, crossing)
    assert lab.experiment.tally.draws == 10_000  # an example does not care
    lab.source.choose("position")
    draw(lab, until)
    go_to(session, position_of([0.2, 0.8], [0.5, 0.5]))
    assert lab.experiment.tally.draws == 0


def test_a_hidden_page_waits_and_catches_up(lab, session, crossing):
    lab.source.choose("position")
    lab.hide()
    before = lab.setup
    go_to(session, crossing)
    assert lab.setup is before
    lab.show()
    assert lab.setup.place is crossing


# The proof


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("source", [*EXAMPLES, "random"])
def test_the_account_of_every_outcome_ends_at_its_law(name, source, lab):
    lab.source.choose(source)
    lab.rule.choose(name)
    closed = lab.setup.law()
    for token, p in enumerate(lab.setup.pair.p):
        lab._show_chosen(token)
        *_, last = lab_words.terms(lab.setup, token)
        assert ("=" in last.value) == (abs(closed.emitted[token] - p) < 1e-9)
    assert "nan" not in texts(lab).lower()


def test_the_two_tvs_cancel_in_this_positions_numbers(lab):
    values = {term.key: term for term in lab_words.terms(lab.setup, 0)}
    assert [values[k].value for k in ("kept", "refused", "replaced")] == [".2", ".3", "1"]
    assert values["replaced"].formula.startswith("its blue / all the blue = .3 / .3")
    assert values["emitted"].value == ".5 = p"
    assert "the two TVs cancel" in lab.proof._end.text()
    lab.source.choose("equal")
    assert "no residual" in lab.proof._end.text()


def test_a_term_lights_up_its_part_of_the_picture_and_goes_out_again(lab, qtbot):
    plot = lab.pair_plot
    qtbot.mouseClick(lab.proof.buttons[1], Qt.MouseButton.LeftButton)  # any draft refused: all the red
    plot.redraw_now()
    assert plot._layers["excess", True].opts["x"].size == 2
    assert plot._layers["both", True].opts["x"].size == 0
    qtbot.mouseClick(lab.proof.buttons[2], Qt.MouseButton.LeftButton)  # 'A' replaces it: its blue
    plot.redraw_now()
    assert plot._layers["missed", True].opts["x"].tolist() == pytest.approx([-0.21])
    assert plot._layers["excess", True].opts["x"].size == 0
    qtbot.mouseClick(lab.proof.buttons[2], Qt.MouseButton.LeftButton)
    plot.redraw_now()
    assert plot._layers["both", False].opts["x"].size == 0
    assert lab.proof.chosen is None


def test_a_chosen_term_stays_chosen_when_the_outcome_changes(lab):
    lab.proof.choose("replaced")
    lab._show_chosen(1)
    assert lab.proof.chosen.key == "replaced"
    assert [b.isChecked() for b in lab.proof.buttons] == [False, False, True, False]


# Whole texts


def test_many_seeds_are_compared_while_the_run_waits(new_window, until):
    window = new_window(k=2)
    window.show_page("Exactness")
    view, s = next(v for v in window.views if v.title == "Exactness"), window.session
    s.next_round()
    until(lambda: s.playback.round is not None)
    rounds = list(s.rounds)
    view.answer("")
    view.views.setCurrentIndex(1)
    view.texts.tokens.setValue(1)
    view.texts.seeds.click()
    assert s.state is State.MEASURING
    assert not view.texts.seeds.isEnabled()
    until(lambda: s.state is not State.MEASURING)
    assert "show no difference" in view.texts._head.text()
    assert "300 texts each, level .001" in view.texts._test.text()
    assert "first tokens" in view.texts._table.text()
    assert s.rounds == rounds  # the run is where it was
    view.texts.greedy.click()
    until(lambda: s.state is not State.MEASURING)
    assert "Both greedy texts are the same" in view.texts._head.text()
    s.configure(k=3)
    assert view.texts._head.text() == ""


def test_texts_cannot_be_compared_without_a_pair(lab, session):
    assert not lab.texts.seeds.isEnabled()
    session.compare(1)
    assert session.state is State.EMPTY


def test_a_greedy_difference_is_called_a_tie_only_when_it_is_one():
    tie, clear = (sequence_words.greedy(Divergence(4, 3, 1, 2, m, 1e-6), str) for m in (1.5e-6, 0.5))
    assert "A tie" in tie.text
    assert tie.sign == "≈"
    assert "No tie" in clear.text
    assert clear.colour == "excess"


# Looks


@pytest.mark.parametrize("size", [(640, 500), (1150, 600), (1800, 950)])
@pytest.mark.parametrize("rule", ["exact", "typical"])
def test_every_part_is_drawn_at_every_size(lab, until, size, rule, session):
    lab.resize(*size)
    lab.source.choose("position")
    go_to(session, position_of(*pair(2048, 5), drafted=90, extra=200))
    lab.source.top.setValue(32)
    lab.rule.choose(rule)
    draw(lab, until)
    assert not lab.grab().isNull()
    assert np.isfinite(lab.emitted_plot.kept.opts["height"]).all()


def test_both_themes_reach_everything(lab, until):
    draw(lab, until)
    try:
        theme.apply(QApplication.instance(), "light")
        assert lab._head.palette().windowText().color() == theme.colour("both")
        assert theme.current().both in lab.rule._badge.styleSheet()
        assert not lab.grab().isNull()
    finally:
        theme.apply(QApplication.instance(), "dark")


def test_tooltips_tell_the_numbers_of_a_column(lab, until):
    draw(lab, until)
    assert "over" not in lab.pair_plot.read_out(99, 0)
    assert ".2" in lab.pair_plot.read_out(0, 0.1)
    assert "10,000" not in lab.emitted_plot.read_out(1, 0.1)
    assert "±" in lab.emitted_plot.read_out(1, 0.1)
    assert lab.pair_plot.read_out(0.0, 0.1).startswith("<b>A</b>")


def test_the_slider_of_a_parameter_moves_the_law(lab):
    lab.rule.choose("lenience")
    slider = lab.rule._sliders["lenience"]
    assert slider.isVisible()
    assert not lab.rule._sliders["typical"].isVisible()
    slider.setValue(1.0)
    assert lab.setup.law().tv < 1e-12
    slider.setValue(0.1)
    assert lab.setup.law().acceptance == 1


def test_the_page_is_on_the_rail_and_its_thread_ends_with_the_window(new_window, until):
    window = new_window(pair=None)
    window.show_page("Exactness")
    view = next(v for v in window.views if v.title == "Exactness")
    assert view.isVisible()
    view.source.choose("crossing")
    view.answer("")
    view.draw(1_000_000)
    window.close()
    assert window.ended


@pytest.mark.parametrize("width", [1150, 1790])
def test_labels_of_many_columns_stay_apart_and_the_rest_keeps_its_divisor(lab, session, qtbot, width):
    """33 labels were cut to two letters each, and 'rest ÷5' to 'rest…', which hid that its bar is drawn smaller."""
    lab.resize(width, 600)
    lab.source.choose("position")
    go_to(session, position_of(*pair(2048, 5), drafted=90, extra=200))
    lab.source.top.setValue(32)
    plot = lab.pair_plot
    plot.redraw_now()
    boxes = plot.axis._boxes()
    for i, a in enumerate(boxes):
        assert not any(a.intersects(b) for b in boxes[i + 1 :])
    rest = plot.axis.labels[-1]
    assert rest.text.startswith("rest ÷")
    assert boxes[-1].width() >= theme.text_width(rest.text, QApplication.font().pointSizeF())
    assert boxes[-1].right() <= plot.axis.width() + 12  # the plot's own margin


# What is said


def test_more_draws_do_not_keep_the_noise_of_fewer(lab, until):
    """While a million was drawn the figures showed the noise of the single draw before: .994."""
    draw(lab, until, 1)
    assert lab.experiment.noise is not None
    lab.draw(DRAWS[-1])
    lab._show_numbers()
    assert figures(lab)["noise, 99 % below"] == "–"
    lab.draws.end.click()
    assert lab.experiment.noise is not None


@pytest.mark.parametrize(("example", "part"), [("equal", "Here p = q"), ("sure", "Here the residual is p itself")])
def test_where_both_predictions_are_right_the_reason_is_the_true_one(example, part):
    """With p on one token four drafts in ten are refused, and yet it said 'p = q: nothing is ever refused'."""
    for answer in ("p", "residual"):
        assert lab_words.explanation(from_example(example), answer).text.startswith(part)


def test_a_folded_pair_says_where_the_rest_misleads(lab, session):
    """Its rest is the largest 'token', so greedy drafts proposed it; equality seemed to keep half of the drafts."""
    lab.source.choose("position")
    flat = np.full(2048, 1 / 2048)
    go_to(session, position_of(flat, flat, drafted=90, extra=200))
    said = {}
    for rule in CARDS:
        lab.rule.choose(rule)
        said[rule] = lab_words.conclusion(lab.setup)
        known = any("all tokens" in caption for caption in figures(lab))
        assert known == (CARDS[rule].acceptance == "Σ min(p, q)")
    assert {rule for rule, text in said.items() if "Careful: here the rest" in text} == {"one-hot", "softmax", "argmax"}
    assert {rule for rule, text in said.items() if "fewer are equal" in text} == {"equality", "equality-fresh"}
    assert "rest" not in lab_words.conclusion(from_example("crossing").under("one-hot", None))


def test_whole_texts_say_what_can_be_asked_before_it_is(lab):
    assert "do 300 texts with drafts begin like 300 without" in lab.texts._test.text()


@pytest.mark.parametrize("rule", ["exact", "softmax", "lenience"])
def test_a_term_is_never_squeezed(lab, qtbot, rule):
    """With a notice above the page the second lines of all four terms were cut in half."""
    lab.rule.choose(rule)
    for height in (600, 520, 400):
        lab.resize(1150, height)
        qtbot.waitUntil(lambda: all(b.height() >= b.sizeHint().height() for b in lab.proof.buttons))
        assert len(lab.proof.buttons) == 4
        assert lab.proof._end.height() >= lab.proof._end.heightForWidth(lab.proof._end.width())
    assert 400 < lab.minimumSizeHint().height() <= 598  # a window of 1280 x 800 has this room
