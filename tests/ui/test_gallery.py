"""Pictures of the pages: the states that need no weights, and one sentence for each wrong wish."""

import os

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication

import main
from simulator.catalog import BUNDLED, DEFAULT_DRAFT, DEFAULT_TARGET, read_entry
from simulator.errors import UserError
from tests.ui.stub import loader, stub_pair
from ui import theme
from ui.gallery import STATES, shot
from ui.pair_gallery import STATES as PAIR_STATES


@pytest.fixture(autouse=True)
def the_theme_goes_back():
    font = QApplication.font()
    yield
    theme.apply(QApplication.instance(), "dark")
    QApplication.setFont(font)


@pytest.fixture
def stubbed(monkeypatch):
    monkeypatch.setattr("ui.session_busy.load_job", loader({DEFAULT_TARGET: stub_pair}))
    monkeypatch.setattr("simulator.jobs.SWEEP_TOKENS", 6)


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize("state", ["empty", "error"])
def test_states_without_weights_are_pictured_at_the_asked_size_and_theme(tmp_path, state, name):
    out = tmp_path / "x.png"
    assert shot("stage", str(out), "800x600", name, state) == 0
    image = QImage(str(out))
    assert (image.width(), image.height()) == (800, 600)
    assert image.pixelColor(2, 300) == QColor(theme.THEMES[name].window)


@pytest.mark.parametrize("state", [s for s in STATES if s not in ("empty", "error")])
def test_every_state_is_reached(tmp_path, stubbed, state):
    assert shot("stage", str(tmp_path / "x.PNG"), "1280x800", "dark", state) == 0


@pytest.mark.parametrize("state", ["rejected", "measured"])
def test_the_bundled_pair_is_pictured(tmp_path, state):
    problems = [read_entry(BUNDLED / name, name).problem for name in (DEFAULT_TARGET, DEFAULT_DRAFT)]
    if any(problems):
        pytest.skip(f"the bundled pair is not complete: {problems}")
    assert shot("stage", str(tmp_path / "x.png"), "1280x800", "dark", state) == 0


@pytest.mark.parametrize("state", PAIR_STATES)
def test_the_open_pair_dialog_is_pictured_without_a_model(tmp_path, state):
    assert shot("pair", str(tmp_path / "x.png"), "1280x800", "dark", state) == 0
    assert QImage(str(tmp_path / "x.png")).width() == 1280
    assert not [w for w in QApplication.topLevelWidgets() if w.isVisible()]


def test_a_state_that_the_dialog_does_not_have_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="'pair' has no state 'drafted'; choose one of empty, few"):
        shot("pair", str(tmp_path / "x.png"), "1280x800", "dark", "drafted")


def test_a_wrong_wish_is_one_sentence(tmp_path):
    good = {"page": "stage", "out": str(tmp_path / "x.png"), "size": "1280x800", "theme_name": "dark", "state": "empty"}
    wrong = {
        "page": ["", "attic"],
        "size": ["0x0", "1280", "1280x", "-5x9", "99999x99999", "1e3x1e3"],
        "state": ["dreaming"],
        "out": [str(tmp_path), str(tmp_path / "x.jpg"), str(tmp_path / "no" / "x.png"), "", "\0.png"],
    }
    for field, values in wrong.items():
        for value in values:
            with pytest.raises(UserError) as caught:
                shot(**{**good, field: value})
            assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_the_command_says_it_on_stderr_with_status_2(tmp_path, capsys):
    assert main.main(["shot", "--page", "attic", "--out", str(tmp_path / "x.png")]) == 2
    assert capsys.readouterr().err.startswith("specscope: There is no page 'attic'")


def test_a_load_that_fails_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "ui.session_busy.load_job", loader({DEFAULT_TARGET: lambda: UserError("The weights are damaged.")})
    )
    with pytest.raises(UserError, match=r"The weights are damaged\."):
        shot("stage", str(tmp_path / "x.png"), "1280x800", "dark", "ready")
