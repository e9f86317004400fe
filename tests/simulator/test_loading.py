"""From a folder to a pair that runs, or to one sentence; never a random weight, foreign code or the network."""

import pickle
import shutil
import signal
import socket
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer

from simulator import loading
from simulator.drafts.base import no_checkpoint
from simulator.engine import Stopped
from simulator.errors import UserError
from simulator.loading import Pair, Progress, choose_device, choose_dtype, content_hash, load_pair
from simulator.models import build
from simulator.records import Sampling
from simulator.text.prompts import Prompt
from tests.simulator.folders import VOCAB, edit_json, edit_weights, save
from tests.simulator.tiny import play

TENSORS = 20  # of the folders below, at least


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "other", seed=1)


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def load(target: Path | str, draft: Path | str | None = None, **options) -> Pair:
    *progress, pair = load_pair(str(target), None if draft is None else str(draft), device="cpu", **options)
    assert {type(p) for p in progress} == {Progress}
    assert [p.fraction for p in progress] == sorted(p.fraction for p in progress)
    return pair


def refusal(target: Path | str, draft: Path | str | None = None) -> str:
    with pytest.raises(UserError) as caught:
        load(target, draft)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


def test_a_pair_is_loaded_with_its_weights_and_runs(whole, other):
    pair = load(whole, other)
    assert (pair.target.device, pair.target.dtype, pair.target.model.vocab) == ("cpu", "float32", VOCAB)
    assert pair.target.model.max_length == 128
    assert pair.end_tokens == {1}
    saved = loading.find(str(whole)).path / "model.safetensors"
    from safetensors.torch import load_file

    weights = dict(pair.target.model.model.named_parameters())
    assert all(torch.equal(weights[name].data, w) for name, w in load_file(saved).items())
    assert pair.texts.decode(pair.encode("the quick é 模型 🦙")).endswith("the quick é 模型 🦙")
    for name in ("model", "ngram"):
        run = play(
            pair.target.model, pair.source(name, Sampling()), pair.encode("to be or not to be"), max_new_tokens=9
        )
        assert len(run.tokens) == 9
    with pytest.raises(UserError, match="no draft source 'hope'"):
        pair.source("hope", Sampling())


def test_an_empty_prompt_is_the_start_token_where_there_is_one(whole, copy):
    pair = load(whole)
    assert pair.encode("") == [0]
    assert len(play(pair.target.model, None, pair.encode(""), k=0, max_new_tokens=2).tokens) == 2
    edit_json(copy / "tokenizer_config.json", bos_token=None)
    with pytest.raises(UserError, match="prompt is empty"):
        play(load(copy).target.model, None, load(copy).encode(""), k=0)


def test_without_a_draft_only_sources_that_need_none_work(whole):
    pair = load(whole)
    assert pair.draft is None
    assert pair.source("ngram", Sampling()).name == "ngram"
    with pytest.raises(UserError, match="needs a draft model"):
        pair.source("model", Sampling())


def test_both_models_may_be_the_same_folder(whole):
    pair = load(whole, whole)
    run = play(pair.target.model, pair.source("model", Sampling()), pair.encode("fox"), k=4, max_new_tokens=20)
    assert sum(t.accepted for t in run.rounds) == sum(t.drafted for t in run.rounds) == 16


@pytest.mark.parametrize("name", ["my model", "模型 é 🦙", "y" * 200])
def test_odd_folder_names_are_loaded(whole, tmp_path, name):
    assert load(shutil.copytree(whole, tmp_path / name)).target.entry.name == name


def test_shards_are_loaded_as_one(tmp_path, whole):
    sharded = save(tmp_path / "sharded", shard="20KB")
    assert len(list(sharded.glob("*.safetensors"))) > 1
    ids = [5, 6, 7]
    models = [load(folder).target.model for folder in (sharded, whole)]
    assert torch.equal(*(model.extend(ids) for model in models))


