"""A run of an opened trace file: whose it is, what it was made of, and whether a loaded pair can go on with it.

Knows: what the metadata of `run --trace` say, and that whoever wrote a file may have put anything there.
Does not know: how files are read (`trace.file`), threads, screens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.engine import checked_config
from simulator.errors import UserError
from simulator.grids.brief import Brief, brief_of, models_of
from simulator.loading import SOURCES, Loaded, Pair
from simulator.records import Run, RunConfig, StopReason
from simulator.text.prompts import Prompt
from simulator.text.texts import Texts
from simulator.trace.file import Trace, TraceError
from simulator.trace.store import Rounds, as_columns

NUMBERS = ("sha256", "device", "dtype")  # of each model: what makes its numbers


@dataclass(frozen=True, slots=True)
class Opened:
    """One run of a file, and with it all the others."""

    path: Path
    trace: Trace
    rounds: tuple[Rounds, ...]  # of each run, ready to be shown
    index: int = 0  # which run

    @property
    def name(self) -> str:
        """Return the file's name."""
        return self.path.name

    @property
    def run(self) -> Run:
        """Return the run."""
        return self.trace.runs[self.index]

    @property
    def prompt(self) -> Prompt | None:
        """Return the run's prompt with its settings, None where the file does not say."""
        i = self._prompt_index
        text, settings = _item(self.trace.meta.get("prompts"), i), _item(self.trace.meta.get("prompt_settings"), i)
        if not isinstance(text, str):
            return None
        settings = settings if isinstance(settings, Mapping) else {}
        system, chat = settings.get("system"), settings.get("chat")
        return Prompt(
            text, system if isinstance(system, str) else "", chat if isinstance(chat, bool) else None,
            settings.get("special") is True,
        )  # fmt: skip

    @property
    def models(self) -> str:
        """Return the models that made the run, in a line."""
        target, draft = self._model("target"), self._model("draft")
        name, device, dtype = (str(target.get(n, "?")) for n in ("name", "device", "dtype"))
        return models_of(name, str(draft["name"]) if "name" in draft else None, device, dtype)

    @property
    def meta(self) -> dict[str, Any]:
        """Return the file's metadata, with the prompt of this run alone."""
        i, meta = self._prompt_index, dict(self.trace.meta)
        for name in ("prompts", "prompt_settings"):
            if isinstance(meta.get(name), list):
                meta[name] = meta[name][i : i + 1]
        return meta

    @property
    def origin(self) -> str:
        """Return in lines what the metadata say of the run's making."""
        machine, versions = (_mapping(self.trace.meta.get(name)) for name in ("machine", "versions"))
        lines = [str(self.path), self.models, ", ".join(str(v) for v in machine.values()),
                 ", ".join(f"{name} {v}" for name, v in versions.items())]  # fmt: skip
        return "\n".join(line for line in lines if line)

    @property
    def settings(self) -> RunConfig | None:
        """Return the run's settings, None where they are none that this SpecScope has."""
        try:
            config = checked_config(self.run.config)
        except UserError:
            return None
        return config if config.source in SOURCES else None

    def texts(self, pair: Pair | None) -> Texts:
        """Return what the tokens look like: as the pair has it where its target made the run, else as the file has."""
        return pair.texts if pair is not None and self._states("target", pair.target, "sha256") else self.trace.texts

    def is_of(self, pair: Pair | None) -> bool:
        """Tell whether this pair made the run: the same contents on the same kind of device in the same dtype."""
        if pair is None or not self._states("target", pair.target, *NUMBERS):
            return False
        drafts = self.run.config.source == "model" and self.run.config.k > 0
        return not drafts or (pair.draft is not None and self._states("draft", pair.draft, *NUMBERS))

    def goes_on(self, pair: Pair | None) -> bool:
        """Tell whether the run was stopped, and this pair can go on as if it had not been."""
        run, rounds = self.run, self.rounds[self.index]
        whole = not len(rounds) or (rounds[0].index == 0 and rounds[-1].index == len(rounds) - 1)
        return (
            run.stop is StopReason.STOPPED and pair is not None and self.is_of(pair) and whole
            and self.settings == run.config and run.config.end_tokens == pair.end_tokens
        )  # fmt: skip

    def brief(self) -> Brief:
        """Return the run in brief, apart from all runs of this machine and of other files."""
        prompt = self.prompt or Prompt()
        return brief_of(self.run, self.group, prompt, self._prompt_index, self.trace.texts)

    @property
    def group(self) -> str:
        """Return what its runs carry as `Brief.models`: speeds of another machine are not pooled with this one's."""
        return f"{self.models}, {self.name}"

    @property
    def _prompt_index(self) -> int:
        """Return the number of the run's prompt: each prompt has equally many runs, one a seed."""
        prompts = self.trace.meta.get("prompts")
        return self.index * len(prompts) // len(self.trace.runs) if isinstance(prompts, list) else 0

    def _model(self, role: str) -> Mapping[str, Any]:
        return _mapping(_mapping(self.trace.meta.get("models")).get(role))

    def _states(self, role: str, loaded: Loaded, *names: str) -> bool:
        """Tell whether the file states of this model what is loaded; of one without a hash nothing is known."""
        return bool(loaded.sha256) and all(self._model(role).get(n) == getattr(loaded, n) for n in names)


def opened(path: Path, trace: Trace) -> Opened:
    """Return a file's first run, ready to be shown; raise `TraceError` where it holds none."""
    if not trace.runs:
        raise TraceError(f"{path} holds no run: choose another file.")
    rounds = tuple(Rounds(as_columns(run.rounds)) if len(run.rounds) else Rounds() for run in trace.runs)
    return Opened(path, trace, rounds)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _item(values: Any, i: int) -> Any:
    return values[i] if isinstance(values, list) and 0 <= i < len(values) else None
