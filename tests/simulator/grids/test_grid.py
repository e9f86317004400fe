"""A grid: each run once, in the order in which speeds can be compared, from lists as people write them."""

from dataclasses import replace

import pytest

from simulator.errors import UserError
from simulator.grids.grid import PLAIN, Grid, checked_grid, count, estimated_seconds, numbers
from simulator.records import Sampling
from simulator.text.prompts import Prompt

GRID = Grid(("a", "b"), (0, 1, 2), (4, 0, 2), (0.0, 1.0), ("model", "ngram"), ("exact", "block"))


def test_every_combination_is_there_once_and_plain_runs_once_a_source_and_rule():
    settings = GRID.settings()
    assert len(settings) == len(set(settings)) == count(GRID) == 2 * 3 * 2 * (1 + 2 * 2 * 2)
    plain = [s for s in settings if s.k == 0]
    assert {(s.source, s.rule) for s in plain} == {(PLAIN, PLAIN)}
    assert len(plain) == 2 * 3 * 2


def test_each_plain_run_stands_right_before_the_runs_that_are_compared_with_it():
    here = None
    for s in GRID.settings():
        if s.k == 0:
            here = s
        assert (s.prompt, s.seed, s.temperature) == (here.prompt, here.seed, here.temperature)


def test_a_run_has_its_own_settings_and_the_grid_s_filters():
    grid = replace(GRID, filters=Sampling(5.0, 7, 0.9, 0.1), max_new_tokens=12)
    setting = grid.settings()[-1]
    config = grid.config(setting, frozenset({9}))
    assert (config.k, config.source, config.rule, config.seed) == (4, "ngram", "block", 2)
    assert (config.sampling, config.max_new_tokens, config.end_tokens) == (Sampling(1.0, 7, 0.9, 0.1), 12, {9})


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("k", "1-8", tuple(range(1, 9))),
        ("k", " 1 - 3, 8;5 ", (1, 2, 3, 8, 5)),
        ("k", "2,2, 1-2", (2, 1)),
        ("seed", "9223372036854775807", (2**63 - 1,)),
        ("temperature", "0, .7, 1", (0.0, 0.7, 1.0)),
        ("temperature", "1e-3", (0.001,)),
    ],
)
def test_lists_are_read_as_people_write_them(name, text, values):
    assert numbers(name, text) == values


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("k", "", "no draft length k"), ("k", "1-", "'1-'"), ("k", "four", "'four'"), ("k", "3-1", "3-1"),
        ("k", "17", "is 17"), ("k", "1.5", "'1.5'"), ("seed", "-1", "-1"), ("seed", "0-999999", "0-999999"),
        ("temperature", "nan", "nan"), ("temperature", "0-1", "'0-1'"), ("temperature", "-1", "-1"),
    ],
)  # fmt: skip
def test_a_wrong_list_is_one_sentence_that_names_the_part(name, text, part):
    with pytest.raises(UserError) as caught:
        numbers(name, text)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_checked_grid_has_no_repetition_and_nothing_out_of_bounds():
    grid = checked_grid(replace(GRID, ks=(1, 1, 2), prompts=("a", "a")))
    assert (grid.ks, grid.prompts) == ((1, 2), (Prompt("a"),))
    wrong = [{"ks": ()}, {"ks": (17,)}, {"sources": ("oracle",)}, {"rules": ("hope",)}, {"temperatures": (-1.0,)},
             {"prompts": ()}, {"seeds": tuple(range(100_001)), "ks": (1,)}, {"max_new_tokens": -1}]  # fmt: skip
    for change in wrong:
        with pytest.raises(UserError):
            checked_grid(replace(GRID, **change))


def test_the_estimate_counts_what_is_left_at_the_nearest_known_speed():
    grid = Grid(("a",), (0, 1), (0, 1, 4), max_new_tokens=100)
    assert estimated_seconds(grid, {}) is None
    assert estimated_seconds(grid, {0: 100.0, 3: 200.0}) == 2 * (1.0 + 1.0 + 0.5)  # k = 1 is nearer to 0, 4 to 3
    assert estimated_seconds(grid, {0: 100.0, 3: 200.0}, grid.settings()[:3]) == 2.5
