"""Numbers, labels, phases, sentences and cards: a round reads as what it was, step by step."""

from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication

from simulator.records import RoundTrace
from tests.ui.rounds import ALL, BONUS, ENDED, PLAIN, REJECTED, A, D, a_round, draft, label, median_ms
from ui import theme
from ui.widgets.canvas import painting
from ui.widgets.card_model import cards
from ui.widgets.digits import pair, prob
from ui.widgets.origin import Origin, pieces
from ui.widgets.reveal import Reveal, describe, phases, why
from ui.widgets.round_cards import RoundCards, shares
from ui.widgets.token_text import quoted, safe


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.591, ".591"),
        (0.0021, ".0021"),
        (3.5e-8, "3.5e-8"),
        (1, "1"),
        (0, "0"),
        (0.5, ".5"),
        (0.99996, ">.999"),
        (1e-4, ".0001"),
        (0.00099999, ".001"),
        (2.0779, "2.08"),
        (1234.6, "1235"),
        (5e-324, "4.94e-324"),
        (None, "n/a"),
        (float("nan"), "n/a"),
        (float("inf"), "∞"),
    ],
)
def test_a_probability_keeps_digits_that_tell(x, text):
    assert prob(x) == text


def test_only_exact_zero_and_one_read_so():
    for exponent in range(1, 320, 7):
        assert prob(10.0**-exponent) not in ("0", "0.000", "")
        assert prob(1 - 10.0 ** -min(exponent, 15)) != "1"


def test_two_numbers_that_differ_are_written_differently():
    assert pair(0.4412, 0.4409) == (".4412", ".4409")
    assert pair(0.5, 0.5) == (".5", ".5")
    assert pair(0.99996, 0.9995)[0] != pair(0.99996, 0.9995)[1]


def test_labels_hide_nothing_and_turn_nothing_around():
    """SD-061: distinct tokens looked the same, and U+202E reversed its neighbours.

    Every control, format or odd blank character gets a visible mark; nothing is empty.
    """
    raw = ["", " ", "  ", "a", " a", "\n", "\t", "\r", "\u00a0", "\u200b", "\u202e", "\0", "<eos>", "\u0301"]
    shown = [safe(text) for text in raw]
    assert len(set(shown)) == len(raw)
    assert all(c.isprintable() for text in shown for c in text)
    assert "\u202e" not in safe("a\u202eb")
    assert len(quoted("x" * 500)) < 40
    assert quoted("שלום")[1] == "\u2068"  # isolated, so that the sentence around it keeps its order


@pytest.mark.parametrize("round", ALL)
def test_phases_are_ordered_and_end_in_everything(round):
    steps = phases(round)
    assert steps[-1] == Reveal.all_of(round)
    assert len(set(steps)) == len(steps)
    for before, after in pairwise(steps):
        assert (before.drafted, before.verified, before.judged, before.emitted) < (
            after.drafted,
            after.verified,
            after.judged,
            after.emitted,
        )
    assert [s.judged for s in steps][-1] == round.tested


def test_the_sentence_names_the_right_reason():
    says = [describe(REJECTED, step, label) for step in phases(REJECTED)]
    assert says[0] == "Draft proposed 5 tokens."
    assert says[1] == "The target scored all 6 positions in one pass."
    assert says[2] == "'·near': u = .25 is below p/q = .3/.4 = .75, so it is accepted."
    assert says[4] == "'·hath': u = .9 is not below p/q = .3/.4 = .75, so it is rejected; " \
        "a new token is drawn from the residual."  # fmt: skip
    assert says[5] == "'·hath' is drawn from the residual, in place of the rejected '·hath'."
    assert describe(BONUS, Reveal.all_of(BONUS), label) == "All 4 kept, so a bonus token '·hath' is drawn from p."


def test_discarded_tokens_are_explained_by_what_stood_before_them():
    assert "never tested, because '·hath' before it was rejected" in why(REJECTED, 5, label)
    assert "never tested, because '·hath' before it ended the text" in why(ENDED, 4, label)
    assert "the 2 tokens behind it are discarded" in why(ENDED, 3, label)
    assert "no bonus token" in describe(ENDED, Reveal.all_of(ENDED), label)


def test_a_round_without_drafts_says_so():
    says = [describe(PLAIN, step, label) for step in phases(PLAIN)]
    assert says == [
        "Nothing was drafted, so the target scored only the next position.",
        "With nothing drafted, '·hath' is drawn from the target's p.",
    ]


def test_a_ratio_above_one_is_not_compared_as_a_probability():
    place = replace(draft(1, A, p=0.4, q=0.2))
    round = replace(BONUS, positions=(place, *BONUS.positions[1:]))
    assert why(round, 1, label) == "'·near': p/q = .4/.2 = 2 and every u, here .25, is below 1, so it is accepted."


def test_another_rule_is_not_explained_by_the_ratio():
    token = replace(draft(1, A).drafted, accept_prob=0.9)
    round = replace(BONUS, positions=(replace(BONUS.positions[0], drafted=token), *BONUS.positions[1:]))
    assert "p/q" not in why(round, 1, label)


