"""Acceptance from a CSV: our own says what the traces say; a foreign one is read or refused in one sentence."""

import pytest

from simulator.acceptance.correlation import control
from simulator.acceptance.from_runs import of_runs
from simulator.acceptance.jobs import read_files
from simulator.acceptance.rounds_csv import read_csv
from simulator.errors import UserError
from simulator.export import write_csv
from simulator.records import Run, RunConfig, StopReason
from simulator.trace.file import save_trace
from tests.simulator.test_metrics import a_round
from tests.ui.stub import stub_pair

OVERLAPS = [0.9, 0.5, 0.25]


def a_run(counts, k=3):
    """Return a run whose rounds accepted so many of k tokens."""
    rounds = tuple(a_round(k, n, overlaps=OVERLAPS[:k], index=i) for i, n in enumerate(counts))
    return Run(RunConfig(k=k), (1, 2), rounds, 1.0, StopReason.BUDGET)


@pytest.fixture
def written(tmp_path):
    """A run as a CSV and as a trace."""
    run, paths = a_run([3, 1, 0, 2]), (tmp_path / "a.csv", tmp_path / "a.trace")
    write_csv(paths[0], [run], stub_pair().texts, {})
    save_trace(paths[1], [run], {})
    return run, paths


def test_our_csv_says_what_the_traces_say(written):
    run, (path, _) = written
    read, traced = read_csv(path), of_runs("a.csv", [run])
    assert {**read.figures, "cancelled": 0} == pytest.approx(traced.figures)
    for name in ("steps", "histogram", "full", "rules"):
        assert getattr(read, name) == getattr(traced, name), name
    assert read.agreement.z == pytest.approx(traced.agreement.z)
    assert list(read.single) == pytest.approx(OVERLAPS)
    assert list(traced.single) == pytest.approx(OVERLAPS)
    assert read.alphas == pytest.approx(traced.alphas)


def test_the_reference_trace_by_every_definition(written):
    a = read_csv(written[1][0])
    assert a.figures["draft_acceptance_rate"] == 0.5
    assert a.figures["tau_counters"] == a.figures["acceptance_length"] == 2.5
    assert a.figures["tested_acceptance_rate"] == pytest.approx(6 / 9)
    assert [s.unconditional for s in a.steps] == [0.75, 0.5, 0.25]
    assert [s.conditional for s in a.steps] == pytest.approx([0.75, 2 / 3, 0.5])


def test_several_files_are_pooled_by_their_counts(written):
    paths = written[1]
    for both in ([paths[0], paths[1]], [paths[1], paths[1]]):
        whole = read_files(both)
        assert whole.figures["rounds"] == 8
        assert whole.figures["alpha"] == pytest.approx(read_csv(paths[0]).figures["alpha"])
        assert whole.full == {3: (2, 2, 2, 2)}


def test_k_that_differs_between_rounds_is_said(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("drafted;accepted\n3;3\n2;0\n3;1\n", "utf-8")
    a = read_csv(path)
    assert a.figures["draft_acceptance_rate"] == 0.5
    assert a.full == {3: (0, 1, 0, 1)}
    assert any("different numbers of tokens (2, 3" in note for note in a.notes)
    assert control(a.full) is None


def test_rounds_that_drafted_nothing_give_no_rate(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("\ufeffdrafted,accepted,emitted\r\n0,0,1\r\n0,0,1\r\n", "utf-8")
    a = read_csv(path)
    assert (a.figures["rounds"], a.figures["undrafted"], a.figures["emitted"]) == (2, 2, 2)
    assert a.figures["tau_counters"] is None
    assert a.steps == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,loss\n1,2\n", "neither SpecScope's columns"),
        ("", "neither SpecScope's columns"),
        ("drafted,accepted\n", "holds no rounds"),
        ("drafted,accepted\n3,4\n", "line 2: 4 accepted of 3 drafted tokens would be a rate above 1"),
        ("drafted,accepted\n3,nan\n", "line 2: accepted is nan, which is no number"),
        ("drafted,accepted\n3,-1\n", "line 2: accepted is -1"),
        ("drafted,accepted\n3\n", "line 2: 1 cells where the header has 2"),
        ("run,round,position,kind,verdict,overlap\n0,0,1,draft,kept,.5\n", "the verdict 'kept'"),
        (
            "run,round,position,kind,verdict,overlap\n0,0,1,draft,accepted,1.5\n",
            "overlap is 1.5, but it must lie in 0..1",
        ),
        ("run,round,position,kind,verdict,overlap\n0,0,1,draft,accepted,nan\n", "overlap is nan"),
        ("run;round;position;kind;verdict;overlap\n0;0;1;draft;accepted;0,5\n", "overlap is 0,5"),
        ("run,round,position,kind,verdict,overlap\n0,0,x,draft,accepted,.5\n", "position is x"),
        ("drafted;accepted\n3,0;2,0\n", "accepted is 2,0: write it without a comma"),
        ("drafted,accepted\ninf,3\n", "drafted is inf"),
        ("drafted,accepted\n1e20,3\n", "more than can have been counted"),
        ("drafted,accepted\n3,66%\n", "accepted is 66%, which is no number"),
        ("drafted,accepted\n3,2\ndrafted,accepted\n3,1\n", "line 3: accepted is accepted"),
        ("drafted,accepted,emitted\n3,2,9\n", "cannot have emitted 9"),
        ("drafted,accepted,text\n3,2," + "x" * 200_000 + "\n", "no readable CSV"),
        ("x" * 1_000_000, "neither SpecScope's columns"),
    ],
)
def test_other_tables_are_refused_with_file_and_line(tmp_path, text, sentence):
    path = tmp_path / "d.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(UserError) as caught:
        read_csv(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_and_missing_files_are_refused(tmp_path):
    (tmp_path / "e.csv").write_bytes(b"drafted,accepted\n\xff\xfe\n")
    with pytest.raises(UserError, match="not UTF-8"):
        read_csv(tmp_path / "e.csv")
    with pytest.raises(UserError, match="cannot be read"):
        read_csv(tmp_path / "missing.csv")