class Marker:
    """Pickles to something that creates a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("beside", [False, True])
def test_a_pickle_is_never_opened(copy, tmp_path, beside):
    marker = tmp_path / "opened"
    for name in ("pytorch_model.bin", "model.pt", "adapter.pkl"):
        (copy / name).write_bytes(pickle.dumps(Marker(marker)))
    if beside:
        load(copy)
    else:
        (copy / "model.safetensors").unlink()
        assert "only pickled weights" in refusal(copy)
    assert not marker.exists()


def test_code_from_the_model_folder_is_never_run(whole, copy, tmp_path):
    marker = tmp_path / "ran"
    (copy / "modeling_evil.py").write_text(f"open({str(marker)!r}, 'w')")
    edit_json(copy / "config.json", auto_map={"AutoModelForCausalLM": "modeling_evil.Model"})
    assert "Python code" in refusal(copy)
    shutil.copy(whole / "config.json", copy / "config.json")
    edit_json(copy / "tokenizer_config.json", auto_map={"AutoTokenizer": ["modeling_evil.T", None]})
    assert load(copy).texts.decode([5])
    assert not marker.exists()


def test_a_missing_weight_is_refused_by_name_and_not_made_up(copy):
    edit_weights(copy, lambda weights: weights.pop("model.layers.1.mlp.up_proj.weight"))
    sentence = refusal(copy)
    assert "1 missing weight(s)" in sentence
    assert "model.layers.1.mlp.up_proj.weight" in sentence


def test_a_weight_that_the_architecture_does_not_have_is_refused(copy):
    edit_weights(copy, lambda weights: weights.update({"model.layers.7.extra": torch.zeros(2)}))
    assert "unexpected weight(s), such as model.layers.7.extra" in refusal(copy)


def test_a_weight_of_another_shape_is_refused(copy):
    edit_json(copy / "config.json", intermediate_size=48)
    assert "down_proj.weight with the shape [32, 64], but its config describes [32, 48]" in refusal(copy)
    edit_json(copy / "config.json", intermediate_size=64, vocab_size=290)
    assert "lm_head.weight with the shape [300, 32], but its config describes [290, 32]" in refusal(copy)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("my-own-model", "is of a kind that transformers"), ("gpt99", "is of a kind that transformers"),
        ("vit", "copy (vit) is no model that goes on with a text"), ("t5", "copy (t5) is no model that goes on"),
    ],
)  # fmt: skip
def test_a_model_of_another_kind_is_not_called_damaged(copy, kind, sentence):
    edit_json(copy / "config.json", model_type=kind)
    assert sentence in refusal(copy)
    assert "copy it again" not in refusal(copy)


def test_what_the_folder_wishes_for_attention_is_not_fetched(whole, copy):
    """A config may name a kernel of the hub's there: code, and a request to the network."""
    edit_json(copy / "config.json", _attn_implementation="org/kernel", _experts_implementation="org/kernel")
    ids = [5, 6, 7]
    assert torch.equal(load(copy).target.model.extend(ids), load(whole).target.model.extend(ids))


def test_a_tokenizer_that_needs_code_is_refused_without_a_word_of_the_hub(copy, tmp_path):
    marker = tmp_path / "ran"
    (copy / "own.py").write_text(f"open({str(marker)!r}, 'w')")
    edit_json(copy / "tokenizer_config.json", tokenizer_class="Own", auto_map={"AutoTokenizer": ["own.Own", "own.Own"]})
    sentence = refusal(copy)
    assert sentence.endswith("needs Python code from the model folder, which SpecScope does not run.")
    assert not marker.exists()


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_weight_that_is_not_finite_is_refused_by_name(copy, value):
    edit_weights(copy, lambda weights: weights["model.norm.weight"].__setitem__(3, value))
    assert "values in model.norm.weight that are not finite" in refusal(copy)


