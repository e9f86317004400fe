"""SmolLM2 135M and Gemma 3 270M as they are, where `python -m tests.fetch_models` has put them: real text, real sizes.

Gemma: 262,144 rows, and windows of 512 tokens mixed with full attention, so its cache must go back across the window.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from simulator.engine import speculate
from simulator.loading import Pair, load_pair
from simulator.measure import run_once
from simulator.records import RoundTrace, RunConfig, Sampling
from tests.fetch_models import GEMMA3, SMOLLM2

pytest.importorskip("gguf")
ROOT = Path(__file__).parent.parent
NOT_ITS_OWN = ("dtype", "architectures", "_name_or_path")  # of a config: what loading writes into it
GREEDY = Sampling(temperature=0.0)
PROMPT = "The capital of France is Paris. The capital of Italy is Rome. The capital of Germany is"


@pytest.fixture(scope="module")
def smollm2() -> Pair:
    if not SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not there: python -m tests.fetch_models")
    *_, pair = load_pair(str(SMOLLM2), str(SMOLLM2), device="cpu")
    return pair


@pytest.fixture(scope="module")
def gemma3() -> Pair:
    if not GEMMA3.is_file():
        pytest.skip("Gemma 3 is not there: python -m tests.fetch_models")
    *_, pair = load_pair(str(GEMMA3), None, device="cpu")
    return pair


def transformers_greedy(pair: Pair, ids: list[int], n: int) -> list[int]:
    """Return the n tokens that transformers' own generation goes on with, with the weights that we loaded."""
    return generated(pair.target.model.model, ids, n)


def generated(model: Any, ids: list[int], n: int) -> list[int]:
    prompt = torch.tensor([ids])
    with torch.inference_mode():
        text = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=n, min_new_tokens=n,
            eos_token_id=-1, pad_token_id=0,
        )  # fmt: skip
    return text[0, len(ids) :].tolist()


def test_greedy_text_is_that_of_transformers(smollm2):
    ids = smollm2.texts.encode(PROMPT)
    wanted = transformers_greedy(smollm2, ids, 24)
    assert "Berlin" in smollm2.texts.decode(wanted)
    for source in ("ngram", "model"):
        config = RunConfig(k=4, sampling=GREEDY, source=source, max_new_tokens=24)
        run = run_once(smollm2.target.model, smollm2.source(source, GREEDY), ids, config)
        assert list(run.tokens) == wanted


def test_weights_and_greedy_text_are_those_that_transformers_own_loading_gives(smollm2):
    """Header, names and blocks are read our way, several times faster: not one number may differ."""
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    ours = smollm2.target.model.model
    read = load_gguf_checkpoint(SMOLLM2, return_tensors=True, model_to_load=ours)
    config = type(ours.config)(**read["config"])
    assert {k: v for k, v in config.to_dict().items() if k not in NOT_ITS_OWN} == {
        k: v for k, v in ours.config.to_dict().items() if k not in NOT_ITS_OWN
    }
    theirs = type(ours).from_pretrained(None, config=config, state_dict=read["tensors"], dtype=torch.float32).eval()
    weights = dict(ours.named_parameters())
    assert {name for name, _ in theirs.named_parameters()} == set(weights)
    assert all(torch.equal(weights[name], w) for name, w in theirs.named_parameters())
    ids = smollm2.texts.encode(PROMPT)
    run = run_once(smollm2.target.model, None, ids, RunConfig(k=0, sampling=GREEDY, max_new_tokens=24))
    assert list(run.tokens) == generated(theirs, ids, 24)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_model_that_drafts_for_itself_is_always_accepted(smollm2, seed):
    config = RunConfig(k=4, seed=seed, max_new_tokens=64)
    run = run_once(smollm2.target.model, smollm2.source("model", config.sampling), smollm2.texts.encode(PROMPT), config)
    overlaps = [p.shape.overlap for r in run.rounds for p in r.positions if p.drafted is not None]
    assert len(run.tokens) == 64
    assert min(overlaps) >= 0.999
    assert sum(overlaps) / len(overlaps) >= 0.999


def test_run_takes_a_gguf_file_as_target(tmp_path):
    if not SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not there: python -m tests.fetch_models")
    done = subprocess.run(
        [sys.executable, "main.py", "run", "--target", str(SMOLLM2), "--source", "ngram", "--prompt", "one two one two",
         "--no-chat", "--max-new-tokens", "8", "--json", "--csv", str(tmp_path / "r.csv")],
        cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout.splitlines()[-1])["tokens"]) == 8
    said = json.loads((tmp_path / "r.meta.json").read_text("utf-8"))["models"]["target"]
    assert len(said["sha256"]) == 64


def test_gemma_goes_back_exactly_behind_its_window_of_512_tokens(gemma3):
    """Real text past the window: greedy text with rejected drafts in it is the plain text, and transformers' own."""
    text = (ROOT / "LICENSE").read_text("utf-8")
    ids = gemma3.texts.encode(text)[:540]
    model = gemma3.target.model
    assert model.vocab == 262_144
    assert model.model.config.sliding_window == 512 < len(ids)
    plain = run_once(model, None, ids, RunConfig(k=0, sampling=GREEDY, max_new_tokens=24))
    config = RunConfig(k=4, sampling=GREEDY, source="ngram", max_new_tokens=24)
    rounds = [e for e in speculate(model, gemma3.source("ngram", GREEDY), ids, config) if isinstance(e, RoundTrace)]
    emitted = [t for r in rounds for t in r.emitted]
    assert emitted == list(plain.tokens) == transformers_greedy(gemma3, ids, 24)
    tried = replace(config, sampling=Sampling(), seed=1)
    run = run_once(model, gemma3.source("ngram", Sampling()), ids, tried)
    assert any(r.accepted < r.drafted for r in run.rounds)  # something was taken back behind the window
    position = run.rounds[0].positions[0]
    assert position.bars is not None
    assert position.bars.p.sum() <= 1 + 1e-5
