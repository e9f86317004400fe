"""Who made this computer's processor."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")  # on Linux, where Python's own word is the architecture alone


@cache
def made_by_intel() -> bool:
    """Return whether the processor says that Intel made it."""
    try:
        head = CPUINFO.read_text("utf-8", "replace")[:4096]
    except OSError:
        head = platform.processor()
    return "GenuineIntel" in head or head.startswith("Intel")
