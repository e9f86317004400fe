"""What a folder suggests for sampling is offered whole and honestly, and never acts by itself."""

import json
import shutil
from pathlib import Path

import pytest

from simulator.catalog import find
from simulator.loading import load_pair
from simulator.local.generation_defaults import suggested_sampling
from simulator.records import Sampling
from tests.simulator.folders import save
from tests.simulator.tiny import play, untimed


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def suggestion(folder: Path, **settings):
    (folder / "generation_config.json").write_text(json.dumps(settings), "utf-8")
    return suggested_sampling(find(str(folder)))


@pytest.mark.parametrize(
    ("settings", "sampling", "text"),
    [
        ({"temperature": 0.6, "top_k": 20, "top_p": 0.95, "do_sample": True}, Sampling(0.6, 20, 0.95),
         "temperature 0.6, top-k 20, top-p 0.95"),
        ({"top_k": 50}, Sampling(1.0, 50), "temperature 1, top-k 50"),
        ({"min_p": 0.05}, Sampling(min_p=0.05), "temperature 1, min-p 0.05"),
        ({"do_sample": False, "temperature": 0.7, "top_k": 5}, Sampling(0.0), "temperature 0"),
    ],
)  # fmt: skip
def test_what_can_be_applied_is_suggested(folder, settings, sampling, text):
    found = suggestion(folder, **settings)
    assert (found.sampling, found.text, found.unapplied) == (sampling, text, "")


@pytest.mark.parametrize(
    "settings", [{}, {"eos_token_id": 1}, {"temperature": 1.0, "top_k": 0, "top_p": 1.0}, {"repetition_penalty": 1.0}]
)
def test_plain_sampling_is_no_suggestion(folder, settings):
    assert suggestion(folder, **settings) is None


def test_what_cannot_be_applied_is_named(folder):
    found = suggestion(folder, repetition_penalty=1.1, forced_bos_token_id=7, suppress_tokens=[3, 4], top_k=5)
    assert found.sampling == Sampling(top_k=5)
    assert found.unapplied == (
        "SpecScope does not apply repetition_penalty = 1.1, suppress_tokens = 2 entries, forced_bos_token_id = 7, "
        "which copy also asks for."
    )


@pytest.mark.parametrize("value", [-1, "hot", [], {}, 1e9])
def test_an_impossible_value_is_named_and_left_out(folder, value):
    found = suggestion(folder, temperature=value, top_p=0.9)
    assert found.sampling == Sampling(top_p=0.9)
    assert "temperature = " in found.unapplied
    assert found.unapplied.endswith("which is not possible.")


@pytest.mark.parametrize("text", ["", "[]", "{", "3"])
def test_a_damaged_file_suggests_nothing(folder, text):
    (folder / "generation_config.json").write_text(text, "utf-8")
    assert suggested_sampling(find(str(folder))) is None


def test_a_folders_defaults_never_act_unseen(whole, folder):
    """Top-k 50, penalties and forced tokens in a folder changed what was sampled, without a word on the screen."""
    (folder / "generation_config.json").write_text(
        json.dumps({"top_k": 2, "temperature": 0.1, "repetition_penalty": 5.0, "forced_bos_token_id": 9,
                    "suppress_tokens": [1, 2, 3], "eos_token_id": 1}), "utf-8",
    )  # fmt: skip
    runs = []
    for place in (whole, folder):
        *_, pair = load_pair(str(place), None, device="cpu")
        kept = pair.target.model.model.generation_config
        assert (kept.top_k, kept.temperature, kept.repetition_penalty, kept.suppress_tokens) == (None,) * 4
        source = pair.source("ngram", Sampling())
        runs.append(play(pair.target.model, source, pair.encode("to be or not to be"), max_new_tokens=12))
    assert untimed(runs[0].rounds) == untimed(runs[1].rounds)
