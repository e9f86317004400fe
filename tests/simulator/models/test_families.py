"""Architecture families of transformers as target, as draft and as both: exact, or refused in one sentence."""

import pytest
import torch

from simulator.errors import UserError
from simulator.models.hf import HFModel
from tests.simulator.models.families import FAMILIES, REFUSED
from tests.simulator.roles import PROMPTS, Played, plain_text, prompt_of
from tests.simulator.tiny import llama

WINDOWED = [family for family in FAMILIES if family.name in ("Gemma 3", "Gemma 4", "Mistral")]
EXACT = 1e-4  # largest difference of a float32 logit


@pytest.fixture(scope="module")
def other() -> HFModel:
    """The plain decoder that every family drafts for."""
    return llama(6)


@pytest.fixture(scope="module")
def others(other) -> list[list[int]]:
    """What that decoder says by itself."""
    return [plain_text(other.model, prompt) for prompt in PROMPTS]


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family.name)
def played(request, other, others) -> Played:
    return Played(request.param, other, others)


def acceptance(runs) -> tuple[int, int]:
    """Return how many tokens were accepted and drafted."""
    rounds = [r for run in runs for r in run.rounds]
    return sum(r.accepted for r in rounds), sum(r.drafted for r in rounds)


def test_speculative_text_is_the_plain_text_for_every_k(played):
    """State-space layers kept rejected tokens in their state; window caches ignored the rewind once they were full."""
    runs = []
    for k in range(9):
        run, target = played.as_target(k)
        text = played.texts[k % len(PROMPTS)]
        assert [*prompt_of(k), *run.tokens] == text, k
        assert target.worst() < EXACT, k
        assert target.forgotten == [r.drafted - r.accepted for r in run.rounds]
        assert target.length == len(text) - 1
        runs.append(run)
    accepted, drafted = acceptance(runs)
    assert 0.3 * drafted < accepted < 0.8 * drafted
    assert {r.accepted for run in runs for r in run.rounds} >= set(range(5))


def test_a_draft_of_this_family_keeps_its_context(played):
    """Draft caches were trimmed too far, or not at all, and acceptance decayed while the text stayed right."""
    runs = []
    for k in (1, 4):
        run, draft = played.as_draft(k)
        assert [*prompt_of(k), *run.tokens] == played.others[k % len(PROMPTS)]
        assert draft.worst() < EXACT, k
        assert draft.forgotten == [max(0, r.drafted - r.accepted - 1) for r in run.rounds]
        runs.append(run)
    accepted, drafted = acceptance(runs)
    assert 0.2 * drafted < accepted < 0.9 * drafted


def test_a_pair_of_this_family_is_exact(played):
    k = 5
    run, target, draft = played.as_both(k)
    assert [*prompt_of(k), *run.tokens] == played.texts[k % len(PROMPTS)]
    assert max(target.worst(), draft.worst()) < EXACT
    accepted, drafted = acceptance([run])
    assert 0 < accepted < drafted


@pytest.mark.parametrize("played", WINDOWED, ids=lambda family: family.name, indirect=True)
def test_the_other_attention_kernel_is_exact_too(played):
    """A full window gave a shape error on one attention kernel and other text on another."""
    model = played.model.model
    assert model.config._attn_implementation == "sdpa"
    model.set_attn_implementation("eager")
    try:
        for k in (4, 6):
            run, target = played.as_target(k)
            assert [*prompt_of(k), *run.tokens] == played.texts[k % len(PROMPTS)]
            assert target.worst() < EXACT
    finally:
        model.set_attn_implementation("sdpa")


@pytest.mark.parametrize("family", REFUSED, ids=lambda family: family.name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_what_cannot_go_back_exactly_is_refused_in_one_sentence(family, dtype):
    with pytest.raises(UserError) as error:
        HFModel(family.build().to(dtype), family.name)
    sentence = str(error.value)
    assert sentence.startswith(f"{family.name} ({family.architecture}) ")
    assert family.refused in sentence
    assert "\n" not in sentence


def test_every_family_loads_in_half_precision():
    """Rounding must not be taken for a state that was lost."""
    for family in FAMILIES:
        model = HFModel(family.build().to(torch.bfloat16), family.name)
        assert model.way == HFModel(family.build(), family.name).way, family.name
