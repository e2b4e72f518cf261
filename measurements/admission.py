"""Admission: Kueue's decisions against the optimum, and how long a whole cluster takes.

    python measurements/admission.py kueue              verdicts on the answers of Kueue's own code (needs MLSCHED_DATA)
    python measurements/admission.py cluster [--nodes N] [--units N] [--seeds N]

Prints one JSON document. Times are CPU seconds of one call each. "lost" is CPUs times age: Kueue's questions have no
checkpoints, and count CPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from _kueue import questions

import mlsched
from mlsched.instances.admission import Instance
from mlsched.solvers.admission.verdicts import judge_decision


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kueue", "cluster"))
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    a = parser.parse_args()
    print(json.dumps(kueue() if a.what == "kueue" else cluster(a.nodes, a.units, a.seeds), indent=1))


# --- Kueue -----------------------------------------------------------------------------------------------------------


def kueue() -> dict[str, Any]:
    """How Kueue's victims compare with the front of victims and lost work, priorities aside and before all else."""
    asked = questions(Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data")
    same, seconds = 0, []
    for instance, victims in asked:
        started = time.process_time()
        plan = mlsched.solve(instance, "kueue").plan
        seconds.append(time.process_time() - started)
        same += sorted(instance.unit_names[u] for u in np.flatnonzero(plan.evict)) == sorted(victims)
    found: dict[str, Any] = {"questions": len(asked), "same": same, "rule_cpu_s": statistics.median(seconds)}
    found["front"] = against(asked, ())
    found["priority_first"] = against(asked, ("top_priority",))
    return found


def against(asked: list[tuple[Instance, list[str]]], first: tuple[str, ...]) -> dict[str, Any]:
    """Verdicts on Kueue's victims, and the means of what they cost and of what would have done."""
    kinds: Counter[str] = Counter()
    rows, seconds = [], []
    for instance, victims in asked:
        evict = [instance.unit_names.index(name) for name in victims]
        started = time.process_time()
        verdict = judge_decision(instance, evict, jobs=[0], first=first)
        seconds.append(time.process_time() - started)
        kinds[verdict.kind] += 1
        assert verdict.complete
        points = [(p.values["victims"], p.values["lost"]) for p in verdict.front]
        mine = (verdict.values["victims"], verdict.values["lost"])
        fewest = min(points)
        rows.append(
            (
                *mine,
                min((v for v, lost in points if lost <= mine[1]), default=mine[0]),
                min((lost for v, lost in points if v <= mine[0]), default=mine[1]),
                *fewest,
            )
        )
    means = np.mean(rows, axis=0).tolist()
    names = ("victims", "lost", "victims_at_no_more_lost", "lost_at_no_more_victims", "fewest_victims", "their_lost")
    hours = [
        m / 3600 if "lost" in name.replace("no_more_lost", "") else m for name, m in zip(names, means, strict=True)
    ]
    counts = {kind.replace(" ", "_"): count for kind, count in kinds.items()}
    return {"kinds": counts, "verdict_cpu_s": statistics.median(seconds), **dict(zip(names, hours, strict=True))}


# --- a whole cluster -------------------------------------------------------------------------------------------------


def full(nodes: int, units: int, seed: int) -> Instance:
    """Units of 1 to 128 GPUs on nodes of eight; a job of 64 whole nodes waits, and all other nodes are closed."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 4, 8, 16, 32, 64, 128], units, p=[0.15, 0.1, 0.1, 0.25, 0.15, 0.1, 0.1, 0.05])
    free, order, at = np.full(nodes, 8), rng.permutation(nodes), 0
    pods: list[tuple[int, int, int]] = []
    for unit, size in enumerate(sizes.tolist()):
        for part in [8] * (size // 8) + ([size % 8] if size % 8 else []):
            while free[order[at]] < part:
                at += 1
            free[order[at]] -= part
            pods.append((int(order[at]), unit, part))
    node, of, gpus = np.array(pods).T
    return Instance(
        resources=("gpu",),
        node_free=np.where(free < 8, free, 0)[:, None],
        pod_node=node,
        pod_unit=of,
        pod_demand=gpus[:, None],
        unit_group=np.arange(units),
        unit_priority=rng.integers(0, 3, units),
        group_min=np.ones(units, dtype=np.int64),
        job_priority=[5],
        shape_job=[0],
        shape_count=[64],
        shape_demand=[[8]],
        shape_nodes=np.ones((1, nodes), dtype=np.int64),
        may=np.ones((1, units), dtype=np.int64),
        unit_lost=sizes * rng.integers(60, 36000, units),
    )


def cluster(nodes: int, units: int, seeds: int) -> dict[str, Any]:
    """CPU seconds of an optimum and of the front of victims and lost work."""
    rows = []
    for seed in range(seeds):
        instance = full(nodes, units, seed)
        row: dict[str, Any] = {"seed": seed}
        for objective in ("victims", "lost"):
            started = time.process_time()
            best = mlsched.solve(instance, "cp-sat", objective=objective)
            row[f"{objective}_cpu_s"] = time.process_time() - started
            assert best.status == "optimal"
        started = time.process_time()
        front = mlsched.pareto(instance, ("victims", "lost"))
        row |= {"front_cpu_s": time.process_time() - started, "points": len(front.plans), "complete": front.complete}
        rows.append(row)
    largest = {
        name: max(row[name] for row in rows) for name in ("victims_cpu_s", "lost_cpu_s", "front_cpu_s", "points")
    }
    return {"nodes": nodes, "units": units, "largest": largest, "runs": rows}


if __name__ == "__main__":
    main()
