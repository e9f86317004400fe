"""What the Acceptance page asks the inference thread: pressed in the window, cancelled half-way, and gone wrong."""

import numpy as np
import pytest

from simulator.acceptance.jobs import POSITIONS
from simulator.errors import UserError
from simulator.sampling import probabilities
from tests.ui.stub import Table, stub_pair
from ui.pages.acceptance import AcceptancePage
from ui.states import State


class Failing(Table):
    """A target whose passes fail from a moment on."""

    fails = False

    def extend(self, tokens, keep=None):
        if self.fails:
            raise UserError("The device is lost: load the pair again.")
        return super().extend(tokens, keep)


@pytest.fixture
def target():
    return Failing(1)


@pytest.fixture
def session(new_session, target):
    return new_session(stub_pair(target), max_new_tokens=40, k=3, seed=5)


@pytest.fixture
def page(shown_page, session):
    return shown_page(AcceptancePage(session))


@pytest.fixture
def small(monkeypatch):
    """A control run that is over in a moment."""
    for name, value in (("PROMPTS", 1), ("SEEDS", 1), ("TOKENS", 16)):
        monkeypatch.setattr(f"simulator.acceptance.jobs.CONTROL_{name}", value)


def press(page, panel, button, until):
    page.tabs.setCurrentWidget(panel)
    until(button.isEnabled)
    button.click()


def finished_run(session, until):
    session.set_speed(0)
    session.play(True)
    until(lambda: session.state is State.FINISHED)


def test_a_control_run_is_pressed_and_shown(new_window, small, until):
    window = new_window(stub_pair(), k=3)
    window.show_page("Acceptance")
    page, session = next(view for view in window.views if view.title == "Acceptance"), window.session
    press(page, page.beyond, page.beyond.run, until)
    assert session.state is State.MEASURING
    until(lambda: session.state is not State.MEASURING)
    made = page.beyond.control.control
    assert [p.k for p in made.points] == list(range(1, 9))
    assert "From k = 4, the i.i.d. formula" in page.beyond.said.text()
    page.beyond.control.redraw_now()
    assert "measured" in page.beyond.control.read_out(4.0, 2.0)
    until(page.beyond.run.isEnabled)


def test_full_rows_are_read_on_pressing_and_add_up(page, session, until):
    assert not page.addup.read.isEnabled()
    finished_run(session, until)
    press(page, page.addup, page.addup.read, until)
    until(lambda: page.addup.truncation is not None)
    run, pair = session.run, session.pair
    text = [*run.prompt, *run.tokens]
    first = max(len(run.prompt), len(text) - POSITIONS)
    rows = []
    for model in (pair.target.model, pair.draft.model):
        model.reset()
        rows.append(probabilities(model.extend(text[:-1]), run.config.sampling, model.name)[first - 1 :])
    alpha = np.minimum(*rows).sum(axis=1).mean()
    assert page.addup.truncation.acceptance[-1] == pytest.approx(alpha, abs=1e-6)
    assert "The two numbers add up" in page.addup.said.text()


@pytest.mark.parametrize("job", ["control", "rows"])
def test_either_is_cancelled_half_way_and_leaves_what_was_shown(page, session, until, job, monkeypatch):
    monkeypatch.setattr("simulator.acceptance.jobs.ROWS", 1)  # many passes
    finished_run(session, until)
    told = []
    session.progress_changed.connect(told.append)
    panel = page.beyond if job == "control" else page.addup
    press(page, panel, page.beyond.run if job == "control" else page.addup.read, until)
    until(lambda: any(p is not None for p in told))
    session.cancel()
    assert session.state is State.FINISHED
    assert page.beyond.control.control is None
    assert page.addup.truncation is None
    session.runner.take()
    until(lambda: page.beyond.run.isEnabled() or page.addup.read.isEnabled())


@pytest.mark.parametrize("job", ["control", "rows"])
def test_an_error_is_a_sentence_and_the_run_stays(page, session, target, until, job):
    finished_run(session, until)
    told = []
    session.problem.connect(lambda sentence, _: told.append(sentence))
    target.fails = True
    panel = page.beyond if job == "control" else page.addup
    press(page, panel, page.beyond.run if job == "control" else page.addup.read, until)
    until(lambda: told)
    assert told == ["The device is lost: load the pair again."]
    assert session.state is State.FINISHED
    assert len(session.rounds) > 5
    assert page.addup.truncation is None
