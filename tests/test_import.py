"""`import mlsched` is light: solvers, learning and plotting load when they are used."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch", "ortools", "highspy", "pyomo", "scipy", "matplotlib", "hypothesis", "pandas", "pyarrow", "pooch")


def loaded_by(code: str) -> set[str]:
    """Which heavy packages are in sys.modules of a fresh process after `code`."""
    probe = f"{code}\nimport sys\nprint(' '.join(m for m in {HEAVY!r} if m in sys.modules))"
    return set(subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split())


def test_import_names_and_heuristics_load_nothing_heavy():
    code = "import mlsched\nmlsched.solvers.available()\nmlsched.solve(mlsched.generate('preemption'), 'fitgpp')"
    assert loaded_by(code) == set()


def test_cp_sat_loads_its_own_backend_only():
    found = loaded_by("from mlsched import api\napi.solve(api.generate('preemption'), 'cp-sat')")
    assert "ortools" in found
    assert "highspy" not in found


def test_highs_loads_its_own_backend_only():
    """Nor SciPy: once Pyomo is there, an import of any part of it brings scipy.stats along, for more CPU time than the
    solve.
    """
    found = loaded_by(
        "from mlsched import api\nfor p in ('preemption', 'quality'): api.solve(api.generate(p, 'small'), 'highs')"
    )
    assert {"highspy", "pyomo"} <= found
    assert not {"ortools", "scipy"} & found


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
