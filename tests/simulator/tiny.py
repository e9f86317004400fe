"""Models, drafts, uniforms and clocks small enough to know every number of, for the tests of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from simulator.drafts.base import Proposal
from simulator.drafts.model import ModelDraft
from simulator.measure import run_once
from simulator.models.table import TableModel
from simulator.records import RoundTrace, Run, RunConfig, Sampling
from simulator.sampling import one_hot
from simulator.uniforms import RoundUniforms

if TYPE_CHECKING:
    from simulator.models.hf import HFModel

torch.set_num_threads(1)  # tiny operations; on a busy machine each would wait for the other cores

GREEDY = Sampling(temperature=0)
P, Q = (0.5, 0.3, 0.2), (0.2, 0.5, 0.3)  # the golden round: alpha .7, TV .3, residual [1, 0, 0]
UNIFORM = (1 / 8,) * 8
NEVER, ALWAYS = 1 - 2**-53, 0.0  # uniforms that fail or pass every test that can be failed or passed


def llama(seed: int, *, vocab: int = 128, positions: int = 256, window: int = 0, sharpness: float = 10.0) -> HFModel:
    """Return a random two-layer decoder in float32; `window` > 0 gives it sliding-window attention."""
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    from simulator.models.hf import HFModel

    sizes = dict(
        vocab_size=vocab, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=positions, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if window:
            model = MistralForCausalLM(MistralConfig(**sizes, sliding_window=window))
        else:
            model = LlamaForCausalLM(LlamaConfig(**sizes))
    with torch.no_grad():
        model.lm_head.weight *= sharpness  # random weights alone give nearly uniform distributions
    return HFModel(model, f"tiny-{seed}")


def perturbed(original: HFModel, noise: float, seed: int = 99) -> HFModel:
    """Return a copy with noisy output weights: a draft that is right now and then."""
    copy = type(original.model)(original.model.config)
    copy.load_state_dict(original.model.state_dict())
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        weight = copy.lm_head.weight
        weight += noise * weight.std() * torch.randn(weight.shape, generator=generator)
    return type(original)(copy, "noisy")


def fixed(row: Sequence[float], **options: object) -> TableModel:
    """Return a model with one distribution everywhere."""
    return TableModel(lambda context: row, len(row), **options)  # type: ignore[arg-type]


def random_law(vocab: int, seed: int) -> Callable[[tuple[int, ...]], np.ndarray]:
    """Return a law that differs in every context, with a zero here and there."""

    @cache
    def law(context: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([seed, *context])
        row = rng.dirichlet(np.full(vocab, 0.7)) + 0.02
        if rng.random() < 0.3:
            row[rng.integers(vocab)] = 0
        return row / row.sum()

    return law


def unlike(vocab: int = 5, seed: int = 1) -> tuple[TableModel, ModelDraft]:
    """Return a target and a draft source whose laws differ in every context."""
    target, draft = TableModel(random_law(vocab, seed), vocab), TableModel(random_law(vocab, seed + 100), vocab)
    return target, ModelDraft(draft, Sampling(), vocab)


class OnDevice(TableModel):
    """A table that goes on from tensors, as a model on a device does."""

    device = torch.device("cpu")

    def follow(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.extend(tokens.tolist())


def verdicts(trace: RoundTrace) -> str:
    """Return the first letters of the drafted tokens' verdicts: a, r, d."""
    return "".join(p.drafted.verdict[0] for p in trace.positions if p.drafted)


class Script:
    """A draft source that proposes the given tokens, with the given q rows (default: one-hot), whatever the text."""

    name = "script"

    def __init__(self, tokens: Sequence[int], vocab: int, q: Sequence[Sequence[float]] | None = None) -> None:
        self.tokens = tuple(tokens)
        self.q = one_hot(np.array(tokens), vocab) if q is None else np.array(q, np.float32)
        self.committed: list[tuple[int, ...]] = []

    def prefill(self, context: Sequence[int], checkpoint: Callable[[], None]) -> None:
        pass

    def propose(self, context: Sequence[int], uniforms: np.ndarray, checkpoint: Callable[[], None]) -> Proposal:
        n = min(len(uniforms), len(self.tokens))
        return Proposal(self.tokens[:n], self.q[:n], (None,) * n)

    def commit(self, context: Sequence[int]) -> None:
        self.committed.append(tuple(context))

    def reset(self) -> None:
        self.committed.clear()


def canned(
    monkeypatch: pytest.MonkeyPatch, accept: Sequence[float], extra: float = 0.5, draft: Sequence[float] | None = None
) -> None:
    """Make every round of the engine use these uniforms."""
    drawn = np.full(len(accept), 0.5) if draft is None else np.array(draft, float)
    block = RoundUniforms(drawn, np.array(accept, float), extra)
    monkeypatch.setattr("simulator.engine.round_uniforms", lambda seed, index, k: block)


def play(target: object, source: object, prompt: Iterable[int], **config: object) -> Run:
    """Decode to the end."""
    return run_once(target, source, list(prompt), RunConfig(**config))  # type: ignore[arg-type]


def untimed(rounds: Iterable[RoundTrace]) -> list[tuple[object, ...]]:
    """Return the rounds in a form that compares by value, without their times (bars hold arrays)."""

    def plain(position: object) -> tuple[object, ...]:
        bars = position.bars  # type: ignore[attr-defined]
        rows = bars and (bars.ids.tolist(), bars.p.tolist(), bars.q is not None and bars.q.tolist())
        return replace(position, bars=None), rows  # type: ignore[type-var]

    return [(r.index, r.context_length, tuple(map(plain, r.positions)), r.emitted, r.stop) for r in rounds]


def pieces(*cuts: float) -> list[tuple[float, float]]:
    """Split [0, 1) at the cuts; return each piece's middle and width."""
    edges = sorted({0.0, 1.0, *(float(c) for c in cuts if 0 < c < 1)})
    return [((a + b) / 2, b - a) for a, b in pairwise(edges) if b - a > 1e-15]


def cdf(weights: Iterable[float]) -> Iterator[float]:
    """Return the thresholds at which a draw from the weights changes its token."""
    running = np.cumsum(np.asarray(list(weights), float))
    return iter(running / running[-1] if running[-1] > 0 else running)


def first_token(law: Mapping[tuple[int, ...], float], vocab: int) -> np.ndarray:
    """Return the distribution of the first token of texts with these probabilities."""
    row = np.zeros(vocab)
    for text, probability in law.items():
        row[text[0]] += probability
    return row


class FakeTime:
    """A clock in seconds that only models move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Timed(TableModel):
    """A table model whose pass over n tokens takes `seconds(n)` on a fake clock."""

    def __init__(self, row: Sequence[float], clock: FakeTime, seconds: Callable[[int], float]) -> None:
        super().__init__(lambda context: row, len(row))
        self._clock, self._seconds = clock, seconds

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        self._clock.now += self._seconds(len(tokens))
        return super().extend(tokens, keep)
