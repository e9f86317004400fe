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
        model = LlamaForCausalLM(LlamaConfig(**sizes | config))
    model.save_pretrained(folder, max_shard_size=shard)
    tokenizer(vocab, extra).save_pretrained(folder)
    return folder


def save_gguf(folder: Path, file: Path) -> Path:
    """Write the model of a folder that `save` made as a GGUF file in float32; return the file."""
    import gguf

    config, state = json.loads((folder / "config.json").read_text("utf-8")), load_file(folder / "model.safetensors")
    vocabulary = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    heads, kv_heads, layers = (
        config[f"num_{what}"] for what in ("attention_heads", "key_value_heads", "hidden_layers")
    )
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("tiny")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(layers)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(config["vocab_size"])
    entries = vocabulary["model"]["vocab"] | {t["content"]: t["id"] for t in vocabulary["added_tokens"]}
    tokens = sorted(entries, key=entries.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if t in ("<s>", "</s>") else 4 if t.startswith("<pad") else 1 for t in tokens])
    writer.add_token_merges([" ".join(pair) for pair in vocabulary["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, layers)
    for name, weight in state.items():
        turned = heads if "q_proj" in name else kv_heads if "k_proj" in name else None  # llama.cpp's rotary pairs
        if turned:
            weight = weight.view(turned, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
        writer.add_tensor(names.get_name(name.removesuffix(".weight")) + ".weight", weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


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
