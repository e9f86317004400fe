"""A lean decode path for Llama-shaped models in float32: the same function, without the framework's overhead.

Of a 5.6 ms step of a small model through transformers, half is rotary tables, masks, norms in five calls and
concatenated caches. Here q, k, v and gate, up are one product each, the cache is written in place, and rotary
factors and the causal mask are made once. `hf.HFModel` remains the oracle in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from simulator.models.base import Buffered
from simulator.models.hf import HFModel
from simulator.models.products import product
from simulator.models.small import MOST_PARAMETERS, SmallDecoder, is_plain_llama

MOST_ROWS = 16  # of a product that NumPy does; a prompt has more
FIRST_CAPACITY = 512  # cached tokens; doubled when they run out


@dataclass(slots=True)
class _Layer:
    """The weights of one block, fused, and its cache."""

    norm: torch.Tensor  # [hidden]
    qkv: torch.Tensor  # [(heads + 2 kv heads) * head_dim, hidden]
    out: torch.Tensor  # [hidden, heads * head_dim]
    mlp_norm: torch.Tensor  # [hidden]
    gate_up: torch.Tensor  # [2 * inner, hidden]
    down: torch.Tensor  # [hidden, inner]
    keys: torch.Tensor  # [kv heads, head_dim, capacity], so that scores need no transposed copy
    values: torch.Tensor  # [kv heads, capacity, head_dim]


class LlamaDecoder(Buffered):
    """A Llama model that `suits` this path, behind the `LanguageModel` protocol."""

    way = "cut back"

    def __init__(self, model: Any, name: str, checkpoint: Callable[[], None] = lambda: None) -> None:
        self.name, self.model = name, model
        self.device, self.dtype = model.device, model.dtype
        config = model.config
        self.max_length: int | None = config.max_position_embeddings
        self.vocab: int = model.get_output_embeddings().weight.shape[0]
        self._heads, self._kv_heads = config.num_attention_heads, config.num_key_value_heads
        self._head_dim = model.model.layers[0].self_attn.head_dim
        self._eps = config.rms_norm_eps
        self._embedding = model.get_input_embeddings().weight
        self._head, self._norm = model.get_output_embeddings().weight, model.model.norm.weight
        with torch.no_grad():  # not inference mode: the fused weights stay the model's own, usable in any mode
            self._layers = [self._fuse(layer, checkpoint) for layer in model.model.layers]
            self._capacity = 0
            self._grow(FIRST_CAPACITY)

    def extend(self, tokens: Sequence[int], keep: int | None = None) -> torch.Tensor:
        """Read the tokens [n] and return the float32 logits [keep or n, vocab]."""
        with (
            torch.inference_mode(),
            _one_thread() if self.device.type == "cpu" and len(tokens) <= MOST_ROWS else nullcontext(),
        ):
            start, end = self._length, self._length + len(tokens)
            self._grow(end)
            x = F.embedding(torch.tensor(tokens, device=self.device), self._embedding)  # [n, hidden]
            turn = self._turn[start:end]
            mask = self._mask[start:end, :end].repeat(self._heads // self._kv_heads, 1)  # [h/g * n, end]
            for layer in self._layers:
                x = x + self._attend(layer, F.rms_norm(x, x.shape[-1:], layer.norm, self._eps), turn, mask, start, end)
                h = _linear(F.rms_norm(x, x.shape[-1:], layer.mlp_norm, self._eps), layer.gate_up)
                gate, up = h.chunk(2, -1)
                x = x + _linear(F.silu(gate) * up, layer.down)
            self._length = end
            x = F.rms_norm(x[-(keep or len(tokens)) :], x.shape[-1:], self._norm, self._eps)
            return _linear(x, self._head)

    def _attend(
        self, layer: _Layer, x: torch.Tensor, turn: torch.Tensor, mask: torch.Tensor, start: int, end: int
    ) -> torch.Tensor:
        """Return the attention block's output [n, hidden] and write keys and values [start, end) to the cache."""
        n, h, g, d = len(x), self._heads, self._kv_heads, self._head_dim
        qkv = _linear(x, layer.qkv).view(n, h + 2 * g, d)
        turned = _rotate(qkv[:, : h + g], turn)
        layer.keys[:, :, start:end] = turned[:, h:].permute(1, 2, 0)
        layer.values[:, start:end] = qkv[:, h + g :].transpose(0, 1)
        q = turned[:, :h].view(n, g, h // g, d).permute(1, 2, 0, 3).reshape(g, -1, d)  # [g, h/g * n, d]
        scores = torch.baddbmm(mask, q, layer.keys[:, :, :end], alpha=d**-0.5)
        mixed = torch.bmm(scores.softmax(-1), layer.values[:, :end])  # [g, h/g * n, d]
        return _linear(mixed.view(h, n, d).transpose(0, 1).reshape(n, h * d), layer.out)

    def _fuse(self, block: Any, checkpoint: Callable[[], None]) -> _Layer:
        """Return one block's weights; the model's own parameters become views of the fused ones: no second copy."""
        checkpoint()
        a, m = block.self_attn, block.mlp
        empty = self._embedding.new_empty
        return _Layer(
            block.input_layernorm.weight, _joined(a.q_proj, a.k_proj, a.v_proj), a.o_proj.weight,
            block.post_attention_layernorm.weight, _joined(m.gate_proj, m.up_proj), m.down_proj.weight,
            empty(self._kv_heads, self._head_dim, 0), empty(self._kv_heads, 0, self._head_dim),
        )  # fmt: skip

    def _grow(self, needed: int) -> None:
        """Make room for `needed` tokens: caches, rotary factors and mask."""
        if needed <= self._capacity:
            return
        capacity = max(needed, 2 * self._capacity, FIRST_CAPACITY)
        for layer in self._layers:
            layer.keys = F.pad(layer.keys, (0, capacity - self._capacity))
            layer.values = F.pad(layer.values, (0, 0, 0, capacity - self._capacity))
        angles = torch.outer(torch.arange(capacity, device=self.device).float(), self.model.model.rotary_emb.inv_freq)
        self._turn = torch.polar(torch.ones_like(angles), angles)[:, None]  # [capacity, 1, d / 2], complex
        self._mask = torch.full((capacity, capacity), -torch.inf, device=self.device).triu(1)
        self._capacity = capacity


def suits(model: Any) -> bool:
    """Return whether `LlamaDecoder` computes this model: a plain Llama, float32, no biases, default rotary."""
    return is_plain_llama(model.config) and bool(model.dtype == torch.float32)


def decoder_for(
    model: Any, name: str, checkpoint: Callable[[], None] = lambda: None
) -> HFModel | LlamaDecoder | SmallDecoder:
    """Return the path with the least overhead that computes the model; the general one where no other does."""
    if not suits(model):
        return HFModel(model, name)
    small = model.device.type == "cpu" and model.num_parameters() <= MOST_PARAMETERS
    return SmallDecoder.of(model.eval(), name) if small else LlamaDecoder(model.eval(), name, checkpoint)


def _linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return x [n, in] times weight [out, in] turned over; more rows, and any on a GPU, by torch itself."""
    if len(x) > MOST_ROWS or not x.is_cpu:
        return F.linear(x, weight)
    return torch.from_numpy(product(x.numpy(), weight.detach().numpy().T))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch to one thread: the others would wait by spinning, on the cores that NumPy's products need."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _joined(*layers: torch.nn.Linear) -> torch.Tensor:
    """Return the layers' weights one under the other, and let the layers share that memory."""
    whole = torch.cat([layer.weight for layer in layers])
    for layer, part in zip(layers, whole.split([len(layer.weight) for layer in layers]), strict=True):
        layer.weight.data = part
    return whole


def _rotate(x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """Turn [n, heads, d] by the complex factors [n, 1, d / 2]; a rotary pair is (i, i + d / 2)."""
    turned = torch.complex(*x.chunk(2, -1)) * turn
    return torch.cat([turned.real, turned.imag], -1)
