"""From a prompt to its tokens, the one way for runs, files and measurements, and what a person is told of them.

Knows: beginning-of-text tokens, chat templates, special tokens typed as text, the lengths of both models' contexts.
Does not know: models' weights, screens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.errors import UserError
from simulator.text.chat import Chat, Piece
from simulator.text.prompts import Prompt, as_prompt
from simulator.text.token_text import TokenTexts

if TYPE_CHECKING:
    from simulator.loading import Pair


SHOWN = 500


@dataclass(frozen=True, slots=True)
class Reading:
    """How a pair reads a prompt."""

    prompt: Prompt
    count: int = 0  # tokens
    head: tuple[str, ...] = ()  # labels of the first SHOWN tokens
    tail: tuple[str, ...] = ()  # labels of the last SHOWN of the others
    special: tuple[tuple[str, int], ...] = ()  # label of each special token, and how often it stands there
    problem: str | None = None  # why no run can begin, in a sentence
    warning: str | None = None  # what a run will lack, in a sentence
    keep: int | None = None  # tokens to keep where a context is too short; None where it is not


def in_chat(prompt: Prompt | str, chat: Chat) -> bool:
    """Return whether the prompt stands in the chat template."""
    wanted = as_prompt(prompt).chat
    return chat.problem is None if wanted is None else wanted


def check_prompt(prompt: Prompt | str, chat: Chat) -> None:
    """Raise `UserError` where a prompt asks for what the template cannot do; takes no time."""
    prompt = as_prompt(prompt)
    on = in_chat(prompt, chat)
    problem = None if not on else chat.system_problem if prompt.system else chat.problem
    if prompt.system and not on:
        problem = f"A system prompt needs the chat template. {chat.problem or 'It is turned off: turn it on.'}"
    if problem:
        raise UserError(problem)


def encode(prompt: Prompt | str, texts: TokenTexts, chat: Chat, start: int | None = None) -> list[int]:
    """Return the prompt's ids, beginning-of-text token first, exactly once, where the tokenizer puts one there.

    `start` is what an empty prompt begins with. Raise `UserError` where the template cannot do what is asked.
    """
    prompt = as_prompt(prompt)
    check_prompt(prompt, chat)
    if in_chat(prompt, chat):
        return encode_pieces(chat.pieces(prompt.text, prompt.system), texts)
    ids = texts.encode(prompt.text, allow_special=prompt.special)
    return ids if ids or start is None else [start]


def encode_pieces(pieces: Sequence[Piece], texts: TokenTexts) -> list[int]:
    """Return the ids of a conversation in which only the template's own special tokens are tokens.

    All in one wherever nothing typed spells one, so that tokens run across the seams as in the model's training.
    """
    whole = texts.encode("".join(text for text, _ in pieces), allow_special=True)
    frame = texts.encode("".join(text if own else "x" for text, own in pieces), allow_special=True)
    if texts.special_in(whole) == texts.special_in(frame):
        return whole
    return texts.begun([i for text, own in pieces for i in texts.ids(text, own)])


def read(pair: Pair, prompt: Prompt, new_tokens: int) -> Reading:
    """Return how the pair reads the prompt: its tokens, and what keeps a run of so many new tokens from beginning."""
    try:
        ids = pair.encode(prompt)
    except UserError as error:
        return Reading(prompt, problem=str(error))
    counted = Counter(pair.texts.special_in(ids))
    special = tuple((pair.texts.label(i), n) for i, n in counted.items())
    head, tail = ids[:SHOWN], ids[SHOWN:][-SHOWN:]
    first, last = tuple(map(pair.texts.label, head)), tuple(map(pair.texts.label, tail))
    return Reading(prompt, len(ids), first, last, special, *_limits(pair, len(ids), new_tokens))


def _limits(pair: Pair, n: int, new_tokens: int) -> tuple[str | None, str | None, int | None]:
    """Return problem, warning and the tokens to keep, as in `Reading`."""
    target = pair.target
    if not n:
        return "Type at least one character: this model has no token to begin a text with.", None, None
    longest = target.model.max_length
    if longest is not None and n > longest:
        text = f"The prompt has {n:,} tokens, but {target.entry.name} reads at most {longest:,}: shorten it."
        return text, None, _room(longest, new_tokens)
    if longest is not None and n == longest:
        return (
            None,
            f"The prompt fills the context of {target.entry.name} ({longest:,} tokens): one token can follow.",
            (_room(longest, new_tokens)),
        )
    drafts = pair.draft.model.max_length if pair.draft else None
    if pair.draft and drafts is not None and n > drafts:
        text = f"The prompt has {n:,} tokens, but the draft {pair.draft.entry.name} reads at most {drafts:,}"
        return (
            None,
            f"{text}: it will propose nothing. Shorten the prompt, or draft by n-grams.",
            _room(drafts, new_tokens),
        )
    return None, None, None


def _room(longest: int, new_tokens: int) -> int:
    """Return how many tokens a prompt may have for so many to follow, half the context at least."""
    return max(longest - new_tokens, longest // 2, 1)


def shorten(pair: Pair, prompt: Prompt, tokens: int) -> Prompt:
    """Return the prompt with only the end of its text, so that it has at most so many tokens, template included.

    Raise `UserError` where the template and the system prompt alone have more.
    """
    text = prompt.text
    special = prompt.special and not in_chat(prompt, pair.chat)
    while (excess := len(pair.encode(replace(prompt, text=text))) - tokens) > 0:
        if not text:
            raise UserError(
                f"Without any text the prompt still has {tokens + excess:,} tokens: shorten the system prompt."
            )
        ends = pair.texts.ends(text, allow_special=special)
        text = text[max(1, ends[min(excess, len(ends)) - 1]) :]
    return replace(prompt, text=text)
