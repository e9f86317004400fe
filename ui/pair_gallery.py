"""The Open pair dialog in fixed states, with models that lie nowhere, for pictures.

Knows: what a person would see with no model, three or two hundred. Reads no folder, asks no hub.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simulator.catalog import Entry
from simulator.errors import UserError
from simulator.loading import Progress
from simulator.local.generation_defaults import Suggestion
from simulator.local.hub import Offer
from simulator.local.survey import Devices, Found, Job, Suggested, Suits
from simulator.records import Sampling
from simulator.text.vocabulary import Diagnosis
from ui.asker import Asker
from ui.widgets.pair_dialog import PairDialog

STATES = ("empty", "few", "many", "doctor", "refused", "download")
HOME = Path("/home/ada/models")
FREE = 33_400_000_000  # bytes on the CPU
QWEN = dict(architecture="Qwen3ForCausalLM", vocab=151_936, entries=151_669, context=40_960)


class Canned(Asker):
    """Asks nobody; says what it is told to say."""

    waiting = False

    @property
    def busy(self) -> bool:
        """Return whether a question is open."""
        return self.waiting

    def ask(self, job: Job) -> None:
        """Leave the question open."""
        self.waiting = True

    def say(self, *answers: object, more: bool = False) -> None:
        """Answer, as the thread would; without more to come the question is settled."""
        self.answered.emit(list(answers))
        if not more:
            self.waiting = False
            self.ended.emit("", "")


def picture_pair(out: str, width: int, height: int, theme_name: str, state: str) -> None:
    """Save the dialog in a state; raise `UserError` for another state or a file that cannot be written."""
    from ui.app import new_application

    if state not in STATES:
        raise UserError(f"The page 'pair' has no state '{state}'; choose one of {', '.join(STATES)}.")
    app = new_application(theme_name)
    models, hub = Canned(), Canned()
    entries = {"empty": [], "many": _many()}.get(state, _few())
    other = {"refused": "gpt2", "doctor": "Qwen3-0.6B-finetune", "many": "模型-七亿参数-指令微调版"}
    draft = other.get(state, "Qwen--Qwen3-0.6B")
    dialog = PairDialog(str(HOME / "Qwen--Qwen3-8B"), str(HOME / draft), askers=(models, hub))
    try:
        dialog.resize(width, height)
        dialog.show()
        models.say(Found(entries), Devices({"cpu": FREE, "cuda:0": 24_600_000_000}, complete=True))
        if entries:
            target = entries[0].path
            fits = {e.path: _diagnosis(e, i) for i, e in enumerate(entries) if not e.problem}
            suggestion = Suggestion(Sampling(0.6, 20, 0.95), "temperature 0.6, top-k 20, top-p 0.95", "")
            models.say(Suggested(target, suggestion), Suits(target, fits, 0))
        _POSES.get(state, lambda *_: None)(dialog, hub)
        app.processEvents()
        if not dialog.grab().save(out, "PNG"):
            raise UserError(f"The picture {out} could not be written.")
    finally:
        dialog.reject()
        dialog.deleteLater()


def _doctor(dialog: PairDialog, _hub: Canned) -> None:
    dialog.pages.setCurrentWidget(dialog.doctor)


def _download(dialog: PairDialog, hub: Canned) -> None:
    dialog.pages.setCurrentWidget(dialog.hub)
    dialog.hub.name.setText("Qwen/Qwen3-1.7B")
    shard = "model-0000{}-of-00002.safetensors"
    files = (("config.json", 726), ("tokenizer.json", 11_422_654), (shard.format(1), 3_441_185_608),
             (shard.format(2), 622_329_984))  # fmt: skip
    offer = Offer("Qwen/Qwen3-1.7B", "0" * 40, files, 1_203_000_000, "apache-2.0", False)
    text = "Downloading Qwen/Qwen3-1.7B: 1.2 GB of 4.1 GB, model-00001-of-00002.safetensors ..."
    hub.say(offer)
    dialog.hub.download.click()
    hub.say(Progress(text, 0.295), more=True)


_POSES: dict[str, Callable[[PairDialog, Canned], None]] = {"doctor": _doctor, "download": _download}


def _entry(name: str, parameters: float | None, *, architecture: str = "LlamaForCausalLM", vocab: int | None = 128_256,
           entries: int | None = 128_256, context: int | None = 131_072, dtype: str = "BF16", bits: float = 16,
           problem: str | None = None) -> Entry:  # fmt: skip
    count = None if parameters is None else int(parameters * 1e6)
    return Entry(name, HOME / name.replace("/", "--"), architecture, count, vocab, context, dtype,
                 int((count or 0) * bits / 8), problem, entries)  # fmt: skip


def _few() -> list[Entry]:
    tuned = {**QWEN, "entries": 151_671}
    gpt2 = dict(architecture="GPT2LMHeadModel", vocab=50_257, entries=50_257, context=1024, dtype="F32", bits=32)
    return [
        _entry("Qwen/Qwen3-8B", 8_191, **QWEN), _entry("Qwen/Qwen3-0.6B", 596, **QWEN),
        _entry("Qwen3-0.6B-finetune", 596, **tuned), _entry("gpt2", 124.4, **gpt2),
    ]  # fmt: skip


def _many() -> list[Entry]:
    """Return two hundred: long names, names in other scripts, damaged folders, one that is too large."""
    odd = [
        _entry("Qwen3-Next-80B-A3B-Instruct", 81_300, architecture="Qwen3NextForCausalLM"),
        _entry("a-research-group/an-instruction-tuned-model-with-a-very-long-name-and-a-date-2025-07-31-checkpoint-1200",
               728, **QWEN),
        _entry("模型-七亿参数-指令微调版", 723, **QWEN), _entry("نموذج-لغوي-صغير", 721, **QWEN),
        _entry("модель с пробелами", 720, **QWEN), _entry("🦙 llama draft", 160),
        _entry("Qwen3-1.7B-GGUF/Qwen3-1.7B-Q4_K_M.gguf", 1_720, **{**QWEN, "dtype": "Q4_K, Q6_K, F32", "bits": 4.9}),
        _entry("half-copied", None, problem=f"{HOME}/half-copied lacks shard 2 of 4: copy the missing file(s)."),
        _entry("pickled", None, problem=f"{HOME}/pickled holds only pickled weights (pytorch_model.bin), which can run "
               "code when opened; convert them with transformers' save_pretrained to model.safetensors."),
    ]  # fmt: skip
    sizes = (68, 160, 360, 494, 596, 1_240, 1_720, 4_022)
    rest = [
        _entry(f"experiments/run-{i:03d}/checkpoint-{250 * (i % 9 + 1)}", sizes[i % 8], **QWEN) for i in range(187)
    ]  # fmt: skip
    return [*_few(), *odd, *rest]


def _diagnosis(draft: Entry, number: int) -> Diagnosis:
    """Return how a draft suits Qwen3-8B: most have its tokens, a tuned one two more, other families none of it."""
    rows, entries = draft.vocab or 0, draft.tokenizer_entries or 0
    if entries == 151_671:
        examples = (151_669, None, "<|plan|>"), (151_670, None, "<|/plan|>")
        shown = ", ".join(f"{i} (no entry in the target, '{text}' in the draft)" for i, _, text in examples)
        sentence = (
            f"{draft.name} suits Qwen/Qwen3-8B but for a few entries: their vocabularies (151,671 and 151,669 entries) "
            f"differ in 2 ids: {shown}. If you go on, such ids are never drafted (q = 0)."
        )
        return Diagnosis("few", sentence, 151_669, entries, 151_936, rows, 2, examples)
    if rows != 151_936:
        differing = 151_660 if rows > 60_000 else 151_651
        examples = (0, "!", "<|begin▁of▁text|>"), (1, '"', "<unk>"), (2, "#", "</s>")
        shown = ", ".join(f"{i} ('{ours}' in the target, '{theirs}' in the draft)" for i, ours, theirs in examples)
        sentence = (
            f"{draft.name} cannot draft for Qwen/Qwen3-8B: their vocabularies ({entries:,} and 151,669 entries) "
            f"differ in {differing:,} ids: first {shown}."
        )
        return Diagnosis("different", sentence, 151_669, entries, 151_936, rows, differing, examples)
    if number % 4 == 3:
        sentence = (f"{draft.name} has the same 151,669 entries as Qwen/Qwen3-8B; it has 152,064 rows against 151,936: "
                    "the pair works, the rest is never drafted.")  # fmt: skip
        return Diagnosis("padded", sentence, 151_669, entries, 151_936, 152_064)
    return Diagnosis("identical", f"{draft.name} has the same 151,669 entries as Qwen/Qwen3-8B.", 151_669, entries,
                     151_936, 151_936)  # fmt: skip
