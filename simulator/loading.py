"""From a catalogue entry to a model that can run: device, dtype, tokenizer, and no silent repair.

Weights come from safetensors only, code from the model folder is never run, the network is never asked,
and a weight that is missing or not finite is an error instead of a random number.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.catalog import DEFAULT_DRAFT, DEFAULT_TARGET, Entry, find
from simulator.drafts.base import Checkpoint, DraftSource, no_checkpoint
from simulator.errors import UserError
from simulator.records import Sampling
from simulator.text import TokenTexts

if TYPE_CHECKING:
    from simulator.models.hf import HFModel
    from simulator.models.llama import LlamaDecoder
    from simulator.models.small import SmallDecoder

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # what matters of its warnings is an error here
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SOURCES = ("model", "ngram")
DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to run."""

    entry: Entry
    model: HFModel | LlamaDecoder | SmallDecoder
    device: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A target, its draft (None when the source needs no second model) and the target's tokenizer."""

    target: Loaded
    draft: Loaded | None
    texts: TokenTexts
    end_tokens: frozenset[int]
    start_token: int | None  # what an empty prompt begins with; None = an empty prompt is impossible

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
        return ModelDraft(self.draft.model, sampling, self.target.model.vocab)

    def encode(self, text: str) -> list[int]:
        """Return the prompt's token ids, beginning-of-text token first where the model expects one."""
        ids = self.texts.encode(text)
        return ids if ids or self.start_token is None else [self.start_token]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long job is: a sentence and a fraction in [0, 1], None when unknown."""

    text: str
    fraction: float | None = None


def choose_device(wanted: str) -> str:
    """Return the device to use: auto = cuda, else mps, else cpu. Raise `UserError` for one that is not there."""
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except Exception as error:
        raise UserError(f"The device '{wanted}' cannot be used here; choose auto or cpu. ({error})") from error
    return wanted


def choose_dtype(wanted: str, device: str) -> str:
    """Return the weights' dtype: auto = bfloat16 on a GPU, float32 on a CPU. Probabilities are float32 regardless."""
    if wanted not in DTYPES:
        raise UserError(f"The dtype '{wanted}' is not known; choose one of {', '.join(DTYPES)}.")
    return wanted if wanted != "auto" else "float32" if device.startswith("cpu") else "bfloat16"


def load_pair(
    target: str = DEFAULT_TARGET, draft: str | None = DEFAULT_DRAFT, *, device: str = "auto", dtype: str = "auto",
    checkpoint: Checkpoint = no_checkpoint,
) -> Generator[Progress | Pair, None, None]:  # fmt: skip
    """Yield progress, then the pair. Raise `UserError` with one sentence where something cannot be loaded."""
    entries = [usable(find(target)), *([usable(find(draft))] if draft else [])]
    yield Progress("Starting torch and transformers ...", 0.05)
    checkpoint()
    device = choose_device(device)
    dtype = choose_dtype(dtype, device)
    loaded: list[Loaded] = []
    for i, entry in enumerate(entries):
        yield Progress(f"Loading {entry.name} ...", 0.4 + 0.3 * i)
        checkpoint()
        loaded.append(load(entry, device, dtype))
    checkpoint()
    yield Progress("Reading the tokenizer ...", 0.95)
    yield assemble(loaded[0], loaded[1] if draft else None)


def usable(entry: Entry) -> Entry:
    """Return the entry; raise `UserError` with its problem if it has one."""
    if entry.problem:
        raise UserError(entry.problem)
    return entry


def load(entry: Entry, device: str, dtype: str) -> Loaded:
    """Load one model onto the device; raise `UserError` naming missing, unexpected or non-finite weights."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers import logging as transformers_logging

    from simulator.models.llama import decoder_for

    transformers_logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            entry.path, dtype=getattr(torch, dtype), local_files_only=True, trust_remote_code=False,
            use_safetensors=True, output_loading_info=True,
        )  # fmt: skip
    except Exception as error:
        raise UserError(f"{entry.name} could not be loaded from {entry.path}: {_first_line(error)}") from error
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        names = sorted(str(n) for n in info.get(what) or ())
        if names:
            kind = what.removesuffix("_keys")
            raise UserError(
                f"{entry.name} has {len(names)} {kind} weight(s), such as {names[0]}: copy the folder again."
            )
    broken = next((n for n, w in model.named_parameters() if not bool(w.isfinite().all())), None)
    if broken:
        raise UserError(f"{entry.name} has values in {broken} that are not finite: the weights are damaged.")
    return Loaded(entry, decoder_for(model.to(device), entry.name), device, dtype)


def assemble(target: Loaded, draft: Loaded | None) -> Pair:
    """Return the pair with the target's tokenizer; raise `UserError` when the draft's vocabulary differs."""
    tokenizer = read_tokenizer(target.entry)
    if draft is not None:
        _check_same_vocabulary(target, draft, tokenizer)
    end = target.model.model.generation_config.eos_token_id
    if end is None:
        end = tokenizer.eos_token_id
    ends = frozenset(end if isinstance(end, list) else [end]) - {None}
    start = tokenizer.bos_token_id
    adds_it = start is not None and tokenizer("a").input_ids[:1] == [start]  # GPT-2 has one and does not add it
    texts = TokenTexts(tokenizer, target.model.vocab, bos_id=start if adds_it else None)
    texts.label(0)  # surveys the vocabulary now, in the background, instead of at the first round on screen
    return Pair(target, draft, texts, frozenset(int(t) for t in ends), start)


def read_tokenizer(entry: Entry) -> Any:
    """Return the folder's fast tokenizer; raise `UserError` when there is none."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(entry.path, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise UserError(f"The tokenizer in {entry.path} could not be read: {_first_line(error)}") from error


def _check_same_vocabulary(target: Loaded, draft: Loaded, tokenizer: Any) -> None:
    ours, theirs = tokenizer.get_vocab(), read_tokenizer(draft.entry).get_vocab()
    differing = sorted({i for token, i in ours.items() ^ theirs.items()})
    if differing:
        raise UserError(
            f"{draft.entry.name} cannot draft for {target.entry.name}: their vocabularies ({len(theirs)} and "
            f"{len(ours)} entries) differ in {len(differing)} ids, first {', '.join(map(str, differing[:3]))}."
        )


def content_hash(path: Path) -> str:
    """Return the SHA-256 over a model folder's config, tokenizer and weights, for a run's metadata."""
    digest = hashlib.sha256()
    for file in sorted(path.glob("*")):
        if file.suffix in (".safetensors", ".json", ".model"):
            digest.update(file.name.encode())
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
