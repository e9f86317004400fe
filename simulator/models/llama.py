"""Llama-shaped models on the CPU in float32, at the speed of the memory: transformers' function in NumPy.

At one token a step reads every weight once, and what torch and transformers add to that (calls, masks, tables, caches
put together anew) costs as much again, or many times that in small models. A NumPy call costs a fraction of a torch
call, and its BLAS reads rows faster (see `products`). `hf.HFModel` is the oracle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from simulator.models.base import Buffered
from simulator.models.products import Room, Weight, trial, weight
from simulator.models.threads import at_most, calibrate
from simulator.records import FloatArray

WIDEST = 33  # tokens of a pass that decodes, or that the Cost page times: a prompt's pieces take every thread
FIRST_CAPACITY = 512  # cached tokens; doubled when they run out


@dataclass(slots=True)
class _Block:
    """The weights of one block, fused, each norm's weight and sqrt(hidden) multiplied in; its cache."""

    qkv: Weight  # [hidden, (heads + 2 kv heads) * head_dim], 1 / sqrt(head_dim) inside q, rotary pairs adjacent
    out: Weight  # [heads * head_dim, hidden]
    gate_up: Weight  # [hidden, 2 * inner], negated (see `_gated`)
    down: Weight  # [inner, hidden]
    keys: FloatArray  # [kv heads, head_dim, capacity]
    values: FloatArray  # [kv heads, capacity, head_dim]


