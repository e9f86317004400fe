"""Says which libraries of the system Qt lacks, before Qt ends the process for want of them. Imports nothing of Qt."""

from __future__ import annotations

import ctypes
import os
import sys

from simulator.errors import UserError

ALWAYS = {  # a library's file: the package of Debian and Ubuntu that has it
    "libEGL.so.1": "libegl1", "libGL.so.1": "libgl1", "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3", "libfontconfig.so.1": "libfontconfig1",
}  # fmt: skip
FOR_X = {
    "libxcb-cursor.so.0": "libxcb-cursor0", "libxcb-icccm.so.4": "libxcb-icccm4", "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1", "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0", "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}  # fmt: skip


def check(platform: str = "") -> None:
    """Raise `UserError` with the packages to install where a library that Qt loads is missing; on Linux only.

    `platform` is Qt's name of what is drawn on where nobody asked for another, "" for the screen.
    """
    if sys.platform != "linux":
        return
    on_x = _on_x(os.environ.get("QT_QPA_PLATFORM") or platform)
    missing = [package for file, package in {**ALWAYS, **(FOR_X if on_x else {})}.items() if not _there(file)]
    if missing:
        raise UserError(
            f"Qt cannot open a window: this system lacks {', '.join(missing)}. Install what is missing and start "
            f"again, on Debian and Ubuntu with: sudo apt install {' '.join(missing)}"
        )


def _on_x(platform: str) -> bool:
    """Return whether Qt will talk to an X server."""
    return platform.split(":")[0] == "xcb" or not (platform or os.environ.get("WAYLAND_DISPLAY"))


def _there(file: str) -> bool:
    try:
        ctypes.CDLL(file)
    except OSError:
        return False
    return True
