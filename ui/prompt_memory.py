"""The last prompts of each model, kept from one start to the next.

Knows: the settings file, and that a damaged one holds anything. Does not know: dialogs.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from PySide6.QtCore import QSettings

from simulator.text.prompts import Prompt, presets
from simulator.typed import from_json

KEPT = 8  # prompts of one model
LONGEST = 20_000  # characters; longer ones are files, and stay there


def recent(settings: QSettings | None, model: str) -> list[Prompt]:
    """Return the model's last prompts, newest first; none where the file is damaged."""
    try:
        found = json.loads(str(settings.value(_key(model), "[]"))) if settings is not None else []
        return [from_json(Prompt, each) for each in found][:KEPT]
    except (ValueError, TypeError):
        return []


def remember(settings: QSettings | None, model: str, chat: bool, prompt: Prompt) -> None:
    """Keep a prompt of one's own; presets can be had anyway. `chat`: whether the model has a chat template."""
    preset = not prompt.system and prompt.text in {p.text for p in presets(model, chat)}
    if settings is None or preset or not prompt.text.strip() or len(prompt.text) + len(prompt.system) > LONGEST:
        return
    others = [p for p in recent(settings, model) if p != prompt]
    settings.setValue(_key(model), json.dumps([asdict(p) for p in (prompt, *others)][:KEPT]))


def _key(model: str) -> str:
    return "prompts/" + model.replace("/", "|").replace("\\", "|")  # both would be folders in the settings
