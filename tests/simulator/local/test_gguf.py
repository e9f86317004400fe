"""GGUF files: the same model as the folder they were made from, and no length in a header that is believed unseen."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from simulator.catalog import find, read_entry, scan
from simulator.errors import UserError
from simulator.loading import load_pair
from simulator.local.gguf_files import BLOCKS, Tensor, read_header, tokens_of_gguf
from simulator.local.gguf_headers import quick_headers
from simulator.local.gguf_weights import _numbers
from simulator.records import Sampling
from simulator.text.tokens import tokens_of
from tests.simulator.folders import VOCAB, save, save_gguf
from tests.simulator.tiny import play

gguf = pytest.importorskip("gguf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture(scope="module")
def file(folder) -> Path:
    return save_gguf(folder, folder.parent / "tiny é 模型.gguf")


def test_sizes_of_blocks_are_those_of_the_package():
    theirs = {int(kind): sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    assert {kind: sizes for kind, (_, *sizes) in BLOCKS.items()} == {k: list(theirs[k]) for k in BLOCKS}


def test_a_file_is_described_from_its_header_alone(folder, file):
    entry, of_folder = find(str(file)), read_entry(folder, "whole")
    assert (entry.name, entry.architecture, entry.problem, entry.weights) == ("tiny é 模型", "llama", None, "gguf")
    assert (entry.vocab, entry.tokenizer_entries, entry.max_length, entry.dtype) == (VOCAB, VOCAB, 128, "F32")
    assert entry.parameters == of_folder.parameters
    assert entry.disk_bytes == file.stat().st_size
    assert of_folder.tokenizer_entries == VOCAB


def test_the_header_holds_what_the_packages_reader_finds(file):
    header, reader = read_header(file), gguf.GGUFReader(file)
    assert [(t.name, list(t.shape), t.start, t.size) for t in header.tensors] == [
        (t.name, t.shape.tolist()[::-1], t.data_offset, t.n_bytes) for t in reader.tensors
    ]


def test_the_file_gives_the_logits_text_and_tokens_of_the_folder(folder, file):
    *_, whole = load_pair(str(folder), None, device="cpu")
    *_, pair = load_pair(str(file), str(file), device="cpu")
    ids = whole.encode("the quick fox, or not")
    assert pair.encode("the quick fox, or not") == ids
    a, b = (p.target.model for p in (whole, pair))
    assert torch.equal(a.extend(ids), b.extend(ids))
    assert pair.end_tokens == whole.end_tokens == {1}
    assert tokens_of(pair.target.entry) == tokens_of(whole.target.entry)
    run = play(b, pair.source("model", Sampling()), ids, k=4, max_new_tokens=20)
    assert sum(t.accepted for t in run.rounds) == sum(t.drafted for t in run.rounds) > 0


def test_a_folder_of_gguf_files_lists_each_and_is_loaded_by_name(file, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    shelf = tmp_path / "models" / "shelf"
    shelf.mkdir(parents=True)
    for name in ("a.gguf", "b.GGUF"):
        (shelf / name).write_bytes(file.read_bytes())
    (shelf.parent / "c.gguf").write_bytes(file.read_bytes())
    monkeypatch.setattr("simulator.catalog.BUNDLED", shelf.parent)
    assert [(e.name, e.problem) for e in scan()] == [("c", None), ("shelf/a.gguf", None), ("shelf/b.GGUF", None)]
    assert find("shelf/a.gguf").path == shelf / "a.gguf"
    with pytest.raises(UserError, match=r"holds 2 GGUF files: name one of a.gguf, b.GGUF\."):
        find("shelf")
    (shelf / "b.GGUF").unlink()
    assert find("shelf").name == "shelf/a.gguf"


def pieces(file: Path) -> bytes:
    return file.read_bytes()


def with_count(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + struct.pack("<Q", value) + data[at + 8 :]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: b"", "is not a GGUF file"),
        (lambda d: b"GGUF", "is cut off or its header is damaged"),
        (lambda d: b"\x80\x04." + d, "is not a GGUF file"),
        (lambda d: d[:4] + struct.pack("<I", 1) + d[8:], "is GGUF version 1"),
        (lambda d: with_count(d, 8, 2**62), "copy it again"),
        (lambda d: with_count(d, 16, 2**62), "copy it again"),
        (lambda d: with_count(d, 24, 2**63), "is cut off or its header is damaged"),
        (lambda d: d[: len(d) // 2], "bytes where its header promises"),
        (lambda d: d[:300], "is cut off or its header is damaged"),
        (lambda d: d.replace(b"token_embd.weight", b"token_embx.weight"), "holds no token embedding"),
        (lambda d: d.replace(b"tokenizer.ggml.tokens", b"tokenizer.ggml.tokenz"), "has no tokenizer inside"),
        (lambda d: d.replace(b"general.architecture", b"general.architecturx"), "does not name its architecture"),
    ],
)
def test_each_damage_has_its_sentence(file, tmp_path, change, sentence):
    (tmp_path / "damaged.gguf").write_bytes(change(pieces(file)))
    problem = find(str(tmp_path / "damaged.gguf")).problem
    assert problem is not None
    assert sentence in problem
    assert "\n" not in problem
    assert problem.endswith(".")


def test_one_piece_of_a_split_model_is_refused(file, tmp_path):
    piece = tmp_path / "big-00001-of-00003.gguf"
    piece.write_bytes(file.read_bytes())
    assert "is one piece of a model" in str(find(str(piece)).problem)


def refusal(file: Path) -> str:
    with pytest.raises(UserError) as caught:
        list(load_pair(str(file), None, device="cpu"))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_value_that_is_not_finite_is_refused_by_the_tensors_name(file, tmp_path):
    tensor = next(t for t in read_header(file).tensors if t.name == "blk.1.ffn_up.weight")
    data = bytearray(file.read_bytes())
    data[tensor.start + 8 : tensor.start + 12] = np.float32("nan").tobytes()
    (tmp_path / "nan.gguf").write_bytes(data)
    assert "values in blk.1.ffn_up.weight that are not finite" in refusal(tmp_path / "nan.gguf")


def test_a_tensor_without_a_place_is_refused_with_the_one_that_is_missing(file, tmp_path):
    data = file.read_bytes().replace(b"blk.1.ffn_up.weight", b"blk.1.ffn_uq.weight")
    (tmp_path / "renamed.gguf").write_bytes(data)
    assert "1 missing weight(s), such as model.layers.1.mlp.up_proj.weight" in refusal(tmp_path / "renamed.gguf")


def test_scaled_positions_are_refused_because_transformers_would_leave_them_out(folder, tmp_path, monkeypatch):
    """Llama 3.1 files carry factors in rope_freqs.weight; without them the model runs, and says something else."""
    add = gguf.GGUFWriter.write_header_to_file

    def with_factors(writer, *args):
        writer.add_tensor("rope_freqs.weight", np.array([1, 1, 4, 8], np.float32))
        add(writer, *args)

    monkeypatch.setattr(gguf.GGUFWriter, "write_header_to_file", with_factors)
    assert "scales its positions (rope_freqs.weight)" in refusal(save_gguf(folder, tmp_path / "scaled.gguf"))


@pytest.mark.parametrize("key", ["rope.scaling.factor", "rope.scale_linear"])
def test_a_stretched_context_is_refused_because_transformers_would_leave_it_out(folder, tmp_path, monkeypatch, key):
    """Qwen with YaRN and Gemma 3 4B say it in the header only: the text would quietly differ."""
    add = gguf.GGUFWriter.add_vocab_size

    def with_factor(writer, n):
        add(writer, n)
        writer.add_float32(f"llama.{key}", 4.0)

    monkeypatch.setattr(gguf.GGUFWriter, "add_vocab_size", with_factor)
    assert f"stretches its positions ({key} = 4)" in str(find(str(save_gguf(folder, tmp_path / "yarn.gguf"))).problem)


def test_our_reading_of_the_header_gives_transformers_the_same_config_and_names(file):
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import TensorProcessor, get_gguf_hf_weights_map, load_gguf_checkpoint

    def read():
        config = load_gguf_checkpoint(file)["config"]
        made = AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(made)
        return config, made.to_dict(), get_gguf_hf_weights_map(model, TensorProcessor(config=config))

    theirs, reader = read(), gguf.GGUFReader
    with quick_headers():
        assert gguf.GGUFReader is not reader
        assert read() == theirs
    assert gguf.GGUFReader is reader


def test_rows_are_joined_for_speed_without_changing_a_number():
    """The package unpacks 16 rows at a time, which for narrow rows costs more than the unpacking."""
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((96, 64), np.float32)
    for kind in ("Q4_1", "Q8_0", "Q5_0", "F16", "F32"):
        number = gguf.GGMLQuantizationType[kind]
        raw = gguf.quantize(weights, number)
        wanted = np.asarray(gguf.dequantize(raw, number), np.float32)
        data = np.ascontiguousarray(raw).view(np.uint8).ravel()
        found = _numbers(data, Tensor("w", weights.shape, int(number), 0, data.nbytes))
        assert np.array_equal(found, wanted.reshape(weights.shape))


def test_no_header_makes_the_reader_raise_anything_else_or_run_away(file, tmp_path):
    rng = random.Random(5)
    whole = file.read_bytes()
    end = read_header(file).tensors[0].start
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 3, 20))):
            data[rng.randrange(4, end)] = rng.randrange(256)
        target = tmp_path / "flipped.gguf"
        target.write_bytes(data)
        try:
            read_header(target)
            tokens_of_gguf(target)
        except ValueError as error:
            said = str(error)
        else:
            continue
        assert str(target) in said
        assert said.endswith((".", ")."))
