"""What the next run would be made with: settings and prompt as a pair can have them, and why none can begin.

Knows: pair, settings, prompt. Does not know what is running, or how anything looks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QCoreApplication

from simulator.errors import UserError
from simulator.loading import Pair
from simulator.records import RunConfig
from simulator.text.encoding import check_prompt
from simulator.text.prompts import Prompt, suited


def fitted(config: RunConfig, pair: Pair | None) -> RunConfig:
    """Return the settings with the pair's end tokens, and with a source that it has."""
    if pair is None:
        return config
    return replace(config, end_tokens=pair.end_tokens, source=config.source if pair.draft else "ngram")


def suiting(prompt: Prompt, before: Pair | None, pair: Pair) -> Prompt:
    """Let another target begin with what suits it: its own presets, its chat template where it has one."""
    entry = pair.target.entry
    if before is not None and before.target.entry.path == entry.path:
        return prompt
    asked = prompt if before is None else replace(prompt, chat=None)
    return suited(asked, entry.name, pair.chat.problem is None)


def without_template(prompt: Prompt, pair: Pair | None) -> Prompt:
    """Return the prompt without a word on the template where there is none to leave out."""
    absent = pair is not None and pair.chat.problem is not None
    return replace(prompt, chat=None) if absent and prompt.chat is False else prompt


def obstacle(pair: Pair | None, prompt: Prompt) -> str | None:
    """Return why no run can begin, in a sentence: a blank prompt needs a token that stands for the beginning."""
    if pair is None:
        return None
    try:
        check_prompt(prompt, pair.chat)
        empty = not prompt.text.strip() and not pair.encode(prompt)
    except UserError as error:
        return str(error)
    text = "The prompt is empty, and this model has no token to begin a text with. Type one."
    return QCoreApplication.translate("Session", text) if empty else None


def conditions(config: RunConfig, prompt: Prompt) -> tuple[Any, ...]:
    """Return what measured points hold for; they cover every k, and seeds only repeat them."""
    return config.sampling, config.rule, config.source, prompt
