"""What models are on this computer, and one sentence for each that cannot be used; nothing is asked of the network."""

import json
import os
import pickle
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from simulator import catalog
from simulator.catalog import find, hub_cache, read_entry, safetensors_header, scan
from simulator.errors import UserError
from simulator.local.models_table import table
from simulator.local.obstacles import folder_problem
from tests.simulator.folders import VOCAB, edit_json, edit_weights, save, with_header

ROOT = Path(catalog.__file__).parent.parent


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No network, an empty hub cache, an empty folder of bundled models."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path / "bundled")


def test_a_whole_folder_is_described_from_its_headers(whole):
    entry = read_entry(whole, "whole")
    assert (entry.name, entry.architecture, entry.problem) == ("whole", "LlamaForCausalLM", None)
    assert (entry.vocab, entry.max_length, entry.dtype) == (VOCAB, 128, "F32")
    per_layer = 32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 64 + 2 * 32
    assert entry.parameters == 2 * VOCAB * 32 + 2 * per_layer + 32
    assert entry.disk_bytes == (whole / "model.safetensors").stat().st_size


def remove(name):
    return lambda folder: (folder / name).unlink()


def only_pickles(folder):
    remove("model.safetensors")(folder)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def cut_off(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def missing_shard(folder):
    shutil.rmtree(folder)
    save(folder, shard="20KB")
    next(folder.glob("model-00002-of-*.safetensors")).unlink()


def other_weights(name):
    return lambda folder: (folder / "model.safetensors").rename(folder / name)


def with_config(**changes):
    return lambda folder: edit_json(folder / "config.json", **changes)


def pipe(name):
    """Put a pipe in a file's place: whoever opens it waits for ever."""

    def damage(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return damage


def weights(data):
    return lambda folder: (folder / "model.safetensors").write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (shutil.rmtree, "There is no folder"),
        (lambda folder: (shutil.rmtree(folder), folder.write_text("hello")), "is a file; give the folder"),
        (remove("config.json"), "has no config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json is not readable JSON"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "config.json is not readable JSON"),
        (lambda folder: edit_json(folder / "config.json", auto_map={"AutoModel": "x.Y"}), "Python code"),
        (with_config(text_config={"auto_map": {"AutoModel": "x.Y"}}), "Python code"),
        (with_config(quantization_config={"quant_method": "gptq", "bits": 4}), "has packed weights (gptq)"),
        (
            with_config(architectures=["LlamaForCausalLMEagle3"], draft_vocab_size=90),
            "is an EAGLE head: it guesses from",
        ),
        (with_config(model_type="medusa"), "is a Medusa head"),
        (with_config(architectures=["DeepseekV3ForCausalLMNextN"]), "is an MTP head"),
        (with_config(speculators_model_type="eagle3"), "Draft with a whole small model of the target's vocabulary, or"),
        (lambda folder: edit_weights(folder, lambda w: w.update({"fc.weight": torch.zeros(2)})), "is an EAGLE or"),
        (remove("model.safetensors"), "holds no weights"),
        (other_weights("PYTORCH_MODEL.BIN"), "only pickled weights (PYTORCH_MODEL.BIN)"),
        (other_weights("model.joblib"), "only pickled weights (model.joblib)"),
        (other_weights("tf_model.h5"), "holds its weights as tf_model.h5 only"),
        (weights(pickle.dumps([1])), "is a pickle in spite of its name"),
        (weights(b"PK\x03\x04" + b"\0" * 60), "is a pickle in spite of its name"),
        (pipe("model.safetensors"), "model.safetensors is neither a file nor a folder"),
        (pipe("tokenizer_config.json"), "tokenizer_config.json is neither a file nor a folder"),
        (pipe("config.json"), "has no config.json"),
        (only_pickles, "only pickled weights (pytorch_model.bin)"),
        (missing_shard, "lacks model-00002-of-"),
        (lambda folder: (folder / "model.safetensors.index.json").write_text("{}"), "lacks a readable"),
        (remove("tokenizer.json"), "has no tokenizer.json"),
        (cut_off, "bytes where its header promises"),
        (weights(b""), "is cut off or is not a safetensors file"),
        (weights(b"\xff" * 64), "is cut off or is not a safetensors file"),
        (weights(b"\x04\0\0\0\0\0\0\0oops"), "has no readable safetensors header"),
        (weights(with_header([])), "has no readable safetensors header"),
        (weights(with_header({"w": {"shape": [1]}})), "has no readable safetensors header"),
        (weights(with_header({"w": 3})), "has no readable safetensors header"),
    ],
)
def test_each_damage_has_its_sentence(copy, damage, sentence):
    damage(copy)
    problem = read_entry(copy, "copy").problem
    assert sentence in problem
    assert "\n" not in problem
    assert problem.endswith(".")


