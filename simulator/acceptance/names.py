"""What each engine and paper calls each acceptance figure, and its formula in one line.

Knows: names, as engines print them. Does not know: any number. What a figure means is `metrics.DEFINITIONS`.
"""

from __future__ import annotations

FORMULAS: dict[str, str] = {
    "tau_counters": "1 + accepted / rounds",
    "acceptance_length": "emitted / rounds",
    "draft_acceptance_rate": "accepted / drafted",
    "tested_acceptance_rate": "accepted / (accepted + rejected)",
    "accepted_per_round": "accepted / rounds",
    "accepted_share": "accepted / emitted",
    "alpha": "mean of Σ min(p, q)",
    "per_position_unconditional": "rounds with ≥ i / rounds",
    "per_position_conditional": "rounds with ≥ i / rounds reaching i",
}
NAMES: dict[str, dict[str, str]] = {
    "vLLM": {
        "tau_counters": "Mean acceptance length",
        "draft_acceptance_rate": "Avg Draft acceptance rate",
        "per_position_unconditional": "Per-position acceptance rate",
    },
    "SGLang": {
        "acceptance_length": "accept len, spec_accept_length",
        "draft_acceptance_rate": "accept rate, spec_accept_rate",
    },
    "llama.cpp": {
        "tau_counters": "mean acceptance length",
        "draft_acceptance_rate": "draft acceptance (rate)",
        "per_position_unconditional": "acceptance rate per position",
    },
    "LM Studio": {"accepted_share": "accepted draft tokens, %"},
    "TensorRT-LLM": {"draft_acceptance_rate": "acceptance rate"},
    "gpt-fast": {"accepted_per_round": "mean accepted"},
    "EAGLE papers": {"tau_counters": "average acceptance length τ", "per_position_conditional": "n-alpha"},
    "Leviathan, Chen": {"acceptance_length": "E[generated tokens]", "alpha": "acceptance rate alpha"},
}


def called(figure: str, first: str = "") -> str:
    """Return who calls a figure what, as one line, one engine first; empty for a figure that only SpecScope prints."""
    engines = sorted((engine for engine, names in NAMES.items() if figure in names), key=lambda engine: engine != first)
    return "; ".join(f"{engine}: {NAMES[engine][figure]}" for engine in engines)
