"""The files of one model folder, read within their bounds whatever stands in them: JSON, weight headers, the index.

Knows config.json, safetensors headers and their index. Reads no weights, imports no library for them; a pipe or a
device in the place of a file is left alone, for it would be waited for.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
INNER = ("text_config", "thinker_config", "llm_config")  # where a config that also sees or hears keeps its decoder's
PICKLED = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")  # how a pickle, or a zip of some, begins


def weight_files(path: Path) -> list[Path]:
    """Return the safetensors files that make up the model: what the index names, else the one whole file, else all."""
    index = path / "model.safetensors.index.json"
    if index.is_file():
        return [path / name for name in named_shards(index)]
    whole = path / "model.safetensors"
    return [whole] if whole.exists() or whole.is_symlink() else sorted(path.glob("*.safetensors"))


def named_shards(index: Path) -> list[str]:
    """Return the file names in an index; raise ValueError where it is none, or names files outside the folder."""
    try:
        names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
        if not names or any(Path(n).name != n for n in names):
            raise ValueError
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"{index} is not a readable index: copy it again.") from error
    return names


def safetensors_header(file: Path) -> dict[str, Any]:
    """Return the header of a safetensors file: {tensor name: {dtype, shape, data_offsets}}; weights are not read.

    Raise ValueError with a sentence when the file is cut off or is no safetensors file. (huggingface_hub's reader of
    local headers does not compare them with the size of the file.)
    """
    size = file.stat().st_size
    if not file.is_file():  # a pipe would be waited for
        raise ValueError(f"{file} is no file: copy it again.")
    with file.open("rb") as stream:
        prefix = stream.read(8)
        if prefix.startswith(PICKLED):
            raise ValueError(
                f"{file} is a pickle in spite of its name, and can run code when opened: convert it with transformers' "
                "save_pretrained."
            )
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else size
        if length > size - 8:
            raise ValueError(f"{file} is cut off or is not a safetensors file: copy it again.")
        try:
            header: dict[str, Any] = json.loads(stream.read(length))
            end = max((_end(t) for k, t in header.items() if k != "__metadata__"), default=0)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{file} has no readable safetensors header: copy it again.") from error
    if 8 + length + end != size:
        raise ValueError(f"{file} has {size:,} bytes where its header promises {8 + length + end:,}: copy it again.")
    return header


def _end(tensor: dict[str, Any]) -> int:
    """Return where a tensor ends; raise ValueError where its description is none."""
    if not isinstance(tensor["dtype"], str) or not all(type(n) is int and n >= 0 for n in tensor["shape"]):
        raise ValueError
    end = tensor["data_offsets"][1]
    if type(end) is not int:
        raise ValueError
    return end


def read_config(path: Path) -> dict[str, Any]:
    """Return a folder's config.json, {} where there is no readable one."""
    return read_json(path / "config.json")


def figure(config: dict[str, Any], name: str) -> int | None:
    """Return a whole number of a config, or of the decoder's part inside it."""
    parts = [config]
    for part in parts:  # grows; a config.json may be nested deeper than Python calls may be
        if type(part.get(name)) is int:
            return int(part[name])
        parts += [part[k] for k in INNER if isinstance(part.get(k), dict)]
    return None


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file, {} where there is no such file or it holds no object."""
    try:
        found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
