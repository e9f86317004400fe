"""The table of rules, and what its entries do in a round of several tokens: by enumeration of the whole tree."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from simulator.exactness.laws import draft_law, law, tokens_per_round
from simulator.exactness.rules import CARDS, RUNNABLE, Lossless
from simulator.records import Kind, Verdict
from simulator.verify import RULES, TOKEN_RULES, Outcome, block, block_chances, chances, exact, lenience
from tests.simulator.test_lossless import distance, target_law, text_law
from tests.simulator.tiny import ALWAYS, NEVER, P, Q, cdf, first_token, pieces, play, random_law, unlike


def round_law(name, p, q, context, k):
    """Return the exact probability of what one round of the named rule emits behind the context."""
    law = defaultdict(float)
    vocab, rule = len(p(context)), RULES[name]
    for tokens in itertools.product(range(vocab), repeat=k):
        rows_p = np.array([p(context + tokens[:i]) for i in range(k + 1)])
        rows_q = np.array([q(context + tokens[:i]) for i in range(k)]).reshape(k, vocab)
        drafted = math.prod(rows_q[i, t] for i, t in enumerate(tokens))
        if drafted == 0:
            continue
        cuts = chances(name, rows_p, rows_q, tokens)
        for cells in itertools.product(*(pieces(cut) for cut in cuts)):
            u_accept, width = [u for u, _ in cells], math.prod(w for _, w in cells)
            at = rule(rows_p, rows_q, tokens, u_accept, 0.5).accepted
            for u_extra, share in pieces(*draw_cuts(rows_p, rows_q, tokens, at)):
                outcome = rule(rows_p, rows_q, tokens, u_accept, u_extra)
                assert outcome.accepted == at
                law[*tokens[:at], outcome.extra] += drafted * width * share
    return law


def draw_cuts(p, q, tokens, at):
    """Return where any rule's extra draw may change its token."""
    if at == len(tokens):
        return list(cdf(p[at]))
    carried = 1.0
    for i, t in enumerate(tokens[:at]):
        carried = min(1.0, carried * p[i, t] / q[i, t])
    others = np.where(np.arange(p.shape[1]) == tokens[at], 0, p[at])
    scaled = (np.maximum(a * p[at] - b * q[at], 0) for a, b in ((1, 1), (1, 0.5), (carried, 1)))
    return [cut for weights in (p[at], others, *scaled) for cut in cdf(weights)]


def text_of(name, p, q, k, length):
    return text_law(lambda text, left: round_law(name, p, q, text, k), length)


@pytest.mark.parametrize("name", [n for n, card in RUNNABLE.items() if card.lossless is Lossless.YES])
@pytest.mark.parametrize(("vocab", "k", "length"), [(3, 1, 3), (4, 2, 2), (3, 2, 3), (3, 3, 3)])
def test_a_lossless_rule_emits_exactly_the_targets_text(name, vocab, k, length):
    """Whole texts, round behind round: what is carried inside a block must leave no trace in what follows."""
    p, q = random_law(vocab, 1), random_law(vocab, 2)
    law = text_of(name, p, q, k, length)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert distance(law, target_law(p, vocab, length)) < 1e-12


