"""The table of `bench`: every figure is explained, aligned, and there even where something was not measured."""

import re

import pytest

from simulator.bench_table import FIGURES, WIDTH, table_lines


def made(**changes):
    """Return results as `bench` gives them, invented."""
    figures = {key: 0.1234 for key, _, _ in FIGURES}
    ks = range(1, 9)
    return {
        "target": "big", "draft": "small", "device": "cpu", "dtype": "float32", "tokens": 200, "threads": {"target": 2},
        "table": {"transformers plain": [173.1, 160.0, 182.5], "speculative k=4, trace off": [1813.2, 1800.0, 2019.9]},
        **figures,
        "speedup_measured": {k: 1 + 0.1 * (k % 4) for k in ks}, "speedup_predicted": {k: 1.2 for k in ks},
        "speedup_formula": {k: 1.1 for k in ks}, "tokens_per_round": {k: 1.0 + k for k in ks},
        "prefill_ms": {k: 4.0 for k in range(9)}, "verify_ms": {n: 1.0 + n for n in (*range(1, 18), 20, 24, 28, 33)},
        **changes,
    }  # fmt: skip


def test_every_figure_has_its_key_unit_and_meaning_in_line():
    lines = table_lines(made())
    for key, unit, meaning in FIGURES:
        (line,) = [line for line in lines if line.startswith(key + " ")]
        assert line.endswith(meaning)
        assert unit in line
    starts = {line.index(meaning) for line in lines for _, _, meaning in FIGURES if line.endswith(" " + meaning)}
    assert len(starts) == 1


def test_no_line_is_too_long_and_none_ends_in_blanks():
    lines = table_lines(made(speedup_measured={k: 0.5 for k in range(1, 9)}))
    assert max(map(len, lines)) <= WIDTH
    assert all(line == line.rstrip() for line in lines)


def test_columns_of_the_speedups_stand_below_their_heads():
    lines = table_lines(made())
    (head,) = [i for i, line in enumerate(lines) if line.startswith("  k")]
    ends = [m.end() for m in re.finditer(r"\S+(?: \S+)?(?=\s{2,}|$|\s(?!ms))", lines[head])]
    for row in lines[head + 1 : head + 9]:
        for end in ends:
            assert row[end - 1] != " "


def test_errors_are_what_the_two_speedups_say():
    (row,) = [line for line in table_lines(made()) if line.startswith("  3 ")]
    assert "1.30x" in row
    assert "1.20x  -7.7%" in row
    assert "1.10x -15.4%" in row
    assert row.endswith("<- fastest")


def test_the_fastest_of_slow_ones_is_not_praised():
    lines = table_lines(made(speedup_measured={1: 0.9, 2: 0.8}))
    assert any(line.startswith("  1 ") and line.endswith("best, no gain") for line in lines)


@pytest.mark.parametrize("gone", [key for key, _, _ in FIGURES])
def test_what_was_not_measured_is_a_dash(gone):
    (line,) = [line for line in table_lines(made(**{gone: None})) if line.startswith(gone + " ")]
    assert line.split()[1] == "-"


def test_a_run_too_short_for_any_draft_has_a_table_all_the_same():
    assert table_lines(made(speedup_measured={}, verify_ms={}, threads={}))
