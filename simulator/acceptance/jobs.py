"""What the Acceptance page lets the threads do: open files, run the control, read full rows for a cut vocabulary.

Each function returns a `runner.Job`: a generator function that takes the job's control.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.body import Acceptance
from simulator.acceptance.correlation import FIT_K, Control, control
from simulator.acceptance.counters import read_counters
from simulator.acceptance.from_runs import of_runs
from simulator.acceptance.pooling import merged
from simulator.acceptance.rounds_csv import read_csv
from simulator.acceptance.truncated import Truncation, frequency_order, pooled, truncate
from simulator.errors import UserError
from simulator.loading import Pair, Progress
from simulator.measure import run_once
from simulator.records import Run, RunConfig, Sampling, StopReason
from simulator.runner import Control as JobControl
from simulator.runner import Job
from simulator.text.prompts import Prompt, as_prompt, presets
from simulator.trace.file import load_trace

CONTROL_KS = tuple(range(1, 9))
CONTROL_PROMPTS, CONTROL_SEEDS, CONTROL_TOKENS = 6, 2, 192  # many contexts: acceptance differs between them
ROWS = 16  # positions a pass: full rows of p and q, 2 x 16 x vocabulary in float32
POSITIONS = 96  # of the newest text; more would not move a mean that one reads to two digits


def files_job(paths: Sequence[Path]) -> Job:
    """Read traces and CSVs; yields one `Acceptance`. `UserError` for the first that cannot be read."""

    def job(job_control: JobControl) -> Iterator[Any]:
        yield read_files(paths, job_control)

    return job


def counters_job(text: str) -> Job:
    """Read pasted counters; yields one `Acceptance`. `UserError` for a text that holds none."""

    def job(_control: JobControl) -> Iterator[Any]:
        yield read_counters(text)

    return job


def read_files(paths: Sequence[Path], job_control: JobControl | None = None) -> Acceptance:
    """Return what the files say together; `UserError` for the first that cannot be read."""
    files: list[Acceptance] = []
    runs: list[Run] = []
    for path in paths:
        if job_control is not None:
            job_control.checkpoint()
        if path.suffix.lower() in (".csv", ".tsv", ".txt"):
            files.append(read_csv(path))
        else:
            runs += (here := load_trace(path)[0])
            files.append(of_runs(path.name, here))
        if not files[-1].figures["rounds"]:
            raise UserError(f"{path} holds no rounds: choose a file of a run that emitted at least one token.")
    name = files[0].source if len(files) == 1 else f"{len(files)} files, {files[0].source} to {files[-1].source}"
    traces = all(path.suffix.lower() not in (".csv", ".tsv", ".txt") for path in paths)
    return of_runs(name, runs) if traces else merged(name, files)


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """The control run's result; None where there was nothing to fit."""

    control: Control | None


def control_job(pair: Pair, prompt: Prompt | str, config: RunConfig) -> Job:
    """Run the same prompts at every k and foretell each from k = 4; yields Progress and at last a `Control` or None.

    The prompts are the one at hand and presets up to six, two seeds each; a warm-up is not needed, nothing is timed.
    """

    def job(job_control: JobControl) -> Iterator[Any]:
        own, name, chat = as_prompt(prompt), pair.target.entry.name, pair.chat.problem is None
        others = (replace(own, text=preset.text) for preset in presets(name, chat))
        prompts = list(dict.fromkeys([own, *others]))[:CONTROL_PROMPTS]
        runs: dict[int, list[Run]] = {k: [] for k in CONTROL_KS}
        done, whole = 0, len(CONTROL_KS) * len(prompts) * CONTROL_SEEDS
        for k in CONTROL_KS:
            for text in prompts:
                for seed in range(CONTROL_SEEDS):
                    yield Progress(f"Control run: k = {k}, {done} of {whole} runs ...", done / whole)
                    settings = replace(config, k=k, seed=config.seed + seed, max_new_tokens=CONTROL_TOKENS,
                                       end_tokens=pair.end_tokens)  # fmt: skip
                    run = run_once(pair.target.model, pair.source(config.source, config.sampling), pair.encode(text),
                                   settings, checkpoint=job_control.checkpoint)  # fmt: skip
                    if run.stop is not StopReason.STOPPED:
                        runs[k].append(run)
                    done += 1
        yield ControlAnswer(control_of([run for each in runs.values() for run in each]))

    return job


def control_of(runs: Sequence[Run], fit_k: int = FIT_K) -> Control | None:
    """Return the control of runs at several k, on the same prompts; None where the runs at `fit_k` cannot be fitted."""
    all_of_them = of_runs("control", runs)
    return control(all_of_them.full, fit_k, all_of_them.alphas.get(fit_k))


def support_job(pair: Pair, tokens: Sequence[int], first: int, sampling: Sampling) -> Job:
    """Read p and q of every position of a text and cut the draft's vocabulary; yields Progress, then a `Truncation`.

    tokens: prompt and answer; first: the first position behind the prompt. Teacher-forced on the text as it stands,
    with the run's own temperature and filters. Tokens are ranked by the draft's mean q over these positions.
    """

    def job(job_control: JobControl) -> Iterator[Any]:
        start = max(first, len(tokens) - POSITIONS, 1)
        models = [pair.target.model, *([pair.draft.model] if pair.draft else [])]
        limits = [m.max_length for m in models if m.max_length is not None]
        text = list(tokens[: min([len(tokens), *limits])])
        order = frequency_order(_mean_q(pair, text, start, sampling, job_control))
        parts: list[Truncation] = []
        for p, q in _rows(pair, text, start, sampling, job_control):
            yield Progress(f"Cutting the draft's vocabulary: {sum(x.positions for x in parts)} positions ...", None)
            parts.append(truncate(p, q, order))
        if parts:
            yield pooled(parts)

    return job


def _mean_q(pair: Pair, text: Sequence[int], start: int, sampling: Sampling, job_control: JobControl) -> Any:
    blocks = [q.sum(axis=0, dtype=np.float64) for _, q in _rows(pair, text, start, sampling, job_control)]
    return np.sum(blocks, axis=0) if blocks else np.zeros(pair.target.model.vocab)


def _rows(
    pair: Pair, text: Sequence[int], start: int, sampling: Sampling, job_control: JobControl
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Yield p and q, [n, vocab of the target], of the positions from `start` to the end of the text."""
    from simulator.models.base import prefill
    from simulator.sampling import probabilities

    assert pair.draft is not None
    target, draft = pair.target.model, pair.draft.model
    for model in (target, draft):
        model.reset()
        prefill(model, text[: start - 1], job_control.checkpoint)
    for i in range(start - 1, len(text) - 1, ROWS):
        job_control.checkpoint()
        piece = text[i : min(i + ROWS, len(text) - 1)]
        p = probabilities(target.extend(piece), sampling, target.name)
        q = probabilities(draft.extend(piece)[:, : target.vocab], sampling, draft.name)
        yield p, np.pad(q, ((0, 0), (0, target.vocab - q.shape[1])))
