"""Files are written whole or not at all; a refusal is a sentence. Tried on the pair that an export writes."""

from __future__ import annotations

import csv
import errno
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import files
from simulator.errors import UserError
from simulator.export import ExportError, check_writable, write_csv
from simulator.files import check_file, plain, write_together
from simulator.records import Run
from simulator.text.token_text import TokenTexts
from tests.simulator.text_samples import bonus_round, byte_level, plain_round, plain_run, rejected_round, run_of

LEVEL = TokenTexts(byte_level(), 300)
THREE = run_of(rejected_round(0, 3, (65, 66, 67), 68), bonus_round(1, 5, (69, 70), 71), plain_round(2, 8, 72))


def export(folder: Path, run: Run, **meta: Any) -> None:
    write_csv(folder / "x.csv", [run], LEVEL, meta)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# --- whole or not at all


def test_only_the_two_files_are_left(tmp_path: Path) -> None:
    export(tmp_path, THREE)
    export(tmp_path, THREE)
    assert names(tmp_path) == ["x.csv", "x.meta.json"]


def test_a_failure_in_a_row_leaves_nothing(tmp_path: Path) -> None:
    broken = replace(THREE, rounds=(*THREE.rounds, replace(THREE.rounds[0], draft_ms="soon")))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="soon"):
        export(tmp_path, broken)
    assert names(tmp_path) == []


def test_a_failure_in_a_row_leaves_the_older_pair(tmp_path: Path) -> None:
    export(tmp_path, THREE, note="old")
    before = [(tmp_path / n).read_bytes() for n in names(tmp_path)]
    broken = replace(THREE, rounds=(replace(THREE.rounds[0], draft_ms="soon"),))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="soon"):
        export(tmp_path, broken, note="new")
    assert [(tmp_path / n).read_bytes() for n in names(tmp_path)] == before


@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize("existing", [False, True])
def test_the_pair_is_never_half_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, existing: bool
) -> None:
    if existing:
        export(tmp_path, THREE, note="old")
    before = {n: (tmp_path / n).read_bytes() for n in names(tmp_path)}
    real, calls = os.replace, []

    def replace_or_fail(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", replace_or_fail)
        with pytest.raises(ExportError, match="the disk is full"):
            export(tmp_path, plain_run(65), note="new")
    assert {n: (tmp_path / n).read_bytes() for n in names(tmp_path)} == before


@pytest.mark.parametrize("stage", ["fsync", "write"])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(*((files.os, "fsync", full) if stage == "fsync" else (csv.DictWriter, "writerows", full)))
        with pytest.raises(ExportError) as caught:
            export(tmp_path, THREE)
    path = tmp_path / "x.csv"
    assert str(caught.value) == f"{path} cannot be written: the disk is full. Free some space or choose another place."
    assert names(tmp_path) == []


def test_a_stop_in_mid_write_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(file: Any) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_together({tmp_path / "a": lambda file: None, tmp_path / "b": interrupted})
    assert names(tmp_path) == []


def test_errors_are_for_the_user_and_for_handlers_of_system_errors() -> None:
    assert issubclass(ExportError, OSError)
    assert issubclass(ExportError, UserError)


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
def test_a_link_stays_a_link_and_a_private_file_private(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "y.csv").write_text("old")
    (tmp_path / "real" / "y.csv").chmod(0o600)
    (tmp_path / "x.csv").symlink_to(tmp_path / "real" / "y.csv")
    export(tmp_path, THREE)
    assert (tmp_path / "x.csv").is_symlink()
    assert (tmp_path / "real" / "y.csv").read_bytes().startswith(b"run,")
    assert stat.S_IMODE((tmp_path / "real" / "y.csv").stat().st_mode) == 0o600
    assert names(tmp_path) == ["real", "x.csv", "x.meta.json"]
    assert names(tmp_path / "real") == ["y.csv"]


# --- asked before a run


def refused(path: Path) -> str:
    with pytest.raises(ExportError) as caught:
        check_writable(path)
    with pytest.raises(ExportError):
        write_csv(path, [THREE], LEVEL, {})
    assert str(caught.value).startswith(f"{path} cannot be written") or "meta.json" in str(caught.value)
    return str(caught.value)


def test_a_missing_folder_is_refused_by_name(tmp_path: Path) -> None:
    assert "its folder does not exist. Create" in refused(tmp_path / "no" / "x.csv")
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    assert "its folder is a file" in refused(tmp_path / "file" / "x.csv")
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("name", ["x.csv", "x.meta.json"])
def test_a_folder_of_that_name_is_refused_for_either_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert "there is a folder of that name" in refused(tmp_path / "x.csv")
    assert names(tmp_path) == [name]


def test_a_name_that_is_too_long_or_none_is_refused(tmp_path: Path) -> None:
    assert "the name is too long" in refused(tmp_path / ("x" * 300 + ".csv"))
    with pytest.raises(ExportError, match="no file name"):
        check_file(tmp_path / "a\0b")
    with pytest.raises(ExportError, match="folder of that name"):
        check_writable("")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX pipes")
def test_a_pipe_or_device_is_refused_and_not_replaced(tmp_path: Path) -> None:
    """Renaming a finished file over /dev/null would destroy it for every program; a pipe stands in for it here."""
    os.mkfifo(tmp_path / "x.csv")
    assert "it is a device" in refused(tmp_path / "x.csv")
    assert stat.S_ISFIFO((tmp_path / "x.csv").stat().st_mode)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_a_refusal_of_the_system_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "open", refuse)
        with pytest.raises(ExportError) as caught:
            check_writable(tmp_path / "x.csv")
    assert str(caught.value).count(". ") == 1
    assert str(tmp_path / "x.csv") in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_or_file_without_permission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("kept")
    (tmp_path / "x.csv").chmod(0o400)
    assert "access is denied" in refused(tmp_path / "x.csv")
    tmp_path.chmod(0o500)
    try:
        assert "access is denied" in refused(tmp_path / "y.csv")
    finally:
        tmp_path.chmod(0o700)


def test_asking_leaves_no_trace(tmp_path: Path) -> None:
    check_writable(tmp_path / "x.csv")
    assert names(tmp_path) == []
    (tmp_path / "x.csv").write_text("kept")
    check_writable(str(tmp_path / "x.csv"))
    assert names(tmp_path) == ["x.csv"]
    assert (tmp_path / "x.csv").read_text() == "kept"


def test_plain_takes_arrays_apart() -> None:
    assert plain({1: np.array([1.5, np.inf]), "t": (True, np.int64(3))}) == {"1": [1.5, None], "t": [True, 3]}
