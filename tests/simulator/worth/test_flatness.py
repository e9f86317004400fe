"""Along a text: the numbers that the definitions give for one position at a time, however the text was cut."""

import math
import tracemalloc

import numpy as np
import pytest

from simulator.drafts.ngram import lookup
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.models.table import TableModel
from simulator.records import Sampling
from simulator.runner import Control
from simulator.sampling import probabilities
from simulator.theory.position import overlap
from simulator.theory.speedup import best_k, break_even_alpha, speedup
from simulator.theory.tokens_per_round import expected_tokens
from simulator.worth.flatness import GREEDY, NGRAM, NGRAM_SIZES, NONE, SAMPLED, TOPS, score, top_masses, windows
from simulator.worth.jobs import Look, Subject, analyse_job, look_job, read_text
from simulator.worth.outlook import Costs, Mean, lowest_break_even, mean, mixed_speedup, outlook
from tests.simulator.tiny import fixed, random_law
from tests.ui.stub import stub_pair

VOCAB = 7
PLAIN = Sampling()
TEXT = [int(t) for t in np.random.default_rng(3).integers(0, VOCAB, 60)]


def table(seed, **options):
    return TableModel(random_law(VOCAB, seed), VOCAB, **options)


def analysed(target=None, draft=None, ids=TEXT, sampling=PLAIN):
    *_, last = score(target or table(1), draft, ids, sampling, "text", lambda: None)
    return last


def law(seed, context, sampling):
    """Return what the model of this seed expects behind a context, asked for it alone."""
    return probabilities(table(seed).extend(context, keep=1), sampling)[0].astype(float)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.5), Sampling(2.0, 4), Sampling(1.0, 0, 0.8, 0.05)])
def test_every_column_is_its_definition_at_every_position(sampling):
    a = analysed(draft=table(2), sampling=sampling)
    assert a.n == a.wanted == len(TEXT) - 1
    for i in range(a.n):
        context = TEXT[: i + 1]
        p, q = law(1, context, sampling), law(2, context, sampling)
        assert a.context[i] == i + 1
        assert a.token(i) == TEXT[i + 1]
        assert a.p_max[i] == pytest.approx(p.max(), abs=1e-6)
        assert a.top[i] == p.argmax()
        assert a.p_text[i] == pytest.approx(p[TEXT[i + 1]], abs=1e-6)
        assert a.entropy[i] == pytest.approx(-sum(x * math.log2(x) for x in p if x > 0), abs=1e-5)
        assert a.mass[i] == pytest.approx([np.sort(p)[::-1][:k].sum() for k in TOPS], abs=1e-6)
        assert a.tracks[SAMPLED].alpha[i] == pytest.approx(overlap(p, q), abs=1e-6)
        assert a.tracks[GREEDY].alpha[i] == pytest.approx(p[q.argmax()], abs=1e-6)
        found = lookup(context, NGRAM_SIZES, 1)
        assert a.tracks[NGRAM].token[i] == (found[0] if found else NONE)
        assert np.isnan(a.tracks[NGRAM].alpha[i]) if not found else a.tracks[NGRAM].alpha[i] == pytest.approx(
            p[found[0]], abs=1e-6
        )  # fmt: skip


def test_a_deterministic_draft_never_passes_the_ceiling_and_a_sampled_one_may():
    """The sentence the page is about: E[max p] bounds a one-hot q at every position, and q = p is always accepted."""
    a = analysed(draft=table(2))
    for source in (GREEDY, NGRAM):
        drafted = ~np.isnan(a.tracks[source].alpha)
        assert drafted.any()
        assert (a.tracks[source].alpha <= a.p_max)[drafted].all()
    flat = (1 / VOCAB,) * VOCAB
    same = analysed(fixed(flat), fixed(flat))
    assert same.tracks[SAMPLED].alpha == pytest.approx(1, abs=1e-6)
    assert same.p_max == pytest.approx(1 / VOCAB)
    assert same.tracks[GREEDY].alpha == pytest.approx(1 / VOCAB)
    assert same.entropy == pytest.approx(same.most_entropy) == pytest.approx(math.log2(VOCAB))


