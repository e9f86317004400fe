"""Rounds judged where the target is: what the host finds, with one wait and one small transfer."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import astuple, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from simulator import sampling
from simulator.drafts.base import Proposal, no_checkpoint
from simulator.drafts.model import ModelDraft
from simulator.drafts.ngram import NgramDraft
from simulator.engine import place_of
from simulator.judging import device, host
from simulator.judging.device import Device, fetched, figures, verdict
from simulator.judging.host import Host
from simulator.models.hf import HFModel
from simulator.models.table import TableModel
from simulator.records import Run, RunConfig, Sampling, Verdict
from simulator.reduction import bars, shapes
from simulator.sampling import BrokenLogitsError, distributions, on_host
from simulator.uniforms import round_uniforms
from simulator.verify import RULES, exact
from tests.simulator.models.families import Family
from tests.simulator.models.recording import WAITS
from tests.simulator.models.suited import BY_NAME, ids, recorded
from tests.simulator.tiny import GREEDY, OnDevice, play, random_law, untimed

pytestmark = pytest.mark.usefixtures("asynchronous")

EDGES = [0.0, 1e-300, 0.5, 1 - 2**-53]


def rows(rng: np.random.Generator, n: int, vocab: int, kind: str) -> np.ndarray:
    """Return float32 distributions [n, vocab]: spread out, with zeros, one-hot, or full of equal entries."""
    if kind == "one-hot":
        return np.eye(vocab, dtype=np.float32)[rng.integers(vocab, size=n)]
    if kind == "equal":
        weights = rng.integers(0, 3, size=(n, vocab)).astype(float)
        weights[:, 0] += 1
    else:
        weights = rng.dirichlet(np.full(vocab, 0.3), size=n)
        if kind == "zeros":
            weights[rng.random((n, vocab)) < 0.5] = 0
            weights[:, -1] += 0.1
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


KINDS = st.sampled_from(["spread", "zeros", "one-hot", "equal"])


@given(st.integers(0, 10**6), st.integers(0, 6), st.integers(2, 90), KINDS, KINDS, st.booleans())
def test_the_verdict_is_that_of_the_exact_rule(seed, n, vocab, kind_p, kind_q, same):
    """Tokens kept, the token drawn, and the numbers of both, for rows of all kinds and uniforms at the edges."""
    rng = np.random.default_rng(seed)
    p, q = rows(rng, n + 1, vocab, kind_p), rows(rng, n, vocab, kind_q)
    if same:
        p[:n] = q
    tokens = [int(rng.choice(np.flatnonzero(row))) for row in q]
    u = np.where(rng.random(n) < 0.2, rng.choice(EDGES, n), rng.random(n))
    u_extra = float(rng.choice(EDGES) if rng.random() < 0.2 else rng.random())
    outcome = exact(p, q, tokens, u.tolist(), u_extra)
    found = fetched(verdict(*map(torch.from_numpy, (p, q, np.array(tokens, int), u)), u_extra))
    assert found["accepted"] == outcome.accepted
    assert found["extra"] == outcome.extra
    assert found["p"].tolist() == [p[i, t] for i, t in enumerate(tokens)]
    assert found["q"].tolist() == [q[i, t] for i, t in enumerate(tokens)]
    assert found["p_extra"] == p[outcome.accepted, outcome.extra]
    assert found["q_extra"] == (q[outcome.accepted, outcome.extra] if outcome.accepted < n else 0)


@given(st.integers(0, 10**6), st.integers(0, 5), st.integers(2, 300), KINDS, KINDS)
def test_bars_and_figures_are_those_of_the_reduction(seed, n, vocab, kind_p, kind_q):
    """Of equal entries the same ones are kept, in the same order."""
    rng = np.random.default_rng(seed)
    p, q = rows(rng, n + 1, vocab, kind_p), rows(rng, n, vocab, kind_q)
    found = fetched(figures(torch.from_numpy(p), torch.from_numpy(q)))
    for i, bar in enumerate(bars(p, q, [[]] * (n + 1))):
        assert found["ids"][i].tolist() == bar.ids.tolist()
        assert found["p_top"][i].tolist() == bar.p.tolist()
        assert bar.q is None or found["q_top"][i].tolist() == bar.q.tolist()
    theirs = shapes(p, q)
    assert found["tv"].tolist() == pytest.approx([shape.tv for shape in theirs[:n]], abs=1e-12)
    assert found["entropy_p"].tolist() == pytest.approx([shape.entropy_p for shape in theirs], rel=1e-5, abs=1e-6)
    assert found["entropy_q"].tolist() == pytest.approx([s.entropy_q for s in theirs[:n]], rel=1e-5, abs=1e-6)


def pair(vocab: int, seed: int) -> tuple[TableModel, TableModel, OnDevice, OnDevice]:
    """Return target and draft here, and the same two on a device."""
    laws = random_law(vocab, seed), random_law(vocab, seed + 50)
    return (*(TableModel(law, vocab) for law in laws), *(OnDevice(law, vocab) for law in laws))


@pytest.fixture
def same_rows(monkeypatch):
    """Let the host judge the very rows that the device makes of logits: two exp() differ in the last bit."""

    def made(logits, settings, model="the model", first=1):
        return on_host(distributions(logits, settings), model, first)

    monkeypatch.setattr(host, "probabilities", made)
    monkeypatch.setattr("simulator.drafts.model.probabilities", made)


def assert_same_traces(ours: Run, theirs: Run) -> None:
    """Compare everything exactly, but for entropies and overlaps: sums are made in another order."""

    def shapeless(run: Run) -> list[object]:
        bare = [replace(r, positions=tuple(replace(p, shape=None) for p in r.positions)) for r in run.rounds]
        return untimed(bare)

    assert shapeless(ours) == shapeless(theirs)
    mine, others = ([p.shape for r in run.rounds for p in r.positions] for run in (ours, theirs))
    for a, b in zip(mine, others, strict=True):
        figures_a, figures_b = ([f for f in astuple(each) if f is not None] if each else [] for each in (a, b))
        assert figures_a == pytest.approx(figures_b, rel=1e-5, abs=1e-6)
    assert ours.stop == theirs.stop


@pytest.mark.usefixtures("same_rows")
@pytest.mark.parametrize("settings", [Sampling(), GREEDY, Sampling(temperature=0.7, top_k=4, top_p=0.9)], ids=str)
@pytest.mark.parametrize("k", [0, 1, 4])
@pytest.mark.parametrize("source", ["there", "here", "ngram"])
@pytest.mark.parametrize("detail", [True, False])
def test_whole_traces_are_the_hosts(settings, k, source, detail):
    """Whatever drafts, and also where an end token, the budget or a discarded token ends the round."""
    for seed in range(2):
        target, draft, target_there, draft_there = pair(40, seed)
        ours = {"there": draft_there, "here": draft}.get(source)
        made = [ModelDraft(m, settings, 40) if m else NgramDraft(40) for m in (ours, draft if ours else None)]
        config = dict(k=k, sampling=settings, max_new_tokens=25, seed=seed, end_tokens=frozenset({3, 4}), detail=detail)
        there = play(target_there, made[0], [0, 1, 0, 1], **config)
        here = play(target, made[1], [0, 1, 0, 1], **config)
        assert_same_traces(there, here)


@pytest.mark.usefixtures("same_rows")
def test_every_kind_of_verdict_and_ending_occurs_in_what_is_compared():
    seen = set()
    for seed in range(12):
        _, _, target, draft = pair(40, seed)
        run = play(target, ModelDraft(draft, Sampling(), 40), [0, 1], k=4, max_new_tokens=25, seed=seed,
                   end_tokens=frozenset({3, 4}))  # fmt: skip
        seen |= {p.drafted.verdict for r in run.rounds for p in r.positions if p.drafted}
        seen |= {r.extra.kind if r.extra else "closed" for r in run.rounds} | {run.stop}
    assert {*Verdict, "residual", "bonus", "closed", "end token", "budget"} <= {str(each) for each in seen}


def test_other_rules_are_judged_on_the_host():
    _, _, target, _ = pair(5, 0)
    places = {rule: type(place_of(target, None, RunConfig(rule=rule))) for rule in RULES}
    assert places == {rule: Device if rule == "exact" else Host for rule in RULES}
    assert type(place_of(TableModel(random_law(5, 0), 5), None, RunConfig())) is Host


class Blind(TorchDispatchMode):
    """Raises at every operation whose result Python has to know."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func not in WAITS, f"{func} waits for the device"
        return func(*args, **(kwargs or {}))


