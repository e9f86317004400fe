"""The README's table of architecture families, measured: python -m tests.simulator.models.families_table prints it."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import UserError
from simulator.models.hf import HFModel
from tests.simulator.models.families import FAMILIES, REFUSED, Family
from tests.simulator.roles import PROMPTS, Played, plain_text
from tests.simulator.tiny import llama

HEADER = ("family", "layers", "roles tested", "how it goes back", "largest logit difference")
DRAFT_LENGTHS = (1, 4)


def table() -> Iterator[str]:
    """Yield the lines of a Markdown table; a family that cannot be used has the reason for it in its row."""
    yield line(*HEADER)
    yield line(*("---" for _ in HEADER))
    other = llama(6)
    others = [plain_text(other.model, prompt) for prompt in PROMPTS]
    for family in FAMILIES:
        yield line(family.name, family.layers, *measured(Played(family, other, others)))
    for family in REFUSED:
        yield line(family.name, family.layers, "refused", reason(family), "")


def measured(played: Played) -> tuple[str, str, str]:
    """Return the roles, the way back and the largest difference from a pass without a cache, over all roles."""
    worst = 0.0
    for k in DRAFT_LENGTHS:
        for role in (played.as_target, played.as_draft, played.as_both):
            worst = max(worst, *(model.worst() for model in role(k)[1:]))
    return "target, draft, both", played.model.way, f"{worst:.0e}"


def reason(family: Family) -> str:
    """Return why a family is refused."""
    try:
        HFModel(family.build(), family.name)
    except UserError as error:
        return str(error)
    return "not refused"


def line(*cells: str) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for text in table():
        print(text, flush=True)
