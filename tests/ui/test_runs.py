"""The Runs page: each finished run once, grids that pause and go on, figures that follow, two texts side by side."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt

from simulator.grids.brief import brief_of
from simulator.grids.file import open_grid
from simulator.grids.grid import Grid
from simulator.measure import run_once
from simulator.records import RunConfig, Sampling
from simulator.text.prompts import Prompt
from tests.simulator.grids.canned import GRID, briefs, finish, hashed_pair
from tests.ui.stub import stub_pair
from ui import theme
from ui.pages.runs import RunsPage
from ui.runs_model import COLUMNS, RunsModel
from ui.runs_values import opening
from ui.runs_words import compared, first_difference, headline
from ui.states import State
from ui.widgets.grid_dialog import GridDialog
from ui.widgets.run_text import END, RunText


@pytest.fixture(autouse=True, scope="module")
def everything_imported():
    """Let the first run import torch and transformers here, not on the clock of a test that waits for it."""
    briefs(Grid((Prompt("a"),), (0,), (0, 1), max_new_tokens=2))


@pytest.fixture
def new_page(qtbot, new_session):
    pages = []

    def make(pair=hashed_pair, **kwargs):
        page = RunsPage(new_session(pair, **kwargs))
        qtbot.addWidget(page)
        page.resize(1150, 600)
        page.show()
        pages.append(page)
        return page

    yield make
    for page in pages:
        assert page.shutdown()


def settled(page):
    return not page._waiting and not page._refresh_timer.isActive()


def column(page, name):
    index = COLUMNS.index(name)
    return [page.model.index(i, index).data() for i in range(page.model.rowCount())]


def test_a_grid_runs_in_the_background_and_every_run_is_in_the_table_once(new_page, until, tmp_path):
    page = new_page()
    assert page._head.text().startswith("No finished run yet")
    page.desk.start(GRID, tmp_path / "grid.jsonl")
    assert page._session.state is State.MEASURING
    assert page.bar.go_button.text() == "Pause"
    until(lambda: not page.desk.running and settled(page))
    assert [run.setting for run in page.desk.runs] == GRID.settings()
    assert tuple(page.desk.runs) == open_grid(tmp_path / "grid.jsonl").runs
    assert column(page, "row") == ["plain", "k = 1", "k = 2", "k = 4"]
    assert column(page, "runs") == ["4"] * 4
    assert "plain decoding in the median run" in page._head.text()
    assert not page.bar.go_button.isVisible()
    assert page._session.state is State.READY


def test_pausing_frees_the_stage_and_resuming_makes_only_the_rest(new_page, until, tmp_path):
    page, path = new_page(), tmp_path / "grid.jsonl"
    page.desk.start(GRID, path)
    until(lambda: len(page.desk.runs) >= 3)
    page.bar.go_button.click()
    assert page._session.state is State.READY
    assert page.bar.go_button.text() == "Resume"
    kept = open_grid(path).runs
    assert 3 <= len(kept) < len(GRID.settings())
    page._session.next_round()
    until(lambda: page._session.rounds)  # the Stage has the inference thread to itself
    page.bar.go_button.click()
    until(lambda: not page.desk.running and settled(page))
    whole = open_grid(path).runs
    assert whole[: len(kept)] == kept
    assert [run.setting for run in whole] == GRID.settings()
    assert sorted(r.setting for r in page.desk.runs) == sorted(GRID.settings())


def test_a_run_that_ends_on_the_stage_is_in_the_table_and_a_stopped_one_is_not(new_page, until):
    page = new_page(max_new_tokens=8)
    s = page._session
    s.set_speed(0)
    s.next_round()
    until(lambda: s.rounds)
    s.stop()
    assert page.desk.runs == []
    assert not page.bar.export_button.isEnabled()
    s.reset()
    s.play(True)
    until(lambda: s.state is State.FINISHED and settled(page))
    assert [r.tokens for r in page.desk.runs] == [s.run.tokens]
    assert page.bar.export_button.isEnabled(), "it stayed grey until something else changed"
    assert column(page, "speedup") == ["–"], "no plain run was made beside it"


def test_a_file_opens_without_a_pair_and_another_s_grid_is_not_run(new_page, until, tmp_path):
    finish(tmp_path / "grid.jsonl")
    page = new_page(pair=None)
    page.desk.open(tmp_path / "grid.jsonl")
    until(lambda: page.desk.runs and settled(page))
    page.desk.open(tmp_path / "grid.jsonl")
    until(lambda: settled(page) and not page.desk._files.busy)
    assert len(page.desk.runs) == len(GRID.settings())
    assert not page.bar.new_button.isEnabled()
    problems = []
    page._session.problem.connect(lambda sentence, details: problems.append(sentence))
    page.desk.open(tmp_path / "none.jsonl")
    until(lambda: problems)
    assert "none.jsonl cannot be read" in problems[0]


def test_the_table_is_written_as_csv(new_page, until, tmp_path):
    page = new_page(pair=None)
    page.desk._add(briefs())
    until(lambda: settled(page))
    page.desk.export(tmp_path / "runs.csv", "seed")
    until(lambda: (tmp_path / "runs.meta.json").exists() and not page.desk._files.busy)
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        assert [row["seed"] for row in csv.DictReader(file)][:8] == ["0"] * 4 + ["1"] * 4


# The table


def test_rows_sort_by_any_column_and_what_has_no_value_comes_last(new_page, until):
    page = new_page(pair=None)
    page.desk._add(briefs(replace(GRID, ks=(0, 1, 2, 4))))
    until(lambda: settled(page))
    page.table.expand(page.model.index(1, 0))
    opened = page.model.index(1, 0).data()
    page.table.sortByColumn(COLUMNS.index("formula"), Qt.SortOrder.DescendingOrder)
    assert column(page, "formula")[-1] == "–"
    values = [float(v) for v in column(page, "formula")[:-1]]
    assert values == sorted(values, reverse=True)
    rows = {page.model.index(i, 0).data(): page.table.isExpanded(page.model.index(i, 0)) for i in range(4)}
    assert [name for name, is_open in rows.items() if is_open] == [opened], "an open row stays open where it goes"


def test_the_model_keeps_qt_s_rules(qtmodeltester):
    model = RunsModel()
    model.add(briefs())
    model.refresh()
    qtmodeltester.check(model)
    assert model.rowCount(model.index(0, 1)) == 0
    assert model.parent(QModelIndex()) == QModelIndex()


def test_settings_that_all_rows_share_are_told_once(new_page, until):
    page = new_page(pair=None)
    page.desk._add(briefs(replace(GRID, temperatures=(0.5, 1.0), ks=(1,))))
    until(lambda: settled(page))
    hidden = {name for i, name in enumerate(COLUMNS) if page.table.isColumnHidden(i)}
    assert hidden == {"models", "source", "rule", "stop"}
    assert "ratio + residual" in page._shared.text()
    assert "T =" not in page._shared.text()
    assert "T = " in headline(page.model), "the head line says which of the rows it means"


# Two runs


def decoded(k, seed=0, temperature=1.0, rule="exact", prompt="to be"):
    pair, sampling = stub_pair(), Sampling(temperature)
    config = RunConfig(k, sampling, rule, seed=seed, max_new_tokens=30)
    run = run_once(pair.target.model, pair.source("model", sampling) if k else None, pair.encode(prompt), config)
    return brief_of(run, "m", Prompt(prompt), 0, pair.texts)


def test_greedy_texts_of_any_k_are_identical_and_said_to_have_to_be():
    statement = compared(decoded(1, temperature=0.0), decoded(4, seed=5, temperature=0.0))
    assert (statement.sign, statement.colour) == ("✓", "both")
    assert "T = 0" in statement.text


def test_greedy_texts_that_differ_are_an_alarm():
    a, b = decoded(1, temperature=0.0), decoded(4, temperature=0.0)
    b = replace(b, tokens=(*b.tokens[:7], 65, *b.tokens[8:]), labels=(*b.labels[:7], "A", *b.labels[8:]))
    statement = compared(a, b)
    assert statement.sign == "✗"
    assert "First difference at token 8" in statement.text
    assert "'A' on the right" in statement.text


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"k": 2}, "same seed does not mean the same text"), ({"seed": 1}, "seeds differ"),
        ({"temperature": 0.5}, "laws do"), ({"rule": "always"}, "not lossless"),
        ({"prompt": "be to"}, "Different prompts"),
    ],
)  # fmt: skip
def test_sampled_texts_are_only_compared_where_that_means_something(changes, part):
    a, b = decoded(3), decoded(**{"k": 3, **changes})
    statement = compared(a, b)
    assert part in statement.text
    assert statement.sign != "✗"


def test_the_first_difference_counts_a_text_that_ends_sooner():
    assert first_difference((1, 2, 3), (1, 2, 3)) is None
    assert first_difference((1, 2, 3), (1, 5, 3)) == 1
    assert first_difference((1, 2), (1, 2, 3)) == 2
    assert first_difference((), ()) is None


def test_two_chosen_runs_lie_side_by_side_with_the_difference_in_view(new_page, until):
    page = new_page(pair=None)
    runs = briefs()
    page.desk._add(runs)
    until(lambda: settled(page))
    pair = [r for r in runs if r.setting.k in (1, 4) and (r.setting.prompt, r.setting.seed) == (0, 0)]
    page.choose(*pair)
    assert "First difference" in page.compare._head.text()
    assert all(side.text.marked_box() is not None for side in page.compare._sides)
    page.choose(*pair, runs[5])
    assert len(page.table.selectionModel().selectedRows()) == 2


def test_a_text_that_ends_sooner_is_marked_at_its_end(qtbot):
    text = RunText()
    qtbot.addWidget(text)
    text.resize(300, 80)
    text.show()
    text.set_run(["a", "b\n", "c"] * 40, ["accepted", "bonus", "plain"] * 40, 120)
    assert [token.text for _, token in text._visible()][-1] == END
    assert text.marked_box() is not None


# The form


@pytest.fixture
def form(qtbot, tmp_path):
    prompts = [Prompt("to be"), Prompt("or not")]
    made = GridDialog(prompts, RunConfig(), True, {0: 100.0, 4: 200.0}, tmp_path / "grid.jsonl")
    qtbot.addWidget(made)
    made.show()
    return made


def test_the_form_says_how_much_work_it_is_before_it_starts(form):
    assert form.grid == Grid((Prompt("to be"),), (0, 1, 2), (0, 1, 2, 3, 4, 5, 6, 7, 8))
    assert form._sum.text().startswith("27 runs of up to 96 tokens, about 17 s")
    form.ks.setText("2")
    form.plain.setChecked(False)
    form.tokens.setValue(10)
    assert form._sum.text().startswith("3 runs of up to 10 tokens")


@pytest.mark.parametrize(
    ("field", "text", "part"),
    [
        ("ks", "1-99", "is 17"), ("seeds", "", "no seed"), ("temperatures", "warm", "'warm'"),
        ("path", "", "Name the file"), ("path", "/no/such/folder/grid.jsonl", "folder does not exist"),
    ],
)  # fmt: skip
def test_a_wrong_field_says_so_and_nothing_can_start(form, field, text, part):
    getattr(form, field).setText(text)
    assert part in form._errors[field].text()
    assert form._errors[field].isVisible()
    assert not form.start.isEnabled()
    assert form.grid is None


def test_a_file_that_holds_another_grid_is_refused_at_the_field(form, tmp_path):
    finish(tmp_path / "other.jsonl")
    form.path.setText(str(tmp_path / "other.jsonl"))
    assert "another grid" in form._errors["path"].text()


def test_a_file_as_prompt(form, tmp_path):
    (tmp_path / "p.txt").write_text("whole text\n", "utf-8")
    (tmp_path / "b.txt").write_bytes(b"\xff")
    form.add_file(tmp_path / "p.txt")
    assert form.grid.prompts == (Prompt("to be"), Prompt("whole text\n"))
    form.add_file(Path(tmp_path / "b.txt"))
    assert "not UTF-8" in form._errors["prompts"].text()


def test_the_page_follows_the_theme(new_page, qapp):
    page = new_page(pair=None)
    theme.apply(qapp, "light")
    try:
        assert theme.LIGHT.muted in page.table.styleSheet()
    finally:
        theme.apply(qapp, "dark")


# The table's room, and what playing with it broke


def test_choosing_everything_leaves_two_runs_chosen(new_page, until):
    """Ctrl + A ended with nothing chosen: each row that was let go called for the rest to be let go, too."""
    page = new_page(pair=None)
    page.desk._add(briefs())
    until(lambda: settled(page))
    page.table.expandAll()
    page.table.selectAll()
    assert len(page.table.selectionModel().selectedRows()) == 2
    assert "First difference" in page.compare._head.text() or "prompts" in page.compare._head.text()


def test_no_other_grid_is_opened_while_one_runs(new_page, until, tmp_path):
    """The file was read, and then dropped without a word."""
    finish(tmp_path / "other.jsonl")
    page, told = new_page(), []
    page._session.problem.connect(lambda sentence, details: told.append(sentence))
    page.desk.start(GRID, tmp_path / "grid.jsonl")
    page._try(lambda: page.desk.open(tmp_path / "other.jsonl"))
    assert told == ["A grid is running: pause it before you open another one."]
    until(lambda: not page.desk.running and settled(page))
    assert page.desk.going.path.name == "grid.jsonl"


def test_with_all_columns_and_open_rows_nothing_is_scrolled_to_sideways(new_page, until):
    page = new_page(pair=None)
    many = replace(GRID, temperatures=(0.0, 1.0), sources=("model", "ngram"), ks=(0, 2, 4))
    page.desk._add(briefs(many))
    until(lambda: settled(page))
    page.table.expandAll()
    for width in (1150, 1790):
        page.resize(width, 600)
        until(lambda: page.table.horizontalScrollBar().maximum() == 0)  # columns are fitted a turn after the layout
        heads = [page.table._head_width(i) for i in range(len(COLUMNS)) if not page.table.isColumnHidden(i)]
        shown = [page.table.columnWidth(i) for i in range(len(COLUMNS)) if not page.table.isColumnHidden(i)]
        assert all(head <= room for head, room in zip(heads, shown, strict=True))


def test_a_run_is_named_by_what_its_row_does_not_say(new_page, until):
    """By prompt every run repeated the prompt of its row, and its seed was cut off."""
    page = new_page(pair=None)
    page.desk._add(briefs())
    until(lambda: settled(page))
    first = page.model.groups[1].runs[0].run
    seed, prompt = f"seed {first.setting.seed}", opening(first.prompt.text)
    named = {0: f"{seed} · {prompt}", 1: seed, 2: prompt}  # by nothing, prompt, seed
    for by, name in named.items():
        page.bar.by.setCurrentIndex(by)
        until(lambda: settled(page))
        assert page.model.index(0, 0, page.model.index(1, 0)).data() == name


def test_rows_that_only_the_budget_tells_apart_say_it():
    model = RunsModel()
    model.add(briefs(replace(GRID, ks=(1,))))
    assert model.index(0, 0).data() == "k = 1"
    model.add(briefs(replace(GRID, ks=(1,), max_new_tokens=GRID.max_new_tokens + 1)))
    names = {model.index(i, 0).data() for i in range(2)}
    assert names == {f"k = 1 · {n} tokens" for n in (GRID.max_new_tokens, GRID.max_new_tokens + 1)}


def test_a_text_shows_whole_lines_only(qtbot):
    text = RunText()
    qtbot.addWidget(text)
    text.resize(300, 90)
    text.show()
    text.set_run(["word\n"] * 40, ["accepted"] * 40)
    boxes = [box for box, _ in text._visible()]
    assert len(boxes) >= 2
    assert max(box.bottom() for box in boxes) <= text.viewport().height()
