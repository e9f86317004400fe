"""The only part of SpecScope that asks the network: looks a model up on the hub, or fetches it, as a process.

Knows huggingface_hub, its cache and its errors. Says JSON lines on stdout, at least four a second: how far it
is, then the answer or {"error": sentence}. Weights come to a file of their own first, which a later call goes
on with: huggingface_hub itself begins a file anew.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

from simulator.catalog import hub_cache
from simulator.errors import UserError
from simulator.local.hub import readable, wanted

BEAT_S = 0.25
CHUNK = 1 << 20  # bytes; the library's 10 MB are ten seconds of silence on a slow line
TIMEOUT_S = 10.0
PARTIAL = ".specscope.incomplete"


class Report:
    """How far the work is; filled by one thread, read by the other."""

    def __init__(self) -> None:
        self.bytes, self.file = 0, ""


def look_up(repo: str) -> dict[str, Any]:
    """Return what the hub has under the name: revision, files with sizes, licence, whether it is gated."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    info = HfApi().model_info(repo, files_metadata=True, timeout=TIMEOUT_S)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    names = wanted(list(sizes))
    if "config.json" not in names or not names[-1].endswith(".safetensors"):
        lacking = "config.json" if "config.json" not in names else "weights in safetensors"
        raise UserError(f"{repo} has no {lacking} on the hub, so SpecScope cannot open it: choose another model.")
    here = [n for n in names if isinstance(try_to_load_from_cache(repo, n, revision=info.sha), str)]
    licence = getattr(info.card_data, "license", None) if info.card_data else None
    return {
        "revision": info.sha, "files": [(n, sizes[n]) for n in names], "gated": bool(info.gated),
        "present": sum(sizes[n] for n in here) + sum(f.stat().st_size for f in _blobs(repo).glob("*" + PARTIAL)),
        "licence": ", ".join(licence) if isinstance(licence, list) else licence,
    }  # fmt: skip


def download(repo: str, revision: str, files: list[tuple[str, int]], report: Report) -> dict[str, Any]:
    """Fetch each file that is not here yet; return the snapshot's folder."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    path = ""
    for name, size in files:
        report.file, before = name, report.bytes
        here = try_to_load_from_cache(repo, name, revision=revision)
        if not isinstance(here, str):
            if name.endswith(".safetensors"):
                _fetch(repo, name, revision, report)
            here = hf_hub_download(repo, name, revision=revision)  # weights are here by now: only their link is made
        report.bytes = before + size
        path = str(Path(here).parent)
    return {"path": path}


def _fetch(repo: str, name: str, revision: str, report: Report) -> None:
    """Bring one large file into the cache's blobs, going on where an earlier call was stopped."""
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    constants.DOWNLOAD_CHUNK_SIZE = CHUNK
    url = hf_hub_url(repo, name, revision=revision)
    there = get_hf_file_metadata(url, timeout=TIMEOUT_S)
    if not there.etag or not there.size:
        return  # a server that does not say what a file is: left to the library, whole
    blob = _blobs(repo) / there.etag
    if blob.exists():
        return
    blob.parent.mkdir(parents=True, exist_ok=True)
    partial = blob.with_name(there.etag + PARTIAL)
    had = partial.stat().st_size if partial.exists() else 0
    free = shutil.disk_usage(blob.parent).free
    if free < there.size - had:
        raise OSError(errno.ENOSPC, f"{readable(there.size - had)} are needed and {readable(free)} free")
    report.bytes += had
    with partial.open("ab") as file:
        http_get(url, file, resume_size=had, headers=build_hf_headers(), expected_size=there.size,
                 tqdm_class=_counter(report))  # fmt: skip
    if len(there.etag) == 64 and _sha256(partial) != there.etag:
        partial.unlink()
        raise UserError(f"What came of {name} differs from what the hub announced; it was removed: download it again.")
    partial.replace(blob)


def _blobs(repo: str) -> Path:
    return hub_cache() / f"models--{repo.replace('/', '--')}" / "blobs"


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _counter(report: Report) -> type:
    """Return a progress bar that shows nothing and counts."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Counter(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            report.bytes += int(n or 0)
            return None

    return Counter


def explain(error: BaseException, repo: str) -> str:
    """Return why it did not work as a sentence that says what to do."""
    from huggingface_hub import errors

    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, errors.GatedRepoError):
        return (
            f"{repo} is gated: accept its terms on https://huggingface.co/{repo}, log in on this computer with "
            "'hf auth login', then try again."
        )
    if isinstance(error, errors.DisabledRepoError):
        return f"The hub has taken {repo} offline: choose another model."
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return f"The hub has no model {repo}, or it is private: check the spelling (owner/name)."
    if isinstance(error, errors.RevisionNotFoundError | errors.RemoteEntryNotFoundError):
        return f"{repo} has changed on the hub meanwhile: look it up again."
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code
        why = "is asked too often from here" if status == 429 else f"answered with the error {status}"
        return f"The hub {why}: try again in a few minutes. What had come is kept."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk that holds {hub_cache()} is full ({error.strerror}): make room, then go on from here."
    if isinstance(error, PermissionError):
        return f"The folder {hub_cache()} cannot be written ({error.strerror}): check its permissions."
    if _is_connection(error):
        return "The hub cannot be reached: check the network connection and try again; a download goes on where it was."
    first_line = (str(error).strip() or "no further word").splitlines()[0]
    return f"The hub's library failed in a way SpecScope did not expect: {type(error).__name__}: {first_line}"


def _is_connection(error: BaseException | None) -> bool:
    """Return whether the network is behind the error or one of its causes, by name: the library changes clients."""
    while error is not None:
        names = {kind.__name__ for kind in type(error).__mro__}
        if names & {"ConnectionError", "TransportError", "TimeoutError", "LocalEntryNotFoundError", "gaierror"}:
            return True
        error = error.__cause__ or error.__context__
    return False


def work(arguments: list[str], report: Report) -> dict[str, Any]:
    """Do what the arguments say; return the answer, or the error as a sentence."""
    kind, repo, *rest = arguments
    try:
        if kind == "look-up":
            return look_up(repo)
        return download(repo, rest[0], json.loads(rest[1]), report)
    except BaseException as error:  # this process says what happened and then ends, whatever it was
        return {"error": explain(error, repo)}


def main(arguments: list[str]) -> None:
    """Work in a thread and say four times a second how far it is: a reader that is gone ends the process."""
    report, answer = Report(), {}
    thread = threading.Thread(target=lambda: answer.update(work(arguments, report)), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(BEAT_S)
        _say({"bytes": report.bytes, "file": report.file})
    _say(answer)


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
