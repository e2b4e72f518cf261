"""Cost of building a model: mlsched's, a hand-written CP-SAT model, and PyJobShop's.

    python measurements/taskgraph_build.py [--pyjobshop-python PYTHON]

P|prec|Cmax (8 machines) and RCPSP (4 resources) with so many random tasks. Ours starts from the instance and includes
the combinatorial bounds. PyJobShop runs in an environment of its own (it pins another OR-Tools).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _calibration import cpu_seconds, load

PYJOBSHOP = """
import json, sys, time
from pyjobshop import Model
from pyjobshop.solvers.ortools.CPModel import CPModel
data = json.load(open(sys.argv[1]))
best = float("inf")
for _ in range(3):
    started = time.process_time()
    model = Model()
    resources = [model.add_renewable(capacity=c) for c in data["capacity"]]
    job = model.add_job()
    tasks = [model.add_task(job=job) for _ in data["duration"]]
    for task, p, q in zip(tasks, data["duration"], data["demand"]):
        model.add_mode(task, resources, p, q)
    for u, v in data["edges"]:
        model.add_end_before_start(tasks[u], tasks[v])
    CPModel(model.data())
    best = min(best, time.process_time() - started)
print(best)
"""


def draw(tasks: int, kind: str) -> dict[str, Any]:
    """A random instance as plain lists."""
    rng = np.random.default_rng(tasks)
    edges = sorted({(int(rng.integers(max(0, v - 40), v)), v) for v in range(1, tasks) for _ in range(2)})
    capacity = [8] if kind == "stg" else [20, 20, 20, 20]
    demand = np.ones((tasks, 1), dtype=int) if kind == "stg" else rng.integers(0, 8, size=(tasks, 4))
    return {
        "capacity": capacity,
        "duration": rng.integers(1, 20, size=tasks).tolist(),
        "demand": demand.tolist(),
        "edges": edges,
    }


def instance_of(data: dict[str, Any], kind: str) -> Any:
    from mlsched.core.fields import UNLIMITED
    from mlsched.instances.taskgraph import Instance

    tasks = len(data["duration"])
    pairs = np.array(data["edges"], dtype=np.int64)
    none, one, zero = np.zeros(len(pairs), dtype=np.int64), np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    nodes = np.ones((8, 1), dtype=np.int64) if kind == "stg" else np.array([data["capacity"]])
    return Instance(
        resources=tuple(f"r{r}" for r in range(nodes.shape[1])),
        node_capacity=nodes,
        arrival=zero,
        deadline=zero + UNLIMITED,
        urgency=zero,
        required=zero,
        min_iterations=one,
        max_iterations=one,
        accuracy=np.zeros((1, 2), dtype=np.int64),
        task_job=np.zeros(tasks, dtype=np.int64),
        duration=np.array(data["duration"]),
        demand=np.array(data["demand"]),
        eligible=np.ones((tasks, len(nodes)), dtype=np.int64),
        parameters=np.zeros(tasks, dtype=np.int64),
        edge_from=pairs[:, 0],
        edge_to=pairs[:, 1],
        edge_lag=none,
        edge_volume=none,
        edge_delay=none,
    )


def by_hand(data: dict[str, Any]) -> Any:
    """What one would write for this very problem."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    horizon = sum(data["duration"])
    starts = [model.new_int_var(0, horizon - p, f"s{k}") for k, p in enumerate(data["duration"])]
    ends = [s + p for s, p in zip(starts, data["duration"], strict=True)]
    intervals = [
        model.new_fixed_size_interval_var(s, p, f"i{k}")
        for k, (s, p) in enumerate(zip(starts, data["duration"], strict=True))
    ]
    last = model.new_int_var(0, horizon, "makespan")
    for u, v in data["edges"]:
        model.add(starts[v] >= ends[u])
    for r, room in enumerate(data["capacity"]):
        used = [(i, q[r]) for i, q in zip(intervals, data["demand"], strict=True) if q[r]]
        model.add_cumulative([i for i, _ in used], [q for _, q in used], room)
        model.add(room * last >= sum(q[r] * p for q, p in zip(data["demand"], data["duration"], strict=True)))
    for end in ends:
        model.add(last >= end)
    model.minimize(last)
    return model


def pyjobshop(python: str, data: dict[str, Any]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        script, given = Path(folder) / "run.py", Path(folder) / "data.json"
        script.write_text(PYJOBSHOP)
        given.write_text(json.dumps(data))
        done = subprocess.run([python, str(script), str(given)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"pyjobshop failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=3000)
    parser.add_argument("--pyjobshop-python", default=None, help="a Python that has pyjobshop")
    given = parser.parse_args()
    from mlsched.solvers.taskgraph.cp_sat import build

    print(f"calibration load: {cpu_seconds(load):.3f} CPU s")
    for kind in ("stg", "rcpsp"):
        data = draw(given.tasks, kind)
        instance = instance_of(data, kind)
        ours = cpu_seconds(lambda instance=instance: build(instance, objectives=("makespan",)))
        hand = cpu_seconds(lambda data=data: by_hand(data))
        line = f"{kind}, {given.tasks} tasks: ours {ours:.3f} CPU s, by hand {hand:.3f}: {ours / hand:.2f}x"
        if given.pyjobshop_python:
            theirs = pyjobshop(given.pyjobshop_python, data)
            line += f"; PyJobShop {theirs:.3f}: {theirs / ours:.1f} times ours"
        print(line, flush=True)


if __name__ == "__main__":
    main()
