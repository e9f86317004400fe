"""What there is to choose a pair from: models, memory, and how each draft suits a target; answers come one by one.

Knows in which order to ask, and to stop in between. Does not know how a folder, a vocabulary or the memory is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.catalog import Entry, scan
from simulator.local.generation_defaults import Suggestion, suggested_sampling
from simulator.local.memory import free_bytes
from simulator.runner import Control, Job
from simulator.text.vocabulary import Diagnosis, diagnose


@dataclass(frozen=True, slots=True)
class Found:
    """The models on this computer."""

    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class Devices:
    """The devices that models can be put on, each with its free bytes; None where nobody can say."""

    free: dict[str, int | None]
    complete: bool  # False: there may be more


@dataclass(frozen=True, slots=True)
class Suggested:
    """The sampling that a target's folder suggests, None where it does not."""

    target: Path
    suggestion: Suggestion | None


@dataclass(frozen=True, slots=True)
class Suits:
    """How drafts suit a target, by the draft's folder, and how many are still to be compared."""

    target: Path
    by_draft: dict[Path, Diagnosis]
    left: int


def survey_job(recent: Sequence[str]) -> Job:
    """Return the job that yields `Found`, then the `Devices` that can be named without waiting for torch."""

    def job(control: Control) -> Iterator[Found | Devices]:
        yield Found(scan(recent=recent))
        control.checkpoint()
        yield _devices() if "torch" in sys.modules else Devices({"cpu": free_bytes("cpu")}, complete=False)

    return job


def devices_job() -> Job:
    """Return the job that yields all `Devices`: torch, which knows them, may take seconds to import."""

    def job(_control: Control) -> Iterator[Devices]:
        yield _devices()

    return job


def compare_job(target: Entry, drafts: Sequence[Entry]) -> Job:
    """Return the job that yields `Suggested`, then `Suits` draft by draft, in the order given."""

    def job(control: Control) -> Iterator[Suggested | Suits]:
        yield Suggested(target.path, suggested_sampling(target))
        for i, draft in enumerate(drafts):
            control.checkpoint()
            yield Suits(target.path, {draft.path: diagnose(target, draft)}, len(drafts) - i - 1)

    return job


def _devices() -> Devices:
    import torch

    apple: Callable[[], bool] = torch.backends.mps.is_available
    names = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count())), *(["mps"] if apple() else [])]
    return Devices({name: free_bytes(name) for name in names}, complete=True)
