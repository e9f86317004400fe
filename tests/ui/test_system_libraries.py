"""Where Qt would abort for want of a system library, a sentence says which package has it."""

import ctypes

import pytest

import main
from simulator.errors import UserError
from ui import system_libraries


@pytest.fixture
def lacking(monkeypatch):
    """Make a Linux without these libraries, on X or under a compositor of Wayland."""

    def lacking(*files: str, platform: str = "", wayland: str = ""):
        def load(file: str) -> None:
            if file in files:
                raise OSError(file)

        monkeypatch.setattr("sys.platform", "linux")
        monkeypatch.setattr(ctypes, "CDLL", load)
        for name, value in (("QT_QPA_PLATFORM", platform), ("WAYLAND_DISPLAY", wayland)):
            monkeypatch.setenv(name, value)

    return lacking


def test_what_is_missing_is_named_with_the_line_that_installs_it(lacking):
    """Qt said 'could not load the platform plugin' and aborted."""
    lacking("libxcb-cursor.so.0", "libEGL.so.1")
    with pytest.raises(UserError, match=r"lacks libegl1, libxcb-cursor0.*sudo apt install libegl1 libxcb-cursor0$"):
        system_libraries.check()


@pytest.mark.parametrize(("platform", "wayland"), [("offscreen", ""), ("", "wayland-0"), ("wayland", "wayland-0")])
def test_libraries_of_x_are_asked_for_only_on_x(lacking, platform, wayland):
    lacking(*system_libraries.FOR_X, platform=platform, wayland=wayland)
    system_libraries.check()
    lacking(*system_libraries.FOR_X, platform="xcb", wayland=wayland)
    with pytest.raises(UserError):
        system_libraries.check()


def test_pictures_ask_for_no_library_of_x_unless_somebody_wants_them_there(lacking):
    lacking(*system_libraries.FOR_X)
    system_libraries.check("offscreen")
    lacking(*system_libraries.FOR_X, platform="xcb")
    with pytest.raises(UserError):
        system_libraries.check("offscreen")


@pytest.mark.parametrize("command", [["shot", "--page", "stage", "--out", "x.png"], ["bench", "--ui"]])
def test_commands_that_draw_offscreen_say_so_to_the_check(monkeypatch, command):
    asked = []
    monkeypatch.setattr(system_libraries, "check", lambda platform="": asked.append(platform))
    monkeypatch.setattr("ui.gallery.shot", lambda *arguments: 0)
    monkeypatch.setattr("ui.bench.ui_bench", lambda *arguments: 0)
    assert main.main(command) == 0
    assert asked == ["offscreen"]


def test_other_systems_bring_their_own(lacking, monkeypatch):
    lacking(*system_libraries.ALWAYS)
    monkeypatch.setattr("sys.platform", "darwin")
    system_libraries.check()