READS = ("item", "tolist", "numpy", "cpu", "__bool__", "__int__", "__float__", "__index__")


@contextmanager
def blind(monkeypatch, fetched_numbers: list[int]):
    """Let nothing look at a tensor's numbers but `to_host`, and note how many it takes each time."""
    with monkeypatch.context() as patch:
        original = {name: getattr(torch.Tensor, name) for name in READS}

        def to_host(values):
            fetched_numbers.append(values.numel())
            return original["numpy"](values)

        def refuse(name):
            def read(self, *args, **kwargs):
                raise AssertionError(f"{name} waits for the device")

            return read

        patch.setattr(device, "to_host", to_host)
        patch.setattr(sampling, "to_host", to_host)
        for name in READS:
            patch.setattr(torch.Tensor, name, refuse(name))
        with Blind():
            yield


def static_pair(vocab: int) -> tuple[object, object]:
    sizes = dict(vocab_size=vocab)
    models = [Family("wide", "", "LlamaForCausalLM", "LlamaConfig", sizes, seed=seed).build() for seed in (1, 2)]
    return tuple(recorded(HFModel(model, "wide")) for model in models)


@pytest.mark.parametrize("vocab", [128, 5000])
@pytest.mark.parametrize("detail", [True, False])
def test_a_round_waits_once_and_takes_little_whatever_the_vocabulary(monkeypatch, vocab, detail):
    target, draft = static_pair(vocab)
    config = RunConfig(k=4, detail=detail, max_new_tokens=50)
    place = place_of(target, ModelDraft(draft, Sampling(), vocab), config)
    text, numbers = ids(9), []
    target.extend(text[:-1])
    for round_ in range(3):  # the first round records its passes
        u = round_uniforms(0, round_, 4)
        with blind(monkeypatch, numbers):
            queued = place.draft(text, u.draft, no_checkpoint)
            judged = place.judge(place.verify(text[-1], queued), queued, u)
            judged.details([[]] * 5) if detail else None
        text += [*judged.tokens[: judged.outcome.accepted], judged.outcome.extra]
        target.rollback(target.length - (len(text) - 1))
        place.source.commit(text)
    few = 3 * 4 + 4 + 5 + 4  # p, q and id of each token, a maximum of each row, the verdict
    assert numbers == [few + (4 + 5 + 4 + 32 * (5 + 5 + 4) if detail else 0)] * 3


