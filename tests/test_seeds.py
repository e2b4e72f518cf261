"""The same seed gives the same instances, plans, fronts and runs in every process, however it hashes strings."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from draws import THOROUGH

#: Prints what every answerer says, by problem; and one run and one front each.
CODE = """
import json, sys, warnings
import mlsched
from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry
warnings.simplefilter("ignore")
problem, source, every = sys.argv[1], sys.argv[2], sys.argv[3] == "every"
instance = mlsched.generate(problem, "small", seed=5)
found = {"instance": instance.hash}
kept = {"cp-sat", "highs", "dp"}
for answerer in registry().available(problem):
    if answerer.kind != "heuristic" and answerer.name not in kept and not every:
        continue
    try:
        answer = mlsched.solve(instance, answerer.name, seed=7, work_limit=1.0 if answerer.rule is None else None)
        found[answerer.name] = [answer.plan.to_json() if answer.plan else None, answer.value, answer.bound, answer.work]
    except MlschedError as error:
        found[answerer.name] = str(error)
run = mlsched.simulate(mlsched.workload(source, problem), sys.argv[4], seed=7)
found["run"] = run.log.to_json()
print(json.dumps(found, sort_keys=True))
"""
RUNS = {
    "preemption": ("synthetic:z:jobs=60,nodes=4", "rand"),
    "quality": ("synthetic:table1:jobs=8", "slaq"),
    "workers": ("synthetic:chic:jobs=12", "uniform-random"),
    "placement": ("synthetic:uniform:jobs=10", "load-balancing"),
    "taskgraph": ("synthetic:gangs:jobs=20", "tiresias"),
}


def asked(problem: str) -> list[str]:
    source, rule = RUNS[problem]
    return [problem, source, "every" if THOROUGH else "some", rule]


def said_elsewhere(problem: str) -> dict[str, object]:
    """What a process says that hashes strings otherwise than this one."""
    hashes = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", CODE, *asked(problem)],
        env={**os.environ, "PYTHONHASHSEED": hashes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("problem", RUNS if THOROUGH else ["preemption", "taskgraph"])
def test_the_same_seed_says_the_same_in_another_process(problem, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["-c", *asked(problem)])
    exec(CODE, {})
    here = json.loads(capsys.readouterr().out)
    assert len(here) > 5
    assert here == said_elsewhere(problem)
