"""Whole texts: the engine's first tokens follow the target's law, a wrong rule's do not; ties are called ties."""

from itertools import islice

import numpy as np
import pytest
import torch

from simulator.drafts.model import ModelDraft
from simulator.exactness.sequence import (
    Divergence,
    Sequences,
    check_sequences,
    compare_greedy,
    compare_sequences,
    sequence_tv,
)
from simulator.models.table import TableModel
from simulator.records import RunConfig, Sampling
from tests.simulator.tiny import P, Q, Script, fixed, llama, perturbed


def sequences(rule, seeds=400, n=2, k=2):
    target, source = fixed(P), ModelDraft(fixed(Q), Sampling(), 3)
    *_, last = compare_sequences(target, source, [0], RunConfig(k=k, rule=rule), n, seeds)
    return last


@pytest.mark.parametrize("rule", ["exact", "equality", "block"])
def test_lossless_rules_give_the_texts_of_plain_sampling(rule):
    found = sequences(rule)
    assert found.seeds == 400
    assert not check_sequences(found).flagged
    tv, noise = sequence_tv(found)
    assert tv < 1.5 * noise.high


@pytest.mark.parametrize("rule", ["resample", "always", "argmax"])
def test_a_lossy_rule_is_caught_in_whole_texts_too(rule):
    found = sequences(rule, seeds=600, n=1)
    assert check_sequences(found).flagged
    tv, noise = sequence_tv(found)
    assert tv > noise.high


def test_counts_grow_by_a_pair_of_texts_and_have_the_asked_length():
    target, source = fixed(P), ModelDraft(fixed(Q), Sampling(), 3)
    steps = list(islice(compare_sequences(target, source, [0], RunConfig(k=2), 3, 10), 4))
    assert [s.seeds for s in steps] == [1, 2, 3, 4]
    assert all(len(text) == 3 for s in steps for text in (*s.speculative, *s.plain))
    assert steps[0].wanted == 10


def test_texts_may_end_early():
    target, source = fixed(P), ModelDraft(fixed(Q), Sampling(), 3)
    *_, last = compare_sequences(target, source, [0], RunConfig(k=2, end_tokens=frozenset({0})), 3, 60)
    assert {len(text) for text in last.plain} == {1, 2, 3}
    assert all(text[-1] == 0 for text in (*last.plain, *last.speculative) if len(text) < 3)


def test_two_samples_of_one_law_are_hardly_ever_flagged():
    rng, law = np.random.default_rng(4), np.random.default_rng(1).dirichlet(np.full(40, 0.5))
    flags = 0
    for _ in range(2000):
        a, b = rng.multinomial(300, law, size=2)
        found = Sequences(1, 300, *({(i,): int(c) for i, c in enumerate(row) if c} for row in (a, b)))
        flags += check_sequences(found).flagged
    assert flags <= 11  # expected 2; the chance of more at level .002 is 1e-3


def test_the_noise_holds_even_where_nearly_every_text_is_another():
    """A law estimated from the texts themselves once put the noise at .507 where the samples differed by .587."""
    rng, law = np.random.default_rng(8), np.random.default_rng(2).dirichlet(np.full(3000, 0.3))
    above = 0
    for _ in range(100):
        a, b = rng.multinomial(200, law, size=2)
        found = Sequences(3, 200, *({(i,): int(c) for i, c in enumerate(row) if c} for row in (a, b)))
        tv, noise = sequence_tv(found)
        above += tv > noise.high
    assert above <= 6  # expected 1


def test_too_few_texts_give_no_verdict():
    assert check_sequences(Sequences(1, 3, {(0,): 3}, {(1,): 3})) is None
    assert check_sequences(Sequences(1, 0, {}, {})) is None


def test_a_stop_ends_the_comparison_between_two_texts():
    class StopNow(Exception):
        pass

    def stop():
        raise StopNow

    target, source = fixed(P), ModelDraft(fixed(Q), Sampling(), 3)
    with pytest.raises(StopNow):
        next(compare_sequences(target, source, [0], RunConfig(k=2), 2, 5, stop))


# Greedy


def test_greedy_texts_of_one_target_are_the_same():
    target = llama(3)
    source = ModelDraft(perturbed(target, 0.3), Sampling(temperature=0), 128)
    found = compare_greedy(target, source, [5, 9], RunConfig(k=3, max_new_tokens=24))
    assert found == Divergence(24)
    assert not found.tie


class Unsteady(TableModel):
    """A model whose logits depend a little on how many tokens it reads at once, as rounding does."""

    def __init__(self, margin: float, noise: float) -> None:
        super().__init__(lambda text: [0.0, margin, -5.0], 3, are_logits=True)
        self.noise = noise

    def extend(self, tokens, keep=None):
        logits = super().extend(tokens, keep)
        if len(tokens) > 1:
            logits = logits + torch.tensor([self.noise, 0.0, 0.0])
        return logits


def test_a_difference_within_the_arithmetics_noise_is_called_a_tie():
    found = compare_greedy(Unsteady(1e-6, 2e-6), Script([1, 1], 3), [0, 0, 1], RunConfig(k=2, max_new_tokens=6))
    assert (found.at, found.speculative, found.plain) == (0, 0, 1)
    assert found.margin == pytest.approx(1e-6)
    assert found.tie


def test_a_difference_with_a_clear_margin_is_no_tie():
    """A rule that keeps anything: the draft's token stands although the target was sure of another."""
    target = fixed((0.1, 0.6, 0.3))
    found = compare_greedy(target, Script([2, 2], 3), [0], RunConfig(k=2, rule="always", max_new_tokens=6))
    assert (found.at, found.speculative, found.plain) == (0, 2, 1)
    assert found.margin == pytest.approx(np.log(2))
    assert not found.tie
