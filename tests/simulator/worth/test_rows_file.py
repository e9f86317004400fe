"""Files of logits: read in pieces as if whole, and one sentence for each file that cannot be."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from simulator.errors import UserError
from simulator.records import Sampling
from simulator.runner import Control
from simulator.worth.flatness import GREEDY, NGRAM, SAMPLED
from simulator.worth.jobs import Subject, analyse_job, look_job
from simulator.worth.outlook import mean
from simulator.worth.rows_file import open_rows
from tests.conftest import pair as spiky

N, V = 23, 40
RNG = np.random.default_rng(1)
P, Q = (np.stack([spiky(V, seed)[side] for seed in range(N)]).astype(np.float32) for side in (0, 1))
PLAIN = Sampling()
IDS = RNG.integers(0, V, N)


@pytest.fixture
def saved(tmp_path):
    def save(compressed=False, **arrays):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npz"
        (np.savez_compressed if compressed else np.savez)(path, **arrays)
        return path

    return save


def analysed(path, sampling=PLAIN):
    *_, a, last = analyse_job(None, Subject("rows", rows=path), sampling)(Control())
    assert last.fraction == 1
    return a


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("step", [1, 5, 256])
def test_rows_come_back_in_pieces(saved, compressed, step):
    file = open_rows(saved(compressed, logits=np.log(P), q_probs=Q, ids=IDS))
    assert (file.n, file.vocab, file.p, file.q, file.ids.tolist()) == (N, V, "logits", "q_probs", IDS.tolist())
    assert np.concatenate(list(file.rows("p", step))) == pytest.approx(np.log(P))
    assert np.exp(np.concatenate(list(file.rows("q", step)))) == pytest.approx(Q, rel=1e-5)
    assert next(file.rows("p", 2, 20)) == pytest.approx(np.log(P[20:22]))


@pytest.mark.parametrize("arrays", [{"probs": P}, {"logits": np.log(P) + 3}, {"logits": np.log(P).astype(">f8")}])
def test_logits_and_probabilities_say_the_same(saved, arrays):
    a = analysed(saved(**arrays))
    assert a.p_max == pytest.approx(P.max(-1), abs=1e-5)
    assert a.top.tolist() == P.argmax(-1).tolist()
    assert (a.text, a.offset, dict(a.tracks)) == (None, 0, {})


def test_a_draft_and_ids_add_the_sources(saved):
    a = analysed(saved(probs=P, q_probs=Q, ids=IDS))
    assert set(a.tracks) == {SAMPLED, GREEDY, NGRAM}
    assert a.tracks[SAMPLED].alpha == pytest.approx(np.minimum(P, Q).sum(-1), abs=1e-5)
    assert a.tracks[GREEDY].alpha == pytest.approx(P[np.arange(N), Q.argmax(-1)], abs=1e-6)
    assert a.p_text == pytest.approx(P[np.arange(N), IDS], abs=1e-6)


def test_temperature_and_filters_are_applied(saved):
    cold = analysed(saved(probs=P), Sampling(0.5))
    squared = P.astype(float) ** 2
    assert cold.p_max == pytest.approx(squared.max(-1) / squared.sum(-1), abs=1e-5)
    assert set(analysed(saved(probs=P), Sampling(0.0)).p_max) == {1.0}
    cut = analysed(saved(probs=P), Sampling(1.0, 2))
    assert cut.mass[:, 1] == pytest.approx(1, abs=1e-6)


def test_a_zero_probability_stays_zero(saved):
    a = analysed(saved(probs=np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])))
    assert a.p_max.tolist() == [0.5, 1.0]
    assert a.entropy == pytest.approx([1, 0])


def test_a_vocabulary_of_one_and_a_single_row_are_answered(saved):
    a = analysed(saved(logits=np.zeros((1, 1))))
    assert (a.p_max.tolist(), a.entropy.tolist(), a.most_entropy) == ([1.0], [0.0], 0.0)
    assert mean(a.p_max).error is None


def test_a_closer_look_reads_one_row(saved):
    path = saved(True, probs=P, q_probs=Q, ids=IDS)
    a = analysed(path)
    (look,) = look_job(None, Subject("rows", rows=path), a, 7)(Control())
    assert look.position.shape.overlap == pytest.approx(a.tracks[SAMPLED].alpha[7], abs=1e-6)
    np.savez(path, probs=P[:5])
    with pytest.raises(UserError, match="has changed"):
        list(look_job(None, Subject("rows", rows=path), a, 7)(Control()))


def test_memory_stays_small_for_a_large_file(saved):
    path = saved(True, logits=np.zeros((20_000, 1000), np.float32))  # 80 MB unpacked
    tracemalloc.start()
    rows = sum(len(part) for part in open_rows(path).rows("p", 256))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 20_000
    assert peak < 10e6


ROW = np.array([[0.5, 0.5]])
WRONG = {
    "neither": ({"x": ROW}, r"holds 'x'\. It must hold 'logits' or 'probs'"),
    "empty": ({}, "no arrays"),
    "both": ({"probs": ROW, "logits": ROW}, "both 'logits' and 'probs'"),
    "one dimension": ({"probs": ROW[0]}, r"shape \[2\], but \[n, V\]"),
    "three dimensions": ({"logits": np.zeros((2, 8, 4))}, "Put codebooks or batches into n"),
    "no row": ({"logits": np.zeros((0, 4))}, "neither 0"),
    "no vocabulary": ({"logits": np.zeros((4, 0))}, "neither 0"),
    "NaN": ({"logits": np.array([[0, 1], [np.nan, 0]])}, "Row 1 of 'logits' .* NaN or infinite"),
    "infinite": ({"logits": np.array([[np.inf, 0]])}, "NaN or infinite"),
    "nothing possible": ({"logits": np.full((1, 2), -np.inf)}, "NaN or infinite"),
    "too large for float32": ({"logits": np.array([[1e300, 0]])}, "NaN or infinite"),
    "sum": ({"probs": np.array([[0.5, 0.5], [0.5, 0.4]])}, r"Row 1 .* these sum to 0\.9"),
    "negative": ({"probs": np.array([[1.5, -0.5]])}, "at least 0"),
    "NaN probability": ({"probs": np.array([[np.nan, 1]])}, "is no distribution"),
    "complex": ({"logits": ROW + 0j}, "complex128"),
    "strings": ({"logits": np.array([["a", "b"]])}, "<U1"),
    "objects": ({"logits": np.array([[None, 1]])}, "Python objects"),
    "columns": ({"logits": np.asfortranarray(np.zeros((3, 4)))}, "ascontiguousarray"),
    "another vocabulary": ({"probs": ROW, "q_probs": np.array([[1.0]])}, "same positions and the same vocabulary"),
    "ids of another length": ({"probs": ROW, "ids": np.array([0, 1])}, "must be 1 whole numbers"),
    "ids that are fractions": ({"probs": ROW, "ids": np.array([0.0])}, "must be 1 whole numbers"),
    "ids beyond": ({"probs": ROW, "ids": np.array([2])}, "'ids' in .* holds 2"),
    "a bad draft": ({"probs": ROW, "q_probs": np.array([[0.5, 0.6]])}, "Row 0 of 'q_probs'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_one_sentence(saved, name):
    arrays, sentence = WRONG[name]
    path = saved(**arrays)
    with pytest.raises(UserError, match=sentence) as caught:
        analysed(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_archive_or_cut_off_is_one_sentence(saved, tmp_path):
    whole = saved(logits=np.zeros((50, 50))).read_bytes()
    array = io.BytesIO()
    np.save(array, ROW)
    odd = {"text": b"hello", "nothing": b"", "cut": whole[: len(whole) // 2], "npy": array.getvalue()}
    damaged = bytearray(whole)
    damaged[1000:1100] = b"\xff" * 100
    odd["damaged"] = bytes(damaged)
    for name, data in odd.items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(data)
        with pytest.raises(UserError, match=f"{name}.npz") as caught:
            analysed(path)
        assert "\n" not in str(caught.value)
    for path in (tmp_path, tmp_path / "none.npz"):
        with pytest.raises(UserError, match=str(path)):
            analysed(path)


def test_a_header_that_promises_more_than_there_is_is_one_sentence(tmp_path):
    path = tmp_path / "long.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (9, 4)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("logits.npy", header.getvalue() + np.zeros(8, np.float32).tobytes())
    with pytest.raises(UserError, match="ends before its last row"):
        analysed(path)


def test_nothing_in_a_file_is_run(tmp_path):
    """An .npz may hold pickles, and opening one of those runs code (SD class: hostile files)."""

    class Bomb:
        def __reduce__(self):
            return (tmp_path / "exploded").touch, ()

    path = tmp_path / "bomb.npz"
    np.savez(path, logits=np.array([[Bomb()]], dtype=object))
    with pytest.raises(UserError, match="Python objects"):
        analysed(path)
    assert not (tmp_path / "exploded").exists()
