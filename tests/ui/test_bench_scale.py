"""What `bench --ui` fills a long trace with are proper rounds, and the window shows and saves them."""

from PySide6.QtWidgets import QApplication

from simulator.metrics import from_rounds
from simulator.records import Run, RunConfig, StopReason
from simulator.trace.packing import pack
from simulator.trace.store import RoundStore
from tests.ui.rounds import ALL
from ui.bench_scale import add, files, growth, repeated


def test_repeated_rounds_are_new_ones_that_agree_with_themselves():
    rounds = list(repeated(pack(ALL), 40, vocab=50))
    assert [r.index for r in rounds] == list(range(40))
    assert from_rounds(rounds).rounds == 40  # each emitted what it accepted, and its extra token
    assert all(0 <= t < 50 for r in rounds for t in r.emitted)
    assert len({r.emitted for r in rounds}) > 2 * len({r.emitted for r in ALL})
    assert len({r.round_ms for r in rounds}) > 5


def test_a_long_trace_is_saved_and_opened_again():
    store = RoundStore()
    store.extend(repeated(pack(ALL), 2000))
    assert set(files(Run(RunConfig(), (1,), store[:], 0.0, StopReason.BUDGET))) == {"trace_save_s", "trace_open_s"}


def test_a_window_scrubs_through_a_long_trace(new_window):
    window = new_window(pair=None)
    rounds = list(repeated(pack(ALL), 3000))
    for first in range(0, 3000, 500):
        add(window.session, rounds[first : first + 500])
    for index in (2999, 0, 1500, 1023, 1024, 2990):
        window.session.playback.seek(index)
        QApplication.processEvents()
        assert window.foot.timeline.caption() == f"round {index + 1} of 3,000".replace(",", "")
        assert index in {t.round for _, t in window.foot.ribbon.visible()}
    assert window.session.rounds == rounds


def test_playing_is_watched_for_what_it_adds_to_memory(new_window, monkeypatch):
    monkeypatch.setattr("ui.bench_scale.WARM", 5)
    window = new_window(pair=None)
    found = growth(QApplication.instance(), window.session, pack(ALL), 20)
    assert found.keys() == {"growth_mb_per_hour", "trace_bytes_per_round"}
    assert not window.session.rounds