def test_at_temperature_zero_alpha_is_agreement_and_entropy_nothing():
    a = analysed(draft=table(2), sampling=Sampling(0.0))
    assert set(a.p_max) == {1.0}
    assert set(a.entropy) == {0.0}
    assert set(a.tracks[SAMPLED].alpha) == {0.0, 1.0}
    assert (a.tracks[SAMPLED].alpha == a.tracks[GREEDY].alpha).all()


@pytest.mark.parametrize("reach", [1, 2, 3, 8, 20, 58, 59, 1000])
@pytest.mark.parametrize("length", [2, 3, 20, 60, 61])
def test_windows_score_each_token_once_with_at_least_half_a_context(length, reach):
    scored = []
    for start, first, end in windows(length, reach):
        for token in range(first, end):
            assert 1 <= token - start <= reach
            assert token - start >= min(token, max(1, reach // 2))
            scored.append(token)
    assert scored == list(range(1, length))


@pytest.mark.parametrize("rows", [1, 5, 256])
def test_a_text_longer_than_the_context_is_read_in_windows(monkeypatch, rows):
    """Each position is what a model that has read exactly its stated context says, however the passes were cut."""
    monkeypatch.setattr("simulator.worth.flatness.MOST_ROWS", rows)
    a = analysed(table(1, max_length=12), table(2, max_length=9))
    assert a.context.max() == 9
    assert a.context[4:].min() == 4
    for i in range(a.n):
        context = TEXT[i + 1 - a.context[i] : i + 1]
        p, q = law(1, context, Sampling()), law(2, context, Sampling())
        assert a.p_max[i] == pytest.approx(p.max(), abs=1e-6)
        assert a.tracks[SAMPLED].alpha[i] == pytest.approx(overlap(p, q), abs=1e-6)


def test_models_are_left_empty_also_when_the_reading_is_given_up():
    target, draft = table(1), table(2)
    analysed(target, draft)
    assert target.length == draft.length == 0
    reading = score(target, draft, TEXT, Sampling(), "text", lambda: None)
    next(reading)
    reading.close()
    assert target.length == draft.length == 0


def test_what_was_given_out_does_not_change_when_more_is_read(monkeypatch):
    monkeypatch.setattr("simulator.worth.flatness.MOST_ROWS", 10)
    reading = score(table(1), table(2), TEXT, Sampling(), "text", lambda: None)
    first = next(reading)
    before = first.p_max.copy(), first.tracks[SAMPLED].alpha.copy()
    *_, last = reading
    assert (first.n, last.n) == (10, 59)
    assert (first.p_max == before[0]).all()
    assert (last.tracks[SAMPLED].alpha[:10] == before[1]).all()


def test_memory_does_not_grow_with_vocabulary_times_text():
    """A book's worth of [n, vocab] would be gigabytes: 4,000 positions of 20,000 are 320 MB in float32."""
    row = np.full(20_000, 1 / 20_000)
    model = TableModel(lambda context: row, len(row))
    tracemalloc.start()
    for _ in score(model, None, [0] * 4001, Sampling(), "text", lambda: None):
        model.reset()  # a table's own cache and contexts are not the subject
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_a_draft_that_lacks_a_token_is_left_out_with_a_sentence():
    small = TableModel(lambda context: (0.5, 0.5), 2, name="small")
    a = analysed(draft=small)
    assert set(a.tracks) == {NGRAM}
    assert "small has no row for token id" in a.notice


def test_rows_that_one_model_lacks_have_no_mass():
    wide = TableModel(lambda context: (0.1,) * 10, 10)
    narrow = TableModel(lambda context: (0.2,) * 5, 5)
    text = [0, 1, 2, 3, 4]
    assert analysed(wide, narrow, text).tracks[SAMPLED].alpha == pytest.approx(0.5)
    assert analysed(narrow, wide, text).tracks[SAMPLED].alpha == pytest.approx(1.0)  # cut to 5 ids, then softmax


@pytest.mark.parametrize("ids", [[], [3], [0, VOCAB, 1], [0, -1]])
def test_a_text_that_cannot_be_read_is_one_sentence(ids):
    with pytest.raises(UserError, match=r"too short|token id"):
        analysed(ids=ids)


def test_logits_that_are_no_distribution_name_the_model_and_the_place():
    broken = TableModel(lambda context: (math.nan, 1.0, 2.0), 3, name="broken", are_logits=True)
    with pytest.raises(UserError, match="logits of broken between token 1 and token 3 of this text"):
        analysed(broken, ids=[0, 1, 2, 0])


def test_a_vocabulary_of_one_is_certain():
    a = analysed(fixed((1.0,)), fixed((1.0,)), [0, 0, 0])
    assert a.most_entropy == 0
    assert a.p_max.tolist() == a.tracks[SAMPLED].alpha.tolist() == [1.0, 1.0]
    assert a.mass.tolist() == [[1.0] * len(TOPS)] * 2


def test_top_masses_of_a_known_row():
    row = np.array([[0.1, 0.4, 0.2, 0.3]], np.float32)
    assert top_masses(row)[0] == pytest.approx([0.4, 0.7, 1, 1, 1])


# Means and costs


def test_the_mean_leaves_out_what_is_not_there_and_its_error_is_that_of_blocks():
    assert mean([]) is None
    assert mean([math.nan]) is None
    assert mean([0.5, math.nan]) == Mean(0.5, None, 1)
    assert mean([0, 0, 1, 1]) == Mean(0.5, 0.5, 4)  # two blocks with the means 0 and 1


def test_the_error_of_independent_values_is_the_usual_one():
    values = np.random.default_rng(0).random(40_000)
    assert mean(values).error == pytest.approx(values.std() / 200, rel=0.2)


def test_neighbours_that_are_alike_make_the_error_larger():
    values = np.repeat(np.random.default_rng(0).random(400), 100)
    assert mean(values).error > 4 * values.std() / math.sqrt(values.size)


@pytest.mark.parametrize(
    "costs", [Costs(0.15, 0.05, 0.0), Costs(0.15, 0.05, 0.3), Costs(0, 0, 0.4), Costs(0.3, 0.2, 1)]
)
def test_the_break_even_is_the_least_that_theory_has_at_any_k(costs):
    ends = [break_even_alpha(costs.c, costs.c_verify, costs.fixed, k) for k in range(1, 17)]
    assert lowest_break_even(costs) == pytest.approx(min(e for e in ends if e is not None), abs=1e-8)


def test_break_even_at_the_ends():
    assert lowest_break_even(Costs(0, 0, 0)) == 0
    assert lowest_break_even(Costs(2, 0.5, 0)) is None
    assert lowest_break_even(Costs(1, 0, 0)) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [0.0, 0.21, 0.68, 1.0])
def test_a_source_that_always_drafts_gains_what_theory_says(alpha):
    costs = Costs(0.15, 0.05, 0.1)
    o = outlook(Mean(alpha, 0.01, 100), 1.0, costs)
    assert (o.k, o.speedup) == pytest.approx(best_k(alpha, 0.15, 0.05, 0.1, k_max=16))
    curve = [speedup(alpha, 0.15, k, 0.05, 0.1) for k in range(17)]
    assert mixed_speedup(alpha, 1.0, costs) == pytest.approx(curve)


def test_misses_are_plain_rounds():
    """Of 10 rounds 4 draft two tokens at alpha .5: 4 * 1.75 + 6 tokens in 4 * (1 + 2 * .1) + 6 target steps."""
    assert expected_tokens(0.5, 2) == 1.75
    assert mixed_speedup(0.5, 0.4, Costs(0.1, 0, 0))[2] == pytest.approx((4 * 1.75 + 6) / (4 * 1.2 + 6))
    assert (mixed_speedup(0.9, 0.0, Costs(0.1, 0.1, 0.1)) == 1).all()


def test_it_pays_exactly_where_some_draft_length_gains():
    costs = Costs(0.15, 0.05, 0.1)
    edge = lowest_break_even(costs)
    assert outlook(Mean(edge + 1e-3, 1e-6, 9), 0.5, costs).pays is True
    assert outlook(Mean(edge + 1e-3, 1e-6, 9), 0.5, costs).k > 0
    assert outlook(Mean(edge - 1e-3, 1e-6, 9), 0.5, costs).pays is False
    assert outlook(Mean(edge - 1e-3, 1e-6, 9), 0.5, costs).k == 0
    assert outlook(Mean(edge + 0.1, 0.06, 9), 0.5, costs).pays is None  # within two standard errors
    assert outlook(Mean(edge + 0.1, None, 1), 0.5, costs).pays is None  # one position shows nothing
    assert outlook(Mean(1.0, 0.0, 9), 0.5, Costs(2, 2, 2)).pays is False


# Jobs


def done(job):
    return list(job(Control()))


def test_a_text_is_encoded_read_and_told_about():
    told = done(analyse_job(stub_pair(), Subject("words", text="to be, or not to be"), Sampling()))
    a = told[-2]
    assert (a.n, a.wanted) == (18, 18)
    assert bytes(a.text.tolist()) == b"to be, or not to be"
    assert told[-1].fraction == 1
    assert set(a.tracks) == {SAMPLED, GREEDY, NGRAM}
    lone = done(analyse_job(stub_pair(lone=True), Subject("words", text="to be, or"), Sampling()))[-2]
    assert set(lone.tracks) == {NGRAM}


def test_pieces_of_a_long_text_make_the_same_ids(monkeypatch):
    monkeypatch.setattr("simulator.worth.jobs.PIECE", 7)
    text = "to be,\nor not to be\nthat is the question without an end of line"
    a = done(analyse_job(stub_pair(), Subject("words", text=text), Sampling()))[-2]
    assert bytes(a.text.tolist()) == text.encode()


def test_a_cancelled_reading_ends_at_the_next_pass(monkeypatch):
    monkeypatch.setattr("simulator.worth.flatness.MOST_ROWS", 4)
    control = Control()
    events = analyse_job(stub_pair(), Subject("words", text="to be, or not to be"), Sampling())(control)
    first = [next(events) for _ in range(3)][1]
    control.stop()
    with pytest.raises(Stopped):
        list(events)
    assert first.n == 4


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7, 5)])
@pytest.mark.parametrize("index", [0, 7, 17])
def test_a_closer_look_finds_the_numbers_of_the_analysis(sampling, index):
    pair, subject = stub_pair(), Subject("words", text="to be, or not to be")
    a = done(analyse_job(pair, subject, sampling))[-2]
    (look,) = done(look_job(pair, subject, a, index))
    assert isinstance(look, Look)
    shape, bars = look.position.shape, look.position.bars
    assert shape.p_max == pytest.approx(a.p_max[index], abs=1e-6)
    assert shape.overlap == pytest.approx(a.tracks[SAMPLED].alpha[index], abs=1e-6)
    at = bars.ids.tolist().index(a.token(index))
    assert bars.p[at] == pytest.approx(a.p_text[index], abs=1e-6)


def test_text_files(tmp_path, monkeypatch):
    good = tmp_path / "a.txt"
    good.write_text("Wort für Wort\r\n", encoding="utf-8", newline="")
    assert read_text(good) == "Wort für Wort\n"
    monkeypatch.setattr("simulator.worth.jobs.MOST_CHARACTERS", 4)
    assert read_text(good) == "Wort "
    a = done(analyse_job(stub_pair(), Subject("a.txt", path=good), Sampling()))[-2]
    assert (a.n, a.name) == (3, "a.txt (its first 4 characters)")
    bad = tmp_path / "b.txt"
    bad.write_bytes(b"\xff\xfe\x00")
    for path in (bad, tmp_path, tmp_path / "none.txt"):
        with pytest.raises(UserError, match=str(path)):
            read_text(path)
