"""The same seed gives the same instances, plans, fronts and runs in every process, however it hashes strings."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys

import pytest
from draws import THOROUGH

#: Prints what every solver says, by problem; and one run each.
CODE = """
import json, sys, warnings
import mlsched
from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry
warnings.simplefilter("ignore")
every, kept, said = sys.argv[1] == "every", {"cp-sat", "highs", "dp"}, {}
for text in sys.argv[2:]:
    problem, source, rule = text.split()
    instance = mlsched.generate(problem, "small", seed=5)
    said[problem] = found = {"instance": instance.hash}
    for solver in registry().available(problem):
        if solver.kind != "heuristic" and solver.name not in kept and not every:
            continue
        try:
            limit = 1.0 if solver.rule is None else None
            answer = mlsched.solve(instance, solver.name, seed=7, work_limit=limit)
            plan = answer.plan.to_json() if answer.plan else None
            found[solver.name] = [plan, answer.value, answer.bound, answer.work]
        except MlschedError as error:
            found[solver.name] = str(error)
    run = mlsched.simulate(mlsched.workload(source, problem), rule, seed=7)
    found["run"] = run.log.to_json()
print(json.dumps(said, sort_keys=True))
"""
RUNS = {
    "preemption": ("synthetic:z:jobs=60,nodes=4", "rand"),
    "quality": ("synthetic:table1:jobs=8", "slaq"),
    "workers": ("synthetic:chic:jobs=12", "uniform-random"),
    "placement": ("synthetic:uniform:jobs=10", "load-balancing"),
    "taskgraph": ("synthetic:gangs:jobs=20", "tiresias"),
}
PROBLEMS = RUNS if THOROUGH else ("preemption", "taskgraph")
ASKED = ["every" if THOROUGH else "some", *(" ".join((problem, *RUNS[problem])) for problem in PROBLEMS)]


@pytest.fixture(scope="module")
def said_elsewhere():
    """What a process says that hashes strings otherwise than this one."""
    hashes = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", CODE, *ASKED],
        env={**os.environ, "PYTHONHASHSEED": hashes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def said_here():
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setattr(sys, "argv", ["-c", *ASKED])
        exec(CODE, {})
    return json.loads(printed.getvalue())


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_same_seed_says_the_same_in_another_process(problem, said_here, said_elsewhere):
    assert len(said_here[problem]) > 5
    assert said_here[problem] == said_elsewhere[problem]
