"""An opened trace: whose it is, and when a loaded pair may go on with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator.commands import metadata
from simulator.loading import Pair
from simulator.opened import Opened, opened
from simulator.records import Run, RunConfig, Sampling, StopReason
from simulator.text.prompts import Prompt
from simulator.text.texts import SavedTexts
from simulator.trace.file import Trace, TraceError
from tests.simulator.text_samples import plain_run, run_of
from tests.ui.stub import stub_pair


def hashed(pair: Pair, target: str = "1" * 64, draft: str = "2" * 64) -> Pair:
    draft_model = replace(pair.draft, sha256=draft) if pair.draft is not None else None
    return replace(pair, target=replace(pair.target, sha256=target), draft=draft_model)


PAIR = hashed(stub_pair())


def stopped(**config: Any) -> Run:
    settings = RunConfig(end_tokens=PAIR.end_tokens, **config)
    return replace(plain_run(1, 2, 3), config=settings, stop=StopReason.STOPPED)


def file_of(*runs: Run, prompts: tuple[Prompt | str, ...] = ("to",), **changes: Any) -> Opened:
    meta = metadata(PAIR, prompts, runs[0].config if runs else RunConfig(), ["run"]) | changes
    return opened(Path("a") / "x.trace", Trace(runs, meta, SavedTexts()))


def test_a_stopped_run_goes_on_with_the_pair_that_made_it_and_no_other() -> None:
    file = file_of(stopped())
    assert file.is_of(PAIR)
    assert file.goes_on(PAIR)
    others = {
        "none": None, "another target": hashed(stub_pair(), target="3" * 64),
        "another draft": hashed(stub_pair(), draft="3" * 64), "no draft": hashed(stub_pair(lone=True)),
        "unknown contents": stub_pair(), "another dtype": replace(PAIR, target=replace(PAIR.target, dtype="bfloat16")),
        "another device": replace(PAIR, target=replace(PAIR.target, device="cuda:0")),
    }  # fmt: skip
    for name, pair in others.items():
        assert not file.is_of(pair), name
        assert not file.goes_on(pair), name
    assert not file.goes_on(replace(PAIR, end_tokens=frozenset({1})))


def test_an_n_gram_run_needs_its_target_alone() -> None:
    assert file_of(stopped(source="ngram")).goes_on(hashed(stub_pair(lone=True)))
    assert file_of(stopped(k=0)).goes_on(hashed(stub_pair(), draft="3" * 64))


@pytest.mark.parametrize("stop", [s for s in StopReason if s is not StopReason.STOPPED])
def test_a_run_that_ended_does_not_go_on(stop: StopReason) -> None:
    file = file_of(replace(stopped(), stop=stop))
    assert file.is_of(PAIR)
    assert not file.goes_on(PAIR)


def test_what_cannot_be_run_here_does_not_go_on() -> None:
    run = stopped()
    wrong = [stopped(k=99), stopped(rule="guess"), stopped(source="wish"), stopped(sampling=Sampling(top_p=0.0)),
             replace(run, rounds=run.rounds[1:])]  # fmt: skip
    for each in wrong:
        assert not file_of(each).goes_on(PAIR)
    assert file_of(wrong[1]).settings is None
    assert file_of(wrong[2]).settings is None


def test_each_run_has_its_own_prompt() -> None:
    prompts = Prompt("a", chat=False), Prompt("b", system="s", chat=True, special=True)
    runs = [replace(stopped(seed=s), prompt=(p,)) for p in (1, 2) for s in (0, 1)]
    file = file_of(*runs, prompts=prompts)
    assert [replace(file, index=i).prompt for i in range(4)] == [prompts[0], prompts[0], prompts[1], prompts[1]]
    assert [replace(file, index=i).brief().setting.prompt for i in range(4)] == [0, 0, 1, 1]
    last = replace(file, index=3).meta
    assert (last["prompts"], last["prompt_settings"][0]["chat"]) == (["b"], True)
    assert file.trace.meta["prompts"] == ["a", "b"]


def test_texts_are_the_pairs_where_its_target_made_the_run_and_the_files_elsewhere() -> None:
    file = file_of(stopped())
    assert file.texts(PAIR) is PAIR.texts
    draft = replace(PAIR, draft=None)
    assert file.texts(draft) is PAIR.texts
    for pair in (None, stub_pair(), hashed(stub_pair(), target="3" * 64)):
        assert file.texts(pair) is file.trace.texts


def test_runs_of_a_file_are_a_group_of_their_own() -> None:
    brief = file_of(stopped()).brief()
    assert brief.models == "stub-1 ← stub-2, cpu float32, x.trace"
    assert brief.tokens == (1, 2, 3)


@pytest.mark.parametrize(
    "meta",
    [{}, {"models": 1, "prompts": 2, "machine": 3, "versions": None}, {"models": {"target": [], "draft": {"name": 1}}},
     {"prompts": [], "prompt_settings": {}}, {"prompts": [7], "prompt_settings": [[1]]},
     {"prompts": ["a"], "prompt_settings": [{"chat": "yes", "system": 3}]}],
)  # fmt: skip
def test_any_metadata_can_be_shown(meta: dict[str, Any]) -> None:
    file = opened(Path("x.trace"), Trace((stopped(),), meta, SavedTexts()))
    assert "x.trace" in file.origin
    assert file.prompt in (None, Prompt("a"))
    assert not file.is_of(PAIR)
    assert file.brief().models.endswith("x.trace")
    assert isinstance(file.meta, dict)


def test_a_file_without_a_run_is_a_sentence_and_one_without_rounds_is_not() -> None:
    with pytest.raises(TraceError, match="holds no run"):
        opened(Path("x.trace"), Trace((), {}, SavedTexts()))
    assert len(opened(Path("x.trace"), Trace((run_of(),), {}, SavedTexts())).rounds[0]) == 0
