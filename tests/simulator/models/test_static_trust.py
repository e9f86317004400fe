"""When the static path is not trusted, and what happens then."""

from __future__ import annotations

import pytest
import torch

from simulator.models import static
from simulator.models.hf import HFModel
from simulator.models.passes import Eager, Recorded
from simulator.models.paths import decoder_for
from simulator.models.probe import disagreement
from simulator.models.static import StaticModel, static_decoder
from tests.simulator.models.families import FAMILIES, Family
from tests.simulator.models.recording import FakeGraphs
from tests.simulator.models.suited import BY_NAME, CLOSE, WHOLE, ids, recorded
from tests.simulator.models.suited import llama as build_llama


@pytest.fixture
def llama() -> HFModel:
    return build_llama()


class Forgetful(StaticModel):
    """Takes positions from Python, where a replay cannot see them."""

    def _forward(self, model, inputs, size, keep=0):
        made = torch.stack([inputs[0], torch.arange(self._length, self._length + inputs.shape[1])])
        return super()._forward(model, made, size, keep)


def test_a_pass_that_reads_more_than_its_buffers_is_found_out(llama, monkeypatch):
    """The fake graph is as blind as a real one: without this the tests above would prove nothing."""
    assert disagreement(Forgetful(llama, Eager()), llama, 128) is None
    assert disagreement(Forgetful(llama, Recorded(FakeGraphs())), llama, 128) is not None
    monkeypatch.setattr(static, "StaticModel", Forgetful)
    assert static_decoder(llama, Recorded(FakeGraphs())) is llama


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.name not in WHOLE], ids=lambda family: family.name)
def test_other_caches_and_positions_stay_on_the_general_path(family):
    general = HFModel(family.build(), family.name)
    assert static.obstacle(general) is not None
    assert static_decoder(general, Eager()) is general


def test_another_attention_than_sdpa_stays_on_the_general_path(llama):
    llama.model.set_attn_implementation("eager")
    assert static_decoder(llama, Eager()) is llama


def test_a_model_that_waits_for_the_device_in_a_pass_stays_on_the_general_path():
    """Dynamic rotary angles ask how long the text is, which no capture allows."""
    family = BY_NAME["Llama"]
    rope = dict(rope_type="dynamic", factor=2.0, rope_theta=1e4)
    model = HFModel(Family("dynamic", "", family.architecture, family.config, dict(rope_parameters=rope)).build(), "d")
    runner = Recorded(FakeGraphs())
    assert static_decoder(model, runner) is model
    assert "waits for the device" in runner.failed


def test_a_width_that_cannot_be_recorded_later_is_called_instead(llama, monkeypatch):
    model, text = recorded(llama), ids(6)
    monkeypatch.setattr(model._runner, "_record", lambda forward: 1 / 0)
    llama.reset()
    assert (model.extend(text) - llama.extend(text)).abs().max() < CLOSE
    assert model._runner.failed == "division by zero"
    assert (model.extend([7]) - llama.extend([7])).abs().max() < CLOSE  # recorded before, and still replayed


def test_a_path_that_says_something_else_is_not_trusted(llama, monkeypatch):
    mask = static.causal_mask
    for wrong in (lambda scores: scores.clamp(min=0), lambda scores: scores * 0):  # all is seen; 0 times infinity
        monkeypatch.setattr(static, "causal_mask", lambda window, dtype, wrong=wrong: wrong(mask(window, dtype)))
        assert static_decoder(llama, Eager()) is llama


def test_the_cpu_keeps_its_path():
    assert isinstance(decoder_for(BY_NAME["GPT-2"].build(), "general"), HFModel)
