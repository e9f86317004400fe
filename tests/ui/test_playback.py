"""The cursor: what is shown and when, without Qt, threads or models."""

import random

import pytest

from tests.ui.rounds import BONUS, PLAIN, REJECTED, a_round
from ui.playback import AS_COMPUTED, LEAD, Cursor, Playback, telling_position
from ui.widgets.reveal import Reveal, phases


class Tape:
    """A playback over a list of rounds that tells how often it moved."""

    def __init__(self, *rounds) -> None:
        self.rounds, self.moves = list(rounds), 0
        self.playback = Playback(self.rounds, self._moved)

    def _moved(self) -> None:
        self.moves += 1

    def add(self, *rounds) -> None:
        self.rounds += rounds
        self.playback.added()


def test_before_the_first_round_nothing_is_shown():
    p = Tape().playback
    assert (p.cursor, p.round, p.reveal) == (Cursor(), None, Reveal())
    assert (p.complete_rounds, p.wanted, p.at_end) == (0, 0, True)


def test_a_step_waits_for_its_round_and_then_shows_the_first_phase():
    tape = Tape()
    tape.playback.step()
    assert (tape.playback.cursor.round, tape.playback.wanted, tape.moves) == (-1, 1, 0)
    tape.add(REJECTED)
    assert (tape.playback.cursor, tape.playback.wanted, tape.moves) == (Cursor(0, 0, 1), 0, 1)


def test_steps_go_through_every_phase_and_then_ask_for_the_next_round():
    tape = Tape(REJECTED)
    p = tape.playback
    shown = []
    for _ in phases(REJECTED):
        p.step()
        shown.append(p.reveal)
    assert shown == phases(REJECTED)
    assert (p.at_end, p.complete_rounds, p.wanted) == (True, 1, 0)
    p.step()
    assert (p.wanted, p.reveal) == (1, phases(REJECTED)[-1])


@pytest.mark.parametrize("trace", [REJECTED, BONUS, PLAIN])
def test_a_round_shows_the_rest_and_then_the_whole_next_one(trace):
    tape = Tape(trace)
    p = tape.playback
    p.step()
    p.next_round()
    assert (p.cursor.round, p.reveal, p.complete_rounds) == (0, phases(trace)[-1], 1)
    p.next_round()
    assert p.wanted == 1
    tape.add(BONUS)
    assert (p.cursor.round, p.reveal) == (1, phases(BONUS)[-1])


def test_back_takes_phases_and_then_rounds_back_down_to_the_first_phase_of_all():
    p = Tape(REJECTED, BONUS).playback
    p.seek(1)
    seen = []
    for _ in range(40):
        seen.append((p.cursor.round, p.cursor.phase))
        p.back()
    expected = [(r, i) for r, t in ((1, BONUS), (0, REJECTED)) for i in reversed(range(len(phases(t))))]
    assert list(dict.fromkeys(seen)) == expected


def test_seek_shows_a_round_complete_and_ignores_rounds_that_are_not_there():
    tape = Tape(REJECTED, BONUS)
    p = tape.playback
    p.seek(1, 2)
    assert (p.cursor.round, p.cursor.position, p.at_end) == (1, 2, True)
    for index in (-1, 2, 99):
        p.seek(index)
    assert (p.cursor.round, tape.moves) == (1, 1)


def test_seek_and_back_withdraw_a_step_that_was_waiting():
    tape = Tape(REJECTED)
    for withdraw in (lambda: tape.playback.seek(0), tape.playback.back, lambda: tape.playback.play(False)):
        tape.playback.seek(0)
        tape.playback.step()
        assert tape.playback.wanted == 1
        withdraw()
        assert tape.playback.wanted == 0
    tape.add(BONUS)
    assert tape.playback.cursor.round == 0


def test_playing_slowly_goes_through_the_phases_within_the_time_of_a_round():
    p = Tape(REJECTED, BONUS).playback
    p.play(True)
    seen, now = [], 0.0
    while not p.at_end:
        p.tick(now)
        seen.append((now, p.cursor.round, p.cursor.phase))
        now += 0.01
    assert list(dict.fromkeys(s[1:] for s in seen)) == [(r, i) for r, t in enumerate((REJECTED, BONUS))
                                                        for i in range(len(phases(t)))]  # fmt: skip
    second = next(t for t, r, _ in seen if r == 1)
    assert second == pytest.approx(1.0, abs=0.1)


