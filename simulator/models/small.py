"""Llama-shaped models so small that calling an operation costs more than the operation: the same function in NumPy.

A step of the bundled 0.4 M draft is about 50 calls on vectors of some hundred numbers, and a NumPy call costs a
fraction of a torch call. At the bundled target's 5.7 M parameters the calls still are half of a step, and only its
large products are left to torch, which gives them all cores and reads the weights once for several tokens. Larger
models belong to `llama`; `hf.HFModel` is the oracle of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from simulator.models.base import Buffered
from simulator.records import FloatArray

MOST_PARAMETERS = 8_000_000  # the bundled target too; above this the products outweigh the calls
LARGE = 64_000  # weights of a product from which on torch's costs less, its dearer call included
FIRST_CAPACITY = 512  # cached tokens; doubled when they run out


class _Product:
    """Multiplies rows [n, in] by weights [in, out]."""

    def __init__(self, weight: FloatArray) -> None:
        self.weight = weight
        self._tensor = torch.from_numpy(weight) if weight.size >= LARGE else None

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return [n, out]."""
        product: FloatArray = x @ self.weight if self._tensor is None else (torch.from_numpy(x) @ self._tensor).numpy()
        return product


@dataclass(slots=True)
class _Block:
    """The weights of one block, transposed and fused, each norm's weight and sqrt(hidden) multiplied in; its cache."""

    qkv: _Product  # [hidden, (heads + 2 kv heads) * head_dim], 1 / sqrt(head_dim) inside q, rotary pairs adjacent
    out: _Product  # [heads * head_dim, hidden]
    gate_up: _Product  # [hidden, 2 * inner]
    down: _Product  # [inner, hidden]
    keys: FloatArray  # [kv heads, head_dim, capacity]
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
        self._inner: int = config.intermediate_size
        self._head_dim: int = model.model.layers[0].self_attn.head_dim
        self._eps = np.float32(config.rms_norm_eps * config.hidden_size)
        self._embedding = _array(model.get_input_embeddings().weight)
        head = _array(model.get_output_embeddings().weight)
        self.vocab: int = head.shape[0]
        self._head = _turned_over(head * self._norm_weight(model.model.norm))
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
            x = x + block.out(self._attend(block, block.qkv(_normed(x, self._eps)), start, end))
            gate_up = block.gate_up(_normed(x, self._eps))
            gate, up = gate_up[:, : self._inner], gate_up[:, self._inner :]
            x = x + block.down(gate / (1 + np.exp(-gate)) * up)
        self._length = end
        return torch.from_numpy(self._head(_normed(x[-(keep or len(tokens)) :], self._eps)))

    def _attend(self, block: _Block, qkv: FloatArray, start: int, end: int) -> FloatArray:
        """Return what the heads gather [n, heads * head_dim]; keys and values [start, end) go into the cache."""
        n, h, g, d = len(qkv), self._heads, self._kv_heads, self._head_dim
        pairs = qkv[:, : (h + g) * d].reshape(n, h + g, d).view(np.complex64)  # [n, heads + kv heads, d / 2]
        turned = (pairs * self._turn[start:end]).view(np.float32)
        block.keys[:, :, start:end] = turned[:, h:].transpose(1, 2, 0)
        block.values[:, start:end] = qkv[:, (h + g) * d :].reshape(n, g, d).transpose(1, 0, 2)
        q = turned[:, :h].transpose(1, 0, 2).reshape(g, h // g * n, d)
        scores: FloatArray = q @ block.keys[:, :, :end]  # [g, h / g * n, end]
        if n > 1:
            scores += np.tile(self._mask[start:end, :end], (h // g, 1))
        scores -= np.maximum.reduce(scores, -1, keepdims=True)
        np.exp(scores, out=scores)
        mixed: FloatArray = scores @ block.values[:, :end]
        mixed /= np.add.reduce(scores, -1, keepdims=True)
        return mixed.reshape(h, n, d).transpose(1, 0, 2).reshape(n, h * d)

    def _fuse(self, layer: Any) -> _Block:
        a, m, d, g = layer.self_attn, layer.mlp, self._head_dim, self._kv_heads
        q, k = (_pairs_adjacent(_array(w), d) for w in (a.q_proj.weight, a.k_proj.weight))
        qkv = np.concatenate([q * np.float32(d**-0.5), k, _array(a.v_proj.weight)])
        gate_up = np.concatenate([_array(m.gate_proj.weight), _array(m.up_proj.weight)])
        before, middle = self._norm_weight(layer.input_layernorm), self._norm_weight(layer.post_attention_layernorm)
        down, out = _array(m.down_proj.weight), _array(a.o_proj.weight)
        return _Block(
            _turned_over(qkv * before), _turned_over(out), _turned_over(gate_up * middle), _turned_over(down),
            np.zeros((g, d, 0), np.float32), np.zeros((g, 0, d), np.float32),
        )  # fmt: skip

    def _norm_weight(self, norm: Any) -> FloatArray:
        """Return what a product behind the norm is multiplied by: x / rms(x) = sqrt(hidden) x / |x|."""
        weight = _array(norm.weight)
        return weight * np.float32(len(weight) ** 0.5)

    def _grow(self, needed: int) -> None:
        """Make room for `needed` tokens: caches, rotary factors and mask."""
        if needed <= self._capacity:
            return
        capacity = max(needed, 2 * self._capacity, FIRST_CAPACITY)
        more = (0, capacity - self._capacity)
        for block in self._blocks:
            block.keys = np.pad(block.keys, ((0, 0), (0, 0), more))
            block.values = np.pad(block.values, ((0, 0), more, (0, 0)))
        angles = np.outer(np.arange(capacity, dtype=np.float32), self._inverse_frequencies)
        self._turn = np.exp(1j * angles).astype(np.complex64)[:, None]  # [capacity, 1, d / 2]
        self._mask = np.triu(np.full((capacity, capacity), -np.inf, np.float32), 1)
        self._capacity = capacity


def _normed(x: FloatArray, eps: np.float32) -> FloatArray:
    """Return the rows of x [n, hidden] over their lengths; what rms-norm multiplies besides is in the next product."""
    result: FloatArray = x / np.sqrt(np.vecdot(x, x) + eps)[:, None]
    return result


def _pairs_adjacent(weight: FloatArray, d: int) -> FloatArray:
    """Return the rows [heads * d, hidden] with rotary pairs (i, i + d / 2) side by side; q k is the same sum."""
    return weight.reshape(-1, 2, d // 2, weight.shape[1]).transpose(0, 2, 1, 3).reshape(weight.shape)


def _turned_over(weight: FloatArray) -> _Product:
    return _Product(np.ascontiguousarray(weight.T))


def _array(weight: torch.Tensor) -> FloatArray:
    result: FloatArray = weight.detach().cpu().numpy()
    return result
