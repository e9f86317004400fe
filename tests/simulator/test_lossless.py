"""The emitted law is the target's: by enumeration of the whole draft / accept / resample tree, then by a few draws.

Every rule is a step function of its uniforms, so [0, 1) is split at all thresholds and the real code is asked once
in each piece: its decisions are integrated exactly. Wrong rules go through the same check and must fail it.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chisquare

from simulator.drafts.model import ModelDraft
from simulator.engine import speculate
from simulator.models.table import TableModel
from simulator.records import Kind, RunConfig, Sampling
from simulator.sampling import draw
from simulator.verify import RULES, Outcome, accept_probability, exact, residual
from tests.simulator.tiny import P, Q, canned, cdf, first_token, fixed, pieces, play, random_law

Law = dict[tuple[int, ...], float]


def resample_from_p(p, q, tokens, u_accept, u_extra):
    """Emit a draw from p, not from the residual, after a rejection."""
    outcome = exact(p, q, tokens, u_accept, u_extra)
    return Outcome(outcome.accepted, outcome.tested, draw(p[outcome.accepted], u_extra), outcome.kind)


def swapped(p, q, tokens, u_accept, u_extra):
    """Take p for q and q for p wherever there are both."""
    return exact(np.vstack([q, p[-1:]]), p[:-1], tokens, u_accept, u_extra)


def judged_by(row):
    """Judge with another q than the one that was drawn from."""

    def rule(p, q, tokens, u_accept, u_extra):
        return exact(p, np.array([row] * len(tokens)).reshape(q.shape), tokens, u_accept, u_extra)

    return rule


def equality(p, q, tokens, u_accept, u_extra):
    """Draw from p at each position; keep the draft if it is the same token; emit the draw either way."""
    for i, token in enumerate(tokens):
        drawn = draw(p[i], u_accept[i])
        if drawn != token:
            return Outcome(i, i + 1, drawn, Kind.RESIDUAL)
    return Outcome(len(tokens), len(tokens), draw(p[-1], u_extra), Kind.BONUS)


def round_law(rule, p, q, context: tuple[int, ...], k: int, judge=None) -> Law:
    """Return the exact probability of what one round behind the context emits; `judge`: q of a wrong rule."""
    law: Law = defaultdict(float)
    vocab = len(p(context))
    for tokens in itertools.product(range(vocab), repeat=k):
        rows_p = np.array([p(context + tokens[:i]) for i in range(k + 1)])
        rows_q = np.array([q(context + tokens[:i]) for i in range(k)]).reshape(k, vocab)
        drafted = math.prod(rows_q[i, t] for i, t in enumerate(tokens))
        if drafted == 0:
            continue
        seen = rows_q if judge is None else np.array([judge] * k)
        for cells in itertools.product(*(_tests(rows_p[i], seen[i], t) for i, t in enumerate(tokens))):
            u_accept = [u for u, _ in cells]
            at = rule(rows_p, rows_q, tokens, u_accept, 0.5).accepted
            for u_extra, width in _draws(rows_p[at], seen[at] if at < k else None):
                outcome = rule(rows_p, rows_q, tokens, u_accept, u_extra)
                assert outcome.accepted == at
                law[*tokens[:at], outcome.extra] += drafted * width * math.prod(w for _, w in cells)
    return law


def _tests(p, q, token):
    ratios = [a / b for a, b in ((p[token], q[token]), (q[token], p[token])) if b > 0]
    return pieces(*ratios, *cdf(p))


def _draws(p, q):
    return pieces(*cdf(p), *(() if q is None else (*cdf(np.maximum(p - q, 0)), *cdf(np.maximum(q - p, 0)))))


def text_law(one_round: Callable[[tuple[int, ...], int], Law], length: int, ends=frozenset()) -> Law:
    """Return the probability of the first `length` tokens when round follows round; a text ends behind an end token."""
    law: Law = defaultdict(float)

    def grow(text: tuple[int, ...], probability: float) -> None:
        if len(text) >= length or (text and text[-1] in ends):
            law[text[:length]] += probability
            return
        for emitted, share in one_round(text, length - len(text)).items():
            grow(text + emitted, probability * share)

    grow((), 1.0)
    return law


def target_law(p, vocab: int, length: int, ends=frozenset()) -> Law:
    return text_law(lambda text, left: {(t,): p(text)[t] for t in range(vocab)}, length, ends)


def distance(a: Law, b: Law) -> float:
    return max(abs(a.get(text, 0.0) - b.get(text, 0.0)) for text in {*a, *b})


@pytest.mark.parametrize(("vocab", "k"), [(3, 0), (5, 0), (3, 1), (5, 1), (4, 2), (3, 3)])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_ratio_rule_emits_exactly_the_targets_law(vocab, k, length):
    p, q = random_law(vocab, 1), random_law(vocab, 2)
    law = text_law(lambda text, left: round_law(RULES["exact"], p, q, text, k), length)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert distance(law, target_law(p, vocab, length)) < 1e-12


@pytest.mark.parametrize("rule", [resample_from_p, swapped])
@pytest.mark.parametrize("k", [1, 2])
def test_wrong_rules_fail_the_same_check(rule, k):
    p, q = random_law(3, 1), random_law(3, 2)
    law = text_law(lambda text, left: round_law(rule, p, q, text, k), 2)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert distance(law, target_law(p, 3, 2)) > 1e-2


@pytest.mark.parametrize(
    ("rule", "emitted", "accepted"),
    [
        (exact, P, 0.7),
        (resample_from_p, (0.35, 0.39, 0.26), 0.7),
        (swapped, (0.08, 0.58, 0.34), 0.88),
        (equality, P, 0.31),  # lossless too, only slower
    ],
)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_golden_round_has_the_published_fingerprints(rule, emitted, accepted, k):
    law = round_law(rule, lambda _: np.array(P), lambda _: np.array(Q), (), k)
    assert first_token(law, 3) == pytest.approx(emitted, abs=1e-12)
    assert sum(w for text, w in law.items() if len(text) == k + 1) == pytest.approx(accepted**k, abs=1e-12)


def test_raw_q_instead_of_the_filtered_q_is_not_lossless():
    p, raw, q = np.full(4, 0.25), np.array([0.4, 0.3, 0.2, 0.1]), np.array([4 / 7, 3 / 7, 0, 0])
    right = round_law(exact, lambda _: p, lambda _: q, (), 1)
    wrong = round_law(judged_by(raw), lambda _: p, lambda _: q, (), 1, judge=raw)
    assert [accept_probability(p[x], q[x]) for x in (0, 1)] == pytest.approx([0.4375, 0.583333], abs=1e-6)
    assert (residual(p, q) / residual(p, q).sum()).tolist() == pytest.approx([0, 0, 0.5, 0.5])
    assert first_token(right, 4) == pytest.approx(p, abs=1e-12)
    assert first_token(wrong, 4) == pytest.approx([5 / 14, 5 / 14, 1 / 14, 3 / 14], abs=1e-12)
    accepted = [sum(w for text, w in law.items() if len(text) == 2) for law in (right, wrong)]
    assert accepted == pytest.approx([0.5, 5 / 7], abs=1e-12)


def test_a_greedy_draft_is_lossless_as_one_hot_q_and_not_with_its_softmax():
    p, greedy = np.array(P), np.array([0.0, 1.0, 0.0])
    right = round_law(exact, lambda _: p, lambda _: greedy, (), 1)
    wrong = round_law(judged_by(Q), lambda _: p, lambda _: greedy, (), 1, judge=np.array(Q))
    assert first_token(right, 3) == pytest.approx(P, abs=1e-12)
    assert first_token(wrong, 3) == pytest.approx([0.4, 0.6, 0], abs=1e-12)


@pytest.mark.parametrize(("k", "budget"), [(0, 2), (1, 2), (2, 2), (2, 3)])
@pytest.mark.parametrize("ends", [frozenset(), frozenset({2})])
def test_the_engine_emits_exactly_the_targets_law(monkeypatch, k, budget, ends):
    """With its own drafting, filters, clipped last rounds and end tokens; float32 rows, so to 1e-6."""
    law_p, law_q = random_law(3, 1), random_law(3, 2)
    target, draft = TableModel(law_p, 3), TableModel(law_q, 3)
    prompt = (0,)  # a model can say nothing about an empty text

    def one_round(text, left):
        law, context = defaultdict(float), prompt + text
        config = RunConfig(k=k, max_new_tokens=left, end_tokens=ends, detail=False)
        source = ModelDraft(draft, config.sampling, 3)
        for tokens in itertools.product(range(3), repeat=k):
            cells = [pieces(*cdf(law_q(context + tokens[:i]))) for i in range(k)]
            live = [np.flatnonzero(law_q(context + tokens[:i])) for i in range(k)]
            if any(t not in live[i] for i, t in enumerate(tokens)):
                continue
            chosen = [cells[i][live[i].tolist().index(t)] for i, t in enumerate(tokens)]
            rows = [(law_p(context + tokens[:i]), law_q(context + tokens[:i])) for i in range(k + 1)]
            tests = [pieces(accept_probability(rows[i][0][t], rows[i][1][t])) for i, t in enumerate(tokens)]
            extra = pieces(*(c for p, q in rows for c in (*cdf(p), *cdf(np.maximum(p - q, 0)))))
            for *accept, (u_extra, width) in itertools.product(*tests, extra):
                canned(monkeypatch, [u for u, _ in accept], u_extra, [u for u, _ in chosen])
                _, trace, *_ = itertools.islice(speculate(target, source, context, config), 2)
                law[trace.emitted] += width * math.prod(w for _, w in (*chosen, *accept))
        return law

    law = text_law(one_round, budget, ends)
    expected = target_law(lambda text: law_p(prompt + text), 3, budget, ends)
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    assert distance(law, expected) < 1e-6


def first_pairs(rule: str, seeds: int = 2000) -> np.ndarray:
    target, source = fixed(P), ModelDraft(fixed(Q), Sampling(), 3)
    counts = np.zeros((3, 3))
    for seed in range(seeds):
        tokens = play(target, source, [0], k=2, max_new_tokens=4, seed=seed, rule=rule, detail=False).tokens
        counts[tokens[:2]] += 1
    return counts


def test_draws_over_2000_seeds_follow_p_and_a_wrong_rule_is_caught():
    expected = 2000 * np.outer(P, P)  # the first two tokens together: their draws must not depend on each other
    assert chisquare(first_pairs("exact").ravel(), expected.ravel()).pvalue > 1e-4
    wrong = first_pairs("resample")
    assert chisquare(wrong.sum(1), 2000 * np.array(P)).pvalue < 1e-4
    assert chisquare(wrong.sum(1), 2000 * np.array((0.35, 0.39, 0.26))).pvalue > 1e-4
