"""What a grid of runs is: every combination of prompts, seeds, temperatures, draft sources, rules and k, each once.

Knows: the order of the runs, and how a person writes a list of numbers. Does not know: models, files, how to run.
(`measure.sweep` is another thing: it times k = 0..8 for the Stage. This is a list of runs to keep.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from simulator.errors import UserError
from simulator.loading import SOURCES
from simulator.parameters import PARAMETERS, check
from simulator.records import RunConfig, Sampling
from simulator.text.prompts import Prompt, as_prompt
from simulator.verify import RULES

PLAIN = "plain"  # source and rule of a run that drafts nothing (k = 0): neither makes a difference
MOST = 100_000  # runs of one grid; more is a slip of the hand


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """What tells one run of a grid from all others."""

    prompt: int  # index in the grid's prompts
    seed: int
    temperature: float
    source: str  # PLAIN where k = 0
    rule: str  # PLAIN where k = 0
    k: int


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes of a grid, each without repetition, and what all its runs share."""

    prompts: tuple[Prompt, ...]
    seeds: tuple[int, ...]
    ks: tuple[int, ...]  # 0 = plain decoding, what the others' speedup is measured against
    temperatures: tuple[float, ...] = (1.0,)
    sources: tuple[str, ...] = ("model",)
    rules: tuple[str, ...] = ("exact",)
    filters: Sampling = field(default_factory=Sampling)  # its temperature is not used
    max_new_tokens: int = 96

    def settings(self) -> list[Setting]:
        """Return all runs in the order they are made: those that are compared with one another follow at once.

        All of one prompt, seed and temperature stand together, the plain one first, so that a drifting machine hits
        both sides of each speedup.
        """
        lengths = sorted(self.ks)
        result = []
        for prompt, seed, temperature in product(range(len(self.prompts)), self.seeds, self.temperatures):
            if 0 in lengths:
                result.append(Setting(prompt, seed, temperature, PLAIN, PLAIN, 0))
            for source, rule, k in product(self.sources, self.rules, lengths):
                if k:
                    result.append(Setting(prompt, seed, temperature, source, rule, k))
        return result

    def config(self, setting: Setting, end_tokens: frozenset[int] = frozenset()) -> RunConfig:
        """Return the configuration of one run."""
        plain = setting.k == 0
        return RunConfig(
            setting.k, replace(self.filters, temperature=setting.temperature), "exact" if plain else setting.rule,
            "model" if plain else setting.source, setting.seed, self.max_new_tokens, end_tokens,
        )  # fmt: skip


def checked_grid(grid: Grid) -> Grid:
    """Return the grid with every axis checked and without repetitions; raise `UserError` otherwise."""
    axes: dict[str, Any] = {name: tuple(dict.fromkeys(getattr(grid, name))) for name in
            ("prompts", "seeds", "ks", "temperatures", "sources", "rules")}  # fmt: skip
    axes["prompts"] = tuple(dict.fromkeys(as_prompt(p) for p in axes["prompts"]))
    empty = next((name for name, values in axes.items() if not values), None)
    if empty:
        raise UserError(f"The grid has no {empty}: choose at least one.")
    for name, known in (("sources", SOURCES), ("rules", tuple(RULES))):
        strange = [v for v in axes[name] if v not in known]
        if strange:
            raise UserError(f"There is none of the {name} called '{strange[0]}'; choose from {', '.join(known)}.")
    for name, parameter in (("seeds", "seed"), ("ks", "k"), ("temperatures", "temperature")):
        axes[name] = tuple(check(parameter, v) for v in axes[name])
    result = replace(grid, **axes, max_new_tokens=int(check("max_new_tokens", grid.max_new_tokens)))
    if (number := count(result)) > MOST:
        raise UserError(f"The grid has {number:,} runs, but {MOST:,} is the most: shorten one of its lists.")
    return result


def count(grid: Grid) -> int:
    """Return how many runs a grid has, without listing them."""
    drafting = sum(k > 0 for k in grid.ks) * len(grid.sources) * len(grid.rules)
    return len(grid.prompts) * len(grid.seeds) * len(grid.temperatures) * (drafting + (0 in grid.ks))


def numbers(name: str, text: str) -> tuple[Any, ...]:
    """Return the values of a list such as '1-4, 8' of the named parameter; raise `UserError` naming the wrong part.

    Ranges are for whole numbers, both ends included; other parameters take single values.
    """
    parameter = PARAMETERS[name]
    values: dict[float, None] = {}
    for part in filter(None, re.split(r"[\s,;]+", re.sub(r"\s*-\s*", "-", text.strip()))):
        match = re.fullmatch(r"(\d{1,19})-(\d{1,19})", part) if parameter.integer else None
        ends = (int(match[1]), int(match[2])) if match else None
        if ends and not ends[0] <= ends[1] < ends[0] + MOST:
            raise UserError(f"The range {part} of {parameter.label} must rise, by less than {MOST:,} values.")
        for value in range(ends[0], ends[1] + 1) if ends else (_number(parameter.label, part, parameter.integer),):
            values[parameter.check(value)] = None
    if not values:
        raise UserError(f"There is no {parameter.label}: give at least one number.")
    return tuple(values)


def _number(label: str, part: str, whole: bool) -> float:
    """Return one number; whole ones stay exact, whatever their size."""
    try:
        return int(part) if whole else float(part)
    except ValueError:
        example = "1-4, 8" if whole else "0, 0.7, 1"
        raise UserError(f"'{part}' is no {label}: write numbers such as {example}.") from None


def estimated_seconds(grid: Grid, speeds: Mapping[int, float], done: Iterable[Setting] = ()) -> float | None:
    """Return how long the runs still to make will take, from tokens per second by k; None without any speed.

    A k without a speed of its own is taken to be as fast as the nearest one that has it.
    """
    if not speeds:
        return None
    finished = set(done)
    return sum(
        grid.max_new_tokens / speeds[min(speeds, key=lambda known: (abs(known - setting.k), known))]
        for setting in _open(grid, finished)
    )


def _open(grid: Grid, finished: set[Setting]) -> Iterator[Setting]:
    return (s for s in grid.settings() if s not in finished)