def counts(round: RoundTrace) -> dict[Origin, int]:
    origins = [piece.origin for piece in pieces(round)]
    return {origin: origins.count(origin) for origin in set(origins)}


@pytest.mark.parametrize("round", ALL)
def test_origins_count_what_the_trace_counts(round):
    found = counts(round)
    assert found.get(Origin.ACCEPTED, 0) == round.accepted
    assert found.get(Origin.REJECTED, 0) == round.tested - round.accepted
    assert found.get(Origin.DISCARDED, 0) == round.drafted - round.tested
    extras = sum(found.get(o, 0) for o in (Origin.RESIDUAL, Origin.BONUS, Origin.PLAIN))
    assert extras == (round.extra is not None)
    assert found.get(Origin.ACCEPTED, 0) + extras == len(round.emitted)


def test_a_discarded_token_is_never_shown_as_rejected():
    """SD-021: drafts behind an accepted end token were shown and counted as rejected.

    In no phase of any round is an untested draft shown as rejected, nor with a u.
    """
    for round in (ENDED, REJECTED):
        for step in phases(round):
            for card, place in zip(cards(round, step, label), round.positions, strict=False):
                if place.drafted.verdict is D:
                    assert card.origin is not Origin.REJECTED
                    assert card.needle is None


def test_unrevealed_parts_are_blank():
    drafted, verified = (cards(REJECTED, step, label)[0] for step in phases(REJECTED)[:2])
    assert (drafted.token, drafted.q, drafted.p, drafted.accept) == ("·near", ".4", "", None)
    assert (verified.p, verified.needle, verified.verdict) == (".3", None, "")
    assert verified.accept == pytest.approx(0.75)
    assert cards(REJECTED, Reveal(), label)[0].token == ""
    assert cards(REJECTED, phases(REJECTED)[-2], label)[-1].token == ""


def test_there_are_k_plus_one_cards():
    for round in ALL:
        assert len(cards(round, Reveal.all_of(round), label)) == round.drafted + 1
    (plain,) = cards(PLAIN, Reveal.all_of(PLAIN), label)
    assert (plain.origin, plain.token, plain.q) == (Origin.PLAIN, "·hath", "")
    assert cards(ENDED, Reveal.all_of(ENDED), label)[-1].tag == "not reached"


@pytest.mark.parametrize("count", range(1, 18))
@pytest.mark.parametrize("width", [320, 830, 1600])
def test_cards_fit_and_the_current_one_is_wide(count, width):
    for current in range(count):
        sizes = shares(count, current, width, 122, 34, 176)
        assert sum(sizes) + 6 * (count - 1) <= width + 1
        assert sizes[current] >= 122 or count == 1


def test_cards_choose_by_click_and_by_key(qtbot):
    widget = RoundCards()
    qtbot.addWidget(widget)
    widget.resize(830, 110)
    widget.set_round(REJECTED, Reveal.all_of(REJECTED), label)
    widget.set_current(2)
    chosen = []
    widget.position_chosen.connect(chosen.append)
    for box in (widget.boxes()[4], widget.boxes()[5]):
        qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=box.center().toPoint())
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_End):
        qtbot.keyClick(widget, key)
    assert chosen == [5, 3, 3, 1, 1, 5]  # the residual card leads to the rejected position


@pytest.mark.parametrize("points", [8, 10.5, 20])
def test_cards_paint_in_every_state(qtbot, points):
    font = QApplication.font()
    QApplication.setFont(theme.text_font(points))
    try:
        widget = RoundCards()
        qtbot.addWidget(widget)
        for round in (None, *ALL, a_round("A" * 16)):
            for step in phases(round) if round else [Reveal()]:
                widget.set_round(round, step, label)
                widget.resize(830, widget.sizeHint().height())
                widget.grab()
                for i, box in enumerate(widget.boxes()):
                    for y in range(0, widget.height(), 12):
                        assert widget.tooltip(i, y)
                    assert box.width() > 0
    finally:
        QApplication.setFont(font)


def test_repainting_cards_takes_a_fraction_of_a_frame(qtbot):
    widget = RoundCards()
    qtbot.addWidget(widget)
    widget.resize(830, 110)
    pixmap = QPixmap(830, 110)
    widget.render(pixmap)
    assert median_ms(lambda i: (widget.set_round(REJECTED, phases(REJECTED)[i % 6], label), widget.render(pixmap))) < 16


def test_an_error_while_painting_ends_the_painter(qtbot):
    """SD-073: an exception in a paint handler left its painter open and took the process down.

    The painter is ended on the way out, so the pixmap can be painted on again.
    """
    pixmap = QPixmap(10, 10)
    with pytest.raises(ZeroDivisionError) as caught, painting(pixmap):
        _ = 1 / 0
    assert caught.tb is not None  # the frame that holds the painter is still alive, as in an exception hook
    assert not pixmap.paintingActive()
    with painting(pixmap) as again:
        assert again.isActive()