def test_playing_fast_shows_whole_rounds():
    p = Tape(*[REJECTED] * 20).playback
    p.speed = 10
    p.play(True)
    for tick in range(100):
        p.tick(tick / 100)
        assert p.cursor.round < 0 or p.reveal == phases(REJECTED)[-1]
    assert 9 <= p.cursor.round <= 10


def test_playing_as_computed_shows_the_newest_round_at_once():
    tape = Tape(REJECTED)
    tape.playback.speed = AS_COMPUTED
    tape.playback.play(True)
    tape.playback.tick(0)
    tape.add(BONUS, PLAIN)
    tape.playback.tick(0)
    assert (tape.playback.cursor.round, tape.playback.at_end) == (2, True)


def test_playing_wants_a_lead_and_no_more():
    tape = Tape()
    tape.playback.play(True)
    assert tape.playback.wanted == LEAD
    tape.add(*[PLAIN] * 5)
    assert tape.playback.wanted == LEAD - 5
    tape.add(*[PLAIN] * 50)
    assert tape.playback.wanted == 0


def test_a_pause_holds_at_once_and_play_goes_on_from_there():
    p = Tape(*[REJECTED] * 9).playback
    p.speed = 5
    p.play(True)
    p.tick(0)
    p.play(False)
    at = p.cursor
    for now in range(1, 9):
        p.tick(now)
    assert (p.cursor, p.wanted) == (at, 0)
    p.play(True)
    p.tick(9)
    assert p.cursor.round == at.round + 1


def test_after_a_stall_one_tick_is_one_move():
    """A window that was held up for a minute must not race through the rounds it missed."""
    p = Tape(*[PLAIN] * 100).playback
    p.speed = 10
    p.play(True)
    p.tick(0)
    for now in (60.0, 60.01, 60.02, 60.05):
        p.tick(now)
    assert p.cursor.round == 1
    p.tick(60.11)
    assert p.cursor.round == 2


@pytest.mark.parametrize("press", ["step", "next_round", "back"])
def test_moving_by_hand_pauses(press):
    p = Tape(REJECTED, BONUS).playback
    p.play(True)
    p.tick(0)
    getattr(p, press)()
    assert not p.playing


def test_choosing_a_position_changes_nothing_else():
    tape = Tape(REJECTED)
    p = tape.playback
    p.choose(3)
    assert tape.moves == 0  # no round yet
    p.step()
    p.choose(3)
    p.choose(3)
    assert (p.cursor, tape.moves) == (Cursor(0, 0, 3), 2)


def test_the_position_follows_what_was_judged_last_and_ends_at_the_extra_token():
    assert [telling_position(REJECTED, r) for r in phases(REJECTED)] == [1, 1, 1, 2, 3, 3]
    assert telling_position(BONUS, phases(BONUS)[-1]) == 5
    assert telling_position(PLAIN, phases(PLAIN)[0]) == 1


def test_reset_forgets_everything():
    tape = Tape(REJECTED)
    tape.playback.seek(0)
    tape.playback.play(True)
    tape.rounds.clear()
    tape.playback.reset()
    assert (tape.playback.cursor, tape.playback.playing, tape.playback.wanted) == (Cursor(), False, 0)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_pressed_only_computed_phases_are_shown(seed):
    rng, tape, now = random.Random(seed), Tape(), 0.0
    p = tape.playback
    actions = [
        p.step,
        p.next_round,
        p.back,
        lambda: p.play(True),
        lambda: p.play(False),
        lambda: p.seek(rng.randrange(-2, 40)),
        lambda: p.choose(rng.randrange(1, 6)),
        lambda: p.tick(now),
        lambda: setattr(p, "speed", rng.choice((0, 1, 5))),
        lambda: tape.add(*(a_round(rng.choice(("AARDD", "AAAA", "", "R"))) for _ in range(rng.randrange(3)))),
    ]
    for _ in range(400):
        now += rng.random()
        rng.choice(actions)()
        assert -1 <= p.cursor.round < len(tape.rounds)
        assert p.round is None or 0 <= p.cursor.phase < len(phases(p.round))
        assert 0 <= p.complete_rounds <= p.cursor.round + 1
        assert 0 <= p.wanted <= (LEAD if p.playing else 1)
