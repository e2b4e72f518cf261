"""Gaps of policies to the lower bound on a trace, and the parts of the bound.

    python measurements/taskgraph_bound.py parts [--trace FILE] [--nodes 50 75 100 309] [--limit N]
    python measurements/taskgraph_bound.py gaps [--limit 2000] [--nodes ...] [--runs fifo ...] [--keep FILE]
    python measurements/taskgraph_bound.py gangs [--limit 2000] [--nodes 50] [--single 1 .25 .05] [--runs ...]

Prints one JSON document. Clusters are so many nodes of 8 GPUs. `parts`: each part of the bound on total completion
time, with the CPU seconds of all. `gaps`: every policy on every cluster. `gangs`: all gangs of the trace and a drawn
share of its jobs of one GPU. The load is GPU-ticks asked over those there until the last arrival. limit: the jobs that
arrive first. keep: a file to which each run goes as it ends, and from which those are taken that are there: for one
limit. Every run passes its replay check.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from _keep import Kept

import mlsched
from mlsched.benchmark.formats import gap
from mlsched.core.clock import cpu_time
from mlsched.simulation.bound import PARTS, lower_bounds, total_jct_parts
from mlsched.simulation.taskgraph.iterations.bound import pieces

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data" / "philly" / "philly.csv.gz"
RULES = ["fifo", "easy-backfill", "srpt", "srpt:size=time,preempt=true", "srpt:preempt=true"]


def workload(given: argparse.Namespace, nodes: int, single: float = 1.0) -> Any:
    """Return the trace's gangs and this share of its jobs of one task, on `nodes` nodes."""
    found = mlsched.workload(given.trace, "taskgraph", simulator="iterations", cluster=f"{nodes}x(8gpu)")
    kept = (gpus(found) > 1) | (np.random.default_rng(0).random(len(found.arrival)) < single)
    kept[given.limit or len(kept) :] = False
    return found.replace(**found.only(np.flatnonzero(kept)))


def gpus(load: Any) -> Any:
    """How many GPUs each job asks for; its first resource counts thousandths of one."""
    return np.bincount(load.task_template, load.demand[:, 0])[load.template] / 1000


def described(load: Any) -> dict[str, Any]:
    """Size, load and share of gangs of a workload."""
    asked = pieces(load)
    there = asked.capacity * max(1, int(np.ptp(load.arrival)))
    return {
        "nodes": len(load.node_capacity),
        "gpus": 8 * len(load.node_capacity),
        "jobs": len(load.arrival),
        "load": float((asked.work.sum(axis=0)[: len(there)] / np.maximum(there, 1)).max()),
        "gangs": float((gpus(load) > 1).mean()),
    }


def of_parts(load: Any) -> dict[str, Any]:
    begun = cpu_time()
    found = total_jct_parts(pieces(load))
    return {**described(load), "parts": found, "cpu_seconds": cpu_time() - begun}


def of_policies(load: Any, labels: list[str], kept: Kept, name: str) -> dict[str, Any]:
    """The gap of every policy to the bound on total completion time."""
    bound = kept.row(f"{name}: bound", lambda: lower_bounds(pieces(load)))
    totals = {label: kept.row(f"{name}: {label}", lambda: total_jct(load, label)) for label in labels}  # noqa: B023
    gaps = {label: total / bound["total_jct"] - 1 for label, total in totals.items()}
    return {**described(load), "bound": bound, "gaps": gaps}


def total_jct(load: Any, label: str) -> int:
    """The total completion time of a policy, whose run is checked."""
    run = mlsched.simulate(load, label)
    if wrong := run.violations():
        raise SystemExit(f"{label}: {wrong[0]}")
    return int(run.summary()["total_jct"])


def table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Parts in million ticks, or gaps; a row per workload."""
    first = ["GPUs", "jobs", "load", "gangs"]
    cells = [[r["gpus"], r["jobs"], f"{r['load']:.2f}", f"{100 * r['gangs']:.0f} %"] for r in rows]
    if "parts" in rows[0]:
        header = [*first, *PARTS, "CPU s"]
        more = [[*(f"{v / 1e6:.2f}" for v in r["parts"].values()), f"{r['cpu_seconds']:.1f}"] for r in rows]
    else:
        header = [*first, *rows[0]["gaps"]]
        more = [[gap(v) for v in r["gaps"].values()] for r in rows]
    return {"header": header, "rows": [a + b for a, b in zip(cells, more, strict=True)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("parts", "gaps", "gangs"))
    parser.add_argument("--trace", default=str(DATA))
    parser.add_argument("--nodes", nargs="*", type=int)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--single", nargs="*", type=float, default=[1, 0.25, 0.05])
    parser.add_argument("--runs", nargs="*", default=RULES)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    kept = Kept(given.keep)
    nodes = given.nodes or ([50] if given.what == "gangs" else [50, 75, 100, 309])
    loads = [(n, s) for n in nodes for s in (given.single if given.what == "gangs" else [1.0])]
    rows = [
        of_parts(load) if given.what == "parts" else of_policies(load, given.runs, kept, name)
        for name, load in ((f"{n} nodes, {s:g} of the jobs of one GPU", workload(given, n, s)) for n, s in loads)
    ]
    print(json.dumps({"limit": given.limit, "rows": rows, "tables": {given.what: table(rows)}}, indent=1))


if __name__ == "__main__":
    main()