def test_a_config_nested_deeper_than_calls_may_be_is_described(copy):
    deep = json.loads('{"text_config":' * 400 + "{}" + "}" * 400)
    edit_json(copy / "config.json", vocab_size=None, **deep)
    assert read_entry(copy, "copy").vocab is None


def test_a_pipe_with_the_name_of_a_gguf_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.gguf")
    assert find(str(tmp_path / "x.gguf")).problem == f"{tmp_path / 'x.gguf'} is no file: copy it again."


def test_a_header_is_read_without_the_weights(whole):
    header = safetensors_header(whole / "model.safetensors")
    assert header["lm_head.weight"]["shape"] == [VOCAB, 32]


NAMES = ["my model", "modèle é", "模型", "🦙 model", "x" * 200, "a.b", "50%", "--draft"]


@pytest.mark.parametrize("name", NAMES)
def test_odd_folder_names_are_found_by_name_and_by_path(whole, tmp_path, monkeypatch, name):
    folder = tmp_path / "bundled" / name
    shutil.copytree(whole, folder)
    assert [e.name for e in scan()] == [name]
    assert find(name).problem is None
    assert find(str(folder)).path == folder
    monkeypatch.chdir(folder.parent)
    assert find(f"./{name}").name == name


@pytest.mark.parametrize("name", ["two\nlines", "tab\there", "\u202egpj", "nul\x01", "\udcff raw", "a\u2028b"])
def test_a_name_that_would_break_a_line_is_one_line_wherever_it_is_read(whole, tmp_path, monkeypatch, name):
    place = Path(shutil.copytree(whole, tmp_path / name))
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    entry = find(name)
    assert entry.path == place
    assert entry.name.isprintable()
    assert find(entry.name) == entry
    lines = table([entry], "cpu", "float32", None)
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    (place / "config.json").unlink()
    problem = find(name).problem
    assert problem.isprintable()
    assert problem.endswith("has no config.json, so it is not a transformers model folder.")
    with pytest.raises(UserError) as caught:
        raise UserError(f"Nothing in {place}.")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["nothing", "x" * 300, "a\0b", "~nobody-of-this-name/x", "\udcff", "org/name"])
def test_a_name_that_nothing_has_is_refused_with_the_names_there_are(whole, tmp_path, name):
    """A name longer than the file system allows, or with an unknown user, ended in a traceback."""
    shutil.copytree(whole, tmp_path / "bundled" / "good")
    with pytest.raises(UserError, match=r"There is no model .* Models on this computer: good\."):
        find(name)


