"""Tiny model folders on disk, whole and damaged, for the tests of catalogue and loader."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEXT = ["the quick brown fox jumps over the lazy dog", "to be or not to be, that is the question"] * 4
VOCAB = 300


def tokenizer(vocab: int = VOCAB, extra: str = "") -> PreTrainedTokenizerFast:
    """Return a byte-level BPE trained on two sentences (and `extra`), padded to exactly `vocab` entries."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet,
                                  show_progress=False)  # fmt: skip
    bpe.train_from_iterator([*TEXT, extra * 9], trainer)
    bpe.add_tokens([f"<pad{i}>" for i in range(vocab - bpe.get_vocab_size())])
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>")


def save(
    folder: Path, *, seed: int = 0, vocab: int = VOCAB, extra: str = "", shard: str = "50GB", **config: Any
) -> Path:
    """Write a random two-layer model with its tokenizer; return the folder."""
    sizes = dict(
        vocab_size=vocab, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(LlamaConfig(**sizes))
    model.save_pretrained(folder, max_shard_size=shard)
    tokenizer(vocab, extra).save_pretrained(folder)
    return folder


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Rewrite the folder's weights after a change in place."""
    file = folder / "model.safetensors"
    weights = {name: w.clone() for name, w in load_file(file).items()}
    change(weights)
    save_file(weights, file, metadata={"format": "pt"})


def edit_json(file: Path, **changes: Any) -> None:
    """Rewrite a JSON file with some values changed."""
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **changes}), "utf-8")


def with_header(header: object, data: bytes = b"") -> bytes:
    """Return the bytes of a safetensors file with this header."""
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data
