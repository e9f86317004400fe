"""A family at work as target, as draft and as both, with every logit it gave compared to a pass without a cache.

Knows how the three roles are played. Does not know which families there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from simulator.drafts.base import Proposal
from simulator.drafts.model import ModelDraft
from simulator.measure import run_once
from simulator.models.hf import HFModel
from simulator.records import Run, RunConfig, Sampling
from simulator.sampling import one_hot
from tests.simulator.models.families import VOCAB, WINDOW, Family

GREEDY = Sampling(temperature=0)
NEW = 64  # tokens to decode
NOISE = 0.05  # of a draft made of its own target: right often, not always
PROMPT = np.random.default_rng(7).integers(0, VOCAB, 20).tolist()
PROMPTS = (PROMPT, PROMPT[:4], PROMPT[:1])  # beyond the window from the start; into it while decoding; nothing cached


def prompt_of(k: int) -> list[int]:
    """Return the prompt for draft length k: the three take turns."""
    return PROMPTS[k % len(PROMPTS)]


class Recorded:
    """A model that remembers the logits it gave, and whose cache is measured after every rollback."""

    def __init__(self, model: HFModel) -> None:
        self.inner, self.name, self.vocab, self.max_length = model, model.name, model.vocab, model.max_length
        self.forgotten: list[int] = []  # tokens taken back, rollback by rollback
        self._given: list[tuple[list[int], torch.Tensor]] = []  # (text, logits of its last tokens)
        self.reset()

    @property
    def length(self) -> int:
        return self.inner.length

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        logits = self.inner.extend(tokens, keep)
        assert logits.shape == (keep or len(tokens), self.vocab)
        self._text += tokens
        self._given.append((list(self._text), logits))
        return logits

    def rollback(self, n: int) -> None:
        self.inner.rollback(n)
        del self._text[len(self._text) - n :]
        self.forgotten.append(n)
        assert self.inner.length == len(self._text)
        for layer in self.inner._cache.layers:
            held = {"DynamicLayer": len(self._text), "DynamicSlidingWindowLayer": min(len(self._text), WINDOW - 1)}
            if getattr(layer, "is_initialized", False) and type(layer).__name__ in held:
                assert layer.keys.shape[-2] == layer.values.shape[-2] == held[type(layer).__name__]

    def reset(self) -> None:
        self.inner.reset()
        self._text: list[int] = []

    def worst(self) -> float:
        """Return the largest difference of a logit given since the last call to that of a pass without a cache."""
        longest = max(len(text) for text, _ in self._given)
        padded = torch.tensor([text + [0] * (longest - len(text)) for text, _ in self._given])  # padding comes last
        with torch.inference_mode():
            expected = self.inner.model(input_ids=padded, use_cache=False).logits
        differences = [
            (logits - expected[i, len(text) - len(logits) : len(text)]).abs().max()
            for i, (text, logits) in enumerate(self._given)
        ]
        self._given.clear()
        return float(max(differences))


class Hints:
    """A draft source that knows the text and is wrong, at random, about every third token."""

    name = "hints"

    def __init__(self, text: Sequence[int]) -> None:
        self._text = right_or_wrong(text)

    def prefill(self, context: Sequence[int], checkpoint: Callable[[], None]) -> None:
        pass

    def propose(self, context: Sequence[int], uniforms: np.ndarray, checkpoint: Callable[[], None]) -> Proposal:
        tokens = self._text[len(context) : len(context) + len(uniforms)]
        return Proposal(tuple(tokens), one_hot(np.array(tokens, int), VOCAB), (None,) * len(tokens))

    def commit(self, context: Sequence[int]) -> None:
        pass

    def reset(self) -> None:
        pass


class Hinted(Recorded):
    """A model whose logits are recorded, and then pushed towards a text that is right about two tokens in three."""

    def __init__(self, model: HFModel, text: Sequence[int]) -> None:
        super().__init__(model)
        self._hints = right_or_wrong(text)

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        pushed = super().extend(tokens, keep).clone()
        if len(self._text) < len(self._hints):
            pushed[-1, self._hints[len(self._text)]] += 1000
        return pushed


def right_or_wrong(text: Sequence[int]) -> list[int]:
    """Return the text with every third token or so replaced."""
    wrong = np.random.default_rng(3).random(len(text)) < 0.35
    return [(token + 1) % VOCAB if bad else token for token, bad in zip(text, wrong, strict=True)]


def plain_text(model: Any, prompt: Sequence[int]) -> list[int]:
    """Return prompt and greedy text the slow way: each token from a fresh pass over everything, without a cache."""
    text = list(prompt)
    with torch.inference_mode():
        for _ in range(NEW):
            text.append(int(model(input_ids=torch.tensor([text]), use_cache=False).logits[0, -1].argmax()))
    return text


def decode(target: Any, source: Any, k: int) -> Run:
    """Decode greedily; nothing is drafted beyond the last token, so that hints do not run out."""
    return run_once(target, source, prompt_of(k), RunConfig(k=k, sampling=GREEDY, max_new_tokens=NEW, detail=False))


class Played:
    """A family's models, and its three roles."""

    def __init__(self, family: Family, other: HFModel, others: Sequence[list[int]]) -> None:
        self.family = family
        self.other, self.others = other, others  # the model that it drafts for, and that one's plain texts
        self.model = HFModel(family.build(), family.name)
        self.noisy = HFModel(family.build(noise=NOISE), f"noisy {family.name}")
        self.texts = [plain_text(self.model.model, prompt) for prompt in PROMPTS]

    def as_target(self, k: int) -> tuple[Run, Recorded]:
        target = Recorded(self.model)
        return decode(target, Hints(self.texts[k % len(PROMPTS)]), k), target

    def as_draft(self, k: int) -> tuple[Run, Recorded]:
        draft = Hinted(self.model, self.others[k % len(PROMPTS)])
        return decode(self.other, ModelDraft(draft, GREEDY, VOCAB), k), draft

    def as_both(self, k: int) -> tuple[Run, Recorded, Recorded]:
        target, draft = Recorded(self.model), Recorded(self.noisy)
        return decode(target, ModelDraft(draft, GREEDY, VOCAB), k), target, draft
