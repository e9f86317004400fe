"""Acceptance figures: published counters, traces against counters, impossible values."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.metrics import (
    DEFINITIONS,
    AcceptanceFigures,
    from_accepted_counts,
    from_histogram,
    from_rounds,
)
from simulator.records import DraftedToken, ExtraToken, Kind, Position, RoundTrace, Shape, StopReason, Verdict
from simulator.theory.tokens_per_round import expected_tokens

COUNTS = [3, 1, 0, 2]  # the reference trace, k = 3
RATES = [
    *["draft_acceptance_rate", "tested_acceptance_rate", "accepted_per_round", "accepted_share"],
    *["alpha", "tau_counters"],
]


def drafted_token(verdict: Verdict) -> DraftedToken:
    u = None if verdict is Verdict.DISCARDED else 0.5
    return DraftedToken(token_id=7, p=0.2, q=0.4, accept_prob=0.5, u_draft=0.1, u_accept=u, verdict=verdict)


def shape(overlap: float | None) -> Shape:
    tv = None if overlap is None else 1 - overlap
    return Shape(overlap=overlap, tv=tv, entropy_p=1.0, entropy_q=1.0, p_max=0.5)


def a_round(drafted: int, accepted: int, *, cut: bool = False, overlaps: list[float | None] | None = None, index=0):
    """Return a round; `cut` ends it right after its accepted tokens, as an end token or the budget does."""
    behind = [Verdict.DISCARDED] * (drafted - accepted)
    if behind and not cut:
        behind[0] = Verdict.REJECTED
    verdicts = [Verdict.ACCEPTED] * accepted + behind
    kind = Kind.RESIDUAL if behind else Kind.BONUS if drafted else Kind.PLAIN
    extra = None if cut else ExtraToken(token_id=9, kind=kind, p=0.3, u=0.5)
    positions = [
        Position(
            position=i + 1,
            context_length=10 + i,
            drafted=drafted_token(verdict),
            extra=extra if i == accepted else None,
            shape=shape(overlaps[i]) if overlaps else None,
            bars=None,
        )
        for i, verdict in enumerate(verdicts)
    ]
    if extra and not behind:
        last = shape(None) if overlaps else None
        positions.append(Position(drafted + 1, 10 + drafted, drafted=None, extra=extra, shape=last, bars=None))
    return RoundTrace(
        index=index,
        context_length=10,
        positions=tuple(positions),
        emitted=(7,) * accepted + (() if cut else (9,)),
        draft_ms=1.0,
        verify_ms=2.0,
        round_ms=3.0,
        stop=StopReason.END_TOKEN if cut else None,
    )


def cancelled_round(drafted: int = 3) -> RoundTrace:
    return dataclasses.replace(a_round(drafted, 0, cut=True), stop=StopReason.STOPPED)


@st.composite
def rounds(draw, may_cut=True):
    """Return rounds of mixed draft lengths; a cut round accepted at least one token, or it would be cancelled."""
    made = []
    for index in range(draw(st.integers(0, 8))):
        drafted = draw(st.integers(0, 5))
        accepted = draw(st.integers(0, drafted))
        overlaps = draw(st.lists(st.floats(0, 1), min_size=drafted, max_size=drafted))
        made.append(
            a_round(
                drafted, accepted, cut=may_cut and accepted > 0 and draw(st.booleans()), overlaps=overlaps, index=index
            )
        )
    return made


# Definitions side by side


def assert_reference(figures: AcceptanceFigures) -> None:
    assert (figures.rounds, figures.drafted, figures.tested, figures.accepted, figures.emitted) == (4, 12, 9, 6, 10)
    assert figures.draft_acceptance_rate == 0.5
    assert figures.accepted_per_round == 1.5
    assert figures.acceptance_length == figures.tau_counters == 2.5
    assert figures.tested_acceptance_rate == pytest.approx(6 / 9)
    assert figures.accepted_share == 0.6
    assert figures.per_position_unconditional == (0.75, 0.5, 0.25)
    assert figures.per_position_conditional == pytest.approx((0.75, 2 / 3, 0.5))


def test_four_things_called_acceptance_from_a_trace():
    """Threads tried to reproduce acceptance figures that were simply defined otherwise.

    Per drafted or per tested token, with or without the extra token, given survival or not: all must differ here.
    """
    assert_reference(from_rounds(a_round(3, n) for n in COUNTS))


def test_four_things_called_acceptance_from_counters():
    assert_reference(from_accepted_counts(COUNTS, 3))
    assert_reference(from_histogram([1, 1, 1, 1]))


def test_vllm_histogram():
    figures = from_histogram([39, 1, 0, 3])
    assert (figures.rounds, figures.accepted, figures.drafted) == (43, 10, 129)
    assert round(figures.tau_counters, 4) == 1.2326
    assert round(figures.draft_acceptance_rate, 4) == 0.0775
    assert figures.per_position_conditional == (4 / 43, 3 / 4, 3 / 3)


def test_llama_cpp_counters():
    counts = [0] * 17 + [1] * 15 + [2] * 13 + [3] * 42
    lengths = [2, 2] + [3] * 85  # 259 tokens: two rounds drafted one fewer
    figures = from_accepted_counts(counts, lengths)
    assert (figures.rounds, figures.accepted, figures.drafted) == (87, 167, 259)
    assert round(figures.tau_counters, 2) == 2.92
    assert [round(a, 3) for a in figures.per_position_unconditional] == [0.805, 0.632, 0.483]


def test_accepted_per_drafted_shrinks_with_k_at_constant_alpha():
    """At alpha = .8 exactly: of 5^8 rounds, those that accept i < 8 tokens number 4^i 5^(7 - i), the rest 4^8."""
    figures = from_histogram([4**i * 5 ** (7 - i) for i in range(8)] + [4**8])
    assert round(figures.draft_acceptance_rate, 3) == 0.416
    assert figures.tested_acceptance_rate == pytest.approx(0.8, abs=1e-12)
    assert figures.tau_counters == pytest.approx(expected_tokens(0.8, 8))
    assert figures.per_position_conditional == pytest.approx([0.8] * 8)


def test_every_figure_has_a_one_sentence_definition():
    assert list(DEFINITIONS) == [f.name for f in dataclasses.fields(AcceptanceFigures)]
    for name, sentence in DEFINITIONS.items():
        assert sentence.endswith("."), name
        assert ". " not in sentence, name
        assert "\n" not in sentence, name


# Traces and counters agree


@given(rounds(may_cut=False))
def test_traces_and_counters_agree_where_every_round_emits_its_extra_token(made):
    counters = from_accepted_counts([r.accepted for r in made], [r.drafted for r in made])
    traced = from_rounds(made)
    assert dataclasses.replace(traced, alpha=None) == counters


@given(st.lists(st.integers(0, 4), max_size=20))
def test_a_histogram_says_the_same_as_its_rounds(counts):
    histogram = [counts.count(i) for i in range(5)]
    assert from_histogram(histogram) == from_accepted_counts(counts, 4)
    assert from_histogram(histogram, k=6) == from_accepted_counts(counts, 6)


@given(rounds())
def test_figures_agree_with_a_recount_of_the_verdicts(made):
    verdicts = [[p.drafted.verdict for p in r.positions if p.drafted] for r in made]
    flat = [v for row in verdicts for v in row]
    figures = from_rounds(made)
    assert figures.drafted == len(flat)
    assert figures.accepted == flat.count(Verdict.ACCEPTED)
    assert figures.tested == flat.count(Verdict.ACCEPTED) + flat.count(Verdict.REJECTED)
    assert figures.emitted == sum(len(r.emitted) for r in made)
    for i, conditional in enumerate(figures.per_position_conditional):
        seen = [row[i] for row in verdicts if len(row) > i and row[i] is not Verdict.DISCARDED]
        assert conditional == (seen.count(Verdict.ACCEPTED) / len(seen) if seen else None)


@given(rounds())
def test_no_figure_is_impossible(made):
    f = from_rounds(made)
    assert 0 <= f.accepted <= f.tested <= f.drafted
    assert f.accepted <= f.emitted <= f.accepted + f.rounds
    shares = [f.draft_acceptance_rate, f.tested_acceptance_rate, f.accepted_share, f.alpha]
    shares += [*f.per_position_unconditional, *f.per_position_conditional]
    assert all(0 <= s <= 1 for s in shares if s is not None)
    assert (f.acceptance_length is None) == (f.rounds == 0)
    assert (f.draft_acceptance_rate is None) == (f.drafted == 0)


@given(rounds())
def test_unconditional_rates_never_rise_and_add_up_to_the_accepted_tokens(made):
    f = from_rounds(made)
    rates = f.per_position_unconditional
    assert list(rates) == sorted(rates, reverse=True)
    assert len(rates) == len(f.per_position_conditional) == max((r.drafted for r in made), default=0)
    assert sum(rates) * (f.rounds - f.undrafted) == pytest.approx(f.accepted)


@given(rounds(), rounds())
def test_pooling_adds_counts_not_rates(first, second):
    a, b, both = from_rounds(first), from_rounds(second), from_rounds([*first, *second])
    for name in ("rounds", "undrafted", "drafted", "tested", "accepted", "emitted"):
        assert getattr(both, name) == getattr(a, name) + getattr(b, name)


# Impossible and missing values


@pytest.mark.parametrize("figures", [from_rounds([]), from_accepted_counts([], 4), from_histogram([])])
def test_before_the_first_round_nothing_is_available(figures):
    """Dividing by zero before the first draft printed NaN, and 0 % where the truth was 'not known yet'."""
    assert figures.rounds == figures.emitted == 0
    assert figures.acceptance_length is None
    assert [getattr(figures, name) for name in RATES] == [None] * len(RATES)
    assert figures.per_position_unconditional == figures.per_position_conditional == ()


@pytest.mark.parametrize("figures", [from_rounds([a_round(0, 0)] * 20), from_accepted_counts([0] * 20, 0)])
def test_without_a_draft_acceptance_is_not_available_and_the_length_is_one(figures):
    assert (figures.rounds, figures.undrafted, figures.emitted) == (20, 20, 20)
    assert figures.acceptance_length == 1.0
    assert [getattr(figures, name) for name in RATES] == [None] * len(RATES)
    assert figures.per_position_unconditional == figures.per_position_conditional == ()


def test_undrafted_rounds_count_as_rounds_but_not_per_position():
    figures = from_rounds([a_round(3, n) for n in COUNTS] + [a_round(0, 0)])
    assert (figures.rounds, figures.undrafted, figures.emitted) == (5, 1, 11)
    assert figures.acceptance_length == figures.tau_counters == 2.2
    assert figures.per_position_unconditional == (0.75, 0.5, 0.25)
    assert figures.per_position_conditional == pytest.approx((0.75, 2 / 3, 0.5))
    assert 1 + sum(figures.per_position_unconditional) == 2.5  # what vLLM would print


def test_a_cancelled_round_is_left_out_and_marked():
    with_it = from_rounds([*(a_round(3, n) for n in COUNTS), cancelled_round()])
    assert with_it.cancelled == 1
    assert_reference(with_it)


def test_matches_behind_an_end_token_do_not_count():
    """[d1, d2, END, d4, d5] all matching was counted as 5 accepted and 6 emitted."""
    figures = from_rounds([a_round(5, 3, cut=True)])
    assert (figures.drafted, figures.tested, figures.accepted, figures.emitted) == (5, 3, 3, 3)
    assert figures.acceptance_length == 3.0
    assert figures.tau_counters == 4.0  # counters take the extra token for granted
    assert figures.tested_acceptance_rate == 1.0
    assert figures.per_position_unconditional == (1, 1, 1, 0, 0)
    assert figures.per_position_conditional == (1, 1, 1, None, None)


def test_a_short_reply_accepts_no_more_than_it_holds():
    figures = from_rounds([a_round(7, 2, cut=True)])
    assert (figures.accepted, figures.emitted) == (2, 2)
    assert figures.accepted_share == 1.0


def test_emitted_tokens_can_be_given_with_the_counters():
    assert from_accepted_counts([3], [5], emitted=3).acceptance_length == 3.0
    assert from_accepted_counts([3], [5]).acceptance_length == 4.0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: from_accepted_counts([1, 4], 3), "Count 1: a round cannot accept 4 of 3"),
        (lambda: from_accepted_counts([-1], 3), "cannot accept -1 of 3"),
        (lambda: from_accepted_counts([1, 1], [3]), "2, not 1"),
        (lambda: from_accepted_counts([3, 1], 3, emitted=7), "accepted 4 tokens cannot have emitted 7"),
        (lambda: from_accepted_counts([3, 1], 3, emitted=3), "cannot have emitted 3"),
        (lambda: from_histogram([4, -2]), "not -2"),
        (lambda: from_histogram([4, 2.5]), r"not 2\.5"),
        (lambda: from_histogram([1, 1, 1], k=1), "cannot accept 2 of 1"),
        (
            lambda: from_rounds([dataclasses.replace(a_round(5, 3, cut=True, index=8), emitted=(7,) * 6)]),
            "Round 8 .* 6",
        ),
        (lambda: from_rounds([dataclasses.replace(a_round(3, 1), emitted=(7,))]), "emitted 1 tokens"),
    ],
)
def test_counts_that_cannot_be_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_round_with_two_rejections_is_refused():
    good = a_round(3, 1)
    twice = tuple(
        dataclasses.replace(p, drafted=drafted_token(Verdict.REJECTED)) if i else p
        for i, p in enumerate(good.positions)
    )
    with pytest.raises(ValueError, match="rejected 2 tokens"):
        from_rounds([dataclasses.replace(good, positions=twice)])


# alpha


def test_alpha_is_the_mean_overlap_of_tested_positions_only():
    made = [a_round(3, 1, overlaps=[0.9, 0.5, 0.1]), a_round(2, 2, overlaps=[0.8, 0.6])]
    assert from_rounds(made).alpha == pytest.approx((0.9 + 0.5 + 0.8 + 0.6) / 4)  # .1 was discarded


def test_alpha_is_not_available_with_trace_off():
    figures = from_rounds([a_round(3, n) for n in COUNTS])
    assert figures.alpha is None
    assert figures.tested_acceptance_rate is not None


def test_alpha_does_not_pass_one_by_rounding():
    assert from_rounds([a_round(1, 1, overlaps=[1.0000001])]).alpha == 1.0
