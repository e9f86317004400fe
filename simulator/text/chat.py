"""A model's chat template: whether there is one, what it refuses, and a conversation as it writes it.

Knows: transformers' templates. Does not know: tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simulator.errors import UserError

Piece = tuple[str, bool]  # a part of the text, and whether it is the template's own (else somebody typed it)
_MARKS = ("SpecScopeSystemText", "SpecScopePromptText")  # stand for what is typed while the template runs


class Chat:
    """The template of one tokenizer, tried out once when this is made (compiling takes a moment)."""

    def __init__(self, tokenizer: Any = None, name: str = "This model") -> None:
        """Take a tokenizer (None: no template) and the model's name for sentences."""
        self._tokenizer, self._name = tokenizer, name
        self._in_parts = False  # whether the template wants messages as lists of parts
        self.problem = self._why_not("")  # why there can be no chat, in a sentence; None = there can
        self.system_problem = self.problem or self._why_not("x")  # likewise for a system prompt

    def pieces(self, text: str, system: str = "") -> list[Piece]:
        """Return the conversation up to where the answer begins; raise `UserError` where there can be none.

        The template sees marks in place of what was typed, with the blanks at their ends, which it may strip.
        """
        problem = self.system_problem if system else self.problem
        if problem is not None:
            raise UserError(problem)
        typed = dict(zip(_MARKS, (system, text), strict=True))
        rendered = self._render(
            {mark: _framed(mark, words) for mark, words in typed.items() if words or mark == _MARKS[1]}
        )
        parts = re.split("|".join(f"({mark})" for mark in _MARKS), rendered)
        return [(typed[p].strip(), False) if p in typed else (p, True) for p in parts if p]

    def _why_not(self, system: str) -> str | None:
        """Return what keeps the template from being used, with a system prompt or without, in a sentence."""
        if getattr(self._tokenizer, "chat_template", None) is None:
            return f"{self._name} has no chat template: leave the chat off."
        wanted = _MARKS if system else _MARKS[1:]
        reasons = []
        for in_parts in (self._in_parts,) if system else (False, True):
            self._in_parts = in_parts
            reasons.append(self._failure(wanted))
            if reasons[-1] is None:
                return None
        if system:
            return f"The chat template of {self._name} takes no system prompt ({reasons[0]}): write it into the prompt."
        return f"The chat template of {self._name} cannot be used ({reasons[0]}): turn it off."

    def _failure(self, wanted: Sequence[str]) -> str | None:
        """Return why the template does not write the marks, None where it does."""
        try:
            rendered = self._render({mark: mark for mark in wanted})
        except Exception as error:  # a template is a program of the model's author: it may fail in any way
            return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        missing = next((mark for mark in wanted if mark not in rendered), None)
        return missing and "it leaves out " + (
            "what is typed" if missing == _MARKS[1] else "what the system prompt says"
        )

    def _render(self, contents: dict[str, str]) -> str:
        roles = dict(zip(_MARKS, ("system", "user"), strict=True))
        messages = [{"role": roles[mark], "content": self._content(words)} for mark, words in contents.items()]
        return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def _content(self, words: str) -> str | list[dict[str, str]]:
        return [{"type": "text", "text": words}] if self._in_parts else words


def _framed(mark: str, words: str) -> str:
    """Return the mark between the blanks that the words begin and end with."""
    core = words.strip()
    before, after = words.split(core, 1) if core else (words, "")
    return before + mark + after