@pytest.mark.parametrize("name", [n for n, card in RUNNABLE.items() if card.lossless is not Lossless.YES])
def test_any_other_rule_fails_the_same_check(name):
    p, q = random_law(3, 1), random_law(3, 2)
    law = text_of(name, p, q, 2, 2)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert distance(law, target_law(p, 3, 2)) > 1e-3


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("k", [1, 2])
def test_a_round_at_one_position_has_the_closed_forms_law_and_length(name, k):
    rounds = round_law(name, lambda _: np.array(P), lambda _: draft_law(name, Q), (), k)
    assert first_token(rounds, 3) == pytest.approx(law(name, P, Q).emitted, abs=1e-12)
    length = sum(len(text) * probability for text, probability in rounds.items())
    assert length == pytest.approx(tokens_per_round(name, P, Q, k), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_block_is_never_shorter_than_the_ratio_rules_round(k, seed):
    p, q = random_law(3, seed), random_law(3, seed + 50)
    mean = {n: sum(len(t) * w for t, w in round_law(n, p, q, (), k).items()) for n in ("exact", "block")}
    assert mean["block"] >= mean["exact"] - 1e-12
    if k == 1:
        assert mean["block"] == pytest.approx(mean["exact"], abs=1e-12)


def test_the_block_rule_read_from_the_left_is_the_papers_longest_passing_prefix():
    """Algorithm 2 tests every prefix with its own uniform; here one uniform a token decides in order."""
    p, q, tokens = np.array([P, (0.1, 0.6, 0.3), (0.3, 0.3, 0.4), P]), np.array([Q, Q, (0.2, 0.2, 0.6)]), (1, 2, 2)
    carried, h = [1.0], []
    for i, t in enumerate(tokens):
        carried.append(min(1, carried[-1] * p[i, t] / q[i, t]))
    for i in (1, 2):
        missed = np.maximum(carried[i] * p[i] - q[i], 0).sum()
        h.append(missed / (missed + 1 - carried[i]))
    h.append(carried[3])
    paper = [math.prod(1 - x for x in h)]
    paper += [h[i] * math.prod(1 - x for x in h[i + 1 :]) for i in range(3)]  # P(exactly i kept)
    s = block_chances(p, q, tokens)
    ours = [(1 - s[0]), s[0] * (1 - s[1]), s[0] * s[1] * (1 - s[2]), s[0] * s[1] * s[2]]
    assert ours == pytest.approx(paper, abs=1e-12)


def test_a_block_with_p_equal_q_or_without_a_chance_divides_nothing_by_nothing():
    p = np.array([P] * 4)
    assert block_chances(p, p[:3], (0, 1, 2)) == [1, 1, 1]
    assert block(p, p[:3], (0, 1, 2), [NEVER] * 3, 0.5).accepted == 3
    never = np.array([(0.0, 0.5, 0.5)] * 3)
    assert block_chances(never, p[:2], (0, 0)) == [0, 0]
    assert block(never, p[:2], (0, 0), [ALWAYS] * 2, 0.9) == Outcome(0, 1, 2, Kind.RESIDUAL)
    assert block(p[:1], p[:0], (), [], 0.6) == Outcome(0, 0, 1, Kind.PLAIN)


def test_the_token_rule_of_the_ratio_is_the_engines_own_function():
    rng = np.random.default_rng(5)
    for _ in range(300):
        p, q = rng.dirichlet(np.full(4, 0.5), 3).astype(np.float32), rng.dirichlet(np.full(4, 0.5), 2)
        q = q.astype(np.float32)
        case = p, q, [int(row.argmax()) for row in q], rng.random(2).tolist(), rng.random()
        assert TOKEN_RULES["exact"](*case) == exact(*case)


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_token_is_kept_exactly_when_its_u_lies_below_its_chance(name):
    p, q, tokens = np.array([P, (0.1, 0.6, 0.3), P]), np.array([Q, (0.3, 0.3, 0.4)]), (1, 2)
    limits = chances(name, p, q, tokens)
    below = [min(np.nextafter(c, 0), NEVER) for c in limits]
    if min(limits) > 0:
        assert RULES[name](p, q, tokens, below, 0.3).accepted == 2
    for i, limit in enumerate(limits):
        if limit < 1 and min(limits[:i], default=1) > 0:
            outcome = RULES[name](p, q, tokens, [*below[:i], limit, 0.0][:2], 0.3)
            assert (outcome.accepted, outcome.tested, outcome.kind) == (i, i + 1, Kind.RESIDUAL)


@pytest.mark.parametrize("name", RUNNABLE)
def test_no_rule_changes_p_or_q(name):
    p, q = np.array([P] * 3), np.array([Q] * 2)
    before = p.tobytes(), q.tobytes()
    for u in (0.0, 0.5, NEVER):
        RULES[name](p, q, (1, 1), [u, u], u)
    assert (p.tobytes(), q.tobytes()) == before


@pytest.mark.parametrize("name", RUNNABLE)
def test_float32_rows_over_a_large_vocabulary_pass_through_every_rule(name):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(5000, 0.05), 3).astype(np.float32)
    q = rng.dirichlet(np.full(5000, 0.05), 2).astype(np.float32)
    tokens = tuple(int(row.argmax()) for row in q)
    for u in (0.0, 0.7, NEVER):
        outcome = RULES[name](p, q, tokens, [u, u], u)
        assert 0 <= outcome.accepted <= 2
        assert 0 <= outcome.extra < 5000
    assert all(0 <= c <= 1 for c in chances(name, p, q, tokens))


@pytest.mark.parametrize("name", RUNNABLE)
def test_every_verdict_of_a_run_can_be_recomputed_from_its_trace(name):
    target, source = unlike()
    tokens = [
        place.drafted
        for seed in range(4)
        for r in play(target, source, [0], rule=name, k=3, max_new_tokens=30, seed=seed).rounds
        for place in r.positions
        if place.drafted is not None
    ]
    tested = [t for t in tokens if t.u_accept is not None]
    assert len(tested) > 30
    assert all((t.u_accept < t.accept_prob) == (t.verdict is Verdict.ACCEPTED) for t in tested)


def test_the_table_has_the_twelve_rules_and_never_calls_equality_lossy():
    """SD-015: two projects state opposite things about it; it is lossless and accepts less."""
    assert len(CARDS) == 12
    assert set(CARDS) == {*TOKEN_RULES, "block"}
    assert list(RUNNABLE) == [n for n in CARDS if n in RULES]
    assert {n for n, c in CARDS.items() if c.lossless is Lossless.YES} == {"exact", "equality", "one-hot", "block"}
    equality = CARDS["equality"]
    assert equality.lossless is Lossless.YES
    assert law("equality", P, Q).acceptance == pytest.approx(0.31)
    assert law("equality", P, Q).tv == 0


def test_what_a_card_says_of_losslessness_is_what_the_law_says():
    rng = np.random.default_rng(2)
    for name, card in CARDS.items():
        worst = max(law(name, *rng.dirichlet(np.ones(4), 2)).tv for _ in range(50))
        assert (worst == 0) == (card.lossless is Lossless.YES), name


def test_every_parameter_has_limits_that_the_rule_bears():
    for name, card in CARDS.items():
        if card.parameter is not None:
            for value in (card.parameter.minimum, card.parameter.default, card.parameter.maximum):
                closed = law(name, P, Q, value)
                assert closed.emitted.sum() == pytest.approx(1)
    assert lenience(1.0).chance(np.array(P), np.array(Q)) == pytest.approx([1, 0.6, 2 / 3])
