"""torch's compiler is used where it is there and right; elsewhere the path without it runs, and a sentence says why."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from simulator.models import paths, static
from simulator.models.hf import HFModel
from simulator.models.paths import compiled_decoder, compiler_fault, is_lean
from simulator.models.static import StaticModel
from tests.simulator.models.families import FAMILIES, Family
from tests.simulator.models.suited import BY_NAME, CLOSE, WHOLE, ids
from tests.simulator.models.test_llama import build
from tests.simulator.tiny import GREEDY, play

CPU = torch.device("cpu")
ODD = Family("odd", "", "LlamaForCausalLM", "LlamaConfig", dict(head_dim=12), seed=1)  # equal sizes seem the same one
REAL_COMPILE = torch.compile


@pytest.fixture
def compiler(monkeypatch):
    """Stand in for the part of torch's compiler that takes minutes: the graphs it is given run as they are."""
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(REAL_COMPILE, backend=backend))
    monkeypatch.setattr(paths, "compiler_fault", lambda device: None)
    yield graphs
    torch._dynamo.reset()


def test_a_compiled_model_says_what_the_plain_path_says(compiler):
    made, notice = compiled_decoder(ODD.build(), "odd")
    assert isinstance(made, StaticModel)
    assert notice == ""
    assert len(compiler) == 2  # one token, and several
    plain, text = HFModel(ODD.build(), "odd"), ids(30)
    for low, high in ((0, 12), (12, 13), (13, 18), (18, 30)):
        assert (made.extend(text[low:high]) - plain.extend(text[low:high])).abs().max() < CLOSE
    settings = dict(sampling=GREEDY, max_new_tokens=16, k=0)
    assert play(made, None, ids(5), **settings).tokens == play(plain, None, ids(5), **settings).tokens


def test_in_half_precision_a_compiled_model_says_that_it_rounds_otherwise(compiler):
    made, notice = compiled_decoder(ODD.build().bfloat16(), "odd")
    assert isinstance(made, StaticModel)
    assert notice == "odd is compiled, and rounds less often: near ties can fall otherwise."


def test_nothing_is_compiled_anew_when_a_text_outgrows_its_window_or_begins_again(compiler, monkeypatch):
    """It would take minutes, in the middle of a run."""
    monkeypatch.setattr(static, "FIRST_WINDOW", 24)  # no width that the probe asks for
    made, _ = compiled_decoder(ODD.build(), "odd")
    plain, text = HFModel(ODD.build(), "odd"), ids(60)
    for length in (60, 12):
        made.reset()
        plain.reset()
        for low in range(0, length, 6):
            for part in (text[low : low + 5], text[low + 5 : low + 6]):
                assert (made.extend(part) - plain.extend(part)).abs().max() < CLOSE
    assert made._window.capacity == 96 + static.SPARE
    assert len(compiler) == 2


def test_a_compiler_that_says_something_else_is_not_trusted(monkeypatch):
    def wrong(model, **options):
        def call(**inputs):
            output = model(**inputs)
            output.logits = output.logits.flip(-1)
            return output

        return call

    monkeypatch.setattr(paths, "compiler_fault", lambda device: None)
    monkeypatch.setattr(torch, "compile", wrong)
    made, notice = compiled_decoder(ODD.build(), "odd")
    assert isinstance(made, HFModel)
    assert notice.startswith("odd runs without torch's compiler: ")
    assert notice.endswith(".")


def test_a_compiler_that_fails_is_quoted_in_one_short_sentence(monkeypatch):
    def failing(model, **options):
        raise RuntimeError("first line\nsecond line " + "x" * 1000)

    monkeypatch.setattr(paths, "compiler_fault", lambda device: None)
    monkeypatch.setattr(torch, "compile", failing)
    made, notice = compiled_decoder(ODD.build(), "odd")
    assert isinstance(made, HFModel)
    assert notice.startswith("odd runs without torch's compiler: RuntimeError: first line second line xxx")
    assert len(notice) < 300


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.name not in WHOLE][:2], ids=lambda family: family.name)
def test_a_model_without_a_static_path_says_why_it_is_not_compiled(compiler, family):
    made, notice = compiled_decoder(family.build(), family.name)
    assert isinstance(made, HFModel)
    assert notice == f"{family.name} runs without torch's compiler: {static.obstacle(made)}."
    assert compiler == []


@pytest.mark.parametrize(("platform", "named"), [("linux", "g++"), ("darwin", "clang++"), ("win32", "cl")])
def test_without_a_cpp_compiler_the_sentence_names_the_one_that_is_missing(monkeypatch, platform, named):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(paths.sys, "platform", platform)
    asked: list[str] = []
    monkeypatch.setattr(paths.shutil, "which", asked.append)
    made, notice = compiled_decoder(BY_NAME["GPT-2"].build(), "general")
    assert isinstance(made, HFModel)
    assert asked == [named]
    assert notice == (
        f"general runs without torch's compiler: it needs a C++ compiler, and '{named}' is not on this computer; "
        "install one, or name it in CXX."
    )


def test_the_environment_names_the_cpp_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "my-c++")
    monkeypatch.setattr(paths.shutil, "which", lambda name: "/bin/my-c++" if name == "my-c++" else None)
    assert compiler_fault(CPU) is None
    assert "not on mps" in str(compiler_fault(torch.device("mps")))


def test_only_a_float32_llama_on_the_cpu_is_left_nothing_to_compile():
    assert is_lean(build())
    assert not is_lean(build().bfloat16())
    assert not is_lean(BY_NAME["GPT-2"].build())
