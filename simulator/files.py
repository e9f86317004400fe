"""Writes files whole or not at all, and says in a sentence why it could not.

Knows: temporary names, renaming, what an operating system's refusal means. Does not know: what is in the files.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from simulator.errors import UserError

Writer = Callable[[BinaryIO], None]
Progress = Callable[[float], None]  # told the share that is done; what it raises ends the writing or reading


class ExportError(UserError, OSError):
    """A file could not be written: which, why, and what to do, in one or two sentences."""


_REASONS = {
    errno.ENOENT: "its folder does not exist. Create the folder or choose another place.",
    errno.ENOTDIR: "what should be its folder is a file. Choose another place.",
    errno.EISDIR: "there is a folder of that name. Choose another name.",
    errno.EACCES: "access is denied (or another program has it open). Close it there or choose another place.",
    errno.EPERM: "access is denied (or another program has it open). Close it there or choose another place.",
    errno.EROFS: "the disk is read-only. Choose another place.",
    errno.ENOSPC: "the disk is full. Free some space or choose another place.",
    errno.EDQUOT: "your share of the disk is used up. Free some space or choose another place.",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one.",
}


def check_file(path: Path | str) -> None:
    """Raise `ExportError` where a file cannot be written at `path`; leave nothing behind.

    A device or pipe is refused too: renaming a finished file over it would destroy it.
    """
    with _explained(path):
        real = _real(path)
        _check_existing(path, real)
        spare = _spare_name(real)
        try:
            os.close(os.open(spare, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        finally:
            spare.unlink(missing_ok=True)


def write_together(writers: Mapping[Path, Writer]) -> None:
    """Write one or several files, all or none: under temporary names beside them, synced, then renamed.

    Raises `ExportError`; whatever happens, the files that were there before stay as they were.
    """
    drafts: dict[Path, Path] = {}
    try:
        for path, writer in writers.items():
            with _explained(path):
                _write(path, writer, drafts)
        _rename_all(drafts)
    finally:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays and sets as lists, paths as text, NaN and infinity as None."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted((plain(v) for v in value), key=repr)
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _check_existing(path: Path | str, real: Path) -> None:
    try:
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(mode):
        raise ExportError(f"{path} cannot be written: it is a device or a pipe, not a file. Choose another place.")
    if not os.access(real, os.W_OK):
        raise PermissionError(errno.EACCES, "is read-only")


def _write(path: Path, writer: Writer, drafts: dict[Path, Path]) -> None:
    real = _real(path)
    _check_existing(path, real)
    drafts[path] = draft = _spare_name(real)
    with open(draft, "xb") as file:
        writer(file)
        file.flush()
        os.fsync(file.fileno())
    if real.exists():
        shutil.copymode(real, draft)


def _rename_all(drafts: Mapping[Path, Path]) -> None:
    """Rename the finished drafts; on a failure put back what the renames before it had replaced."""
    backups: dict[Path, Path] = {}
    renamed: list[Path] = []
    try:
        for path in list(drafts)[:-1]:
            with _explained(path):
                _back_up(_real(path), backups)
        for path, draft in drafts.items():
            with _explained(path):
                os.replace(draft, _real(path))
            renamed.append(_real(path))
    except BaseException:
        _put_back(renamed, backups)
        raise
    finally:
        for kept in backups.values():
            with suppress(OSError):
                kept.unlink(missing_ok=True)
    _sync_folders(renamed)


def _back_up(real: Path, backups: dict[Path, Path]) -> None:
    if real.exists():
        backups[real] = _spare_name(real)
        shutil.copy2(real, backups[real])


def _put_back(renamed: Iterable[Path], backups: Mapping[Path, Path]) -> None:
    for real in renamed:
        with suppress(OSError):
            if real in backups:
                os.replace(backups[real], real)
            else:
                real.unlink()


def _sync_folders(paths: Iterable[Path]) -> None:
    """Make the new names last through a power cut, where the system can."""
    for folder in {path.parent for path in paths}:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _real(path: Path | str) -> Path:
    """Return the file behind a symbolic link, so that writing replaces the file and keeps the link."""
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise ExportError(f"{str(path)!r} cannot be written: it is no file name. Choose another one.") from error


def _spare_name(real: Path) -> Path:
    return real.parent / f".specscope-{secrets.token_hex(6)}.part"


@contextmanager
def _explained(path: Path | str) -> Iterator[None]:
    """Turn the system's refusals into sentences about `path`."""
    try:
        yield
    except ExportError:
        raise
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"{error.strerror or error}. Choose another place.")
        raise ExportError(f"{path} cannot be written: {reason}") from error
