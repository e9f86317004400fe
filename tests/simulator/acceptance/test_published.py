"""Published numbers: they load as printed, the derived ones say so, and the formulas give what the papers computed."""

import pytest

from simulator.acceptance.beyond import of_published
from simulator.acceptance.published import PUBLISHED
from simulator.parameters import PARAMETERS
from simulator.theory.speedup import correlated_speedup, operations_factor, speedup

TABLE_1 = [p for p in PUBLISHED if p.operations is not None]
OMNI = next(p for p in PUBLISHED if p.per_position)


def test_every_row_has_a_setting_and_a_source_and_something_reported():
    assert len({p.setting for p in PUBLISHED}) == len(PUBLISHED)
    for p in PUBLISHED:
        assert p.source
        assert any(v is not None for v in (p.alpha, p.tokens_per_round, p.speedup, p.expected)), p.setting


def test_every_row_loads_within_the_sliders():
    for p in PUBLISHED:
        for name, value in p.loads().items():
            assert PARAMETERS[name].check(value) == pytest.approx(value), (p.setting, name)


@pytest.mark.parametrize("p", TABLE_1, ids=lambda p: p.setting)
def test_leviathans_table_1_is_what_the_formulas_give(p):
    assert round(speedup(p.alpha, 0.0, p.k), 2) == p.expected
    assert round(operations_factor(p.alpha, p.k), 2) == p.operations


def test_higher_alpha_lower_speed():
    rows = {p.setting: p for p in PUBLISHED}
    small, large = (rows[f"T5-XXL 11B, EnDe, draft T5-{size}, T = 0"] for size in ("small", "large"))
    assert large.alpha > small.alpha
    assert large.speedup < small.speedup


def test_the_block_draft_derives_its_alpha_and_says_so():
    assert OMNI.derives_alpha
    assert round(OMNI.loads()["alpha"], 2) == 0.80
    assert "c" not in OMNI.loads()  # not printed, so the slider stays


def test_the_block_draft_beyond_independence():
    e = of_published(OMNI)
    assert round(e.independent(), 2) == 1.62
    assert [round(b, 2) for b in e.bounds()] == [1.05, 3.74]
    assert e.measured == pytest.approx(3.16)
    assert round(e.rho(e.mean), 2) == 0.79
    assert e.alpha is None  # not printed
    net = [round(correlated_speedup(e.mean, e.rho(e.mean), c, 7), 2) for c in (0.05, 0.10, 0.15, 0.20)]
    assert net == [3.08, 2.45, 2.03, 1.73]


def test_rows_without_positions_give_no_evidence():
    assert sum(of_published(p) is not None for p in PUBLISHED) == 1
