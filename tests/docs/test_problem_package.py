"""The example of a problem in its own distribution: installed by pip without a network, and used by all commands."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "problem_package"
SUITE = """
[[case]]
problem = "balance"
preset = "small"
seeds = [0, 1]
"""
#: Commands in one process; each prints its status and its JSON document or its text.
SCRIPT = """
import contextlib, io, json, sys
import mlsched
from mlsched.cli.main import run

results = {}
for name, arguments in json.load(sys.stdin).items():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = run(arguments)
    results[name] = [status, printed.getvalue()]

from balance.heuristics import lpt
from balance.instances import Instance, Plan


def stays(instance, *, rng):
    return Plan(machine=instance.before)


def breaks(instance, *, rng):
    return Plan(machine=[instance.machines] * len(instance.work))


results["check lpt"] = [0, str(mlsched.check_scheduler(lpt, "balance"))]
results["check stays"] = [0, str(mlsched.check_scheduler(stays, "balance"))]
try:
    mlsched.check_scheduler(breaks, "balance")
except mlsched.testing.CheckFailed as error:
    results["check breaks"] = [1, str(error)]
instance = Instance(machines=2, work=[3, 3, 2, 2, 2], before=[0, 0, 0, 0, 0])
front = mlsched.pareto(instance, ["largest_load", "moves"])
results["front"] = [0, str(sorted(front.sort_keys.tolist()))]
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Name of a call -> its status and its output."""
    pytest.importorskip("setuptools", reason="builds the package; pip install setuptools")
    place = tmp_path_factory.mktemp("problem")
    shutil.copytree(PACKAGE, place / "source", copy_function=shutil.copyfile)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    install = [sys.executable, "-m", "pip", "install", *options, "--target", str(place / "site"), str(place / "source")]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (place / "suite.toml").write_text(SUITE)
    instance = str(place / "instance.json")
    calls = {
        "problems": ["list", "problems"],
        "solvers": ["list", "solvers", "--problem", "balance", "--json"],
        "suites": ["list", "suites"],
        "generate": ["generate", "balance", "--preset", "small", "--seed", "1", "-o", instance],
        **{name: ["solve", instance, "--solver", name, "--json"] for name in ("cp-sat", "brute-force", "lpt")},
        "pareto": ["pareto", instance, "largest_load", "moves", "--json"],
        "worst": ["worst", "lpt", "--problem", "balance", "--count", "8", "--json"],
        "bench": ["bench", str(place / "suite.toml"), "--html", str(place / "report.html"), "--json"],
        "picture": ["solve", instance, "--plot", str(place / "plan.png")],
        "certify": ["certify", instance, "-o", str(place / "certificate")],
    }
    path = os.pathsep.join(map(str, (place / "site", PACKAGE.parents[1])))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        input=json.dumps(calls),
        env={**os.environ, "PYTHONPATH": path},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    found["report"] = [0, (place / "report.html").read_text(encoding="utf-8")]
    return found


def document(results, name):
    status, printed = results[name]
    assert status == 0, printed
    return json.loads(printed)


def test_lists_have_the_problem_its_solvers_and_its_suite(results):
    assert "balance: which jobs move" in results["problems"][1]
    assert "every preset of balance, 20 seeds each" in results["suites"][1]
    assert "brute-force" in results["solvers"][1]
    assert "lpt" in results["solvers"][1]


def test_the_exact_solvers_agree_and_the_rule_is_feasible(results):
    exact, enumerated, rule = (document(results, name) for name in ("cp-sat", "brute-force", "lpt"))
    assert exact["status"] == enumerated["status"] == "optimal"
    assert exact["values"]["largest_load"] == enumerated["values"]["largest_load"] == 100
    assert rule["values"]["largest_load"] >= 100


def test_the_front_is_complete(results):
    assert document(results, "pareto")["complete"] is True
    assert results["front"][1] == "[[6, 2], [9, 1], [12, 0]]"


def test_the_worst_instances_the_benchmark_and_its_report(results):
    assert document(results, "worst")
    rows = document(results, "bench")
    assert "balance" in json.dumps(rows)
    assert all(word in results["report"][1] for word in ("<!doctype html>", "largest_load", "brute-force", "lpt"))


def test_schedulers_are_checked(results):
    assert "instances" in results["check lpt"][1]
    assert "instances" in results["check stays"][1]
    assert "expected below" in results["check breaks"][1]


def test_missing_parts_are_refused_in_a_line(results):
    assert results["picture"] == [2, "mlsched: --plot: pictures do not exist for a balance plan\n"]
    status, printed = results["certify"]
    assert (status, printed.count("\n")) == (2, 1)
    assert "cannot be certified" in printed or "needs exact" in printed


def test_the_package_stays_small():
    lines = [line for path in (PACKAGE / "src").rglob("*.py") for line in path.read_text().splitlines() if line.strip()]
    assert len(lines) <= 150