@pytest.mark.parametrize("part", ["target", "draft"])
def test_damage_is_refused_whichever_model_has_it(whole, copy, part):
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert "copy it again" in refusal(*((copy, whole) if part == "target" else (whole, copy)))


def test_different_vocabularies_are_refused_with_sizes_and_ids(tmp_path, whole):
    smaller = save(tmp_path / "smaller", vocab=280)
    sentence = refusal(whole, smaller)
    assert "280" in sentence
    assert "300" in sentence
    assert "differ in" in sentence
    same_size = save(tmp_path / "same size", extra="zebra quartz ")
    assert "(300 and 300 entries) differ in" in refusal(whole, same_size)


def test_a_differing_entry_needs_consent_and_is_then_never_drafted(whole, copy):
    (copy / "tokenizer.json").write_text((copy / "tokenizer.json").read_text("utf-8").replace("</s>", "<end>"), "utf-8")
    sentence = refusal(whole, copy)
    assert "differ in 1 id: 1 ('</s>' in the target, '<end>' in the draft)" in sentence
    assert "--accept-differing" in sentence
    pair = load(whole, copy, accept_differing=True)
    assert (pair.vocabulary.kind, pair.vocabulary.needs_consent) == ("few", True)
    assert load(whole, whole).vocabulary.kind == "identical"
    assert load(whole).vocabulary is None
    source = pair.source("model", Sampling())
    run = play(pair.target.model, source, pair.encode("to be"), k=4, max_new_tokens=20)
    assert sum(t.drafted for t in run.rounds) > 0
    source.reset()
    proposal = source.propose(pair.encode("to be"), np.full(4, 0.5), no_checkpoint)
    assert (proposal.q[:, 1] == 0).all()
    assert proposal.q.sum(1) == pytest.approx(np.ones(4), abs=1e-5)


@pytest.mark.parametrize("how", ["list", "buffers"])
def test_a_draft_with_a_reduced_vocabulary_is_loaded_with_its_map_and_leaves_greedy_text_alone(tmp_path, whole, how):
    smaller = save(tmp_path / "smaller", vocab=280)
    if how == "list":
        (smaller / "vocab_map.json").write_text(str(list(range(280))))
    else:
        edit_weights(smaller, lambda weights: weights.update({"d2t": torch.zeros(280, dtype=torch.int64)}))
    pair = load(whole, smaller)
    assert (pair.vocabulary.kind, pair.vocabulary.map.tolist()) == ("reduced", list(range(280)))
    greedy = Sampling(temperature=0)
    for text in ("that is the question", "no, over there"):  # some of its tokens the draft lacks
        ids = pair.encode(text)
        assert max(ids) >= 280
        plain = play(pair.target.model, None, ids, k=0, sampling=greedy, max_new_tokens=30)
        run = play(pair.target.model, pair.source("model", greedy), ids, k=3, sampling=greedy, max_new_tokens=30)
        assert run.tokens == plain.tokens
        assert all(t.drafted for t in run.rounds[:-1])


def test_a_prompt_token_without_a_row_is_refused_by_name_before_any_pass(copy):
    """SD-020: added tokens gave a tokenizer more entries than the model has rows; typing one crashed."""
    backend = Tokenizer.from_file(str(copy / "tokenizer.json"))
    backend.add_tokens([AddedToken("<new>", normalized=False)])
    backend.save(str(copy / "tokenizer.json"))
    pair = load(copy)
    with pytest.raises(UserError, match=r"contains the token <new> \(id 300\), but copy has 300 rows"):
        pair.encode("the <new> fox")
    assert pair.encode("the fox")


def with_added(folder: Path, n: int) -> None:
    """Give a folder's tokenizer special entries that its model has no rows for: <new0>, <new1>, ..."""
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.add_special_tokens([AddedToken(f"<new{i}>", special=True, normalized=False) for i in range(n)])
    backend.save(str(folder / "tokenizer.json"))