def test_a_tilde_is_the_home_folder(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(whole, tmp_path / "mine")
    assert find("~/mine").problem is None


def test_the_scan_lists_usable_and_unusable_folders_and_skips_hidden_ones(whole, tmp_path):
    bundled = tmp_path / "bundled"
    shutil.copytree(whole, bundled / "good")
    for name in ("empty", ".hidden", "__pycache__"):
        (bundled / name).mkdir(parents=True)
    (bundled / "train.py").write_text("")
    assert {e.name: e.problem is None for e in scan()} == {"good": True, "empty": False}
    assert scan(tmp_path / "nowhere") == []


def snapshot(hub: Path, repo: str, revision: str, whole: Path, when: int) -> Path:
    folder = hub / f"models--{repo.replace('/', '--')}" / "snapshots" / revision
    shutil.copytree(whole, folder)
    os.utime(folder / "config.json", (when, when))
    return folder


def test_the_newest_snapshot_of_each_cached_model_is_listed_by_its_hub_id(whole, tmp_path):
    hub = tmp_path / "hub"
    snapshot(hub, "org/tiny", "aaaa", whole, 1000)
    newest = snapshot(hub, "org/tiny", "bbbb", whole, 2000)
    snapshot(hub, "gpt9", "cccc", whole, 1000)
    assert [(e.name, e.path.name) for e in scan()] == [("gpt9", "cccc"), ("org/tiny", "bbbb")]
    assert find("org/tiny").path == newest


def test_a_link_to_a_deleted_file_is_that_entrys_problem_and_no_crash(whole, tmp_path):
    """A half-deleted hub cache holds links without targets: the whole list of models ended in a traceback."""
    folder = snapshot(tmp_path / "hub", "org/broken", "aaaa", whole, 1000)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(tmp_path / "gone")
    [entry] = scan()
    assert "The snapshot of org/broken in the hub cache is incomplete" in entry.problem
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(tmp_path / "gone")
    [entry] = scan()
    assert "is incomplete" in entry.problem


def test_a_broken_off_download_is_named_as_incomplete_and_an_older_whole_one_is_used(whole, tmp_path):
    hub = tmp_path / "hub"
    old = snapshot(hub, "org/tiny", "aaaa", whole, 1000)
    new = snapshot(hub, "org/tiny", "bbbb", whole, 2000)
    (new / "model.safetensors").unlink()
    blobs = hub / "models--org--tiny" / "blobs"
    blobs.mkdir()
    (blobs / "1234.incomplete").write_bytes(b"half")
    [entry] = scan()
    assert (entry.path, entry.problem) == (old, None)
    shutil.rmtree(old)
    [entry] = scan()
    assert entry.name == "org/tiny"
    assert "The snapshot of org/tiny in the hub cache is incomplete (1 file(s) were not fetched to the end)" in (
        entry.problem
    )
    assert find("org/tiny").problem == entry.problem


def test_a_download_that_has_not_begun_is_incomplete_too(tmp_path):
    (tmp_path / "hub" / "models--org--none" / "blobs").mkdir(parents=True)
    (tmp_path / "hub" / "models--org--none" / "blobs" / "77.incomplete").write_bytes(b"")
    [entry] = scan()
    assert (entry.name, entry.parameters) == ("org/none", None)
    assert "is incomplete" in entry.problem


def test_recent_folders_are_listed_once_and_only_while_they_are_there(whole, tmp_path):
    bundled = tmp_path / "bundled"
    shutil.copytree(whole, bundled / "good")
    elsewhere = Path(shutil.copytree(whole, tmp_path / "else where"))
    (tmp_path / "link").symlink_to(bundled / "good")
    recent = [str(elsewhere), elsewhere, bundled / "good", tmp_path / "link", tmp_path / "gone", "", "a\0b", "x" * 300]
    assert [(e.name, e.path) for e in scan(recent=recent)] == [("good", bundled / "good"), ("else where", elsewhere)]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert [e.name for e in scan(recent=[loop])] == ["good", "loop"]


def test_entries_of_the_tokenizer_are_told_from_rows_of_the_embedding(copy):
    edit_json(copy / "config.json", vocab_size=320)
    entry = read_entry(copy, "copy")
    assert (entry.vocab, entry.tokenizer_entries) == (320, VOCAB)
    (copy / "tokenizer.json").write_text("{}")
    assert read_entry(copy, "copy").tokenizer_entries is None


def test_shards_without_an_index_are_counted_by_their_names(copy):
    (copy / "model.safetensors").rename(copy / "model-00002-of-00003.safetensors")
    assert "lacks shard 1 of 3, shard 3 of 3" in read_entry(copy, "copy").problem


def test_an_index_cannot_reach_outside_its_folder(copy):
    (copy / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": "../whole/model.safetensors"}}))
    assert "lacks a readable model.safetensors.index.json" in read_entry(copy, "copy").problem


def test_nothing_is_imported_to_list_what_is_there(whole, tmp_path):
    """torch, transformers and huggingface_hub take seconds; a list of folders needs none of them."""
    shutil.copytree(whole, tmp_path / "bundled" / "good")
    code = (
        "import sys; from pathlib import Path; from simulator.catalog import scan; "
        f"print([e.name for e in scan(Path({str(tmp_path / 'bundled')!r}))]); "
        "print(*(m for m in ('torch', 'transformers', 'huggingface_hub', 'gguf') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == ["['good']", ""]


def test_the_hub_cache_is_where_the_library_would_look(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert hub_cache() == tmp_path / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", "~/a")
    assert hub_cache() == tmp_path / "a"
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.delenv("HF_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert hub_cache() == tmp_path / ".cache/huggingface/hub"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert hub_cache() == Path("/x/huggingface/hub")
    monkeypatch.setenv("HF_HOME", "/h")
    assert hub_cache() == Path("/h/hub")


def test_a_verdict_follows_the_files_as_they_are_now(copy):
    assert folder_problem(copy) is None
    kept = (copy / "config.json").read_text("utf-8")
    (copy / "config.json").write_text("{")
    assert folder_problem(copy)
    (copy / "config.json").write_text(kept)
    assert folder_problem(copy) is None
    assert json.loads(kept)["vocab_size"] == VOCAB
