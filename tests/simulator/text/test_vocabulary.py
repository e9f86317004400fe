"""Two vocabularies suit by what their entries stand for, never by their sizes; and who may not use whom hears why."""

import json
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import main
from simulator.catalog import BUNDLED, DEFAULT_DRAFT, DEFAULT_TARGET, find
from simulator.text import tokens
from simulator.text.token_text import TokenTexts
from simulator.text.tokens import map_of, tokens_of
from simulator.text.vocabulary import describe, diagnose
from tests.simulator.text_samples import spelled
from tests.simulator.vocabularies import ENTRIES, LETTERS, buffers, byte_level, folder, sentencepiece

SHORT = [5, 2, 7, 127]  # target ids of a reduced vocabulary


@pytest.fixture
def target(tmp_path):
    return folder(tmp_path / "target", byte_level())


def test_the_bundled_pair_is_identical_and_neither_weights_nor_torch_are_loaded():
    program = (
        "import sys; from simulator.text.vocabulary import diagnose; from simulator.catalog import *;"
        "d = diagnose(find(DEFAULT_TARGET), find(DEFAULT_DRAFT));"
        "print(d.kind, d.target_size, d.draft_rows, d.map, d.feed, {'torch', 'transformers'} & {*sys.modules})"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=BUNDLED.parent)
    assert result.stdout.split() == ["identical", "2048", "2048", "None", "None", "set()"], result.stderr


@pytest.mark.parametrize(("target_rows", "draft_rows"), [(152064, 151936), (151936, 152064), (128, 131)])
def test_the_same_entries_padded_to_other_rows_suit(tmp_path, target_rows, draft_rows):
    """SD-016: sister models were refused, or needed a rebuilt limit, because their output layers are padded."""
    found = diagnose(
        folder(tmp_path / "t", byte_level(), target_rows), folder(tmp_path / "d", byte_level(), draft_rows)
    )
    assert (found.kind, found.usable, found.needs_consent, found.differing) == ("padded", True, False, 0)
    assert (found.target_size, found.draft_size) == (128, 128)
    assert (found.target_rows, found.draft_rows, found.map) == (target_rows, draft_rows, None)
    assert f"{draft_rows:,} rows against {target_rows:,}" in found.sentence


def test_one_differing_entry_is_named_and_left_to_the_user(tmp_path, target):
    """SD-018: two sizes of one family differ in a single entry."""
    other = [*ENTRIES]
    other[11] = b"other"
    found = diagnose(target, folder(tmp_path / "draft", byte_level(other)))
    assert (found.kind, found.usable, found.needs_consent, found.differing) == ("few", True, True, 1)
    assert found.examples == ((11, ",", "other"),)
    assert "differ in 1 id: 11 (',' in the target, 'other' in the draft)" in found.sentence
    assert found.map.tolist() == [i if i != 11 else -1 for i in range(128)]
    assert found.feed.tolist() == [i if i != 11 else -1 for i in range(128)]  # no entry of the draft ends in ','


@pytest.mark.parametrize("swapped", [2, 3, 128])
def test_the_same_strings_in_another_order_are_refused_from_three_ids_of_128_on(tmp_path, target, swapped):
    """SD-018: tokenizers of one size were paired and produced noise. Two ids of 128 are few, three are not."""
    other = [*ENTRIES]
    other[:swapped] = np.roll(np.array(other[:swapped], object), 1).tolist()
    found = diagnose(target, folder(tmp_path / "draft", byte_level(other)))
    assert found.differing == min(swapped, 126)
    assert found.kind == ("few" if swapped == 2 else "different")
    assert (found.usable, found.map is None) == (swapped == 2, swapped != 2)
    shown = found.examples
    assert shown[0] == (0, "!", {2: '"', 3: "#", 128: "·@"}[swapped])
    assert [i for i, *_ in shown] == list(range(min(3, swapped)))
    if swapped == 2:
        assert found.feed.tolist() == [1, 0, *range(2, 128)]  # the draft reads each character where it has it
    if swapped == 128:
        assert found.sentence == (
            "draft cannot draft for target: their vocabularies (128 and 128 entries) differ in 126 ids: first "
            "0 ('!' in the target, '·@' in the draft), 1 ('\"' in the target, '!' in the draft), "
            "2 ('#' in the target, '\"' in the draft)."
        )


