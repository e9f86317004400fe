"""What a GPU has to show, in a minute or two: `python -m tests.on_gpu` prints figures and exits with 1 where one fails.

A target of 1.2 B parameters (the shape of Llama 3.2 1B) and a draft of a tenth of its bytes, both with random weights
in bfloat16, go through the same paths as loaded models. `--rehearse` runs the same steps with two tiny models on
the CPU, where the speeds say nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import torch

import simulator.engine
import simulator.models.base
from simulator.clocks import clock_for
from simulator.cost.bandwidth import measure_machine
from simulator.drafts.model import ModelDraft
from simulator.judging.host import Host
from simulator.measure import run_once, tokens_per_second
from simulator.models.hf import HFModel
from simulator.models.passes import CudaGraphs, Eager, Recorded
from simulator.models.static import StaticModel, static_decoder
from simulator.records import Run, RunConfig, Sampling
from simulator.round_cost import cost, run_costs

SHAPES = {
    "target": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
                   num_key_value_heads=8, head_dim=64, vocab_size=128256),
    "draft": dict(hidden_size=640, intermediate_size=2560, num_hidden_layers=6, num_attention_heads=10,
                  num_key_value_heads=2, head_dim=64, vocab_size=128256),
    "tiny target": dict(hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4,
                        num_key_value_heads=2, head_dim=16, vocab_size=512),
    "tiny draft": dict(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
                       num_key_value_heads=1, head_dim=16, vocab_size=512),
}  # fmt: skip
PROMPT = [1, 5, 25, 125, 113, 53]
LEAST_FRACTION, MOST_C = 0.7, 0.2  # of the bandwidth ceiling; of a target step


def built(shape: str, device: str, seed: int) -> HFModel:
    """Return a Llama with random weights in bfloat16, by transformers' own forward pass."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        **SHAPES[shape], tie_word_embeddings=True, max_position_embeddings=4096, initializer_range=0.05
    )
    with torch.device(device):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    return HFModel(model, shape)


def static(plain: HFModel) -> StaticModel:
    """Return the path of a GPU over a model; raise where it cannot be."""
    recorder = Recorded(CudaGraphs(plain.device)) if plain.device.type == "cuda" else Eager()
    made = static_decoder(plain, recorder)
    if not isinstance(made, StaticModel) or recorder.failed:
        raise SystemExit(f"{plain.name}: the static path was refused; see the log. {recorder.failed or ''}")
    return made


def checks(device: str, target: HFModel, draft: HFModel, tokens: int) -> dict[str, Any]:
    """Return every figure by name."""
    clock = clock_for(device)
    fast, fast_draft = static(target), static(draft)
    config = RunConfig(k=0, max_new_tokens=tokens)
    greedy = RunConfig(k=4, max_new_tokens=min(tokens, 64), sampling=Sampling(temperature=0))

    def play(model: Any, drafts: Any, settings: RunConfig) -> Run:
        source = ModelDraft(drafts, settings.sampling, model.vocab) if drafts else None
        run_once(model, source, PROMPT, RunConfig(k=settings.k, max_new_tokens=24), clock=clock)  # graphs are recorded
        return run_once(model, source, PROMPT, settings, clock=clock)

    texts = {name: play(*parts, greedy).tokens for name, parts in {
        "plain": (fast, None), "speculative": (fast, fast_draft), "oracle": (target, None)}.items()}  # fmt: skip
    plain = play(fast, None, config)
    speculative = {k: play(fast, fast_draft, RunConfig(k=k, max_new_tokens=tokens)) for k in (1, 2, 4, 8)}
    bare = play(fast, fast_draft, RunConfig(k=4, max_new_tokens=tokens, detail=False))
    place, simulator.engine.place_of = simulator.engine.place_of, Host
    try:
        here = play(fast, fast_draft, RunConfig(k=4, max_new_tokens=tokens))
    finally:
        simulator.engine.place_of = place
    drafting = {k: run.rounds for k, run in speculative.items()}
    fitted, costs = cost(plain.rounds, drafting), run_costs(plain.rounds, drafting)
    assert fitted is not None

    weights = sum(p.numel() * p.element_size() for p in target.model.parameters())
    parts = measure_machine(device, "bfloat16", weights, clock)
    while True:
        try:
            next(parts)
        except StopIteration as stop:
            machine = stop.value
            break
    speed = tokens_per_second(plain.rounds) or 0.0
    return {
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "target_bytes": weights,
        "draft_share": sum(p.numel() * p.element_size() for p in draft.model.parameters()) / weights,
        "plain_tokens_per_second": speed,
        "bandwidth_gb_per_second": machine.bandwidth / 1e9,
        "bandwidth_fraction": speed * weights / machine.bandwidth,
        "c": fitted.c,
        "round_cost": {k: [each.draft, each.verify, each.other] for k, each in costs.items()},
        "speculative_tokens_per_second": {k: tokens_per_second(run.rounds) for k, run in speculative.items()},
        "trace_ratio": (tokens_per_second(speculative[4].rounds) or 0) / (tokens_per_second(bare.rounds) or 1),
        "judged_on_host_tokens_per_second": tokens_per_second(here.rounds),
        "same_text_as_judged_on_host": here.tokens == speculative[4].tokens,
        "greedy_speculative_is_plain": texts["speculative"] == texts["plain"],
        "greedy_is_oracles": texts["plain"] == texts["oracle"],  # bfloat16: a tie may fall the other way
    }


def main() -> int:
    """Print the figures as JSON; return 0 where all conditions hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rehearse", action="store_true", help="two tiny models on the CPU")
    rehearse = parser.parse_args().rehearse
    if not rehearse and not torch.cuda.is_available():
        sys.exit("There is no CUDA GPU here; --rehearse runs the same steps on the CPU.")
    if rehearse:
        simulator.models.base.ASYNCHRONOUS = ("cpu",)
    device, prefix, tokens = ("cpu", "tiny ", 40) if rehearse else ("cuda:0", "", 256)
    found = checks(device, built(f"{prefix}target", device, 1), built(f"{prefix}draft", device, 2), tokens)
    print(json.dumps(found, indent=1))
    exact = found["same_text_as_judged_on_host"]
    fast = rehearse or (found["bandwidth_fraction"] >= LEAST_FRACTION and found["c"] <= MOST_C)
    return 0 if exact and fast else 1


if __name__ == "__main__":
    sys.exit(main())
