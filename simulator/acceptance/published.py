"""Numbers that others have published, each with its source, to set beside one's own.

Knows: what was printed where; nothing here was measured by SpecScope, and a value that was not printed is None.
Does not know: whether it is true. Papers and engines change; read the source before you quote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.cost.roofline import REPORTED
from simulator.theory.tokens_per_round import equivalent_alpha

LEVIATHAN = "Leviathan, Kalman, Matias 2022 (arXiv 2211.17192)"
CHEN = "Chen et al. 2023 (arXiv 2302.01318)"
DEEPSEEK = "DeepSeek-V3 technical report (arXiv 2412.19437)"
EAGLE = "EAGLE, EAGLE-2, EAGLE-3 papers"
DFLASH = "DFlash (arXiv 2602.06036)"
SPEC_BENCH = "Spec-Bench leaderboard"
TEACHING = "A teaching pair on its own corpus, no paper"
LAPTOPS = "Reports from laptops, no paper"
OMNI = "As reported with the draft"


@dataclass(frozen=True, slots=True)
class Published:
    """One setting as reported."""

    setting: str
    source: str
    k: int | None = None
    alpha: float | None = None
    c: float | None = None
    tokens_per_round: float | None = None  # the extra token included
    expected: float | None = None  # speedup that the source computed
    speedup: float | None = None  # speedup that the source measured
    operations: float | None = None  # arithmetic with / without speculation, computed
    per_position: tuple[float, ...] = ()  # acceptance of each position
    note: str = ""

    def loads(self) -> dict[str, float]:
        """Return what the sliders can take of this row, keys of `parameters.PARAMETERS`.

        Where a source prints tokens per round and k but no alpha, alpha is the constant that gives those tokens per
        round at that k (`theory.equivalent_alpha`): derived, and `derives_alpha` says so.
        """
        values = {"k": self.k, "alpha": self.alpha, "c": self.c}
        if self.derives_alpha:
            values["alpha"] = equivalent_alpha((self.tokens_per_round or 1) - 1, self.k or 1)
        return {name: float(value) for name, value in values.items() if value is not None}

    @property
    def derives_alpha(self) -> bool:
        """Return whether the alpha that is loaded was not printed but follows from tokens per round and k."""
        return self.alpha is None and self.k is not None and self.tokens_per_round is not None


def _table_1() -> Iterator[Published]:
    rows = ((0.6, 2, 1.53, 1.96), (0.7, 3, 1.58, 2.53), (0.8, 2, 1.23, 2.44), (0.8, 5, 1.63, 3.69),
            (0.9, 2, 1.11, 2.71), (0.9, 10, 1.60, 6.86))  # fmt: skip
    for alpha, k, operations, speed in rows:
        yield Published(f"theory, alpha {alpha:.1f}, k = {k}", f"{LEVIATHAN}, Table 1", k, alpha, 0.0, expected=speed,
                        operations=operations, note="computed, with a draft that costs nothing")  # fmt: skip


def _tables_2_and_4() -> Iterator[Published]:
    rows = (
        ("EnDe", "small", 0, 7, 0.75, 0.02, 3.2, 3.4), ("EnDe", "base", 0, 7, 0.80, 0.04, 3.3, 2.8),
        ("EnDe", "large", 0, 7, 0.82, 0.11, 2.5, 1.7), ("EnDe", "small", 1, 7, 0.62, 0.02, 2.3, 2.6),
        ("EnDe", "base", 1, 5, 0.68, 0.04, 2.4, 2.4), ("EnDe", "large", 1, 3, 0.71, 0.11, 2.0, 1.4),
        ("CNN/DM", "small", 0, 5, 0.65, 0.02, 2.4, 3.1), ("CNN/DM", "base", 0, 5, 0.73, 0.04, 2.6, 3.0),
        ("CNN/DM", "large", 0, 3, 0.74, 0.11, 2.0, 2.2), ("CNN/DM", "small", 1, 5, 0.53, 0.02, 1.9, 2.3),
        ("CNN/DM", "base", 1, 3, 0.55, 0.04, 1.8, 2.2), ("CNN/DM", "large", 1, 3, 0.56, 0.11, 1.6, 1.7),
    )  # fmt: skip
    for task, draft, temperature, k, alpha, c, expected, measured in rows:
        yield Published(f"T5-XXL 11B, {task}, draft T5-{draft}, T = {temperature}", f"{LEVIATHAN}, Tables 2 and 4", k,
                        alpha, c, expected=expected, speedup=measured,
                        note="the large draft has the higher alpha and the lower speed")  # fmt: skip


def _table_5() -> Iterator[Published]:
    for lenience, alpha in ((1, 0.62), (0.5, 0.71), (0.3, 0.76), (0.1, 0.84)):
        yield Published(f"T5-XXL 11B, EnDe, draft T5-small, T = 1, lenience {lenience:g}", f"{LEVIATHAN}, Table 5",
                        alpha=alpha, note="exact at lenience 1" if lenience == 1 else "not exact")  # fmt: skip


def _chen() -> Iterator[Published]:
    for task, speed in (("XSum, nucleus", 1.92), ("XSum, greedy", 2.01), ("HumanEval", 2.46)):
        yield Published(f"Chinchilla 70B, draft 4B, {task}", CHEN, 4, c=0.128, speedup=speed,
                        note="c from 1.8 ms per draft token and 14.1 ms per target token")  # fmt: skip


def _deepseek() -> Iterator[Published]:
    for alpha, end in ((0.85, "lower"), (0.90, "upper")):
        yield Published(f"DeepSeek-V3, MTP, {end} end of .85 to .90", DEEPSEEK, 1, alpha, speedup=1.8,
                        note="acceptance of the second token; 1.8 times tokens per second")  # fmt: skip


def _eagle() -> Iterator[Published]:
    for name, speed, tau in (("EAGLE", 3.07, 3.98), ("EAGLE-2", 4.26, 4.83), ("EAGLE-3", 5.58, 6.65)):
        yield Published(f"{name}, Vicuna-13B, MT-bench, T = 0", EAGLE, tokens_per_round=tau, speedup=speed,
                        note="a tree of drafts, so no single k")  # fmt: skip
    yield Published("EAGLE-3 in SGLang, batch 64", EAGLE, speedup=1.38, note="at load, drafting pays less")


def _dflash() -> Iterator[Published]:
    yield Published("DFlash, Qwen3-8B, T = 0, average", DFLASH, tokens_per_round=6.49, speedup=4.86)
    loads = (1, 4, 8, 16, 32)
    for load, speed in zip(loads, (5.1, 4.5, 4.5, 3.9, 2.8), strict=True):
        yield Published(f"DFlash, Qwen3-8B, MATH, concurrency {load}", DFLASH, speedup=speed)
    for load, speed in REPORTED:
        yield Published(f"EAGLE-3 tree, Llama-3.1-8B, GSM8K, concurrency {load}", DFLASH, speedup=speed,
                        note="below 1: slower than not drafting" if speed < 1 else "")  # fmt: skip


def _spec_bench() -> Iterator[Published]:
    rows = (("EAGLE-2", 2.19, 4.35), ("EAGLE", 2.03, 3.57), ("Hydra", 1.91, 3.26), ("draft model", 1.79, 2.28),
            ("prompt lookup", 1.64, 1.73), ("Medusa", 1.44, 2.32), ("Lookahead", 1.13, 1.64))  # fmt: skip
    for name, speed, length in rows:
        yield Published(f"{name}, Vicuna-7B, RTX 3090, overall", SPEC_BENCH, tokens_per_round=length, speedup=speed,
                        note="tokens per round: 'mean accepted tokens' as the leaderboard prints it")  # fmt: skip


def _block_draft() -> Iterator[Published]:
    yield Published(
        "block draft, target Qwen3-Omni-30B-A3B thinker", OMNI, 7, tokens_per_round=4.16,
        per_position=(0.714, 0.619, 0.553, 0.508, 0.474, 0.446, 0.423),
        note="raw TV .4655: 1 - TV = .5345 is the mean over the 7 single positions, not a chain figure",
    )  # fmt: skip


def _small_pairs() -> Iterator[Published]:
    teaching = "vocabulary 2,048, target 3.69 M"
    yield Published(f"{teaching}, draft .33 M", TEACHING, 4, tokens_per_round=1.96,
                    note="1.95 by the formula; best theory speedup 1.50 at k = 3")  # fmt: skip
    yield Published(f"{teaching}, draft 1.07 M", TEACHING, 4, tokens_per_round=2.40,
                    note="2.40 by the formula; theory speedup .75 at k = 8")  # fmt: skip
    yield Published("gpt2-large, draft distilgpt2, laptop", LAPTOPS, alpha=0.710, speedup=1.80)
    yield Published("Qwen2.5-7B 4-bit, draft 0.5B, Apple M4", LAPTOPS, alpha=0.687, speedup=1.15)


PUBLISHED: tuple[Published, ...] = (
    *_block_draft(), *_table_1(), *_tables_2_and_4(), *_table_5(), *_chen(), *_deepseek(), *_eagle(), *_dflash(),
    *_spec_bench(), *_small_pairs(),
)  # fmt: skip