def test_a_token_without_a_row_is_told_by_who_puts_it_there(copy):
    """SD-020: nobody can remove from the prompt what the chat template or the tokenizer writes."""
    with_added(copy, 2)
    template = "{% for m in messages %}<new0>{{ m['content'] }}{% endfor %}"
    edit_json(copy / "tokenizer_config.json", chat_template=template)
    pair = load(copy)
    assert pair.encode(Prompt("a <new1> b", chat=False))  # as text
    for prompt, words in [
        (
            Prompt("a <new1> b", chat=False, special=True),
            r"The prompt contains the token ⟦<new1>⟧ \(id 301\).*remove it",
        ),
        (Prompt("fox"), r"The chat template writes the token ⟦<new0>⟧ \(id 300\), but copy has 300 rows: turn it off"),
    ]:
        with pytest.raises(UserError, match=words):
            pair.encode(prompt)
    edit_json(copy / "tokenizer_config.json", bos_token="<new1>", chat_template=None)
    with pytest.raises(UserError, match=r"Texts begin with the token ⟦<new1>⟧.*belongs to another model"):
        load(copy).encode("")


def test_a_draft_without_a_row_for_a_token_of_the_text_drafts_on(tmp_path, copy):
    """SD-020, seen from the draft: from such a token on it drafted nothing any more."""
    wide = save(tmp_path / "wide", vocab=VOCAB + 2, seed=3)
    with_added(copy, 2)
    shutil.copy(copy / "tokenizer.json", wide / "tokenizer.json")
    pair = load(wide, copy)
    assert pair.vocabulary.kind == "padded"
    greedy = Sampling(temperature=0)
    ids = pair.encode(Prompt("to <new1> be", special=True))
    assert VOCAB + 1 in ids
    plain = play(pair.target.model, None, ids, k=0, sampling=greedy, max_new_tokens=20)
    run = play(pair.target.model, pair.source("model", greedy), ids, k=3, sampling=greedy, max_new_tokens=20)
    assert run.tokens == plain.tokens
    assert all(t.drafted for t in run.rounds[:-1])


def test_the_verdict_follows_the_files_as_they_are_now(tmp_path, whole, copy):
    different = save(tmp_path / "different", extra="zebra quartz ")
    load(whole, copy)
    shutil.copy(different / "tokenizer.json", copy / "tokenizer.json")
    assert "differ in" in refusal(whole, copy)
    shutil.copy(whole / "tokenizer.json", copy / "tokenizer.json")
    load(whole, copy)


def test_a_tokenizer_that_cannot_be_read_is_refused(copy):
    (copy / "tokenizer.json").write_text("{}")
    assert "okenizer" in refusal(copy)


@pytest.mark.parametrize(("declared", "ends"), [([1, 106], {1, 106}), (7, {7}), (None, {1})])
def test_every_declared_end_token_ends(copy, declared, ends):
    """Models with a list of end tokens stopped on only one of them."""
    edit_json(copy / "generation_config.json", eos_token_id=declared)
    assert load(copy).end_tokens == ends


def test_a_stop_between_the_steps_ends_the_loading(whole, other):
    calls = []

    def checkpoint():
        calls.append(1)
        if len(calls) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        list(load_pair(str(whole), str(other), device="cpu", checkpoint=checkpoint))


