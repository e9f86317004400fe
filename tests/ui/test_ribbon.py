"""Ribbon and timeline: every token once, marked by its origin, at the same cost for long runs as for short ones."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QPixmap

from simulator.trace.store import RoundStore
from tests.ui.rounds import ALL, BONUS, ENDED, NAMES, PLAIN, REJECTED, A, draft, label, median_ms
from ui import theme
from ui.widgets.origin import Origin, pieces, pieces_of
from ui.widgets.reveal import Reveal, phases
from ui.widgets.ribbon_layout import NO_ROUND, flow
from ui.widgets.timeline import Timeline
from ui.widgets.token_ribbon import TokenRibbon


@pytest.fixture
def ribbon(qtbot):
    widget = TokenRibbon(label)
    qtbot.addWidget(widget)
    widget.resize(1240, 90)
    return widget


def shown(widget: TokenRibbon) -> list[Origin]:
    return [widget._origin(t) for _, t in widget.visible() if widget._shown(t)]


def test_the_ribbon_shows_each_token_once_with_its_origin(ribbon):
    ribbon.set_prompt(["Once", "·upon"])
    ribbon.set_rounds(ALL[:4])
    ribbon.set_cursor(0, 1)
    ribbon.grab()
    found = shown(ribbon)
    expected = [piece.origin for round in ALL[:4] for piece in pieces(round)]
    assert found == [Origin.PROMPT] * 2 + expected


def test_the_ribbon_reveals_the_current_round_step_by_step(ribbon):
    ribbon.set_rounds([REJECTED])
    ribbon.grab()
    places = []
    for step in (Reveal(), *phases(REJECTED)):
        ribbon.set_cursor(0, 1, step)
        places.append([box for box, _ in ribbon.visible()])
        hidden = Origin.RESIDUAL not in shown(ribbon)
        assert hidden == (not step.emitted)
    assert all(p == places[0] for p in places)  # nothing moves while the round is revealed
    ribbon.set_cursor(0, 1, Reveal())
    assert shown(ribbon) == []


def test_rejected_drafts_can_be_hidden(ribbon):
    ribbon.set_rounds(ALL)
    ribbon.set_cursor(0, 1)
    ribbon.set_show_rejected(False)
    ribbon.grab()
    assert not {Origin.REJECTED, Origin.DISCARDED} & set(shown(ribbon))


def test_rounds_ahead_of_the_cursor_can_be_hidden(ribbon):
    ribbon.set_prompt(["Once"])
    ribbon.set_rounds(ALL)
    ribbon.set_show_ahead(False)
    ribbon.set_cursor(-1, 1)
    assert shown(ribbon) == [Origin.PROMPT]
    ribbon.set_cursor(1, 1)
    assert {t.round for _, t in ribbon.visible() if ribbon._shown(t)} == {NO_ROUND, 0, 1}


def test_a_click_on_a_token_asks_for_its_round_and_position(ribbon, qtbot):
    ribbon.set_rounds(ALL)
    ribbon.set_cursor(0, 1)
    ribbon.grab()
    box, token = next((b, t) for b, t in ribbon.visible() if t.round == 1 and t.position == 3)
    with qtbot.waitSignal(ribbon.token_chosen) as caught:
        qtbot.mouseClick(ribbon, Qt.MouseButton.LeftButton, pos=box.center().toPoint())
    assert caught.args == [1, 3]
    assert "round 2, position 3" in ribbon.tooltip(token)


def test_arrow_keys_walk_from_token_to_token_across_rounds(ribbon, qtbot):
    ribbon.set_rounds(ALL)
    asked = []
    ribbon.token_chosen.connect(lambda r, p: asked.append((r, p)))
    ribbon.set_cursor(0, 5)
    qtbot.keyClick(ribbon, Qt.Key.Key_Right)
    ribbon.set_cursor(1, 1)
    qtbot.keyClick(ribbon, Qt.Key.Key_Left)
    assert asked == [(1, 1), (0, 5)]


def test_nasty_labels_are_painted_one_by_one(ribbon):
    """SD-061, SD-060: a U+202E label reversed the text behind it; lone combining marks sat on their neighbours."""
    NAMES.update({90: "a\u202eb", 91: "\u0301", 92: "", 93: "x" * 500, 94: "<F0 9F 99>", 95: "\ud83d"})
    round = replace(BONUS, positions=tuple(draft(i, A, 89 + i) for i in range(1, 7)))
    ribbon.set_prompt(["\u202e", "\n"])
    ribbon.set_rounds([round])
    ribbon.set_cursor(0, 1)
    ribbon.grab()
    texts = [t.text for _, t in ribbon.visible()]
    assert texts[:2] == ["<U+202E>", "⏎"]
    assert texts[2] == "a<U+202E>b"
    assert max(map(len, texts)) <= 40
    assert "\ud83d" not in "".join(texts)


@pytest.mark.parametrize("points", [8.0, 10.5, 13.0, 20.0])
def test_a_label_is_as_wide_as_qt_says(ribbon, qapp, points):
    theme.set_text_size(qapp, points)
    for text in ("", "a", "·the", "··", "<|end|>", "fi ffl", "123456", "W" * 40, "a·b", "日本語", "⏎", "é", "e\u0301"):
        assert ribbon._measure(text) == ribbon._font.metrics.horizontalAdvance(text), text
    theme.set_text_size(qapp, theme.TEXT)


def test_lines_hold_every_token_and_never_overflow():
    items = [(0, i, 1, Origin.ACCEPTED, "x" * (i % 7 + 1)) for i in range(200)]
    lines = flow(items, lambda text: 10.0 * len(text), 120, False)
    assert [t.order for line in lines for t in line] == list(range(200))
    assert all(line and line[-1].x + line[-1].width <= 120 for line in lines)


def test_text_may_break_at_newlines():
    items = [(0, i, 1, Origin.ACCEPTED, text) for i, text in enumerate("a⏎b")]
    assert len(flow(items, len, 100, True)) == 2
    assert len(flow(items, len, 100, False)) == 1


def test_every_round_of_a_long_run_can_be_brought_into_view_within_a_frame(ribbon):
    ribbon.set_prompt(["p"] * 1000)
    ribbon.set_rounds([REJECTED, BONUS, PLAIN, ENDED] * 25_000)
    pixmap = QPixmap(1240, 90)
    ribbon.render(pixmap)

    def jump(i: int) -> None:
        ribbon.set_cursor(i * 7919 % 100_000, 1)
        ribbon.render(pixmap)
        assert ribbon._cursor in {t.round for _, t in ribbon.visible()}

    assert median_ms(jump) < 16


def test_stepping_through_a_run_keeps_the_cursor_in_view_and_the_lines_still(ribbon):
    ribbon.set_rounds([REJECTED, BONUS, ENDED] * 100)
    ribbon.grab()
    seen = {}
    for round in range(300):
        ribbon.set_cursor(round, 1)
        places = {(t.round, t.order): (t.x, t.width) for _, t in ribbon.visible()}
        assert (round, 0) in places
        assert all(seen.get(key, place) == place for key, place in places.items())
        seen.update(places)


def test_scrolling_stops_at_both_ends(ribbon):
    ribbon.set_rounds([REJECTED] * 100)
    ribbon.set_cursor(0, 1)
    ribbon.grab()
    ribbon.scroll(-5)
    assert next(t for _, t in ribbon.visible()).round == 0
    ribbon.scroll(10_000)
    assert [t for _, t in ribbon.visible()][-1].round == 99


def test_pieces_of_a_trace_are_those_of_its_rounds():
    store = RoundStore()
    store.extend(ALL * 20)
    assert list(pieces_of(store)) == list(pieces_of(ALL * 20)) == [pieces(r) for r in ALL * 20]
    assert list(pieces_of(store[30:70])) == [pieces(r) for r in (ALL * 20)[30:70]]


def test_the_ribbon_follows_a_trace_that_grows(ribbon):
    store = RoundStore()
    ribbon.set_rounds(store)
    for i in range(150):
        store.append(ALL[i % 4])
        ribbon.rounds_added()
        ribbon.set_cursor(i, 1)
        assert i in {t.round for _, t in ribbon.visible()}
    ribbon.grab()
    expected = [piece.token_id for r in store for piece in pieces(r)]
    ribbon.scroll(-10_000)
    found = []
    while True:
        found += [(t.round, t.order) for _, t in ribbon.visible()]
        top = ribbon._top
        ribbon.scroll(2)
        if ribbon._top == top:
            break
    assert len(set(found)) == len(expected)


def test_clear_forgets_everything(ribbon):
    ribbon.set_prompt(["a"])
    ribbon.set_rounds(ALL)
    ribbon.set_cursor(2, 1)
    ribbon.clear()
    ribbon.grab()
    assert list(ribbon.visible()) == []


@pytest.fixture
def timeline(qtbot):
    widget = Timeline()
    qtbot.addWidget(widget)
    widget.resize(800, 26)
    return widget


def test_the_timeline_counts_rejections_and_full_acceptances(timeline):
    assert timeline.caption() == "no rounds yet"
    timeline.add_rounds(ALL)
    assert timeline._counts.shares(len(ALL)).tolist() == [[1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]]
    timeline.set_round(2)
    assert timeline.caption() == "round 3 of 6"
    timeline.grab()
    before, store = timeline._counts._sums[:, :7].tolist(), RoundStore()
    store.extend(ALL)
    timeline.set_rounds(store)  # from its columns
    assert timeline._counts._sums[:, :7].tolist() == before


def test_the_timeline_paints_new_ticks_and_another_theme(timeline, qapp):
    timeline.set_rounds([REJECTED] * 10)
    one = timeline.grab().toImage()
    timeline.add_rounds([BONUS] * 10)
    two = timeline.grab().toImage()
    theme.apply(qapp, "light")
    three = timeline.grab().toImage()
    theme.apply(qapp, "dark")
    assert timeline.grab().toImage() == two
    assert len({one.pixel(100, 20), two.pixel(100, 20)} | {hash(bytes(i.constBits())) for i in (one, two, three)}) >= 3


def test_the_timeline_asks_for_rounds_and_moves_only_when_told(timeline, qtbot):
    timeline.set_rounds([BONUS] * 30)
    timeline.set_round(10)
    asked = []
    timeline.round_chosen.connect(asked.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_PageUp):
        qtbot.keyClick(timeline, key)
    assert asked == [11, 0, 29, 7]
    asked.clear()
    x = round(timeline._x(20, timeline._track()))
    qtbot.mousePress(timeline, Qt.MouseButton.LeftButton, pos=QPoint(x, 13))
    qtbot.mousePress(timeline, Qt.MouseButton.LeftButton, pos=QPoint(x + 1, 13))
    assert asked == [20]  # the same round is asked for once
    assert timeline.caption() == "round 11 of 30"


def test_a_timeline_of_100_000_rounds_paints_within_a_frame(timeline):
    timeline.add_rounds([REJECTED, BONUS, PLAIN, ENDED] * 25_000)
    pixmap = QPixmap(800, 26)
    timeline.render(pixmap)
    assert median_ms(lambda i: (timeline.set_round(i * 4000), timeline.render(pixmap))) < 16


def test_focused_widgets_keep_their_arrow_keys(timeline):
    event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Left, Qt.KeyboardModifier.NoModifier)
    event.ignore()
    assert timeline.event(event)
    assert event.isAccepted()
