"""Models from the hub, when the person asks for one: what it would bring, then the download.

Knows: names, sizes, what is worth fetching, and how far it is. Does not know the network: that is asked by
`hub_process`, in a process of its own, so that everything else stays offline and stopping is at once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.drafts.base import Checkpoint, no_checkpoint
from simulator.errors import UserError
from simulator.loading import Progress

PAGE = re.compile(r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/(?:models/)?", re.IGNORECASE)
NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
TEXTS = (".json", ".model", ".txt")
UNITS = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class Offer:
    """What the hub has under a name: one revision's files that SpecScope would fetch, sizes in bytes."""

    repo: str
    revision: str
    files: tuple[tuple[str, int], ...]
    present: int  # bytes that are on this computer already
    licence: str | None
    gated: bool

    @property
    def total(self) -> int:
        """Return the bytes of all files."""
        return sum(size for _, size in self.files)


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A download that is complete, and the folder it is in."""

    repo: str
    path: Path


def repo_id(text: str) -> str:
    """Return owner/name from what was typed, an address of the hub too; raise `UserError` where it is neither."""
    typed = text.strip()
    name = "/".join(PAGE.sub("", typed).split("?")[0].split("/")[:2])
    if not NAME.fullmatch(name):
        what = f"'{typed}' is" if typed else "An empty name is"
        raise UserError(f"{what} no name of a model on the hub: it has the form owner/name.")
    return name


def wanted(names: list[str]) -> list[str]:
    """Return the files of a repository worth fetching: one set of safetensors, configuration and tokenizer."""
    top = [name for name in names if "/" not in name and not name.startswith(".")]
    weights = [name for name in top if name.endswith(".safetensors")]
    named_as_usual = [name for name in weights if name.startswith("model")]
    return sorted(name for name in top if name.endswith(TEXTS)) + sorted(named_as_usual or weights)


def look_up(repo: str, checkpoint: Checkpoint = no_checkpoint) -> Generator[Progress | Offer, None, None]:
    """Yield progress, then the offer. Raise `UserError` with the sentence on why there is none."""
    yield Progress(f"Asking the hub about {repo} ...")
    for said in _said(["look-up", repo], checkpoint):
        if "revision" in said:
            files = tuple((str(name), int(size)) for name, size in said["files"])
            yield Offer(repo, said["revision"], files, said["present"], said["licence"], said["gated"])


def download(offer: Offer, checkpoint: Checkpoint = no_checkpoint) -> Generator[Progress | Downloaded, None, None]:
    """Fetch what is missing into the hub cache: yield progress, then the folder. A later call goes on from here."""
    yield Progress(f"Downloading {offer.repo} ...", offer.present / max(1, offer.total))
    for said in _said(["download", offer.repo, offer.revision, json.dumps(offer.files)], checkpoint):
        if "path" in said:
            yield Downloaded(offer.repo, Path(said["path"]))
        elif "bytes" in said:
            text = f"Downloading {offer.repo}: {readable(said['bytes'])} of {readable(offer.total)}, {said['file']} ..."
            yield Progress(text, min(1.0, said["bytes"] / max(1, offer.total)))


def readable(size: float) -> str:
    """Return a number of bytes as people read it, in powers of 1000: 812 B, 25 MB, 1.5 GB."""
    unit, *larger = UNITS
    while size >= 999.5 and larger:
        size, unit = size / 1000, larger.pop(0)
    return f"{size:.0f} {unit}" if size >= 9.95 or unit == "B" else f"{size:.1f} {unit}"


def _said(arguments: list[str], checkpoint: Checkpoint) -> Iterator[dict[str, Any]]:
    """Yield what the process says, a few times a second; raise its error; it is ended with this generator."""
    ended_well = False
    with _process(arguments) as process:
        assert process.stdout is not None
        for line in process.stdout:
            checkpoint()
            said: dict[str, Any] = json.loads(line)
            if "error" in said:
                raise UserError(said["error"])
            ended_well = ended_well or "path" in said or "revision" in said
            yield said
    if not ended_well:
        raise UserError("The download ended without a word; try again. What had come is kept.")


@contextmanager
def _process(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    root = Path(__file__).resolve().parents[2]
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1",
                   "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "simulator.local.hub_process", *arguments], env=environment, text=True, encoding="utf-8",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
