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


def test_a_model_for_highs_needs_no_scipy():
    """Once Pyomo is there, an import of any part of SciPy brings scipy.stats along: more CPU time than the solve."""
    found = loaded_by("from mlsched import api\napi.solve(api.generate('rounds', 'small'), 'highs')")
    assert "pyomo" in found
    assert "scipy" not in found


def test_a_rule_loads_its_own_file_and_no_reader_of_logs():
    code = (
        "import sys\nfrom mlsched import api\napi.solve(api.generate('taskgraph', 'small'), 'mlf-h')\n"
        "print(*(name for name in sys.modules if name.startswith('mlsched.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "mlsched.heuristics.taskgraph.mlf_h" in loaded
    assert not {"mlsched.heuristics.taskgraph.gavel", "mlsched.solvers.taskgraph.cp_sat"} & set(loaded)
    assert not [name for name in loaded if name.startswith("mlsched.instances.traces.") and name.endswith("read")]


BARE = """
import sys
OPTIONAL = "torch gymnasium matplotlib pyarrow pooch hypothesis pytest distributed optuna polars exact".split()
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from mlsched.cli.main import app
for line in sys.stdin:
    app(line.split(), standalone_mode=False)
"""

#: What works without any extra.
COMMANDS = """\
list solvers
generate preemption --preset small -o instance.json
solve instance.json -o plan.json
check instance.json plan.json
pareto instance.json total_score victim_count
simulate fifo fitgpp --trace synthetic:z --set jobs=40
simulate fifo srpt --trace synthetic:gangs --set jobs=20
generate placement --preset small -o servers.json
solve servers.json --solver harmony-plus
"""


def test_commands_need_no_extra(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BARE], input=COMMANDS, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
