"""`import mlsched` is light: solvers, learning and plotting load when they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "ortools", "highspy", "pyomo", "scipy", "matplotlib", "hypothesis", "pandas", "pyarrow", "pooch")


def loaded_by(code: str) -> set[str]:
    """Which heavy packages are in sys.modules of a fresh process after `code`."""
    probe = f"{code}\nimport sys\nprint(' '.join(m for m in {HEAVY!r} if m in sys.modules))"
    return set(subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split())


def test_import_loads_nothing_heavy():
    assert loaded_by("import mlsched") == set()


def test_names_and_heuristics_need_nothing_heavy_either():
    code = "from mlsched import api, solvers\nsolvers.available()\napi.solve(api.generate('preemption'), 'fitgpp')"
    assert loaded_by(code) == set()


@pytest.mark.parametrize(
    ("name", "needs", "not_needed"), [("cp-sat", "ortools", "highspy"), ("highs", "highspy", "ortools")]
)
def test_a_solver_loads_its_own_backend_only(name, needs, not_needed):
    found = loaded_by(f"from mlsched import api\napi.solve(api.generate('preemption'), {name!r})")
    assert needs in found
    assert not_needed not in found
