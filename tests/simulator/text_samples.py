"""Small tokenizers, and runs built by hand, for the tests of texts, CSV and traces. No network, no model."""

from __future__ import annotations

from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from simulator.records import (
    Bars,
    DraftedToken,
    ExtraToken,
    Kind,
    Position,
    RoundTrace,
    Run,
    RunConfig,
    Sampling,
    Shape,
    StopReason,
    Verdict,
)
from simulator.trace.store import Rounds

UNSEEN = ("", " ", "  ", "a", " a", "\n", "\t", "\r", "\u00a0", "\u200b", "\u202e", "\0", "x" * 500)
HIDDEN = frozenset("\u00a0\u200b\u202e\0\t\r\n ")  # never raw in a label, but for blanks inside marks
FORMULAS = ("=1+1", "+7", "-3", "@x", "\t=1", "\r=1", " =1", "-")
CELLS = ('"', '""', "a,b", ";", "\n", "\r\n", "\r", "\\", "", "NA", "null", "1e5", "007")


def spelled(text: bytes) -> str:
    """Write bytes in GPT-2's alphabet."""
    return "".join(map(_gpt2_character, text))


def _gpt2_character(byte: int) -> str:
    """The published table, written independently of the product: printable Latin-1 stays, the rest moves up."""
    stays = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b <= 0xFF]
    return chr(byte) if byte in stays else chr(256 + [b for b in range(256) if b not in stays].index(byte))


def byte_level(*extra: bytes | str, special: tuple[str, ...] = ("<eos>",)) -> Any:
    """Ids 0..255 are the bytes of those numbers, then one entry per extra, then the special tokens."""
    entries = [spelled(bytes([b])) for b in range(256)]
    entries += [spelled(e.encode() if isinstance(e, str) else e) for e in extra]
    backend = Tokenizer(models.BPE(vocab={e: i for i, e in enumerate(dict.fromkeys(entries))}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in special])
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=special[0] if special else None)


def byte_fallback(*extra: str, special: tuple[str, ...] = ("<s>", "</s>")) -> Any:
    """Ids 0.. are the special tokens, then `<0x00>`..`<0xFF>`, then letters and the extras, as in Llama 2."""
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyz"]
    entries = [*special, *(f"<0x{b:02X}>" for b in range(256)), *letters, *(e.replace(" ", "▁") for e in extra)]
    vocab = {e: i for i, e in enumerate(dict.fromkeys(entries))}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[], byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Replace(" ", "▁")
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    backend.decoder = decoders.Sequence(parts)
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in special])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=special[0], eos_token=special[-1])


def word_pieces() -> Any:
    """Neither byte-level nor byte fallback."""
    vocab = {w: i for i, w in enumerate(["[UNK]", "the", "cat", "##s", "sat", ".", "a"])}
    backend = Tokenizer(models.WordPiece(vocab=vocab, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


def drafted(token: int, p: float, q: float, u: float | None, u_draft: float | None = 0.25) -> DraftedToken:
    """A drafted token judged by the exact rule; u = None leaves it untested."""
    accept = min(1.0, p / q)
    verdict = Verdict.DISCARDED if u is None else Verdict.ACCEPTED if u < accept else Verdict.REJECTED
    return DraftedToken(token, p, q, accept, u_draft, u, verdict)


def shape(overlap: float | None) -> Shape:
    return Shape(overlap, None if overlap is None else 1 - overlap, 1.5, None if overlap is None else 1.25, 0.7)


def bars(*ids: int, with_q: bool = True) -> Bars:
    p = np.linspace(0.5, 0.1, len(ids), dtype=np.float32)
    return Bars(np.array(ids, dtype=np.int32), p, p[::-1].copy() if with_q else None)


def position(
    number: int, context: int, token: DraftedToken | None = None, extra: ExtraToken | None = None, detail: bool = True
) -> Position:
    has_q = token is not None
    return Position(
        number, context + number - 1, token, extra,
        shape(0.9 if has_q else None) if detail else None, bars(1, 2, 3, with_q=has_q) if detail else None,
    )  # fmt: skip


def rejected_round(index: int, context: int, tokens: tuple[int, int, int], extra: int) -> RoundTrace:
    """Three drafted: accepted, rejected (with its residual), discarded."""
    first = drafted(tokens[0], 0.3, 0.1, 0.99)
    second = drafted(tokens[1], float(np.float32(0.1)), float(np.float32(0.3)), 0.4)
    third = drafted(tokens[2], 0.2, 0.7, None)
    residual = ExtraToken(extra, Kind.RESIDUAL, 0.6, 0.123456789012345)
    spots = (
        position(1, context, first), position(2, context, second, residual), position(3, context, third)
    )  # fmt: skip
    return RoundTrace(index, context, spots, (tokens[0], extra), 1.5, 10.25, 12.0)


def bonus_round(index: int, context: int, tokens: tuple[int, int], extra: int) -> RoundTrace:
    """Two drafted by a deterministic source, both accepted, then the bonus."""
    spots = tuple(position(i + 1, context, drafted(t, 0.8, 1.0, 0.1 + i / 7, None)) for i, t in enumerate(tokens))
    last = position(3, context, None, ExtraToken(extra, Kind.BONUS, 1 / 3, 0.9999999999999999))
    return RoundTrace(index, context, (*spots, last), (*tokens, extra), 0.0, 3.0, 3.5)


def plain_round(index: int, context: int, token: int, detail: bool = False) -> RoundTrace:
    """A round that drafted nothing."""
    spot = position(1, context, None, ExtraToken(token, Kind.PLAIN, 0.5, 0.0), detail)
    return RoundTrace(index, context, (spot,), (token,), 0.0, 2.0, 2.25)


def run_of(*rounds: RoundTrace, **config: Any) -> Run:
    settings = {"sampling": Sampling(0.8, 5, 0.9, 0.01), "k": 3, "end_tokens": frozenset({256, 7})} | config
    return Run(RunConfig(**settings), (5, 6, 7), rounds, 4.5, StopReason.BUDGET, ("The draft's context is full.",))


def plain_run(*tokens: int, **config: Any) -> Run:
    """A run that emits just these tokens."""
    return run_of(*(plain_round(i, 3 + i, t) for i, t in enumerate(tokens)), **config)


def same(a: Any, b: Any) -> bool:
    """Tell whether two records are equal, their arrays by type and every value."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, tuple | Rounds) and isinstance(b, tuple | Rounds):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__slots__") and hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in a.__dataclass_fields__)
    return type(a) is type(b) and a == b
