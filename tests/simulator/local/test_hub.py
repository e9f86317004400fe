"""What the download asks of the hub, what it leaves on the disk, and what it says when it cannot."""

import errno
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import errors

from simulator.catalog import BUNDLED, DEFAULT_DRAFT
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.local import hub_process
from simulator.local.hub import Downloaded, Offer, download, look_up, readable, repo_id, wanted
from tests.hub_server import SHA, HubServer, serving

FILES = {f.name: f.read_bytes() for f in (BUNDLED / DEFAULT_DRAFT).glob("*.json")}
FILES |= {"model.safetensors": (BUNDLED / DEFAULT_DRAFT / "model.safetensors").read_bytes()}
FILES |= {"pytorch_model.bin": b"pickle", "README.md": b"card", "onnx/model.json": b"{}"}
FETCHED = {name for name in FILES if name.endswith((".json", ".safetensors")) and "/" not in name}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub with the bundled draft under owner/name, and an empty cache."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    served = HubServer(dict(FILES), cardData={"license": "apache-2.0"}, gated=False)
    with serving(served) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield served


def offer() -> Offer:
    """Return what the hub offers as owner/name."""
    return next(said for said in look_up("owner/name") if isinstance(said, Offer))


def test_looking_up_names_files_sizes_and_licence_and_fetches_nothing(hub, tmp_path):
    found = offer()
    assert {name: size for name, size in found.files} == {name: len(FILES[name]) for name in FETCHED}
    assert (found.repo, found.revision, found.licence, found.gated, found.present) == (
        "owner/name", SHA, "apache-2.0", False, 0,
    )  # fmt: skip
    assert [(method, path) for method, path, _ in hub.asked] == [("GET", "/api/models/owner/name")]
    assert not list(tmp_path.rglob("*.json"))


def test_a_download_brings_what_it_offered_and_no_pickle(hub):
    *progress, done = list(download(offer()))
    assert isinstance(done, Downloaded)
    assert {f.name for f in done.path.iterdir()} == FETCHED
    assert all((done.path / name).read_bytes() == FILES[name] for name in FETCHED)
    assert not any(path.endswith((".bin", ".md")) for _, path, _ in hub.asked)
    fractions = [said.fraction for said in progress]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert offer().present == sum(len(FILES[name]) for name in FETCHED)


def test_a_stopped_download_goes_on_where_it_was(hub, tmp_path):
    """huggingface_hub removes what came of a file when it is stopped; gigabytes would be fetched twice."""
    data = bytes(range(256)) * 4096 * 8  # 8 MB
    hub.files["model.safetensors"] = data
    hub.pause = 0.05
    found, stop = offer(), False

    def checkpoint() -> None:
        if stop:
            raise Stopped

    coming = download(found, checkpoint)
    while not stop:
        said = next(coming)
        stop = "model.safetensors" in said.text and said.fraction > 0.3
    with pytest.raises(Stopped):
        next(coming)
    [partial] = tmp_path.rglob("*.specscope.incomplete")
    had = partial.stat().st_size
    assert 0 < had < len(data)
    assert offer().present > had
    hub.pause, hub.asked[:] = 0, []
    *_, done = download(offer())
    assert (done.path / "model.safetensors").read_bytes() == data
    assert [r for method, path, r in hub.asked if method == "GET" and path.endswith(".safetensors")] == [
        f"bytes={had}-"
    ]
    assert not list(tmp_path.rglob("*.incomplete"))


def test_a_partial_file_that_does_not_fit_is_removed_and_said(hub, tmp_path):
    data = FILES["model.safetensors"]
    blobs = tmp_path / "hub" / "models--owner--name" / "blobs"
    blobs.mkdir(parents=True)
    partial = blobs / f"{hashlib.sha256(data).hexdigest()}.specscope.incomplete"
    partial.write_bytes(b"x" * 100)
    with pytest.raises(UserError, match="differs from what the hub announced"):
        list(download(offer()))
    assert not partial.exists()
    assert list(download(offer()))[-1].path.is_dir()


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (404, "RepoNotFound", "The hub has no model owner/name, or it is private: check the spelling"),
        (401, "RepoNotFound", "The hub has no model owner/name, or it is private: check the spelling"),
        (401, "GatedRepo", "owner/name is gated: accept its terms on https://huggingface.co/owner/name"),
        (500, "", "answered with the error 500"),
    ],
)
def test_a_refusal_is_a_sentence(hub, status, code, sentence):
    hub.status, hub.error_code = status, code
    with pytest.raises(UserError, match=re.escape(sentence)):
        list(look_up("owner/name"))