def test_a_stop_ends_the_loading_at_every_step_it_is_asked_at(whole, other):
    """Cancel at any time: before each block read, each tensor, each stage; nothing but Stopped comes out."""
    steps = 0

    def count():
        nonlocal steps
        steps += 1

    list(load_pair(str(whole), str(other), device="cpu", dtype="bfloat16", checkpoint=count))
    assert steps > 4 * 2 * TENSORS  # read, taken by transformers, detached from the file, put on the device
    for last in range(0, steps, steps // 12):
        left = iter(range(last))

        def checkpoint(left=left):
            if next(left, None) is None:
                raise Stopped

        with pytest.raises(Stopped):
            list(load_pair(str(whole), str(other), device="cpu", dtype="bfloat16", checkpoint=checkpoint))


def test_a_stop_is_heeded_while_transformers_takes_the_weights(whole, monkeypatch):
    """A model of many gigabytes is copied there for seconds, after its last file was read."""
    stopped, take = [], build.build

    def checkpoint():
        if stopped:
            raise Stopped

    def begun(*args):
        stopped.append(1)
        return take(*args)

    monkeypatch.setattr(build, "build", begun)
    monkeypatch.setattr("simulator.local.load_model.detach_from_files", lambda *_: pytest.fail("it was not heeded"))
    with pytest.raises(Stopped):
        list(load_pair(str(whole), None, device="cpu", dtype="bfloat16", checkpoint=checkpoint))


def test_progress_names_every_shard(tmp_path):
    sharded = save(tmp_path / "sharded", shard="20KB")
    *progress, _ = load_pair(str(sharded), None, device="cpu")
    said = " ".join(p.text for p in progress)
    assert all(f.name in said for f in sharded.glob("*.safetensors"))
    assert "on cpu in float32" in said


def test_each_model_has_its_own_dtype_and_p_and_q_are_compared_in_float32(whole, other):
    """Two dtypes in one pair ended in a 'same dtype' error; a draft stayed in the target's unnoticed."""
    pair = load(whole, other, dtype="float16", draft_dtype="bfloat16", target_dtype="float32")
    assert (pair.target.dtype, pair.draft.dtype) == ("float32", "bfloat16")
    assert (pair.target.model.dtype, pair.draft.model.dtype) == (torch.float32, torch.bfloat16)
    pair = load(whole, other, dtype="bfloat16", target_dtype="float16")
    assert (pair.target.dtype, pair.draft.dtype) == ("float16", "bfloat16")
    run = play(pair.target.model, pair.source("model", Sampling()), pair.encode("fox"), k=3, max_new_tokens=8)
    assert {p.bars.p.dtype.name for r in run.rounds for p in r.positions} == {"float32"}


@pytest.mark.parametrize("option", ["target_device", "draft_device"])
def test_a_device_that_is_not_there_is_refused_for_either_model_before_anything_is_read(whole, other, option):
    read = []
    with pytest.raises(UserError, match="'cuda:7' cannot be used here"):
        list(load_pair(str(whole), str(other), device="cpu", checkpoint=lambda: read.append(1), **{option: "cuda:7"}))
    assert len(read) == 1


def test_too_little_memory_is_said_before_anything_is_read(whole, monkeypatch):
    monkeypatch.setattr("simulator.local.memory.free_bytes", lambda device: 1_000_000)
    assert "but 1 MB are free on cpu: choose bfloat16 or a smaller model." in refusal(whole)


def test_weights_too_large_for_float16_are_refused_by_name(copy):
    edit_weights(copy, lambda weights: weights["model.norm.weight"].__setitem__(3, 1e6))
    with pytest.raises(UserError, match=r"values in model\.norm\.weight that float16 cannot hold"):
        load(copy, dtype="float16")
    load(copy, dtype="bfloat16")


def test_the_hash_of_a_loaded_model_is_of_what_was_read(copy):
    """A file that is replaced while the model runs must not put its own hash beside the run."""
    before = content_hash(copy)
    pair = load(copy)
    edit_weights(copy, lambda weights: weights["model.norm.weight"].__setitem__(0, 2.0))
    assert pair.target.sha256 == before != content_hash(copy)


@pytest.mark.parametrize("ends", [[-1, 1], [10**12], ["</s>"], "</s>", {}, 1.5, True])
def test_end_tokens_that_are_no_tokens_are_left_out(copy, ends):
    edit_json(copy / "generation_config.json", eos_token_id=ends)
    assert load(copy).end_tokens == {1}


def test_one_tokenizer_serves_two_threads(whole):
    """The prompt view encoded while a run decoded: 'Already borrowed'."""
    pair = load(whole)
    wanted = pair.encode("to be or not to be é 模型"), pair.texts.decode(list(range(60)))
    wrong, done = [], threading.Event()

    def use():
        while not done.is_set():
            try:
                found = pair.encode("to be or not to be é 模型"), pair.texts.decode(list(range(60)))
            except Exception as error:
                wrong.append(error)
                return
            if found != wanted:
                wrong.append(found)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    play(pair.target.model, pair.source("ngram", Sampling()), pair.encode("to be or not to be"), max_new_tokens=60)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_code_from_a_folder_is_refused_in_a_thread_without_a_console(copy, tmp_path, monkeypatch):
    """The library asked on the console, guarded by an alarm that only the main thread may set."""
    edit_json(copy / "config.json", auto_map={"AutoModelForCausalLM": "own.Model"})
    (copy / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.setattr("sys.stdin", None)
    handler, said = signal.getsignal(signal.SIGINT), []
    thread = threading.Thread(target=lambda: said.append(refusal(copy)))
    thread.start()
    thread.join()
    assert "needs Python code from the model folder" in said[0]
    assert not (tmp_path / "ran").exists()
    assert signal.getsignal(signal.SIGINT) is handler


def test_devices_and_dtypes():
    assert choose_device("cpu") == "cpu"
    for wrong in ("cuda:99", "nonsense", "", "meta", "xpu:9", "mkldnn", "auto "):
        with pytest.raises(UserError, match="choose auto or cpu") as caught:
            choose_device(wrong)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 350  # torch's own words may fill a screen
    assert [choose_dtype("auto", d) for d in ("cpu", "cpu:0", "cuda", "mps")] == ["float32"] * 2 + ["bfloat16"] * 2
    assert choose_dtype("float16", "cpu") == "float16"
    with pytest.raises(UserError, match="'int3' is not known"):
        choose_dtype("int3", "cpu")


def test_probabilities_are_float32_whatever_the_dtype_of_the_weights(whole):
    pair = load(whole, dtype="bfloat16")
    assert pair.target.model.dtype is torch.bfloat16
    run = play(pair.target.model, pair.source("ngram", Sampling()), pair.encode("fox"), max_new_tokens=4)
    assert run.rounds[0].positions[0].bars.p.dtype.name == "float32"


def test_the_content_hash_changes_with_the_weights_and_not_with_the_place(whole, copy, other):
    assert content_hash(whole) == content_hash(copy)
    assert len({content_hash(whole), content_hash(other)}) == 2
    edit_weights(copy, lambda weights: weights["model.norm.weight"].__setitem__(0, 2.0))
    assert content_hash(whole) != content_hash(copy)


def test_torchs_compiler_is_asked_for_a_model_that_runs_through_torch(whole, other, monkeypatch):
    from simulator.models import paths

    asked = []

    def compiled(model, name):
        asked.append(model.dtype)
        return paths.decoder_for(model, name), "why"

    monkeypatch.setattr(paths, "compiled_decoder", compiled)
    pair = load(whole, other, dtype="bfloat16", draft_dtype="float32", compiled=True)
    assert asked == [torch.bfloat16]
    assert pair.target.notice == "why"
    assert pair.draft.notice == "other is not compiled: in float32 on the CPU its passes do not go through torch."
    assert load(whole, dtype="bfloat16").target.notice == ""
    assert asked == [torch.bfloat16]


def test_the_threads_of_a_large_model_are_told(whole, copy, monkeypatch):
    from simulator.models import llama

    monkeypatch.setattr(llama, "trial", lambda layers: lambda number: None)
    monkeypatch.setattr(llama, "calibrate", lambda work, checkpoint: 2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert load(whole).target.notice == "whole decodes on 2 of 8 threads, as many as were quickest."
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert load(whole).target.notice == ""
