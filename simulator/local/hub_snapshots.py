"""The hub cache's snapshots: one a model, the newest complete one where there is one.

Knows what huggingface_hub's own scanner says of the cache, and what a broken-off download leaves. Asks no network.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simulator.local.model_files import gguf_files
from simulator.local.obstacles import folder_problem

PREFIX = "models--"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A model of the hub cache; `problem` is a sentence where none of its snapshots is complete."""

    name: str
    path: Path
    problem: str | None


def hub_cache() -> Path:
    """Return the hub cache folder that huggingface_hub would use, without importing it."""
    home = os.environ.get("HF_HOME", os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "huggingface"))
    return Path(os.path.expanduser(os.environ.get("HF_HUB_CACHE", os.path.join(home, "hub"))))


def snapshots(cache: Path) -> list[Snapshot]:
    """Return what the cache holds of each model, by name; huggingface_hub is imported only where it holds any."""
    try:
        repos = sorted(f for f in cache.iterdir() if f.name.startswith(PREFIX) and f.is_dir())
    except OSError:
        return []
    scanned = _scanned(cache) if repos else {}
    return [_chosen(repo, scanned.get(repo.name)) for repo in repos]


def _scanned(cache: Path) -> dict[str, list[Path]]:
    """Return the snapshot folders of each sound repository, oldest first, by the repository's folder."""
    from huggingface_hub import scan_cache_dir

    try:
        repos = scan_cache_dir(cache).repos
    except Exception:  # a cache that cannot be walked: each model is then described by its folder alone
        return {}
    return {
        repo.repo_path.name: [r.snapshot_path for r in sorted(repo.revisions, key=lambda r: _age(r.snapshot_path))]
        for repo in repos
        if repo.repo_type == "model"
    }


def _chosen(repo: Path, sound: list[Path] | None) -> Snapshot:
    """Return the newest snapshot that could be loaded; where there is none, the newest, with the reason."""
    name = repo.name.removeprefix(PREFIX).replace("--", "/")
    folders = sorted(_folders(repo / "snapshots"), key=_age) if sound is None else sound
    complete = [f for f in folders if _is_complete(f)]
    if complete:
        return Snapshot(name, complete[-1], None)
    unfinished = len(list(repo.glob("blobs/*.incomplete")))
    newest = folders[-1] if folders else repo
    if sound is not None and folders and not unfinished and not _dangling(newest):
        return Snapshot(name, newest, None)  # all that was asked for is there: the folder's own reason tells more
    why = f"{unfinished} file(s) were not fetched to the end" if unfinished else "files that it names are not there"
    return Snapshot(
        name, newest, f"The snapshot of {name} in the hub cache is incomplete ({why}): fetch it again. ({newest})"
    )


def _is_complete(folder: Path) -> bool:
    try:
        return not _dangling(folder) and (folder_problem(folder) is None or bool(gguf_files(folder)))
    except (OSError, ValueError):
        return False


def _dangling(folder: Path) -> bool:
    return any(f.is_symlink() and not f.exists() for f in folder.rglob("*"))


def _folders(place: Path) -> Iterable[Path]:
    try:
        return [f for f in place.iterdir() if f.is_dir()]
    except OSError:
        return []


def _age(folder: Path) -> float:
    """Return when a snapshot's description was written, else when the folder changed."""
    try:
        return (folder / "config.json").stat().st_mtime
    except OSError:
        return folder.lstat().st_mtime if folder.exists() else 0.0
