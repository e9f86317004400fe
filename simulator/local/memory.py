"""How much memory a model needs, how much a device has free, and whether an error means that there was too little.

Knows sizes and what the system says of itself. Loads nothing; asks torch only about devices other than the CPU.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.errors import UserError

if TYPE_CHECKING:
    from simulator.catalog import Entry

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}  # of one weight
ROOM = 1.1  # what reading, joined weights, cache and mask take beside the weights
FIRST_ROOM = 30_000_000  # likewise, in bytes, however small the model is
SIGNS = ("out of memory", "allocate memory", "not enough memory", "bad alloc", "bad_alloc", "unable to mmap")


def needed_bytes(entry: Entry, dtype: str) -> int | None:
    """Return about how many bytes the model takes once loaded; None where its weights could not be counted.

    Its parameters in that dtype (auto counts as float32), a tenth more and 30 MB. A text of many thousand tokens needs
    more, for its keys and values.
    """
    if entry.parameters is None:
        return None
    return int(entry.parameters * BYTES.get(dtype, 4) * ROOM) + FIRST_ROOM


def free_bytes(device: str) -> int | None:
    """Return the bytes that a model on the device may still take, None where nobody can say."""
    if device.startswith("cpu"):
        return _free_ram()
    try:
        import torch

        if device == "auto":
            from simulator.local.devices import choose_device

            return free_bytes(choose_device("auto"))
        if device.startswith("cuda"):
            return int(torch.cuda.mem_get_info(device)[0])
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    except Exception:  # no such device here, or a driver that does not tell
        return None


def check_room(models: Sequence[tuple[Entry, str, str]]) -> None:
    """Raise `UserError` with both sizes where models (entry, device, dtype) need more than a device has free."""
    for device in dict.fromkeys(device for _, device, _ in models):
        here = [(entry, dtype) for entry, where, dtype in models if where == device]
        needed, free = sum(needed_bytes(entry, dtype) or 0 for entry, dtype in here), free_bytes(device)
        if free is not None and needed > free:
            wide = any(dtype in ("float32", "auto") for _, dtype in here)
            raise UserError(
                f"{' and '.join(f'{e.name} in {dtype}' for e, dtype in here)} need about {gigabytes(needed)}, but "
                f"{gigabytes(free)} are free on {device}: choose {'bfloat16 or ' if wide else ''}a smaller model."
            )


def gigabytes(n: int) -> str:
    """Return a size in words: 1.23 GB, or 45 MB below a tenth of one."""
    return f"{n / 1e9:.2f} GB" if n >= 1e8 else f"{n / 1e6:.0f} MB"


def ran_out(error: BaseException) -> bool:
    """Return whether an error, or one that led to it, says that memory ran out: each library has words of its own."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or any(sign in str(seen).lower() for sign in SIGNS):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def release() -> None:
    """Give back what a load that failed or was stopped has left: cycles first, then what torch keeps of a GPU."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _free_ram() -> int | None:
    """Return the memory that processes can still take; a limit set on this one's group counts too."""
    if sys.platform == "win32":
        return _free_on_windows()
    found = [n for n in (_available(), _group_room()) if n is not None]
    return min(found, default=None)


def _available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # macOS does not tell
        return None


def _group_room() -> int | None:
    """Return what a container's limit leaves, None where there is no limit. Cached files give way and do not count."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text("ascii"))
        used = int((group / "memory.current").read_text("ascii"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text("ascii").splitlines())
        return max(0, limit - used + int(stat.get("inactive_file", 0)))
    except (OSError, ValueError):  # no such group, or "max"
        return None


def _free_on_windows() -> int | None:
    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong), ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", "page", "page_free", "virtual", "virtual_free",
                                                       "extended")),
        )  # fmt: skip

    status = Status(length=ctypes.sizeof(Status))
    kernel = getattr(ctypes, "windll", None)
    if kernel is None or not kernel.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.free)
