"""From a catalogue entry to a model that can run: device, dtype, tokenizer, and no silent repair.

Weights come from safetensors or GGUF only, code from the model folder is never run, the network is never asked,
and a weight that is missing or not finite is an error instead of a random number.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET, Entry, find
from simulator.drafts.base import Checkpoint, DraftSource, no_checkpoint
from simulator.errors import UserError
from simulator.local.devices import DTYPES, choose_device, choose_dtype, reason
from simulator.local.gguf_headers import quick_headers
from simulator.local.load_model import Read, load_model
from simulator.local.memory import check_room, release
from simulator.local.weights import content_hash
from simulator.records import Sampling
from simulator.text.chat import Chat
from simulator.text.encoding import encode, in_chat
from simulator.text.prompts import Prompt
from simulator.text.token_text import TokenTexts
from simulator.text.vocabulary import Diagnosis, diagnose

if TYPE_CHECKING:
    from simulator.models.hf import HFModel
    from simulator.models.llama import LlamaDecoder
    from simulator.models.static import StaticModel

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # what matters of its warnings is an error here
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

__all__ = ["DTYPES", "SOURCES", "Loaded", "Pair", "Progress", "agreed", "assemble", "choose_device", "choose_dtype",
           "content_hash", "load", "load_pair", "read_tokenizer", "usable"]  # fmt: skip

SOURCES = ("model", "ngram")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to run."""

    entry: Entry
    model: HFModel | LlamaDecoder | StaticModel
    device: str
    dtype: str
    sha256: str = ""  # of config, tokenizer and weights as they were read
    ends: tuple[int, ...] = ()  # end tokens that it declares; empty = the tokenizer's
    notice: str = ""  # a sentence about how it is computed, where there is one to say


