"""Every order of a weight gives the same products; a row's product does not depend on the rows beside it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simulator.models import products
from simulator.models.products import Packed, Panels, Plain, weight

packed = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")
KINDS = [Plain, Panels, pytest.param(Packed, marks=packed)]
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


@pytest.mark.parametrize(
    ("capability", "threads", "small", "large"),
    [
        ("AVX512", 1, Panels, Panels),
        ("AVX512", 8, Panels, Packed),
        ("AVX2", 1, Plain, Packed),
        ("AVX2", 8, Plain, Packed),
    ],
)
@packed
def test_each_processor_and_size_has_its_order(monkeypatch, capability, threads, small, large):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    rows = drawn(40, 24)
    assert isinstance(weight(rows, products.CACHED), small)
    assert isinstance(weight(rows, products.CACHED + 1), large)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert isinstance(weight(rows, products.CACHED + 1), small)
