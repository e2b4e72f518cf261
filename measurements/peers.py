"""Published scheduling instances by `mlsched.solve` and by PyJobShop: proven optima and CPU seconds.

    python measurements/peers.py --pyjobshop-python PYTHON [--limit SECONDS] [--every N] [--json]

PyJobShop runs in an interpreter of its own (`python -m venv V; V/bin/pip install pyjobshop`), on CP-SAT, which mlsched
uses too. Asked for is the makespan of job shops, of resource-constrained projects (PSPLIB j30) and of Standard Task
Graphs on identical processors, from $MLSCHED_DATA (default `../shared`); both have one thread, their defaults and the
same limit of wall seconds. PyJobShop is given a renewable resource for each machine, for each resource of a project, or
for all processors together. CPU seconds are those of the solve alone: files are read before, and PyJobShop's model of
Python objects is made before. A proof that contradicts the published optimum is an error.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import mlsched
from mlsched.core.clock import cpu_time

HEADER = ["instances", "number", "proved by mlsched", "CPU s", "proved by PyJobShop", "CPU s"]


def cases(root: Path) -> dict[str, list[tuple[Path, dict[str, int], int]]]:
    """Family -> (file, options of its reader, published optimal makespan)."""
    shop = [(root / "jsp" / r["file"], {}, int(r["optimal_makespan"])) for r in rows(root / "jsp/optima.csv")]
    best = {r["problem"]: int(r["optimum"]) for r in rows(root / "psplib_j30/optimum.csv")}
    projects = [(path, {}, best[path.name]) for path in sorted((root / "psplib_j30").glob("*.sm"))]
    graphs = [
        (root / "stg" / r["file"], {"processors": int(r["processors"])}, int(r["optimal_makespan"]))
        for r in rows(root / "stg/optima.csv")
    ]
    return {"job shops": shop, "PSPLIB j30": projects, "Standard Task Graphs": graphs}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def question(instance: Any, limit: float) -> dict[str, Any]:
    """The instance as PyJobShop is told it: tasks with demands of renewable resources, and who precedes whom."""
    capacity, eligible = instance.node_capacity, instance.eligible
    if (eligible.sum(axis=1) == 1).all():  # one node a task: every resource of every node apart
        node = eligible.argmax(axis=1)
        demand = np.zeros((len(node), *capacity.shape), dtype=int)
        demand[np.arange(len(node)), node] = instance.demand
        demand, capacity = demand.reshape(len(node), -1), capacity.reshape(-1)
    else:  # identical processors: together they run so many tasks at a time
        assert (eligible == 1).all()
        assert (capacity == capacity[0]).all()
        assert ((instance.demand == capacity[0]) | (instance.duration[:, None] == 0)).all()
        demand, capacity = instance.demand // capacity[0], np.array([len(capacity)])
    tasks = [[int(d), row.tolist()] for d, row in zip(instance.duration, demand, strict=True)]
    edges = np.stack([instance.edge_from, instance.edge_to], axis=1).tolist()
    return {"capacity": capacity.tolist(), "tasks": tasks, "precedence": edges, "limit": limit}


def both(path: Path, options: dict[str, int], optimum: int, given: argparse.Namespace) -> list[tuple[bool, float]]:
    """(proved, CPU seconds) of mlsched and of PyJobShop."""
    instance = mlsched.load(path, **options)
    started = cpu_time()
    ours = mlsched.solve(instance, "cp-sat", objective="makespan", threads=1, time_limit=given.limit)
    seconds = cpu_time() - started
    script = Path(__file__).with_name("_pyjobshop_run.py")
    asked = json.dumps(question(instance, given.limit))
    command = [given.pyjobshop_python, str(script)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.splitlines()[-1])
    print(f"{path.name}: {ours.status} {seconds:.2f}, {theirs}", file=sys.stderr, flush=True)
    proved = ours.status == "optimal"
    assert not proved or ours.sort_key == optimum, (
        f"{path.name}: mlsched proves {ours.sort_key}, published is {optimum}"
    )
    assert not theirs["optimal"] or theirs["value"] == optimum, f"{path.name}: {theirs}, published is {optimum}"
    return [(proved, seconds), (theirs["optimal"], theirs["cpu"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyjobshop-python", required=True, help="interpreter that has PyJobShop")
    parser.add_argument("--limit", type=float, default=60, help="wall seconds per solve")
    parser.add_argument("--every", type=int, default=1, help="one of so many instances of a family")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    given = parser.parse_args()
    root = Path(os.environ.get("MLSCHED_DATA", Path(__file__).resolve().parents[2] / "shared")) / "known_optima"
    table = []
    for family, found in cases(root).items():
        chosen = found[:: given.every]
        answers = [both(*case, given) for case in chosen]
        line = [family, f"{len(chosen)}"]
        for side in zip(*answers, strict=True):
            line += [f"{sum(proved for proved, _ in side)}", f"{sum(cpu for _, cpu in side):.1f}"]
        table.append(line)
        print("  ".join(line), file=sys.stderr, flush=True)
    if given.json:
        print(json.dumps({"kind": "peers", "tables": [{"name": "published", "header": HEADER, "rows": table}]}))


if __name__ == "__main__":
    main()