def test_the_blindfold_would_notice():
    with pytest.MonkeyPatch.context() as patch, blind(patch, []):
        for look in (torch.Tensor.tolist, torch.Tensor.item, bool, int, torch.nonzero):
            with pytest.raises(AssertionError, match="waits"):
                look(torch.tensor([1]))


@pytest.mark.parametrize("broken", [math.nan, math.inf], ids=str)
@pytest.mark.parametrize("where", ["target", "draft"])
def test_broken_rows_are_named_as_on_the_host(broken, where):
    """Also where the first row of the vocabulary is none of the draft's, so that its q stays 0."""

    def logits(context):
        return [broken] * 5 if len(context) == 3 else [0.0] * 5

    def made(kind, bad):
        return kind(logits if bad else lambda c: [0.0] * 5, 5, are_logits=True, name="cracked" if bad else "sound")

    messages = []
    for kind in (TableModel, OnDevice):
        target, draft = made(kind, where == "target"), made(kind, where == "draft")
        source = ModelDraft(draft, Sampling(), 5, to_target=np.array([-1, 1, 2, 3, 4]), feed=np.arange(5))
        with pytest.raises(BrokenLogitsError, match="cracked at position") as caught:
            play(target, source, [1, 1], k=3, max_new_tokens=9)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_model_that_cannot_follow_on_a_gpu_is_judged_there_all_the_same(monkeypatch):
    """Its drafts are known here before it reads them; its rows need not be."""
    plain = HFModel(BY_NAME["Llama"].build(), "Llama")
    noisy = HFModel(BY_NAME["Llama"].build(noise=0.05), "noisy")
    assert type(place_of(plain, None, RunConfig())) is Device
    there = play(plain, ModelDraft(noisy, Sampling(), 128), ids(5), k=3, max_new_tokens=20, seed=2)
    monkeypatch.setattr("simulator.models.base.ASYNCHRONOUS", ())
    assert type(place_of(plain, None, RunConfig())) is Host
    here = play(plain, ModelDraft(noisy, Sampling(), 128), ids(5), k=3, max_new_tokens=20, seed=2)
    assert there.tokens == here.tokens
    assert [[p.drafted and p.drafted.verdict for p in r.positions] for r in there.rounds] == [
        [p.drafted and p.drafted.verdict for p in r.positions] for r in here.rounds
    ]


def test_a_drafted_token_below_the_bars_is_shown_with_its_own_numbers():
    """32 tokens are larger than the drafted one and the drawn one; both must be among the bars, in order."""
    vocab = 60
    p = np.linspace(1, 2, vocab)
    p = (p / p.sum()).astype(np.float32)
    q = p[::-1].copy()
    q[:3] = p[:3] = 1e-4
    target, token = OnDevice(lambda c: p, vocab), 2

    class One:
        name = "one"

        def prefill(self, context, checkpoint): ...
        def commit(self, context): ...
        def reset(self): ...
        def propose(self, context, uniforms, checkpoint):
            return Proposal((token,), q[None], (0.5,))

    place = Device(target, One(), RunConfig(k=1))
    for seed in range(40):
        u = round_uniforms(seed, 0, 1)
        queued = place.draft([0], u.draft, no_checkpoint)
        judged = place.judge(place.verify(0, queued), queued, u)
        named = [[token, judged.outcome.extra] if judged.outcome.accepted == 0 else [token]]
        [bar] = judged.details(named)[1]
        rows_p = on_host(distributions(torch.log(torch.from_numpy(p))[None], Sampling()), "it")
        [expected] = bars(rows_p, q[None], named)
        assert (bar.ids.tolist(), bar.p.tolist(), bar.q.tolist()) == (
            expected.ids.tolist(), expected.p.tolist(), expected.q.tolist(),
        )  # fmt: skip
        target.rollback(target.length)
