"""What a person chose to open, and which of it only a memory finds again.

Knows folders and options. Does not know how they were chosen, or loading.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulator.catalog import BUNDLED, hub_cache
from simulator.records import Sampling

RECENT = 8  # places remembered


@dataclass(frozen=True, slots=True)
class Choice:
    """Folders or files, options of `load_pair`, and the sampling to go on with, None to keep the one there is."""

    target: str
    draft: str | None
    options: dict[str, Any] = field(default_factory=dict)
    sampling: Sampling | None = None


def place_of(wanted: str) -> Path:
    """Return the place that a name stands for: itself where it is one, else the bundled folder."""
    path = Path(wanted)
    return path if path.is_absolute() or path.exists() else BUNDLED / wanted


def with_recent(chosen: Iterable[str | Path | None], recent: Iterable[str]) -> list[str]:
    """Return the places to remember, the newest first: all that no scan of models_cache and the hub cache finds."""
    new = [str(p) for p in chosen if p and not any(Path(p).is_relative_to(at) for at in (BUNDLED, hub_cache()))]
    return list(dict.fromkeys([*new, *recent]))[:RECENT]


def stored_recent(value: object) -> list[str]:
    """Return the places that a settings file holds: a list, a lone text, or whatever a damaged one gives."""
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, str) and v][:RECENT]
