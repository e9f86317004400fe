"""What a model's own files suggest for sampling: offered, never applied unseen.

Knows generation_config.json, the sampling keys of a GGUF file, and which of their wishes SpecScope can fulfil.
Applies nothing: what a run samples with is its `Sampling` and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulator.catalog import Entry
from simulator.errors import UserError
from simulator.local.folder_files import read_json
from simulator.local.gguf_files import read_header
from simulator.parameters import PARAMETERS, check
from simulator.records import Sampling

FILTERS = ("temperature", "top_k", "top_p", "min_p")
GGUF_KEYS = {"general.sampling.temp": "temperature"} | {f"general.sampling.{name}": name for name in FILTERS[1:]}
NEUTRAL = {  # settings that change the law of the text, and the values at which they do nothing
    "repetition_penalty": (1,), "encoder_repetition_penalty": (1,), "no_repeat_ngram_size": (0,), "typical_p": (1,),
    "epsilon_cutoff": (0,), "eta_cutoff": (0,), "min_length": (0,), "min_new_tokens": (0,), "num_beams": (1,),
    "diversity_penalty": (0,), "presence_penalty": (0,), "frequency_penalty": (0,), "length_penalty": (1,),
    "guidance_scale": (1,), "penalty_alpha": (0,), "top_h": (1,), "bad_words_ids": ([],), "sequence_bias": ({}, []),
    "suppress_tokens": ([],), "begin_suppress_tokens": ([],), "forced_bos_token_id": (), "forced_eos_token_id": (),
    "forced_decoder_ids": ([],), "constraints": ([],), "force_words_ids": ([],), "watermarking_config": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A sampling that the model's files suggest. `text` says it; `unapplied` what is left out, "" for nothing."""

    sampling: Sampling
    text: str
    unapplied: str


def suggested_sampling(entry: Entry) -> Suggestion | None:
    """Return what the entry's files suggest beyond plain sampling, None where they suggest nothing."""
    wishes = _from_gguf(entry) if entry.weights == "gguf" else read_json(entry.path / "generation_config.json")
    if wishes.get("do_sample") is False:  # "greedy" is what `generate` makes of that, whatever else is written there
        wishes = {k: v for k, v in wishes.items() if k not in FILTERS} | {"temperature": 0}
    values, wrong = {}, []
    for name in FILTERS:
        if wishes.get(name) is not None:
            try:
                values[name] = check(name, wishes[name])
            except (UserError, TypeError, ValueError):
                wrong.append(f"{name} = {wishes[name]!r:.40}")
    sampling = Sampling(
        values.get("temperature", 1.0), int(values.get("top_k", 0)), values.get("top_p", 1.0), values.get("min_p", 0.0)
    )  # fmt: skip
    others = [f"{k} = {_short(v)}" for k in NEUTRAL if (v := wishes.get(k)) is not None and v not in NEUTRAL[k]]
    if sampling == Sampling() and not others and not wrong:
        return None
    return Suggestion(sampling, _words(sampling), _left_out(entry, others, wrong))


def _words(sampling: Sampling) -> str:
    """Return the settings that differ from plain sampling: 'temperature 0.6, top-k 20'."""
    plain = Sampling()
    said = [
        f"{PARAMETERS[name].label} {getattr(sampling, name):g}"
        for name in FILTERS
        if getattr(sampling, name) != getattr(plain, name) or name == "temperature"
    ]
    return ", ".join(said)


def _left_out(entry: Entry, others: list[str], wrong: list[str]) -> str:
    said = [f"SpecScope does not apply {', '.join(others)}, which {entry.name} also asks for."] if others else []
    return " ".join(
        [*said, *([f"{entry.name} also gives {', '.join(wrong)}, which is not possible."] if wrong else [])]
    )


def _short(value: Any) -> str:
    return f"{len(value)} entries" if isinstance(value, (list, dict)) else f"{value!r:.40}"


def _from_gguf(entry: Entry) -> dict[str, Any]:
    try:
        metadata = read_header(entry.path).metadata
    except (OSError, ValueError):
        return {}
    return {name: metadata[key] for key, name in GGUF_KEYS.items() if key in metadata}
