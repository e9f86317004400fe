"""Whether drafting pays here, and what would have to change: a sweep judged with the costs fitted to it.

Knows measured points, fitted costs and the formula with them. Does not know clocks, models or words.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.measure import Spread, Sweep
from simulator.metrics import AcceptanceFigures
from simulator.round_cost import Cost
from simulator.theory.speedup import best_k, break_even_alpha, speedup
from simulator.theory.tokens_per_round import expected_tokens

K_MAX = 16  # the longest draft that the formula is asked about
EVEN = 0.05  # a median nearer to 1 than this is no verdict where the repeats lie on both sides of 1
RATIO_RULES = frozenset({"exact", "resample", "block"})  # whose acceptance is sum min(p, q)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether drafting pays here, from measured points and the costs fitted to them."""

    pays: bool | None  # None: about as fast as plain decoding, the repeats lie on both sides of 1
    k: int  # the fastest measured draft length of at least 1
    speedup: Spread  # measured there
    tokens: float  # emitted per round, measured there
    alpha: float  # mean acceptance of a tested token by the rule in use
    cost: Cost
    break_even: float | None  # the smallest alpha at which some k pays by the formula; None: none does
    drafted: float = 1.0  # rounds that drafted anything / all rounds of k >= 1: below 1 where a source found nothing

    @property
    def promised(self) -> tuple[int, float]:
        """Return (k, speedup) of the fastest draft by the formula; (0, 1.0): none pays."""
        return best_k(self.alpha, self.cost.c, self.cost.c_verify, self.cost.fixed, k_max=K_MAX)

    @property
    def levers(self) -> dict[str, tuple[int, float]]:
        """Return (k, speedup) of the fastest draft by the formula with each cost gone, by the cost's name."""
        a, c = self.alpha, self.cost
        return {
            "c": best_k(a, 0.0, c.c_verify, c.fixed, k_max=K_MAX),
            "c_verify": best_k(a, c.c, 0.0, c.fixed, k_max=K_MAX),
            "fixed": best_k(a, c.c, c.c_verify, 0.0, k_max=K_MAX),
        }

    @property
    def ceilings(self) -> dict[str, float]:
        """Return below what each cost would have to be, the others as they are, for some k to pay by the formula.

        Speedup = 1 solved for it: E[tokens] = 1 + k (c + c_verify) + fixed, the largest over k. At most 0: not even
        without that cost does drafting pay.
        """
        c, ks = self.cost, range(1, K_MAX + 1)
        gain = {k: expected_tokens(self.alpha, k) - 1 for k in ks}
        return {
            "c": max((gain[k] - c.fixed) / k - c.c_verify for k in ks),
            "c_verify": max((gain[k] - c.fixed) / k - c.c for k in ks),
            "fixed": max(gain[k] - k * (c.c + c.c_verify) for k in ks),
        }


def alpha_of(figures: AcceptanceFigures | None, rule: str = "exact") -> float | None:
    """Return the mean acceptance of a tested token: sum min(p, q) by the ratio rules, else accepted / tested.

    None where nothing was tested, or without the full q.
    """
    if figures is None:
        return None
    return figures.alpha if rule in RATIO_RULES else figures.tested_acceptance_rate


def verdict(sweep: Sweep | None, rule: str = "exact") -> Verdict | None:
    """Return the verdict of a complete sweep made with this rule; None where nothing was drafted in it.

    Only draft lengths count of which some round drafted all k tokens: the others measured shorter drafts.
    """
    alpha = alpha_of(sweep.figures, rule) if sweep else None
    drafting = [p for p in sweep.points if p.k in sweep.whole] if sweep else []
    if sweep is None or sweep.cost is None or sweep.figures is None or alpha is None or not drafting:
        return None
    best, c = max(drafting, key=lambda p: p.speedup.median), sweep.cost
    evens = [break_even_alpha(c.c, c.c_verify, c.fixed, k) for k in range(1, K_MAX + 1)]
    even = min((e for e in evens if e is not None), default=None)
    drafted = 1 - sweep.figures.undrafted / sweep.figures.rounds
    return Verdict(_pays(best.speedup), best.k, best.speedup, best.tokens_per_round.median, alpha, c, even, drafted)


def formula_speedup(figures: AcceptanceFigures, cost: Cost, k: int, rule: str = "exact") -> float | None:
    """Return what the formula promises a run with these figures and costs; None without a mean alpha.

    Rounds in which the source found nothing to draft are plain ones: with the share d of those that drafted it is
    (d E[tokens] + 1 - d) / (d (1 + k (c + c_verify) + fixed) + 1 - d), Leviathan Thm 3.8 with costs at d = 1.
    """
    alpha = alpha_of(figures, rule)
    if alpha is None or not figures.rounds:
        return None
    drafted, length = 1 - figures.undrafted / figures.rounds, expected_tokens(alpha, k)
    cost_of_round = length / speedup(alpha, cost.c, k, cost.c_verify, cost.fixed)
    return (drafted * length + 1 - drafted) / (drafted * cost_of_round + 1 - drafted)


def _pays(measured: Spread) -> bool | None:
    if measured.low < 1 < measured.high and abs(measured.median - 1) < EVEN:
        return None
    return measured.median > 1
