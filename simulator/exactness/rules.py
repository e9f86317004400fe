"""The twelve rules of the laboratory, declared once: the command line, the settings and the page read this table.

Knows: what each rule says, whether it is lossless, who uses or believes it. Does not know how it is computed:
that is in `verify` (what it does) and `laws` (what comes of it). A test holds the three together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simulator.parameters import Parameter
from simulator.verify import EPSILON, LENIENCE, RULES


class Lossless(StrEnum):
    """Whether the emitted law is the target's."""

    YES = "lossless"
    AT_ZERO = "lossless at T = 0 only"
    NO = "not lossless"


@dataclass(frozen=True, slots=True)
class RuleCard:
    """What a person should know of a rule before using it."""

    name: str  # for --rule and files
    title: str
    statement: str  # one sentence: what it does with a drafted token x
    why: str  # one sentence: why its law is p, or is not
    lossless: Lossless
    chance: str  # to keep a drafted token, as a formula
    refill: str  # what a refused one is replaced from, as a formula
    law: str  # of the emitted token, as a formula
    acceptance: str  # as a formula
    source: str
    parameter: Parameter | None = None
    greedy_draft: bool = False  # the draft proposes its argmax instead of drawing from q

    @property
    def runs(self) -> bool:
        """Return whether the engine can decode with it, not only the laboratory."""
        return self.name in RULES


LEVIATHAN = "Leviathan et al. 2022 (arXiv 2211.17192)"
BELIEF = "a belief, seen in code and in forum threads"
MEDUSA = "Cai et al. 2024 (Medusa, arXiv 2401.10774)"

CARDS: dict[str, RuleCard] = {
    card.name: card
    for card in (
        RuleCard(
            "exact", "ratio + residual",
            "Keep x with chance min(1, p/q); replace a refused one from norm(max(0, p − q)).",
            "Accepting gives min(p, q), the residual adds max(0, p − q): together p.",
            Lossless.YES, "min(1, p/q)", "max(0, p − q)", "p", "Σ min(p, q)",
            f"{LEVIATHAN}; Chen et al. 2023 (arXiv 2302.01318)",
        ),
        RuleCard(
            "resample", "ratio + draw from p",
            "Keep x with chance min(1, p/q); replace a refused one from p itself.",
            "A draw from p gives some of the green part a second time: what the draft over-proposes comes too often.",
            Lossless.NO, "min(1, p/q)", "p", "min(p, q) + (1 − α) p", "Σ min(p, q)", BELIEF,
        ),
        RuleCard(
            "equality", "equal to the target's draw",
            "Draw y from p; keep x if y = x; emit y either way.",
            "What is emitted is always y, a draw from p; the draft only decides how many tokens one pass yields.",
            Lossless.YES, "p", "p without x", "p", "Σ p·q", "the naive rule: right, only slower",
        ),
        RuleCard(
            "equality-fresh", "equal, else a fresh draw",
            "Draw y from p; keep x if y = x; otherwise draw once more from p.",
            "A y that did not match is thrown away, so what the draft proposes often gets a second chance.",
            Lossless.NO, "p", "p", "p·q + (1 − Σ p·q) p", "Σ p·q", BELIEF,
        ),
        RuleCard(
            "equality-or-ratio", "equal or ratio",
            "Draw y from p; keep x if y = x or with chance min(1, p/q); otherwise emit y.",
            "Keeping x although y differs is not made good for anywhere: the law is that of 'ratio + draw from p'.",
            Lossless.NO, "p + (1 − p) min(1, p/q)", "p without x", "min(p, q) + (1 − α) p",
            "Σ p·q + Σ (1 − p) min(p, q)", BELIEF,
        ),
        RuleCard(
            "one-hot", "greedy draft, q = 1",
            "The draft proposes its argmax x, so q is 1 there: keep x with chance p(x), else draw from p without x.",
            "Kept with p(x), otherwise any other token in proportion to p: that is p, and at most max p is kept.",
            Lossless.YES, "p", "p without x", "p", "p(x) ≤ max p", "n-gram and prompt-lookup drafts",
            greedy_draft=True,
        ),
        RuleCard(
            "softmax", "greedy draft, softmax q",
            "The draft proposes its argmax, yet is judged as if it had been drawn from its softmax q.",
            "x was proposed with certainty, not with chance q(x), so it is kept too often.",
            Lossless.NO, "min(1, p/q)", "max(0, p − q)", "min(1, p/q) on argmax q, the rest norm(max(0, p − q))",
            "min(1, p/q) at argmax q", "a bug class: transformers #32867, EAGLE #183", greedy_draft=True,
        ),
        RuleCard(
            "argmax", "argmax match",
            "The draft proposes its argmax; keep it if it is the target's argmax, otherwise emit the target's.",
            "Only argmax p ever comes out: at T = 0 that is p itself, at any other T it is no sample of p.",
            Lossless.AT_ZERO, "1 if x = argmax p", "argmax p", "all on argmax p", "1 if the argmaxes are equal",
            "greedy decoding in every engine", greedy_draft=True,
        ),
        RuleCard(
            "lenience", "lenience",
            "The ratio rule with q weakened to l·q: keep x with chance min(1, p/(l q)).",
            "Drafts are kept more often than p allows, though no token comes out more often than p/l.",
            Lossless.NO, "min(1, p/(l q))", "max(0, p − l q)", "min(q, p/l) + P(refused) norm(max(0, p − l q))",
            "Σ min(q, p/l)", f"{LEVIATHAN}, appendix A.5",
            Parameter("l", "lenience l", LENIENCE, 0.05, 1.0, "1 = the exact rule; with l no token is emitted with "
                      "more than p/l."),
        ),
        RuleCard(
            "typical", "typical acceptance",
            "Keep x if p(x) > min(ε, √ε·exp(−H(p))); otherwise draw from p.",
            "Likely tokens are kept however often the draft proposes them, so q shows through.",
            Lossless.NO, "1 if p > threshold", "p", "q where p is above the threshold, the rest p",
            "q of the tokens above the threshold", MEDUSA,
            Parameter("epsilon", "typical ε", EPSILON, 0.01, 1.0, "Tokens with p above min(ε, √ε·exp(−entropy)) are "
                      "kept, however often the draft proposes them."),
        ),
        RuleCard(
            "block", "block verification",
            "Judge the k drafts together, so that spare probability of one helps the next; alone, x meets the ratio.",
            "What the target could spare on one token is carried to the next: the law stays p, and more is kept.",
            Lossless.YES, "min(1, p/q)", "max(0, p − q)", "p", "Σ min(p, q), more in a block",
            "Sun et al. 2024 (arXiv 2403.10444)",
        ),
        RuleCard(
            "always", "always accept", "Keep every drafted token.",
            "The target is never asked: the output is the draft's.",
            Lossless.NO, "1", "p", "q", "1", "the draft model alone",
        ),
    )
}  # fmt: skip

RUNNABLE: dict[str, RuleCard] = {name: card for name, card in CARDS.items() if card.runs}
