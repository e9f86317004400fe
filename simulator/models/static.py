"""transformers models on a GPU: passes over static buffers, each width recorded once as a graph and replayed.

A pass called from Python takes as long as its thousand small calls, whatever the model's size; replayed, as long as its
weights take to read. `hf.HFModel` over the same weights is the oracle: where the two differ, or a model cannot be
recorded, that one is used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from simulator.models.base import Buffered
from simulator.models.hf import HFModel
from simulator.models.passes import Runner
from simulator.models.probe import disagreement
from simulator.models.static_cache import ATTENTION, Window, attention_of, causal_mask, keeps_every_entry, window_cache

Compiler = Callable[[Any], Callable[..., Any]]

WIDEST = 33  # tokens in a recorded pass: k + 1 while decoding, and what the Cost page times
UNREAD = 2  # tokens that a draft reads to give the row of the last one
FIRST_WINDOW = 512  # entries that a pass reads at least; doubled when the text outgrows them
SPARE = 16  # entries of room that no pass reads: reading all of them, and later a part, would be compiled apart


class StaticModel(Buffered):
    """A model of which every layer attends to the whole text; takes what `obstacle` has nothing against.

    Logits are float32, on the model's device. Nothing waits for the device here.
    """

    way = "length only"

    def __init__(self, plain: HFModel, runner: Runner, compiler: Compiler | None = None) -> None:
        self.name, self.model, self.vocab, self.max_length = plain.name, plain.model, plain.vocab, plain.max_length
        self.device, self.dtype = plain.device, plain.dtype
        self._config = plain.decoder
        self._runner = runner
        self._short = compiler(self.model) if compiler else self.model  # the model of the passes that are recorded
        self._spare = SPARE if compiler else 0
        self._inputs: dict[int, torch.Tensor] = {}  # by width n: tokens and their positions [2, n]
        with torch.inference_mode():
            first = self._input(1)
            self._window = Window(first[1], FIRST_WINDOW, FIRST_WINDOW + self._spare)
            self._cache = window_cache(self._config.num_hidden_layers, self._window)
            self._arguments = {str(plain.cache_argument): self._cache}
            self._keeps_logits = plain.keeps_logits
            self._forward(self.model, first, FIRST_WINDOW)  # keys and values get their memory

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens [n] and return the float32 logits [keep or n, vocab]."""
        return self._read(torch.tensor(list(tokens)), keep or len(tokens))

    def follow(self, tokens: torch.Tensor) -> torch.Tensor:
        """Read tokens [n] that are on the device, where they stay; return the float32 logits [n, vocab]."""
        return self._read(tokens, len(tokens))

    def _read(self, tokens: torch.Tensor, keep: int) -> torch.Tensor:
        """Pass the tokens [n] through the model; return the last logits [keep, vocab]."""
        n, end = len(tokens), self._length + len(tokens)
        with torch.inference_mode():
            size = self._sized(end)
            inputs = self._input(n)
            inputs[0].copy_(tokens, non_blocking=True)
            torch.arange(self._length, end, out=inputs[1])
            if n <= UNREAD or keep == n <= WIDEST:
                logits = self._runner.run((n, size), partial(self._forward, self._short, inputs, size))
            else:  # a piece of a prompt: few are of one length, and Python's part of them is small
                logits = self._forward(self.model, inputs, size, keep)
        self._length = end
        return logits[-keep:]

    def _forward(self, model: Any, inputs: torch.Tensor, size: int, keep: int = 0) -> torch.Tensor:
        """Do the pass over tokens and positions [2, n], reading `size` entries; return float32 logits, 0 = all."""
        self._window.positions, self._window.size = inputs[1], size
        kept = {"logits_to_keep": keep} if self._keeps_logits else {}
        with attention_of(self._config, ATTENTION):
            output = model(
                input_ids=inputs[:1], position_ids=inputs[1:], attention_mask=causal_mask(self._window, self.dtype),
                use_cache=True, **self._arguments, **kept,
            )  # fmt: skip
        logits: torch.Tensor = output.logits[0].float()
        return logits

    def _input(self, n: int) -> torch.Tensor:
        """Return the buffer for tokens and positions [2, n]: recorded widths have one that stays."""
        if n > WIDEST:
            return torch.zeros(2, n, dtype=torch.long, device=self.device)
        if n not in self._inputs:
            self._inputs[n] = torch.zeros(2, n, dtype=torch.long, device=self.device)
        return self._inputs[n]

    def _sized(self, end: int) -> int:
        """Return how many entries a pass reads that ends at `end`; make room for them."""
        size = FIRST_WINDOW
        while size < end:
            size *= 2
        if size > self._window.capacity:
            self._runner.forget()
            for layer in self._cache.layers:
                layer.grow(size + self._spare)
            self._window.capacity = size + self._spare
        return size


def static_decoder(plain: HFModel, runner: Runner, compiler: Compiler | None = None) -> StaticModel | HFModel:
    """Return the static path of a model, on any device; the plain one where `attempt` finds a fault, and log that."""
    made = attempt(plain, runner, compiler)
    if isinstance(made, StaticModel):
        return made
    logging.getLogger(__name__).info("%s is run by the general path: %s", plain.name, made)
    return plain


def attempt(plain: HFModel, runner: Runner, compiler: Compiler | None = None) -> StaticModel | str:
    """Return the static path of a model; its fault where it cannot be had, or says something else than the plain one.

    With a compiler, such as `torch.compile` with dynamic shapes, the small operations between the products are fused.
    It is asked for one token and for several, for minutes each on a CPU.
    """
    fault = obstacle(plain)
    if fault is None:
        try:
            static = StaticModel(plain, runner, compiler)
            fault = disagreement(static, plain, int(plain.decoder.vocab_size), half=plain.dtype.itemsize < 4)
        except Exception as error:  # an architecture that nobody has thought of here; the general path reads it
            fault = f"{type(error).__name__}: {error}"
    fault = fault or runner.failed
    return static if fault is None else fault


def obstacle(plain: HFModel) -> str | None:
    """Return why a model cannot have static buffers, None where nothing is known against it."""
    if not keeps_every_entry(plain.model.config):
        return "a layer keeps something else than all keys and values"
    if not plain.takes_positions:
        return "it works out positions by itself"
    if plain.decoder._attn_implementation != "sdpa":
        return f"its attention is {plain.decoder._attn_implementation}"
    return None
