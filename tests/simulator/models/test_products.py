"""Every order of a weight gives the same products; a row's product does not depend on the rows beside it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simulator.models import processor, products
from simulator.models.products import Packed, Panels, Plain, Room, SharedPanels, weight

packed = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")
KINDS = [Plain, Panels, SharedPanels, pytest.param(Packed, marks=packed)]
SHAPES = [(24, 40), (192, 576), (96, 96), (96, 1999), (1024, 192)]  # in, out
WIDTHS = [1, 2, 3, 4, 5, 8, 9, 17, 40]


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_is_the_sum_over_the_inputs(kind, n, shape):
    rows, x = drawn(*shape[::-1]), drawn(n, shape[0])
    made = kind(rows)
    exact = x.astype(np.float64) @ rows.astype(np.float64).T
    result = made.product(x)
    assert result.dtype == np.float32
    assert result.shape == (n, shape[1])
    assert made.size == rows.size
    np.testing.assert_allclose(result, exact, atol=3e-5 * shape[0] ** 0.5)


@packed
@pytest.mark.parametrize("shape", SHAPES)
def test_a_packed_weight_rounds_a_row_alike_at_every_width_of_a_round(shape):
    made, x = Packed(drawn(*shape[::-1])), drawn(17, shape[0])
    whole = made.product(x)
    for n in range(1, 18):
        assert np.array_equal(made.product(x[:n].copy()), whole[:n])


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_is_a_copy(kind):
    rows, x = drawn(40, 24), drawn(3, 24)
    made = kind(rows)
    before = made.product(x).copy()
    rows[:] = 0
    assert np.array_equal(made.product(x), before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_where_threads_share_a_product_its_bits_do_not_depend_on_their_number(kind, shape):
    """Only then may a stopwatch choose the number, and a seed still repeat."""
    made, x = kind(drawn(*shape[::-1])), drawn(9, shape[0])
    allowed = torch.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3, 8):
            torch.set_num_threads(count)
            found.append([made.product(x[:n].copy()).copy() for n in (1, 5, 9)])
    finally:
        torch.set_num_threads(allowed)
    for each in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(each, found[0], strict=True))


@pytest.mark.parametrize(
    ("capability", "intel", "threads", "small", "large"),
    [
        ("AVX512", False, 1, Panels, Panels),
        ("AVX512", False, 8, Panels, Packed),
        ("AVX512", True, 1, Panels, SharedPanels),
        ("AVX512", True, 8, Panels, SharedPanels),
        ("AVX2", False, 1, Plain, Packed),
        ("AVX2", True, 8, Plain, Packed),
    ],
)
@packed
def test_each_processor_and_size_has_its_order(monkeypatch, capability, intel, threads, small, large):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(processor, "made_by_intel", lambda: intel)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    rows = drawn(40, 24)
    assert isinstance(weight(rows, products.CACHED, Room(0)), small)
    assert isinstance(weight(rows, products.CACHED + 1, Room(0)), large)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    assert isinstance(weight(rows, products.CACHED + 1, Room(0)), small)


@pytest.mark.parametrize(
    ("cpuinfo", "word", "intel"),
    [
        ("processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon\n", "x86_64", True),
        ("processor : 0\nvendor_id : AuthenticAMD\nmodel name : EPYC\n", "x86_64", False),
        (None, "Intel64 Family 6 Model 85 Stepping 7, GenuineIntel", True),
        (None, "AMD64 Family 25 Model 17 Stepping 1, AuthenticAMD", False),
        (None, "", False),
    ],
)
def test_the_processor_says_who_made_it(monkeypatch, tmp_path, cpuinfo, word, intel):
    place = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        place.write_text(cpuinfo, "utf-8")
    monkeypatch.setattr(processor, "CPUINFO", place)
    monkeypatch.setattr(processor.platform, "processor", lambda: word)
    assert processor.made_by_intel.__wrapped__() == intel


def test_weights_of_a_model_lie_side_by_side_and_begin_at_a_line():
    room = Room(25 * (192 + 96))
    made = {out: Panels(drawn(out, 25), room) for out in (192, 96, 480)}  # the last has no room here
    first, second, third = (each._panels.__array_interface__["data"][0] for each in made.values())
    assert second - first == 4 * 25 * 192
    assert [place % 64 for place in (first, second, third)] == [0, 0, 0]
    for out, each in made.items():
        x = drawn(5, 25)
        np.testing.assert_allclose(each.product(x), x @ drawn(out, 25).T, atol=1e-4)
