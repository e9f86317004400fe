"""A round's random numbers depend on (seed, round) alone."""

import numpy as np
import pytest

from simulator.uniforms import round_uniforms


def numbers(seed: int, index: int, k: int) -> list[float]:
    u = round_uniforms(seed, index, k)
    return [u.extra, *u.draft.tolist(), *u.accept.tolist()]


def test_the_numbers_of_a_seed_never_change():
    """Old traces are recomputed from their seeds: a changed stream would make every saved verdict look wrong."""
    assert numbers(42, 3, 2) == [
        0.4857539611915028, 0.4563207863530062, 0.7704140757110326, 0.747084262009422, 0.5153151635839459,
    ]  # fmt: skip


def test_a_longer_draft_leaves_the_earlier_numbers_as_they_are():
    long = round_uniforms(7, 11, 16)
    for k in range(16):
        short = round_uniforms(7, 11, k)
        assert short.extra == long.extra
        assert short.draft.tolist() == long.draft[:k].tolist()
        assert short.accept.tolist() == long.accept[:k].tolist()


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**53 + 1, 2**63 - 1])
def test_every_seed_and_round_has_numbers_of_its_own(seed):
    blocks = {tuple(numbers(seed, index, 4)) for index in (0, 1, 2, 10**6)}
    assert len(blocks) == 4
    assert len({u for block in blocks for u in block}) == 4 * 9
    assert all(0 <= u < 1 for block in blocks for u in block)
    assert tuple(numbers((seed + 1) % 2**63, 0, 4)) not in blocks


def test_the_numbers_of_neighbouring_seeds_rounds_and_roles_are_uncorrelated():
    table = np.array([numbers(seed, index, 2) for seed in range(40) for index in range(40)])  # [1600, 5]
    assert np.abs(table.mean(0) - 0.5).max() < 5 / np.sqrt(12 * 1600)
    across_roles = np.corrcoef(table, rowvar=False) - np.eye(5)
    rounds = table.reshape(40, 40, 5)
    along_rounds = np.corrcoef(rounds[:, :-1].ravel(), rounds[:, 1:].ravel())[0, 1]
    along_seeds = np.corrcoef(rounds[:-1].ravel(), rounds[1:].ravel())[0, 1]
    assert max(np.abs(across_roles).max(), abs(along_rounds), abs(along_seeds)) < 5 / np.sqrt(1600)


def test_drawing_numbers_leaves_every_other_generator_alone():
    np.random.seed(3)
    expected = np.random.random(2).tolist()
    np.random.seed(3)
    first = np.random.random()
    round_uniforms(0, 0, 16)
    assert [first, np.random.random()] == expected
