"""The core works alone: without the plug-ins of its distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mlsched

#: What the core is asked, in a process of its own that knows nothing of plug-ins.
QUESTIONS = """
import sys
from pathlib import Path

import mlsched
from mlsched.cli.main import run
from mlsched.core.registry import registry
from mlsched.testing import check_scheduler

here = Path(sys.argv[1])
assert Path(mlsched.__file__).is_relative_to(here), mlsched.__file__
from mlsched.core import plugins

assert plugins.declared_points() == ()
assert sorted(registry().problems) == ["placement", "preemption", "quality", "taskgraph", "workers"]

answered = 0
for problem in registry().problems:
    instance = mlsched.generate(problem, preset="small", seed=0)
    for solver in mlsched.solvers.available(problem):
        if solver.kind == "trained" or solver.name in ("cp-sat", "fifo", "lif-linear", "optimus", "slaq", "srpt"):
            try:
                assert mlsched.solve(instance, solver.name, time_limit=20).status != "unknown", solver.name
            except mlsched.InvalidInput as refused:  # Harmony answers about the clusters that it was trained for
                assert problem == "placement", refused
                continue
            answered += 1
assert answered >= 15, answered

assert mlsched.simulate(mlsched.workload("synthetic:z", jobs=20), "fitgpp").violations() == []
front = mlsched.pareto(mlsched.generate("preemption", preset="small", seed=0), ("total_score", "victim_count"))
assert front.complete
assert check_scheduler("fitgpp", "preemption", examples=10).failures == ()

(here / "instances").mkdir()
for name in ("instance.json", "instances/preemption.json"):
    mlsched.save(mlsched.generate("preemption", preset="small", seed=0), here / name)
for line in (
    "solve instance.json -o plan.json",
    "check instance.json plan.json",
    "certify instance.json -o proof",
    "check proof",
    "simulate fifo fitgpp --trace synthetic:z --set jobs=40",
    "bench instances --solver fitgpp --solver cp-sat --store rows.sqlite",
    "list solvers",
):
    assert run(line.split()) == 0, line
for line in ("reproduce fitgpp --quick", "train chic --iterations 1", "list experiments", "judge instance.json"):
    assert run(line.split()) == 2, line
assert not [name for name in sys.modules if name.startswith("mlsched_")]
"""

#: Where it stands, the plug-ins can be imported; as installed alone, they cannot.
ALONE = """
import sys
sys.path.insert(0, {place!r})

class Alone:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("mlsched_"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Alone())
"""


@pytest.mark.slow
def test_the_core_works_alone(tmp_path):
    """Rules, exact and trained answers, runs, fronts, certificates, benchmark and test kit need no plug-in."""
    place = tmp_path / "site-packages"  # as installed: Hypothesis looks for constants in all other code
    shutil.copytree(Path(mlsched.__file__).parent, place / "mlsched")  # with what is compiled
    record = place / f"mlsched-{mlsched.__version__}.dist-info"  # hides that of the whole distribution
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mlsched\nVersion: {mlsched.__version__}\n")
    code = ALONE.format(place=str(place)) + QUESTIONS
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code, place], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]
    for unknown in ("command 'reproduce'", "command 'train'", "command 'judge'", "list 'experiments'"):
        assert unknown in done.stderr
