"""What is asked of the models: a prompt with its settings, prompt files, and presets that suit a model.

Knows: texts. Does not know: tokens, templates (see `encoding` and `chat`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from simulator.errors import UserError

LIMIT = 2_000_000  # bytes of a prompt file; half a million tokens or so
BUNDLED = "shakespeare-"  # what the names of the bundled models begin with


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to go on from, or to answer; `encoding.encode` turns it into tokens."""

    text: str = ""
    system: str = ""  # instruction ahead of the text; needs the chat template
    chat: bool | None = None  # whether the text stands in the model's chat template; None: if the model has one
    special: bool = False  # whether characters that spell a special token are that token; never so in a chat


@dataclass(frozen=True, slots=True)
class Preset:
    """A ready-made prompt under a short name."""

    name: str
    text: str


DEFAULT_PROMPT = "KING HENRY.\nWhat say you, my lord?\n\n"
_SHAKESPEARE = (
    Preset("King Henry", DEFAULT_PROMPT),
    Preset("Hamlet", "[Enter Ghost.]\n\nHAMLET.\n"),
    Preset("Sonnet 18", "Shall I compare thee to a summer's day?\n"),
    Preset("Juliet", "JULIET.\nO Romeo, Romeo! "),
    Preset("Stage direction", "ACT II.\n\nSCENE I. Venice. A street.\n\n[Enter "),
    Preset("Witches", "FIRST WITCH.\nWhen shall we three meet again\n"),
)
_INSTRUCT = (
    Preset("Question", "Why is the sky blue? Answer in three sentences."),
    Preset("Code", "Write a Python function that returns the n-th Fibonacci number, with a docstring and an example."),
    Preset(
        "Copy with a change (n-gram drafts shine)",
        "Repeat this text word for word, but write 'copper' instead of 'iron':\n\n"
        "The iron gate stood at the end of the garden. Behind the iron gate a path led down to the river, and beside "
        "the path ran an iron rail. Whoever held the iron rail on a winter morning knew how cold iron can be.",
    ),
    Preset(
        "Summary",
        "Summarise in one sentence:\n\n"
        "A small model proposes several tokens. A large model checks all of them in a single pass and keeps those that "
        "agree with its own distribution. What it rejects is replaced by a token of its own, so the text is "
        "distributed as if the large model had written it alone, only sooner.",
    ),
    Preset("Translation", "Translate into French: The train to the coast leaves at nine, and the sea is calm today."),
    Preset("Story", "Tell a short story about a lighthouse keeper who hears a song from the sea."),
)
_BASE = (
    Preset("Encyclopedia", "The Amazon rainforest is the largest tropical rainforest in the world. It covers"),
    Preset("Story", "The old clock in the hall struck thirteen. Nobody in the house had noticed before that"),
    Preset("Code", 'def fibonacci(n: int) -> int:\n    """Return the n-th Fibonacci number."""\n'),
    Preset(
        "Recurring text (n-gram drafts shine)",
        "Monday: open at 9, close at 17.\nTuesday: open at 9, close at 17.\nWednesday: open at 9, close at 17.\n"
        "Thursday:",
    ),
    Preset("Letter", "Dear Sir or Madam,\n\nI am writing to you because"),
)

PRESETS = tuple(p.text for p in _SHAKESPEARE)  # those of the bundled pair


def presets(model: str, chat: bool) -> tuple[Preset, ...]:
    """Return the prompts that suit the model of this name: with a chat template questions, otherwise openings."""
    return _SHAKESPEARE if model.startswith(BUNDLED) else _INSTRUCT if chat else _BASE


def suited(prompt: Prompt, model: str, chat: bool) -> Prompt:
    """Return the prompt as another model takes it: a preset of other models gives way to one of its own.

    Without a chat template nothing is left of what needs one.
    """
    own = presets(model, chat)
    known = {p.text for group in (_SHAKESPEARE, _INSTRUCT, _BASE) for p in group}
    text = own[0].text if prompt.text in known - {p.text for p in own} else prompt.text
    return replace(prompt, text=text) if chat else replace(prompt, text=text, chat=None, system="")


def as_prompt(prompt: Prompt | str) -> Prompt:
    """Return a plain text as a prompt with the usual settings."""
    return Prompt(prompt) if isinstance(prompt, str) else prompt


def read_prompt(path: Path) -> str:
    """Return the text of a prompt file; raise `UserError` where it is no UTF-8 text, or too large."""
    try:
        with path.open("rb") as file:
            raw = file.read(LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"The prompt file {path} could not be read: {reason}.") from error
    if len(raw) > LIMIT:
        raise UserError(f"The prompt file {path} is larger than {LIMIT / 1e6:g} MB: choose a shorter text.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"The prompt file {path} is not UTF-8 text (byte {error.start}): save it as UTF-8.") from error
    if "\0" in text:
        raise UserError(f"The prompt file {path} holds zero bytes, so it is no text: choose a text file.")
    return text.replace("\r\n", "\n")
