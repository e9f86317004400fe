"""Why a model folder cannot be loaded, in one sentence that says what would work; looks at names and headers only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from simulator.local.folder_files import TOKENIZERS, named_shards, read_config, weight_files

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib")
HEADS = {
    "eagle": "an EAGLE", "medusa": "a Medusa", "hydra": "a Hydra", "mtp": "an MTP", "nextn": "an MTP",
    "dflash": "a DFlash",
}  # fmt: skip
HEAD_WEIGHTS = ("fc.weight", "midlayer.", "medusa_head.")  # what no language model has
OTHER_FORMS = (".h5", ".msgpack", ".onnx", ".npz", ".tflite", ".ot", ".nemo")


def folder_problem(path: Path) -> str | None:
    """Return the sentence that says why the folder cannot be loaded, or None. Raise OSError as it comes."""
    if not path.exists():
        return f"There is no folder {path}: it is gone, or a link that leads nowhere."
    if not path.is_dir():
        return f"{path} is a file; give the folder that holds config.json and the weights, or a GGUF file."
    if not (path / "config.json").is_file():
        return f"{path} has no config.json, so it is not a transformers model folder."
    config = read_config(path)
    if not config:
        return f"{path / 'config.json'} is not readable JSON."
    head = _draft_head(config)
    if head:
        return head_sentence(path, head)
    if _names_code(config):
        return f"{path} needs Python code from the model folder, which SpecScope does not run."
    packed = config.get("quantization_config")
    if isinstance(packed, dict):
        return (
            f"{path} has packed weights ({packed.get('quant_method', 'of some kind')}), which SpecScope does not "
            "unpack: choose the model unpacked, or as a GGUF file."
        )
    odd = next((f.name for f in sorted(path.iterdir()) if f.exists() and not (f.is_file() or f.is_dir())), None)
    if odd is not None:
        return f"{path / odd} is neither a file nor a folder: remove it."
    if not list(path.glob("*.safetensors")):
        return _without_safetensors(path)
    missing = _missing_shards(path)
    if missing:
        return f"{path} lacks {', '.join(missing)}: copy the missing file(s)."
    if not any((path / f).is_file() for f in TOKENIZERS):
        return f"{path} has no tokenizer.json."
    return None


def _draft_head(config: dict[str, Any]) -> str:
    """Return the kind of draft head that a config describes, "" for a model."""
    named = config.get("architectures")
    words = [config.get(key) for key in ("model_type", "speculators_model_type")]
    text = " ".join(map(str, [*words, *(named if isinstance(named, list) else ())])).lower()
    return next((kind for sign, kind in HEADS.items() if sign in text and "vl" not in text), "")


def head_sentence(path: Path, kind: str) -> str:
    """Return why a draft head is no draft here, and what is."""
    return (
        f"{path} is {kind} head: it guesses from the target's hidden states and cannot run without them, which "
        "SpecScope does not offer. Draft with a whole small model of the target's vocabulary, or by n-grams."
    )


def _without_safetensors(path: Path) -> str:
    """Return the sentence on a folder whose weights, if there are any, lie in another form."""
    names = sorted(f.name for f in path.iterdir())
    pickled = next((name for name in names if name.lower().endswith(PICKLES)), None)
    if pickled:
        return (
            f"{path} holds only pickled weights ({pickled}), which can run code when opened; convert them with "
            "transformers' save_pretrained to model.safetensors."
        )
    other = next((name for name in names if name.lower().endswith(OTHER_FORMS)), None)
    if other:
        return f"{path} holds its weights as {other} only: SpecScope reads safetensors and GGUF, convert them."
    return f"{path} holds no weights (*.safetensors)."


def _names_code(config: dict[str, Any]) -> bool:
    """Return whether a config, or a part of it, points to Python code of its own."""
    return "auto_map" in config or any("auto_map" in part for part in config.values() if isinstance(part, dict))


def _missing_shards(path: Path) -> list[str]:
    index = path / "model.safetensors.index.json"
    if index.is_file():
        try:
            return [f"{f}, which its index names" for f in named_shards(index) if not (path / f).is_file()]
        except ValueError:
            return [f"a readable {index.name}"]
    files = [f.name for f in weight_files(path)]
    counts = {int(m[1]) for name in files if (m := re.search(r"-of-(\d{1,6})\.safetensors$", name))}
    numbers = {int(m[1]) for name in files if (m := re.search(r"-(\d{1,6})-of-\d+\.safetensors$", name))}
    return [f"shard {i} of {n}" for n in counts for i in range(1, min(n, 10_000) + 1) if i not in numbers][:3]