class LlamaDecoder(Buffered):
    """A Llama model behind the `LanguageModel` protocol; takes what `is_plain_llama` accepts, in float32.

    `config` has transformers' names, `tensors` are its weights by their names in a file; each is copied and then
    let go of, so that never much more than the model itself is in memory. `oracle` returns transformers' own model of
    the same weights when somebody asks for it.
    """

    way = "cut back"
    device, dtype = torch.device("cpu"), torch.float32

    def __init__(
        self, config: Any, tensors: dict[str, torch.Tensor], name: str, oracle: Callable[[], Any],
        checkpoint: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.name, self.config, self._oracle = name, config, oracle
        self.max_length: int | None = config.max_position_embeddings
        self._heads, self._kv_heads = config.num_attention_heads, config.num_key_value_heads
        self._inner: int = config.intermediate_size
        self._head_dim: int = config.head_dim
        numbers = sum(math.prod(shape) for shape in weight_shapes(config).values())
        self._bytes, self._room = 4 * numbers, Room(numbers)
        self._eps = np.float32(config.rms_norm_eps * config.hidden_size)
        self._embedding = _taken(tensors, "model.embed_tokens")
        head = _taken(tensors, "lm_head") if not config.tie_word_embeddings else self._embedding
        tensors.pop("lm_head.weight", None)  # a tied one is the table once more
        self.vocab: int = head.shape[0]
        self._head = self._weight(head * _norm_weight(_taken(tensors, "model.norm")))
        self._blocks = []
        for i in range(config.num_hidden_layers):
            checkpoint()
            self._blocks.append(self._fuse(tensors, f"model.layers.{i}."))
        halves = np.arange(0, self._head_dim, 2, dtype=np.float32) / np.float32(self._head_dim)
        self._inverse_frequencies = 1 / np.float32(config.rope_parameters["rope_theta"]) ** halves
        self._mask = np.zeros((0, 0), np.float32)
        self._capacity = 0
        self._grow(FIRST_CAPACITY)
        work = trial([(block.out, block.gate_up) for block in self._blocks])  # a small weight and a large one
        self.threads: int | None = calibrate(work, checkpoint) if work else None  # of torch in a pass; None = unused

    @property
    def read_parameters(self) -> int:
        """Return how many numbers a token reads: all weights, but of an untied input table next to nothing."""
        blocks = sum(w.size for b in self._blocks for w in (b.qkv, b.out, b.gate_up, b.down))
        norms = (2 * len(self._blocks) + 1) * self.config.hidden_size
        return int(blocks + norms + self._head.size)

    @cached_property
    def model(self) -> Any:
        """Transformers' own model."""
        return self._oracle()

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens [n] and return the float32 logits [keep or n, vocab]."""
        keep = keep or len(tokens)
        if self.threads is None or len(tokens) > WIDEST:
            return self._pass(tokens, keep)
        with at_most(self.threads):
            return self._pass(tokens, keep)

    def _pass(self, tokens: Sequence[int], keep: int) -> torch.Tensor:
        start, end = self._length, self._length + len(tokens)
        self._grow(end)
        x = self._embedding.take(tokens, 0)  # [n, hidden]
        mask = self._later(len(tokens)) if len(tokens) > 1 else None
        for block in self._blocks:
            qkv = block.qkv.product(_normed(x, self._eps))
            x = x + block.out.product(self._attend(block, qkv, mask, start, end))
            gate_up = block.gate_up.product(_normed(x, self._eps))
            x = x + block.down.product(_gated(gate_up[:, : self._inner], gate_up[:, self._inner :]))
        self._length = end
        return torch.from_numpy(self._head.product(_normed(x[-keep:], self._eps)).copy())

    def _attend(self, block: _Block, qkv: FloatArray, mask: FloatArray | None, start: int, end: int) -> FloatArray:
        """Return what the heads gather [n, heads * head_dim]; keys and values [start, end) go into the cache.

        qkv [n, (heads + 2 kv heads) * head_dim] is overwritten.
        mask [n, n] is added to the scores of these tokens among themselves: minus infinity on what comes later.
        """
        n, h, g, d = len(qkv), self._heads, self._kv_heads, self._head_dim
        rows = qkv.reshape(n, h + 2 * g, d)
        pairs = rows[:, : h + g].view(np.complex64)  # of queries and keys: [n, heads + kv heads, d / 2]
        pairs *= self._turn[start:end]
        heads = rows.transpose(1, 0, 2)
        block.keys[:, :, start:end] = heads[h : h + g].transpose(0, 2, 1)
        block.values[:, start:end] = heads[h + g :]
        q = heads[:h].reshape(g, h // g * n, d)
        scores: FloatArray = q @ block.keys[:, :, :end]  # [g, h / g * n, end]
        if mask is not None:
            scores.reshape(g, h // g, n, end)[..., start:] += mask
        scores -= np.maximum.reduce(scores, -1, keepdims=True)
        np.exp(scores, out=scores)
        mixed: FloatArray = scores @ block.values[:, :end]
        mixed /= np.add.reduce(scores, -1, keepdims=True)
        return mixed.reshape(h, n, d).transpose(1, 0, 2).reshape(n, h * d)

    def _fuse(self, tensors: dict[str, torch.Tensor], layer: str) -> _Block:
        """Return the block whose weights' names begin with `layer`."""

        def taken(part: str) -> FloatArray:
            return _taken(tensors, layer + part)

        d, g = self._head_dim, self._kv_heads
        q, k = (_pairs_adjacent(taken(f"self_attn.{part}_proj"), d) for part in "qk")
        qkv = np.concatenate([q * np.float32(d**-0.5), k, taken("self_attn.v_proj")])
        gate_up = -np.concatenate([taken("mlp.gate_proj"), taken("mlp.up_proj")])
        before, middle = _norm_weight(taken("input_layernorm")), _norm_weight(taken("post_attention_layernorm"))
        return _Block(
            self._weight(qkv * before), self._weight(taken("self_attn.o_proj")), self._weight(gate_up * middle),
            self._weight(taken("mlp.down_proj")), np.zeros((g, d, 0), np.float32), np.zeros((g, 0, d), np.float32),
        )  # fmt: skip

    def _weight(self, rows: FloatArray) -> Weight:
        return weight(rows, self._bytes, self._room)

    def _later(self, n: int) -> FloatArray:
        """Return [n, n] with minus infinity above the diagonal."""
        if n > len(self._mask):
            self._mask = np.triu(np.full((n, n), -np.inf, np.float32), 1)
        return self._mask[:n, :n]

    def _grow(self, needed: int) -> None:
        """Make room for `needed` tokens: caches and rotary factors."""
        if needed <= self._capacity:
            return
        capacity = -(-max(needed, 2 * self._capacity, FIRST_CAPACITY) // 32) * 32 + 16  # rows a power of 2 apart
        # would fall on the same few lines of the processor's cache
        more = (0, capacity - self._capacity)
        for block in self._blocks:
            block.keys = np.pad(block.keys, ((0, 0), (0, 0), more))
            block.values = np.pad(block.values, ((0, 0), more, (0, 0)))
        angles = np.outer(np.arange(capacity, dtype=np.float32), self._inverse_frequencies)
        self._turn = np.exp(1j * angles).astype(np.complex64)[:, None]  # [capacity, 1, d / 2]
        self._capacity = capacity


def is_plain_llama(config: Any) -> bool:
    """Return whether a config with transformers' names is a Llama without biases and with default rotary angles."""
    return bool(
        config.model_type == "llama"
        and set(config.rope_parameters) <= {"rope_theta", "rope_type"}
        and config.rope_parameters.get("rope_type", "default") == "default"
        and config.hidden_act == "silu"
        and not (config.attention_bias or config.mlp_bias)
    )


def weight_shapes(config: Any) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of all weights in a file of a plain Llama model."""
    h, inner, vocab = config.hidden_size, config.intermediate_size, config.vocab_size
    q, kv = (heads * config.head_dim for heads in (config.num_attention_heads, config.num_key_value_heads))
    block = {
        "self_attn.q_proj": (q, h), "self_attn.k_proj": (kv, h), "self_attn.v_proj": (kv, h),
        "self_attn.o_proj": (h, q), "mlp.gate_proj": (inner, h), "mlp.up_proj": (inner, h),
        "mlp.down_proj": (h, inner), "input_layernorm": (h,), "post_attention_layernorm": (h,),
    }  # fmt: skip
    head = {} if config.tie_word_embeddings else {"lm_head.weight": (vocab, h)}
    return {
        "model.embed_tokens.weight": (vocab, h), "model.norm.weight": (h,), **head,
        **{f"model.layers.{i}.{name}.weight": shape
           for i in range(config.num_hidden_layers) for name, shape in block.items()},
    }  # fmt: skip


def _normed(x: FloatArray, eps: np.float32) -> FloatArray:
    """Return the rows of x [n, hidden] over their lengths; what rms-norm multiplies besides is in the next product."""
    result: FloatArray = x / np.sqrt(np.vecdot(x, x) + eps)[:, None]
    return result


def _gated(gate: FloatArray, up: FloatArray) -> FloatArray:
    """Return silu(gate) * up, both [n, inner] of negated products, whose signs cancel."""
    one_and = np.exp(gate)
    one_and += 1
    result: FloatArray = gate * up
    result /= one_and
    return result


def _norm_weight(weight: FloatArray) -> FloatArray:
    """Return what a product behind the norm is multiplied by: x / rms(x) = sqrt(hidden) x / |x|."""
    return weight * np.float32(len(weight) ** 0.5)


def _pairs_adjacent(weight: FloatArray, d: int) -> FloatArray:
    """Return the rows [heads * d, hidden] with rotary pairs (i, i + d / 2) side by side; q k is the same sum."""
    return weight.reshape(-1, 2, d // 2, weight.shape[1]).transpose(0, 2, 1, 3).reshape(weight.shape)


def _taken(tensors: dict[str, torch.Tensor], name: str) -> FloatArray:
    """Take a weight out of the tensors and return a copy in float32: the file it may lie in can change."""
    weight: FloatArray = tensors.pop(f"{name}.weight").detach().to(torch.float32, copy=True).numpy()
    return weight
