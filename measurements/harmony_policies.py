"""Harmony's trained policy beside rules, on workloads that no training has seen.

    python measurements/harmony_policies.py [--workloads 10] [--jobs 60] [--policies harmony tetris ...]

Prints one JSON document. Six servers of the paper's testbed, arrivals evenly over time, pairwise interference. Table:
the average completion time in intervals, and by how many percent it is above (below: negative) that of random
placement on the same workload: mean and 95 % interval (Student's t over workloads). Every run passes its replay check.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from scipy import stats

import mlsched

POLICIES = ["uniform-random", "harmony", "load-balancing", "tetris", "bin-packing", "lif-linear", "harmony-plus"]
#: Seed of the first workload; trainings draw theirs from other ranges.
FIRST = 5000


def completion(policy: str, seed: int, jobs: int) -> float:
    """The average completion time of one run, in intervals."""
    run = mlsched.simulate(mlsched.workload("synthetic:uniform", "placement", jobs=jobs, seed=seed), policy)
    if wrong := run.violations():
        raise SystemExit(f"{policy}: {wrong[0]}")
    return float(run.summary()["average_completion"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--policies", nargs="+", default=POLICIES[1:])
    given = parser.parse_args()
    seeds = range(FIRST, FIRST + given.workloads)
    times = {p: np.array([completion(p, s, given.jobs) for s in seeds]) for p in [POLICIES[0], *given.policies]}
    rows: list[list[Any]] = []
    changes = {}
    for policy, found in times.items():
        change = 100 * (found / times[POLICIES[0]] - 1)
        mean, half = float(change.mean()), float(stats.sem(change) * stats.t.ppf(0.975, len(change) - 1))
        changes[policy] = {"mean": mean, "half": half}
        shown = "" if policy == POLICIES[0] else f"{mean:.1f} ± {half:.1f}"
        rows.append([policy, f"{found.mean():.2f}", shown])
    table = {"header": ["policy", "intervals", "against random, %"], "rows": rows}
    print(json.dumps({"workloads": given.workloads, "changes": changes, "tables": {"policies": table}}, indent=1))


if __name__ == "__main__":
    main()
