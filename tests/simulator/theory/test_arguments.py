"""What the closed forms refuse, and what all of them have in common."""

import inspect
import math
import subprocess
import sys

import pytest

from simulator.theory import position, tokens_per_round
from simulator.theory import speedup as speedups
from simulator.theory.speedup import best_k, break_even_alpha, operations_factor, speedup
from simulator.theory.tokens_per_round import (
    beta_mean_rho,
    beta_moments,
    beta_parameters,
    correlated_tokens,
    equivalent_alpha,
    expected_tokens,
    frechet_bounds,
    independent_length,
    solve_rho,
)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: expected_tokens(1.2, 3), r"alpha must lie in 0\.\.1, not 1\.2\."),
        (lambda: expected_tokens([0.5, math.nan], 3), "alpha .* not nan"),
        (lambda: expected_tokens(1 + 1e-8, 3), r"not 1\.00000001"),
        (lambda: expected_tokens(0.5, -1), "k must be a whole number of at least 0, not -1"),
        (lambda: expected_tokens(0.5, 2.5), r"k .* not 2\.5"),
        (lambda: speedup(0.5, -0.1, 3), r"c must be finite and at least 0, not -0\.1"),
        (lambda: speedup(0.5, 0.1, 3, c_verify=math.inf), "c_verify .* not inf"),
        (lambda: speedup(0.5, 0.1, 3, fixed=-2.0), "fixed .* not -2"),
        (lambda: operations_factor(0.5, 3, c_hat=-1.0), "c_hat .* not -1"),
        (lambda: best_k(0.5, 0.1, k_max=-3), "k_max .* not -3"),
        (lambda: best_k(0.5, math.nan), "c .* not nan"),
        (lambda: break_even_alpha(-1.0), "c .* not -1"),
        (lambda: independent_length([0.5, 1.5]), r"not 1\.5"),
        (lambda: frechet_bounds([[0.5]]), r"shape \(1, 1\)"),
        (lambda: equivalent_alpha(5, 4), "not 5 with k = 4"),
        (lambda: equivalent_alpha(0, 0), "k at least 1"),
        (lambda: beta_mean_rho(0, 1), "A of the Beta law .* not 0"),
        (lambda: beta_mean_rho(1, math.inf), "B of the Beta law .* not inf"),
        (lambda: beta_parameters(0.5, 0.0), r"rho .* not 0\.0"),
        (lambda: beta_parameters(1.0, 0.5), r"mean .* not 1\.0"),
        (lambda: beta_moments(0.5, -0.5, 3), r"rho .* not -0\.5"),
        (lambda: correlated_tokens(0.5, 0.5, -4), "k .* not -4"),
        (lambda: solve_rho(0.5, 3.5, 3), r"not 3\.5 with k = 3"),
        (lambda: solve_rho(2.0, 1.0, 3), "mean .* not 2"),
    ],
)
def test_impossible_input_is_refused_by_name_and_value(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_every_public_function_documents_itself_and_its_source():
    parts = (position, tokens_per_round, speedups)
    found = [(name, f, part) for part in parts for name, f in inspect.getmembers(part, inspect.isfunction)]
    public = [f for name, f, part in found if f.__module__ == part.__name__ and not name.startswith("_")]
    assert len(public) == 17
    for function in public:
        assert "Source: " in inspect.getdoc(function), function.__name__
        assert "ValueError" in inspect.getdoc(function), function.__name__


def test_theory_and_metrics_load_neither_torch_nor_qt():
    code = (
        "import sys, simulator.theory.position, simulator.theory.speedup, simulator.metrics; "
        "print({'torch', 'PySide6', 'pyqtgraph'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
