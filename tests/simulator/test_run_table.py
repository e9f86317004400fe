"""The command line's account of several runs: one line each, columns that line up, a dash for what was not measured."""

from simulator.run_table import HEAD, run_lines


def figures(seed, **changes):
    return {"seed": seed, "emitted": 96, "rounds": 40, "acceptance_length": 2.4, "alpha": 0.625, "accepted": 56,
            "drafted": 160, "draft_acceptance_rate": 0.35, "tokens_per_second": 412.4, "speedup_measured": None,
            "stop_reason": "budget", **changes}  # fmt: skip


def test_four_prompts_and_three_seeds_are_twelve_lines_that_line_up():
    prompts = ["To be", "KING HENRY.\nWhat say you, my lord?\n\n", "x" * 99, "é"]
    table = run_lines({"runs": [figures(i % 3) for i in range(12)]}, prompts)
    head, *lines = table[1:14]
    assert head.split() == list(HEAD)
    shown = [line[:32].rstrip() for line in lines[::3]]
    assert shown == ["To be", "KING HENRY. What say you, my...", "x" * 29 + "...", "é"]
    assert len({line.index("budget") for line in lines}) == 1
    assert "-" in lines[0].split()
    assert "56/160" in lines[0]


def test_a_single_run_needs_no_table():
    assert run_lines({"seed": 0}, ["To be"]) == []
