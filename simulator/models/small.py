"""Llama-shaped models so small that calling an operation costs more than the operation: the same function in NumPy.

A step of the bundled 0.4 M draft is about 50 calls on vectors of some hundred numbers. A NumPy call costs a fraction
of a torch call, which makes a draft step two to three times cheaper. Larger models belong to `llama`, whose products
run on all cores; `hf.HFModel` is the oracle of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from simulator.models.base import Buffered
from simulator.records import FloatArray

MOST_PARAMETERS = 1_500_000  # above this the products outweigh the calls
FIRST_CAPACITY = 512  # cached tokens; doubled when they run out


@dataclass(slots=True)
class _Block:
    """The weights of one block, transposed and fused, the norms' weights multiplied in, and its cache."""

    qkv: FloatArray  # [hidden, (heads + 2 kv heads) * head_dim], 1 / sqrt(head_dim) inside q
    out: FloatArray  # [heads * head_dim, hidden]
    gate_up: FloatArray  # [hidden, 2 * inner]
    down: FloatArray  # [inner, hidden]
    keys: FloatArray  # [kv heads, capacity, head_dim]
    values: FloatArray  # [kv heads, capacity, head_dim]


class SmallDecoder(Buffered):
    """A small Llama model behind the `LanguageModel` protocol; takes what `llama.suits` accepts."""

    way = "cut back"

    def __init__(self, model: Any, name: str) -> None:
        self.name, self.model = name, model
        self.device, self.dtype = model.device, model.dtype
        config = model.config
        self.max_length: int | None = config.max_position_embeddings
        self._heads, self._kv_heads = config.num_attention_heads, config.num_key_value_heads
        self._head_dim: int = model.model.layers[0].self_attn.head_dim
        self._eps = np.float32(config.rms_norm_eps)
        self._embedding = _array(model.get_input_embeddings().weight)
        head = _array(model.get_output_embeddings().weight)
        self.vocab: int = head.shape[0]
        self._head = _turned_over(head * _array(model.model.norm.weight))
        self._blocks = [self._fuse(layer) for layer in model.model.layers]
        self._inverse_frequencies = _array(model.model.rotary_emb.inv_freq)
        self._capacity = 0
        self._grow(FIRST_CAPACITY)

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens [n] and return the float32 logits [keep or n, vocab]."""
        start, end = self._length, self._length + len(tokens)
        self._grow(end)
        x = self._embedding[list(tokens)]  # [n, hidden]
        for block in self._blocks:
            x = x + self._attend(block, self._normed(x) @ block.qkv, start, end) @ block.out
            gate, up = np.split(self._normed(x) @ block.gate_up, 2, axis=1)
            x = x + (gate / (1 + np.exp(-gate)) * up) @ block.down
        self._length = end
        return torch.from_numpy(self._normed(x[-(keep or len(tokens)) :]) @ self._head)

    def _normed(self, x: FloatArray) -> FloatArray:
        """Return x / rms(x); the weight of the norm is inside the product that follows."""
        square = np.asarray(np.einsum("ij,ij->i", x, x), np.float32) / np.float32(x.shape[1])
        result: FloatArray = np.asarray(x / np.sqrt(square + self._eps)[:, None], np.float32)
        return result

    def _attend(self, block: _Block, qkv: FloatArray, start: int, end: int) -> FloatArray:
        """Return what the heads gather [n, heads * head_dim]; keys and values [start, end) go into the cache."""
        n, h, g, d = len(qkv), self._heads, self._kv_heads, self._head_dim
        split = qkv.reshape(n, h + 2 * g, d).transpose(1, 0, 2)  # [heads, n, d]
        turned = self._turned(split[: h + g], start, end)
        block.keys[:, start:end] = turned[h:]
        block.values[:, start:end] = split[h + g :]
        q = turned[:h].reshape(g, h // g * n, d)
        scores: FloatArray = np.matmul(q, block.keys[:, :end].transpose(0, 2, 1))  # [g, h / g * n, end]
        if n > 1:
            scores += np.tile(self._mask[start:end, :end], (h // g, 1))
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        mixed: FloatArray = np.matmul(scores, block.values[:, :end])
        return mixed.reshape(h, n, d).transpose(1, 0, 2).reshape(n, h * d)

    def _turned(self, x: FloatArray, start: int, end: int) -> FloatArray:
        """Return [heads, n, d] with the pairs (i, i + d / 2) turned by their positions' angles."""
        half = self._head_dim // 2
        swapped = np.concatenate([x[..., half:], x[..., :half]], axis=-1)
        result: FloatArray = x * self._cos[start:end] + swapped * self._sin[start:end]
        return result

    def _fuse(self, layer: Any) -> _Block:
        a, m, d = layer.self_attn, layer.mlp, np.float32(self._head_dim**-0.5)
        before, middle = _array(layer.input_layernorm.weight), _array(layer.post_attention_layernorm.weight)
        qkv = np.concatenate([_array(a.q_proj.weight) * d, _array(a.k_proj.weight), _array(a.v_proj.weight)])
        gate_up = np.concatenate([_array(m.gate_proj.weight), _array(m.up_proj.weight)])
        empty = np.zeros((self._kv_heads, 0, self._head_dim), np.float32)
        down, out = _array(m.down_proj.weight), _array(a.o_proj.weight)
        return _Block(
            _turned_over(qkv * before), _turned_over(out), _turned_over(gate_up * middle), _turned_over(down),
            empty, empty,
        )  # fmt: skip

    def _grow(self, needed: int) -> None:
        """Make room for `needed` tokens: caches, rotary factors and mask."""
        if needed <= self._capacity:
            return
        capacity = max(needed, 2 * self._capacity, FIRST_CAPACITY)
        room = ((0, 0), (0, capacity - self._capacity), (0, 0))
        for block in self._blocks:
            block.keys, block.values = np.pad(block.keys, room), np.pad(block.values, room)
        angles = np.outer(np.arange(capacity, dtype=np.float32), self._inverse_frequencies)
        self._cos = np.concatenate([np.cos(angles)] * 2, axis=1)  # [capacity, d]
        self._sin = np.concatenate([-np.sin(angles), np.sin(angles)], axis=1)
        self._mask = np.triu(np.full((capacity, capacity), -np.inf, np.float32), 1)
        self._capacity = capacity


def _turned_over(weight: FloatArray) -> FloatArray:
    return np.ascontiguousarray(weight.T)


def _array(weight: torch.Tensor) -> FloatArray:
    result: FloatArray = weight.detach().cpu().numpy()
    return result
