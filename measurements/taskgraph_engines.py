"""Differences between the two engines of task graphs if nodes are shared and jobs queue.

    python measurements/taskgraph_engines.py [--seeds N] [--jobs N] [--rules RULE ...]

Workloads of `synthetic:mlfs`, task by task and by iterations, the tasks of a job placed one by one as in the first or
as a gang. Prints one JSON document with one table: of each rule, how many jobs end at the same time, and by how much
longer jobs take by iterations: the mean over all jobs, and the 10th and 90th percentile of single jobs. Every run
passes its replay check, or the script ends.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

import mlsched
from mlsched.core.gap import format_percentage
from mlsched.simulation.taskgraph.iterations import from_tasks

RULES = (*(f"{rule}:nodes=least-work" for rule in ("best-effort-fifo", "srpt", "graphene", "tiresias")), "mlf-h")


def completions(load: Any, rule: str) -> tuple[Any, Any]:
    """When jobs end and how long they took, in order of arrival."""
    run = mlsched.simulate(load, rule)
    if wrong := run.violations():
        raise SystemExit(f"{rule} on {load.source}: the replay check fails: {wrong[0]}")
    order = np.argsort(run.jobs["arrival"], kind="stable")
    return run.jobs["completion"][order], run.jobs["jct"][order]


def row(rule: str, jobs: int, seeds: int, gang: bool) -> list[str]:
    same, total, shorter, longer, changes = 0, 0, 0, 0, []
    for seed in range(seeds):
        load = mlsched.workload("synthetic:mlfs", "taskgraph", seed=seed, jobs=jobs)
        ends, took = completions(load, rule)
        others, longs = completions(from_tasks(load, gang=gang), rule)
        same, total = same + int((ends == others).sum()), total + len(ends)
        shorter, longer = shorter + int(took.sum()), longer + int(longs.sum())
        changes += (longs / took - 1).tolist()
    low, high = (float(bound) for bound in np.percentile(changes, (10, 90)))
    placed = "as a gang" if gang else "one by one"
    cells = [format_percentage(longer / shorter - 1), format_percentage(low), format_percentage(high)]
    return [rule, placed, f"{same}/{total}", *cells]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--rules", nargs="*", default=RULES)
    given = parser.parse_args()
    rows = [row(rule, given.jobs, given.seeds, gang) for rule in given.rules for gang in (False, True)]
    header = ["rule", "tasks of a job are placed", "jobs that end at the same time", "mean JCT", "p10", "p90"]
    print(json.dumps({"tables": [{"name": "engines", "header": header, "rows": rows}]}))


if __name__ == "__main__":
    main()