@dataclass(frozen=True, slots=True)
class Pair:
    """A target, its draft (None when the source needs no second model) and the target's tokenizer."""

    target: Loaded
    draft: Loaded | None
    texts: TokenTexts
    end_tokens: frozenset[int]
    start_token: int | None  # what an empty prompt begins with; None = an empty prompt is impossible
    vocabulary: Diagnosis | None = None  # how the draft's vocabulary suits; None where there is no draft
    chat: Chat = field(default_factory=Chat)  # the target's chat template

    def source(self, name: str, sampling: Sampling) -> DraftSource:
        """Return a fresh draft source of the given name ("model" or "ngram")."""
        from simulator.drafts.model import ModelDraft
        from simulator.drafts.ngram import NgramDraft

        if name == "ngram":
            return NgramDraft(self.target.model.vocab)
        if name != "model":
            raise UserError(f"There is no draft source '{name}'; choose one of {', '.join(SOURCES)}.")
        if self.draft is None:
            raise UserError(
                "The draft source 'model' needs a draft model: choose one (--draft), or the source 'ngram'."
            )
        found = self.vocabulary
        maps = (found.map, found.feed) if found else (None, None)
        return ModelDraft(self.draft.model, sampling, self.target.model.vocab, *maps)

    def encode(self, prompt: Prompt | str) -> list[int]:
        """Return the prompt's token ids, beginning-of-text token first where the model expects one.

        Raise `UserError` for a chat template that cannot do what is asked, or a token that the tokenizer knows and the
        model has no row for.
        """
        ids = encode(prompt, self.texts, self.chat, self.start_token)
        name, rows = self.target.entry.name, self.target.model.vocab
        lost = next((t for t in ids if t >= rows), None)
        if lost is not None:
            who, what = "The prompt contains", "remove it from the prompt"
            if lost in (self.texts.bos_id, self.start_token):
                who, what = "Texts begin with", "its tokenizer belongs to another model, copy its own"
            elif in_chat(prompt, self.chat) and self.texts.is_special(lost):  # typed ones are text there
                who, what = "The chat template writes", "turn it off"
            raise UserError(
                f"{who} the token {self.texts.label(lost)} (id {lost}), but {name} has {rows:,} rows: {what}."
            )
        return ids


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long job is: a sentence and a fraction in [0, 1], None when unknown."""

    text: str
    fraction: float | None = None


def load_pair(
    target: str = DEFAULT_TARGET, draft: str | None = DEFAULT_DRAFT, *, device: str = "auto", dtype: str = "auto",
    target_device: str | None = None, draft_device: str | None = None, target_dtype: str | None = None,
    draft_dtype: str | None = None, accept_differing: bool = False, compiled: bool = False,
    checkpoint: Checkpoint = no_checkpoint,
) -> Generator[Progress | Pair, None, None]:  # fmt: skip
    """Yield progress, then the pair. Raise `UserError` with one sentence where something cannot be loaded.

    A device or dtype of one model goes before the one for both. `accept_differing`: go on although a few entries of
    the two vocabularies differ. `compiled`: let torch's compiler fuse small operations, where a model runs through
    torch; where it could not, the model's notice says why. Whatever ends this early leaves no memory taken.
    """
    entries = [usable(find(target)), *([usable(find(draft))] if draft else [])]
    yield Progress("Starting torch and transformers ...", 0.05)
    checkpoint()
    devices = [choose_device(wanted or device) for wanted in (target_device, draft_device)]
    dtypes = [choose_dtype(w or dtype, where) for w, where in zip((target_dtype, draft_dtype), devices, strict=True)]
    check_room(list(zip(entries, devices, dtypes, strict=False)))
    vocabulary = agreed(entries[0], entries[1], accept_differing) if draft else None
    loaded: list[Loaded] = []
    try:
        for i, entry in enumerate(entries):
            begin, share = 0.1 + 0.8 * i / len(entries), 0.8 / len(entries)
            loaded.append((yield from _load(entry, devices[i], dtypes[i], begin, share, checkpoint, compiled)))
        checkpoint()
        yield Progress("Reading the tokenizer ...", 0.95)
        yield assemble(loaded[0], loaded[1] if draft else None, vocabulary, checkpoint)
    except BaseException:
        loaded.clear()
        release()
        raise


def usable(entry: Entry) -> Entry:
    """Return the entry; raise `UserError` with its problem if it has one."""
    if entry.problem:
        raise UserError(entry.problem)
    return entry


def load(entry: Entry, device: str, dtype: str) -> Loaded:
    """Load one model onto the device; raise `UserError` naming missing, unexpected or non-finite weights."""
    steps = _load(entry, device, dtype, 0, 1, no_checkpoint)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return cast(Loaded, stop.value)


def _load(
    entry: Entry, device: str, dtype: str, begin: float, share: float, checkpoint: Checkpoint, compiled: bool = False
) -> Generator[Progress, None, Loaded]:
    """Yield how far one model is, from `begin` on and `share` wide; return it."""
    where = f"Loading {entry.name} on {device} in {dtype}"
    yield Progress(f"{where} ...", begin)
    checkpoint()
    steps = load_model(entry, device, dtype, checkpoint, compiled)
    while True:
        try:
            what, fraction = next(steps)
        except StopIteration as stop:
            read: Read = stop.value
            return Loaded(entry, read.decoder, device, dtype, read.sha256, tuple(read.ends), read.notice)
        yield Progress(f"{where}: {what} ...", begin + share * fraction)


def agreed(target: Entry, draft: Entry, accept_differing: bool) -> Diagnosis:
    """Return the diagnosis of two vocabularies that suit; raise `UserError` where they do not, or nobody agreed."""
    found = diagnose(target, draft)
    if not found.usable:
        raise UserError(found.sentence)
    if found.needs_consent and not accept_differing:
        raise UserError(f"{found.sentence} To go on, accept this (--accept-differing).")
    return found


def assemble(
    target: Loaded, draft: Loaded | None, vocabulary: Diagnosis | None = None, checkpoint: Checkpoint = no_checkpoint
) -> Pair:
    """Return the pair with the target's tokenizer."""
    tokenizer = read_tokenizer(target.entry)
    checkpoint()
    ends = frozenset(target.ends or [tokenizer.eos_token_id]) - {None}
    start = tokenizer.bos_token_id
    adds_it = start is not None and tokenizer("a").input_ids[:1] == [start]  # GPT-2 has one and does not add it
    texts = TokenTexts(tokenizer, target.model.vocab, bos_id=start if adds_it else None)
    texts.label(0)  # surveys the vocabulary now, in the background, instead of at the first round on screen
    chat = Chat(tokenizer, target.entry.name)
    return Pair(target, draft, texts, frozenset(int(t) for t in ends), start, vocabulary, chat)


def read_tokenizer(entry: Entry) -> Any:
    """Return the fast tokenizer of a folder or GGUF file; raise `UserError` when there is none."""
    from transformers import AutoTokenizer

    gguf = entry.weights == "gguf"
    where = {"gguf_file": entry.path.name} if gguf else {}
    try:
        with quick_headers() if gguf else nullcontext():
            return AutoTokenizer.from_pretrained(
                entry.path.parent if gguf else entry.path, local_files_only=True, trust_remote_code=False, **where
            )
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # tokenizers' own crash
            raise
        if "custom code" in str(error):
            raise UserError(
                f"The tokenizer in {entry.path} needs Python code from the model folder, which SpecScope does not run."
            ) from error
        raise UserError(
            f"The tokenizer in {entry.path} could not be read: copy its files again. ({reason(error)})"
        ) from error
