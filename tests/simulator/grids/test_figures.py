"""Figures of many runs: pooled only over what may be pooled, compared only with what was measured beside it."""

import csv
import json
from dataclasses import replace

import pytest

from simulator.grids.brief import ALONE, Brief, brief_of
from simulator.grids.figures import Account, account_of, single
from simulator.grids.grid import Grid, Setting
from simulator.grids.table import DEFINITIONS, rows, write_table
from simulator.measure import run_once
from simulator.metrics import from_rounds
from simulator.records import RunConfig, Sampling, StopReason
from simulator.text.prompts import Prompt
from simulator.theory.tokens_per_round import correlated_tokens, expected_tokens, solve_rho
from tests.simulator.grids.canned import GRID, briefs
from tests.ui.stub import stub_pair


def made(k, drafted, accepted, overlap=0.5, ms=1.0, **changes):
    """Return a run of these rounds, each with an extra token, all positions alike."""
    setting = Setting(0, changes.pop("seed", 0), 1.0, "model" if k else "plain", "exact" if k else "plain", k)
    emitted = tuple(a + 1 for a in accepted)
    tested = sum(min(a + 1, d) for a, d in zip(accepted, drafted, strict=True))
    n = sum(emitted)
    times = tuple(0.1 * d for d in drafted), (ms / 2,) * len(drafted), (ms,) * len(drafted)
    run = Brief(setting, "t ← d, cpu float32", Prompt("a"), Sampling(), 96, 1, StopReason.BUDGET, (), 1.0, (7,) * n,
                ("x",) * n, "x" * n, tuple(drafted), tuple(accepted), emitted, (overlap,) * tested, *times)  # fmt: skip
    return replace(run, **changes)


def test_a_brief_gives_the_figures_of_its_run():
    pair = stub_pair()
    config = RunConfig(k=4, max_new_tokens=60, end_tokens=pair.end_tokens)
    run = run_once(pair.target.model, pair.source("model", Sampling()), pair.encode("to be"), config)
    brief, figures = brief_of(run, "m", Prompt("to be"), 0, pair.texts), from_rounds(run.rounds)
    assert sum(brief.tested) == figures.tested
    assert sum(brief.overlaps) / len(brief.overlaps) == pytest.approx(figures.alpha, abs=1e-6)
    firsts = [r.positions[0].shape.overlap for r in run.rounds if r.drafted]
    assert brief.first_overlaps == pytest.approx(firsts, abs=1e-6)
    group = single(brief, None)
    assert group.tokens_per_round == figures.acceptance_length
    extras = [r.extra.kind for r in run.rounds]
    assert [o for o in brief.origins if o != "accepted"] == extras
    assert len(list(brief.origins)) == len(run.tokens)
    assert brief.text == "".join(chr(t) for t in run.tokens)


def test_each_round_is_predicted_with_the_tokens_that_it_drafted():
    """The last rounds of a run draft fewer than k; predicting all with k would find theory too high for no reason."""
    account = account_of([made(4, (4, 4, 4, 1), (1, 0, 2, 1), overlap=0.6)])
    figures = account.figures(next(iter(account.tallies)))
    assert figures.tokens_per_round == 8 / 4
    assert figures.formula == pytest.approx((3 * expected_tokens(0.6, 4) + expected_tokens(0.6, 1)) / 4)
    assert figures.correlated is None, "there is no other k to fit the correlation to"


def test_the_correlation_is_fitted_to_the_other_k_only():
    account = account_of(
        [made(2, (2,) * 10, (2,) * 5 + (0,) * 5), made(4, (4,) * 10, (4,) * 9 + (0,)), made(1, (1,), (1,))]
    )
    figures = {g[1]: account.figures(g) for g in account.tallies}
    assert figures[4].rho == solve_rho(0.5, 1.0, 2)
    assert figures[4].correlated == pytest.approx(correlated_tokens(0.5, figures[4].rho, 4))
    assert figures[2].rho == 1.0, "nothing in reach accepts as much as k = 4 did here"
    changed = account_of([made(2, (2,) * 10, (2,) * 5 + (0,) * 5), made(4, (4,) * 10, (0,) * 10)])
    assert {g[1]: changed.figures(g) for g in changed.tallies}[4].correlated == figures[4].correlated


def test_speeds_are_compared_with_the_plain_run_of_prompt_seed_temperature_and_sitting_only():
    plain, fast = made(0, (0, 0), (0, 0), ms=4.0), made(2, (2,), (1,), ms=2.0)
    account = account_of([plain])
    assert account.speedup_of(fast) == 4.0
    for change in ({"seed": 1}, {"sitting": 2}, {"sitting": ALONE}, {"sampling": Sampling(0.5)}, {"models": "other"},
                   {"prompt": Prompt("b")}, {"max_new_tokens": 9}):  # fmt: skip
        assert account.speedup_of(made(2, (2,), (1,), **change)) is None
    account.add(fast)
    figures = account.figures(account.group(fast))
    assert figures.speedup.median == 4.0
    assert figures.predicted == pytest.approx(expected_tokens(0.5, 2) / (1 + 2 * 0.025 + 2 * 0))


def test_nothing_is_predicted_where_nothing_plain_was_measured_or_alpha_is_not_the_acceptance():
    account = account_of([made(2, (2,), (1,))])
    assert account.figures(next(iter(account.tallies))).predicted is None
    lossy = made(2, (2,), (1,))
    lossy = replace(lossy, setting=replace(lossy.setting, rule="typical"))
    account = account_of([made(0, (0,), (0,)), lossy])
    figures = account.figures(account.group(lossy))
    assert (figures.formula, figures.correlated, figures.predicted) == (None, None, None)
    assert figures.alpha == 0.5


def test_rows_pool_prompts_and_seeds_and_nothing_else():
    grid = Grid((Prompt("a"), Prompt("b")), (0, 1), (1, 2), (0.5, 1.0), ("model", "ngram"), max_new_tokens=4)
    runs = briefs(grid)
    sizes = {
        by: {a.figures(g).runs for g in a.tallies} for by in ("", "prompt", "seed") for a in [account_of(runs, by)]
    }
    assert sizes == {"": {4}, "prompt": {2}, "seed": {2}}
    assert len(Account("").tallies) == 0
    assert len(account_of(runs).tallies) == 2 * 2 * 2


def test_the_csv_has_groups_and_single_runs_with_every_column_defined(tmp_path):
    runs = briefs()
    runs[0] = replace(runs[0], text="=1+1")
    write_table(tmp_path / "runs.csv", runs, "", {"grids": [GRID]})
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["row"] for row in read] == ["group"] * 4 + ["run"] * len(runs)
    assert [row["k"] for row in read[:4]] == ["0", "1", "2", "4"]
    assert sum(int(row["tokens"]) for row in read[:4]) == sum(int(row["tokens"]) for row in read[4:])
    assert read[4]["text"] == "'=1+1"
    again = list(rows(runs))
    assert [float(r["tokens_per_round"]) for r in read] == [r["tokens_per_round"] for r in again]
    assert read[0]["speedup"] == read[0]["formula"] == ""
    about = json.loads((tmp_path / "runs.meta.json").read_text("utf-8"))
    assert list(about["definitions"]) == list(read[0]) == list(DEFINITIONS)