def test_a_gated_model_can_be_looked_up_but_not_fetched(hub):
    hub.info["gated"], hub.status, hub.error_code = "manual", 403, "GatedRepo"
    found = offer()
    assert found.gated
    with pytest.raises(UserError, match="is gated: accept its terms"):
        list(download(found))


def test_a_hub_that_cannot_be_reached_is_said_to_be(hub, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(UserError, match="The hub cannot be reached"):
        list(look_up("owner/name"))


@pytest.mark.parametrize("lacking", ["config.json", "model.safetensors"])
def test_what_cannot_be_opened_is_not_offered(hub, lacking):
    del hub.files[lacking]
    with pytest.raises(UserError, match=f"has no {'config.json' if lacking[0] == 'c' else 'weights in safetensors'}"):
        list(look_up("owner/name"))


def test_each_error_of_the_library_and_the_disk_has_its_sentence():
    import httpx2

    request = httpx2.Request("GET", "http://hub")

    def refused(kind, status):
        return kind("no", response=httpx2.Response(status, request=request))

    wanted = {
        "is gated": refused(errors.GatedRepoError, 403),
        "taken o/n offline": refused(errors.DisabledRepoError, 403),
        "has no model o/n": refused(errors.RepositoryNotFoundError, 404),
        "check the spelling": errors.HFValidationError("bad"),
        "look it up again": refused(errors.RemoteEntryNotFoundError, 404),
        "asked too often": refused(errors.HfHubHTTPError, 429),
        "cannot be reached": httpx2.ConnectTimeout("slow"),
        "cannot be reached:": errors.OfflineModeIsEnabled("offline"),
        "is full": OSError(errno.ENOSPC, "No space left on device"),
        "cannot be written": PermissionError(errno.EACCES, "denied"),
        "did not expect: KeyError": KeyError("x"),
    }
    for words, error in wanted.items():
        assert words in hub_process.explain(error, "o/n")
    hidden = RuntimeError("odd")
    hidden.__cause__ = httpx2.ConnectError("refused")
    assert "cannot be reached" in hub_process.explain(hidden, "o/n")


def test_a_full_disk_is_noticed_before_the_download(hub, monkeypatch, tmp_path):
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", os.environ["HF_ENDPOINT"] + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(hub_process.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    files = '[["model.safetensors", 1]]'
    said = hub_process.work(["download", "owner/name", SHA, files], hub_process.Report())
    assert said["error"].endswith("is full (839 kB are needed and 1.0 kB free): make room, then go on from here.")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("owner/name", "owner/name"), (" owner/na-me_1.5 \n", "owner/na-me_1.5"),
        ("https://huggingface.co/owner/name/tree/main", "owner/name"), ("hf.co/owner/name?x=1", "owner/name"),
    ],
)  # fmt: skip
def test_a_name_may_be_an_address(typed, name):
    assert repo_id(typed) == name


@pytest.mark.parametrize("typed", ["", "name", "owner/", "owner/na me", "/etc/passwd", "../x", "владелец/имя"])
def test_what_is_no_name_is_refused_before_anything_is_asked(typed):
    with pytest.raises(UserError, match="is no name of a model on the hub"):
        repo_id(typed)


def test_one_set_of_weights_is_fetched():
    names = [
        "model-00001-of-2.safetensors",
        "model-00002-of-2.safetensors",
        "consolidated.safetensors",
        "config.json",
        "model.safetensors.index.json",
        "tokenizer.model",
        "merges.txt",
        "x.bin",
        "gguf/a.json",
        ".gitattributes",
    ]
    assert wanted(names) == ["config.json", "merges.txt", "model.safetensors.index.json", "tokenizer.model",
                             "model-00001-of-2.safetensors", "model-00002-of-2.safetensors"]  # fmt: skip
    assert wanted(["other.safetensors"]) == ["other.safetensors"]


def test_sizes_read_as_people_say_them():
    sizes = [readable(n) for n in (0, 812, 1000, 24_600_000, 999_600, 1.5e9, 140e9, 2e12)]
    assert sizes == ["0 B", "812 B", "1.0 kB", "25 MB", "1.0 MB", "1.5 GB", "140 GB", "2.0 TB"]


def test_the_process_ends_with_its_reader(hub):
    """A window that was killed must not leave a download behind."""
    hub.pause = 0.2
    hub.files["model.safetensors"] = bytes(20 << 20)
    arguments = ["download", "owner/name", SHA, json.dumps([["model.safetensors", 20 << 20]])]
    process = subprocess.Popen(
        [sys.executable, "-m", "simulator.local.hub_process", *arguments], cwd=Path(__file__).parents[3],
        env={**os.environ, "HF_HUB_OFFLINE": "0"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(20) != 0
