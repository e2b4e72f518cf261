"""The library works without its wings: the papers' experiments and the training of policies."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mlsched
import mlsched_training.environments

#: What a library without wings is asked, in a process of its own.
QUESTIONS = """
import sys
from pathlib import Path

import mlsched
from mlsched.cli.main import run
from mlsched.core.registry import registry
from mlsched.testing import check_scheduler

here = Path(sys.argv[1])
assert Path(mlsched.__file__).is_relative_to(here), mlsched.__file__
for wing in ("papers", "training"):
    assert not (here / "mlsched" / wing).exists()

answered = 0
for problem in registry().problems:
    instance = mlsched.generate(problem, preset="small", seed=0)
    for answerer in mlsched.solvers.available(problem):
        if answerer.kind == "trained" or answerer.name in ("cp-sat", "fifo", "lif-linear", "optimus", "slaq", "srpt"):
            try:
                assert mlsched.solve(instance, answerer.name, time_limit=20).status != "unknown", answerer.name
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
for line in ("reproduce fitgpp --quick", "train chic --iterations 1", "list experiments"):
    assert run(line.split()) == 2, line
try:
    mlsched_training.environments
except ModuleNotFoundError as absent:
    assert absent.name == "mlsched_training", absent
else:
    raise AssertionError("environments without mlsched_training")
"""


@pytest.mark.slow
def test_the_library_works_without_its_wings(tmp_path):
    """Rules, exact and trained answers, runs, fronts, certificates, benchmark and test kit need neither wing."""
    installed = Path(mlsched.__file__).parent
    place = tmp_path / "site-packages"  # as installed: Hypothesis looks for constants in all other code

    def wings(folder: str, names: list[str]) -> list[str]:
        return ["papers", "training"] if Path(folder) == installed else []

    shutil.copytree(installed, place / "mlsched", ignore=wings)  # with what is compiled
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-W",
            "error",
            "-c",
            f"import sys\nsys.path.insert(0, {str(place)!r})\n{QUESTIONS}",
            place,
        ],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]
    absent = [line for line in done.stderr.splitlines() if "has no mlsched." in line]
    assert [line.split("has no ")[1].partition(";")[0] for line in absent] == [
        "mlsched_papers",
        "mlsched_training",
        "mlsched_papers",
    ]


def test_former_homes_lead_to_what_stands_elsewhere_now():
    from mlsched.api.functions import function_of
    from mlsched.benchmark import plain
    from mlsched.simulation import environments

    assert function_of("mlsched.benchmark.plain:quality")[0] is plain.quality
    assert environments.WORKERS == "mlsched/Workers-v0"
    assert mlsched_training.environments.WORKERS == "mlsched/Workers-v0"
