"""Harmony's trained policy beside itself before training, rules and exact placement, on workloads not seen in training.

    python measurements/harmony_seeds.py [--workloads 10] [--jobs 60] [--weights DIR]

DIR holds harmony-SEED.safetensors files as `mlsched train harmony` writes them; without it, the weights that come with
mlsched are measured. Six servers of the paper's testbed, arrivals evenly over time, pairwise interference. Prints one
JSON document with a table: the average completion time in intervals; by how many percent it is above (below: negative)
that of random placement, of itself before training (the same network as it was initialised), of LIF by the increase
(the strongest reading of the paper's baselines), and of exact placement at every interval within a deterministic limit,
on the same workload; and the CPU time of a decision.
Intervals: 95 %, Student's t over workloads; the row of several training seeds has its interval over seeds. Every run
passes its replay check.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import mlsched
from mlsched.benchmark.experiments.harmony.grid import FULL
from mlsched.benchmark.experiments.harmony.measure import Exact
from mlsched.learned.training import recipe
from mlsched.learned.weights import Weights, of, read, write

RANDOM, LIF, EXACT, ITSELF = "uniform-random", "lif-linear:score=increase", "exact", "itself"
RULES = ("load-balancing", "tetris", "bin-packing", "standalone", "lif-linear", LIF, "harmony-plus", EXACT)
#: Seed of the first workload; trainings draw theirs from other ranges.
FIRST = 5000


def runs(policy: str, loads: list[Any]) -> Any:
    """Average completion time of each run, in intervals, and CPU milliseconds a decision."""
    started, found = time.process_time(), []
    for seed, load in enumerate(loads):
        run = mlsched.simulate(load, Exact("cp-sat", FULL.work) if policy == EXACT else policy, seed=seed)
        if wrong := run.violations():
            raise SystemExit(f"{policy}: {wrong[0]}")
        found.append((float(run.summary()["average_completion"]), 1000 * run.cpu_seconds / max(1, run.decisions)))
    print(f"{policy}: {time.process_time() - started:.0f} CPU s", file=sys.stderr, flush=True)
    return np.array(found).T


def untrained(weights: Weights, folder: Path) -> Path:
    """A file with the network that a training with the same seed began with."""
    found, seed = recipe("harmony"), weights.card["seed"]
    params = found.resolve({**weights.card["recipe"], "validation": 1, "jobs": 1, "live": 0})
    path = folder / f"harmony-{seed}-untrained.safetensors"
    write(path, Weights(found.learner(params, seed, "cpu").weights(), weights.card))
    return path


def interval(values: Any) -> tuple[float, float]:
    """Mean, and half of its 95 % interval."""
    return float(values.mean()), float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--weights", type=Path)
    given = parser.parse_args()
    seeds = range(FIRST, FIRST + given.workloads)
    loads = [mlsched.workload("synthetic:uniform", "placement", jobs=given.jobs, seed=seed) for seed in seeds]
    files = sorted(given.weights.glob("harmony-[0-9].safetensors")) if given.weights else []
    trained = [read(path, "harmony") for path in files] or [of("harmony", "placement")]
    numbers = [weights.card["seed"] for weights in trained]
    calls = [f"harmony:weights={path}" for path in files] or ["harmony"]
    with tempfile.TemporaryDirectory() as folder:
        before = [runs(f"harmony:weights={untrained(weights, Path(folder))}", loads) for weights in trained]
    each = [runs(call, loads) for call in calls]
    found = {RANDOM: runs(RANDOM, loads), "harmony, before training": np.mean(before, axis=0)}
    found |= {f"harmony, seed {seed}": values for seed, values in zip(numbers, each, strict=True)}
    found |= {rule: runs(rule, loads) for rule in RULES}
    others, rows, changes = (RANDOM, ITSELF, LIF, EXACT), [], {}
    selves = {f"harmony, seed {seed}": values for seed, values in zip(numbers, before, strict=True)}

    def against(values: Any, other: str, policy: str) -> Any:
        return 100 * (values[0] / (selves[policy] if other == ITSELF else found[other])[0] - 1)

    for policy, values in found.items():
        able = [other for other in others if other != policy and (other != ITSELF or policy in selves)]
        cells = {other: interval(against(values, other, policy)) for other in able}
        changes[policy] = {other: {"mean": mean, "half": half} for other, (mean, half) in cells.items()}
        shown = [f"{cells[other][0]:.1f} ± {cells[other][1]:.1f}" if other in cells else "" for other in others]
        rows.append([policy, f"{values[0].mean():.2f}", *shown, f"{values[1].mean():.2g}"])
    if len(each) > 1:
        label = f"harmony, {len(each)} training seeds"
        mine = list(zip(each, selves, strict=True))
        cells = {o: interval(np.array([against(values, o, policy).mean() for values, policy in mine])) for o in others}
        changes[label] = {other: {"mean": mean, "half": half} for other, (mean, half) in cells.items()}
        shown = [f"{mean:.1f} ± {half:.1f}" for mean, half in cells.values()]
        rows.append([label, f"{np.mean([v[0] for v in each]):.2f}", *shown, f"{np.mean([v[1] for v in each]):.2g}"])
    header = ["policy", "intervals", "against random, %", "against itself untrained, %"]
    header += ["against LIF by the increase, %", "against exact, %", "CPU ms a decision"]
    table = {"header": header, "rows": rows}
    cards = [
        {"seed": w.card["seed"], "trained": w.card["trained"], "iterations": w.card["iterations"]} for w in trained
    ]
    document = {"workloads": given.workloads, "trainings": cards, "changes": changes, "tables": {"policies": table}}
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
