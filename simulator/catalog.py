"""Which models are on this computer, and why an entry cannot be used.

Knows where to look: models_cache, the hub cache, folders used before. What they hold is `model_files`' part. Reads
no weights and never asks the network.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from simulator.errors import UserError
from simulator.local.folder_files import safetensors_header
from simulator.local.hub_snapshots import hub_cache, snapshots
from simulator.local.model_files import Entry, gguf_files, read_entry, read_gguf
from simulator.text.glyphs import one_line

__all__ = ["BUNDLED", "DEFAULT_DRAFT", "DEFAULT_TARGET", "Entry", "find", "hub_cache", "hub_entries", "read_entry",
           "safetensors_header", "scan"]  # fmt: skip

BUNDLED = Path(__file__).resolve().parent.parent / "models_cache"
DEFAULT_TARGET = "shakespeare-target-6m"
DEFAULT_DRAFT = "shakespeare-draft-400k"


def scan(folder: Path | None = None, recent: Sequence[str | Path] = ()) -> list[Entry]:
    """Return an entry for every model in `folder` (models_cache), in the hub cache and among `recent`, each place once.

    A folder of GGUF files gives one entry a file. Recent places that are gone are left out.
    """
    found = [*_inside(BUNDLED if folder is None else folder), *hub_entries()]
    known = {os.path.realpath(entry.path) for entry in found}
    for place in (_path(p) for p in recent if p):
        new = [e for e in _entries(place) if os.path.realpath(e.path) not in known] if os.path.lexists(place) else []
        found += new
        known |= {os.path.realpath(entry.path) for entry in new}
    return found


def hub_entries() -> list[Entry]:
    """Return the entries of the hub cache, named by their hub ids; an incomplete snapshot says so."""
    found = []
    for snapshot in snapshots(hub_cache()):
        if snapshot.problem is None:
            found += _entries(snapshot.path, snapshot.name)
        else:
            found.append(Entry.unusable(snapshot.name, snapshot.path, snapshot.problem))
    return found


def find(wanted: str) -> Entry:
    """Return the entry for a name from `scan`, a folder, a GGUF file, or a hub id in the local cache.

    Raise `UserError` where there is none, or several: a folder of GGUF files needs the file's name.
    """
    path = _path(wanted)
    if os.path.lexists(path):
        return _only(_entries(path if path.name not in ("", "..") else Path(os.path.realpath(path))), wanted)
    everything = scan()
    named = [e for e in everything if e.name == one_line(wanted)]
    if named:
        return named[0]
    inside = [e for e in everything if e.weights == "gguf" and e.name.startswith(f"{wanted}/")]
    if inside:
        return _only(inside, wanted)
    names = ", ".join(sorted(e.name for e in everything)) or "none"
    raise UserError(
        f"There is no model '{wanted}': it is neither a folder or GGUF file, nor in models_cache, nor in the local hub "
        f"cache. Models on this computer: {names}."
    )


def _path(wanted: str | Path) -> Path:
    return Path(os.path.expanduser(wanted))  # this one and os.path.exists take any name, however odd or long


def _inside(folder: Path) -> list[Entry]:
    if not folder.is_dir():
        return []
    places = [f for f in sorted(folder.iterdir()) if not f.name.startswith((".", "__"))]
    return [e for f in places if f.is_dir() or f.suffix.lower() == ".gguf" for e in _entries(f)]


def _entries(place: Path, name: str = "") -> list[Entry]:
    """Return the model in a folder or file; one entry a file for a folder of GGUF files."""
    name = name or place.name or str(place)
    if place.suffix.lower() == ".gguf" and not place.is_dir():
        return [read_gguf(place, place.stem)]
    files = gguf_files(place)
    if files:
        return [read_gguf(f, f"{name}/{f.name}") for f in files]
    return [read_entry(place, name)]


def _only(entries: Sequence[Entry], wanted: str) -> Entry:
    if len(entries) == 1:
        return entries[0]
    names = ", ".join(e.path.name for e in entries)
    raise UserError(f"'{wanted}' holds {len(entries)} GGUF files: name one of {names}.")