def test_unrelated_vocabularies_are_refused_with_both_sizes(tmp_path):
    words = [f" {i}".encode() for i in range(5025)]
    found = diagnose(
        folder(tmp_path / "t", byte_level(words), 5027), folder(tmp_path / "d", sentencepiece(words[3200::-1]), 3203)
    )
    assert (found.kind, found.usable) == ("different", False)
    assert "(3,203 and 5,027 entries) differ in 5,026 ids: first 0 ('·0' in the target, '·3200'" in found.sentence


def test_byte_level_and_sentencepiece_spellings_of_one_vocabulary_are_identical(tmp_path):
    entries = [b"the", b" the", b" ", b"  x", *(bytes([b]) for b in range(128, 256))]
    pair = folder(tmp_path / "t", byte_level(entries)), folder(tmp_path / "d", sentencepiece(entries))
    assert tokens_of(pair[0]) == tokens_of(pair[1]) == dict(enumerate([*entries, b"<s>", b"</s>"]))
    assert diagnose(*pair).kind == "identical"


def test_rows_that_a_gguf_converter_filled_up_are_no_entries(tmp_path, target):
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "draft.gguf", "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*map(spelled, ENTRIES), "<s>", "</s>", "[PAD128]", "[PAD129]"])
    writer.add_token_types([1] * 126 + [3] * 2 + [5] * 2)
    writer.add_tensor("token_embd.weight", np.zeros((130, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    draft = replace(target, name="draft", path=tmp_path / "draft.gguf", weights="gguf", vocab=130)
    found = diagnose(target, draft)
    assert (found.kind, found.draft_size, found.draft_rows) == ("padded", 128, 130), found.sentence


def test_special_tokens_count(tmp_path, target):
    found = diagnose(target, folder(tmp_path / "draft", byte_level(special=("<s>", "<|end|>"))))
    assert (found.kind, found.examples) == ("few", ((127, "</s>", "<|end|>"),))
    assert found.map[127] == -1
    assert found.feed[127] == LETTERS.index(b">")  # its nearest spelling: the longest ending in common


def test_an_entry_that_only_one_side_has_differs(tmp_path, target):
    found = diagnose(target, folder(tmp_path / "draft", byte_level(special=("<s>",))))
    assert (found.kind, found.draft_size, found.examples) == ("few", 127, ((127, "</s>", None),))
    assert "'</s>' in the target, no entry in the draft" in found.sentence


def test_a_token_declared_in_tokenizer_config_alone_counts(tmp_path, target):
    draft = folder(tmp_path / "draft", byte_level(special=("<s>",)))
    added = {"added_tokens_decoder": {"127": {"content": "</s>", "special": True}}}
    (draft.path / "tokenizer_config.json").write_text(json.dumps(added))
    assert diagnose(target, draft).kind == "identical"


def test_entries_past_the_targets_rows_do_not_count(tmp_path):
    """SD-020: added tokens gave a tokenizer more entries than the model has rows."""
    more = byte_level(special=("<s>", "</s>", "<a>", "<b>", "<c>", "<d>"))
    pair = folder(tmp_path / "t", byte_level()), folder(tmp_path / "d", more)
    for target, draft in (pair, pair[::-1]):
        found = diagnose(target, draft)
        assert (found.kind, found.usable, found.needs_consent) == ("padded", True, False)
        assert f"{found.draft_size} entries and agrees with {target.name} on each id" in found.sentence


@pytest.mark.parametrize("own_ids", [True, False])
@pytest.mark.parametrize("how", ["list", "d2t", "t2d"])
def test_a_cut_down_draft_suits_by_its_map(tmp_path, target, how, own_ids):
    """Its folder holds a tokenizer of its own, or still the target's."""
    ids = sorted(SHORT) if how == "t2d" else SHORT
    kept = byte_level([ENTRIES[i] for i in ids[:-1]], ("</s>",)) if own_ids else byte_level()
    draft = folder(tmp_path / "draft", kept, rows=5)
    if how == "list":
        (draft.path / "vocab_map.json").write_text(json.dumps(ids))
    else:
        buffers(draft.path, ids, 128, names=(how,))
    found = diagnose(target, draft)
    assert (found.kind, found.usable, found.needs_consent) == ("reduced", True, False), found.sentence
    assert found.map.tolist() == [*ids, -1]
    assert [found.feed[i] for i in ids] == [0, 1, 2, 3]
    assert found.feed[94 + 2] == ids.index(2)  # ' #' is read as '#'
    assert found.feed[94] == -1  # nothing in the draft ends in '!'
    assert "drafts 4 of the 128 entries" in found.sentence


def test_a_shortened_output_layer_behind_a_whole_embedding_is_fed_the_targets_ids(tmp_path, target):
    """As in EAGLE-3 folders, with and without a tokenizer; the map is d2t and t2d together."""
    for name, tokenizer in (("with", byte_level()), ("without", None)):
        draft = folder(tmp_path / name, tokenizer, rows=128, draft_vocab_size=4)
        buffers(draft.path, SHORT, 128)
        found = diagnose(target, draft)
        assert (found.kind, found.draft_rows, found.map.tolist()) == ("reduced", 4, SHORT)
        assert found.feed.tolist() == list(range(128))


def test_a_whole_draft_may_be_held_to_a_shortlist(tmp_path, target):
    found = diagnose(target, folder(tmp_path / "draft", byte_level(), mapped=SHORT))
    assert found.kind == "reduced"
    assert np.flatnonzero(found.map >= 0).tolist() == sorted(SHORT) == found.map[sorted(SHORT)].tolist()
    assert found.feed.tolist() == list(range(128))


def test_the_map_of_another_target_is_refused(tmp_path):
    other = folder(tmp_path / "other", byte_level(ENTRIES[::-1]))
    draft = folder(tmp_path / "draft", byte_level([ENTRIES[i] for i in SHORT[:-1]], ("</s>",)), rows=4, mapped=SHORT)
    found = diagnose(other, draft)
    assert (found.kind, found.differing) == ("different", 3)
    assert found.examples[0] == (5, "·;", "&")


@pytest.mark.parametrize(
    ("mapped", "says"),
    [
        ([5, 5], "names one id twice"),
        ([5, 128], "names the id 128, but the target has 128 rows"),
        ([-2, 5], "names the id -2"),
        ([1, 2, 3, 4, 5], "has 5 entries for 4 rows"),
        ([], "has 0 entries for 4 rows"),
        ([-1], "has 1 entries for 4 rows"),
        ({"0": 5}, "not a list of target ids"),
        (["5"], "not a list of target ids"),
        ([2**70], "not a list of target ids"),
    ],
)
def test_a_damaged_map_is_unknown_and_says_why(tmp_path, target, mapped, says):
    found = diagnose(target, folder(tmp_path / "draft", byte_level(), rows=4, mapped=mapped))
    assert (found.kind, found.usable) == ("unknown", False)
    assert says in found.sentence


def test_a_map_whose_halves_disagree_is_unknown(tmp_path, target):
    draft = folder(tmp_path / "draft", None, rows=4)
    buffers(draft.path, SHORT, 128)
    assert map_of(draft).tolist() == SHORT
    weights = (draft.path / "model.safetensors").read_bytes()
    (draft.path / "model.safetensors").write_bytes(weights[:-1])
    assert "copy it again" in diagnose(target, draft).sentence
    buffers(draft.path, [0, 1, 2, 3], 128, names=("t2d",))
    (draft.path / "model.safetensors").rename(draft.path / "mask.safetensors")
    buffers(draft.path, SHORT, 128, names=("d2t",))
    assert "d2t and t2d name different ids" in diagnose(target, draft).sentence


class Marker:
    """Pickles to something that creates a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_neither_a_pickled_map_nor_code_from_the_folder_is_ever_opened(tmp_path, target):
    """SD-054, SD-055: shortlists are published as pickles, tokenizers with Python files."""
    marker = tmp_path / "ran"
    draft = folder(tmp_path / "draft", byte_level())
    (draft.path / "freq_32768.pt").write_bytes(pickle.dumps(Marker(marker)))
    (draft.path / "evil.py").write_text(f"open({str(marker)!r}, 'w')")
    (draft.path / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": ["evil.T", None]}}))
    assert diagnose(target, draft).kind == "identical"
    assert not marker.exists()


def test_a_missing_or_damaged_tokenizer_is_unknown_and_names_the_file(tmp_path, target):
    """SD-057: a missing tokenizer was reported as a login problem."""
    draft = folder(tmp_path / "模型 é", byte_level())
    for damage in (lambda f: f.write_text("{}"), lambda f: f.unlink()):
        damage(draft.path / "tokenizer.json")
        for found in (diagnose(target, draft), diagnose(draft, target)):
            assert (found.kind, found.usable) == ("unknown", False)
            assert str(draft.path / "tokenizer.json") in found.sentence
            assert "copy the tokenizer" in found.sentence
            assert "\n" not in found.sentence
            assert not any(word in found.sentence.lower() for word in ("login", "log in", "hub", "token=", "gated"))


def test_the_rows_are_those_of_the_text_part_of_a_nested_config(tmp_path, target):
    draft = folder(tmp_path / "draft", byte_level())
    (draft.path / "config.json").write_text(json.dumps({"thinker_config": {"text_config": {"vocab_size": 140}}}))
    assert (diagnose(target, draft).kind, diagnose(target, draft).draft_rows) == ("padded", 140)
    (draft.path / "config.json").write_text("{}")
    assert (diagnose(target, draft).kind, diagnose(target, draft).draft_rows) == ("identical", 128)


def test_no_tokenizer_is_read_twice_however_many_models_have_it(tmp_path, target, monkeypatch):
    """With 200 checkpoints of one family the doctor read one tokenizer 200 times, for each target anew."""
    parsed, read = [], []
    from_str, read_text = Tokenizer.from_str, Path.read_text
    monkeypatch.setattr("simulator.text.tokens.Tokenizer", SimpleNamespace(
        from_str=lambda text: (parsed.append(1), from_str(text))[-1]))  # fmt: skip
    monkeypatch.setattr(Path, "read_text", lambda file, *a, **k: (
        file.name == "tokenizer.json" and read.append(file), read_text(file, *a, **k))[-1])  # fmt: skip
    drafts = [folder(tmp_path / f"draft{i}", byte_level()) for i in range(6)]
    read.clear()
    for one in (target, drafts[0]):
        assert {diagnose(one, draft).kind for draft in drafts} == {"identical"}
    assert len(parsed) <= 1
    assert len(read) == len(set(read)) == 7
    other = byte_level((*ENTRIES[:-1], b"new"))
    PreTrainedTokenizerFast(tokenizer_object=other, bos_token="<s>").save_pretrained(drafts[0].path)
    assert diagnose(target, drafts[0]).kind == "few"
    assert len(tokens._vocabularies) <= tokens.VOCABULARIES


def test_a_diagnosis_disturbs_no_thread_that_encodes(tmp_path):
    """SD-077: 'Already borrowed' where one tokenizer serves two threads; the doctor reads its own."""
    target = find(DEFAULT_TARGET)
    from transformers import AutoTokenizer

    texts = TokenTexts(AutoTokenizer.from_pretrained(target.path, local_files_only=True), 2048)
    kinds: list[str] = []
    doctor = threading.Thread(target=lambda: kinds.extend(diagnose(target, find(DEFAULT_DRAFT)).kind for _ in range(3)))
    once = texts.encode("To be, or not to be")
    doctor.start()
    while doctor.is_alive():
        assert texts.encode("To be, or not to be") == once
    doctor.join()
    assert kinds == ["identical"] * 3


def test_the_command_prints_the_diagnosis_and_tells_by_its_status(tmp_path, target, capsys):
    other = [*ENTRIES]
    other[11] = b"other"
    few, shuffled = (folder(tmp_path / n, byte_level(e)) for n, e in (("few", other), ("shuffled", ENTRIES[::-1])))

    def compare(draft):
        status = main.main(["models", "--compare", str(target.path), str(draft)])
        out, err = capsys.readouterr()
        return status, out.splitlines(), err

    status, lines, err = compare(few.path)
    assert (status, err) == (0, "")
    found = diagnose(target, few)
    assert lines == [*describe(found), found.sentence]
    assert [line.split() for line in lines[:4]] == [
        ["target", "draft"], ["tokenizer", "entries", "128", "128"], ["output", "rows", "128", "128"],
        ["differing", "ids", "1"],
    ]  # fmt: skip
    assert "id 11: ',' in the target, 'other' in the draft" in lines[4]
    assert lines[5].split(maxsplit=1) == ["verdict", "few, usable with --accept-differing"]

    status, lines, err = compare(shuffled.path)
    assert status == 2
    assert lines[-1].split(maxsplit=1) == ["verdict", "different, not usable"]
    assert err == f"specscope: {diagnose(target, shuffled).sentence}\n"

    (few.path / "tokenizer.json").unlink()
    status, lines, err = compare(few.path)
    assert (status, lines) == (2, [])
    assert "tokenizer.json is missing" in err
