"""A trained placement policy compared with its untrained network, rules and exact placement on unseen workloads.

    python measurements/harmony_seeds.py [harmony|harmony-plus] [--workloads 10] [--jobs 60] [--weights DIR]

DIR holds POLICY-SEED.safetensors files as `mlsched train POLICY` writes them; without it, the weights that come with
mlsched are measured. Six servers of the paper's testbed, arrivals evenly over time, pairwise interference. Prints one
JSON document with two tables. "curves": the validations of every training, its score before it began as iteration 0.
"policies": the average completion time in intervals, its difference in percent (negative: shorter) to other
policies on the same workload, and the CPU time of a decision. The others are random placement, the network before
training, LIF by the increase (the strongest interpretation of the paper's baselines), and exact placement at every
interval within a deterministic limit.
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
from mlsched.learned.weights import Weights, of, read, write
from mlsched_papers.harmony.grid import FULL
from mlsched_papers.harmony.measure import Exact
from mlsched_training import recipe

RANDOM, LIF, EXACT, ITSELF = "uniform-random", "lif-linear:score=increase", "exact", "itself"
RULES = ("load-balancing", "tetris", "bin-packing", "standalone", "lif-linear", LIF)
OTHERS = (RANDOM, ITSELF, LIF, EXACT)
#: Policy -> parameters of its recipe that the network before training does not depend on, made small.
POLICIES = {"harmony": {"validation": 1, "jobs": 1, "live": 0}, "harmony-plus": {"validation": 1}}
#: Seed of the first workload; trainings draw theirs from other ranges.
FIRST = 5000


def runs(policy: str, loads: list[Any]) -> Any:
    """Average completion time of each run, in intervals, and CPU milliseconds per decision."""
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
    policy, seed = weights.card["policy"], weights.card["seed"]
    found = recipe(policy)
    params = found.resolve({**weights.card["recipe"], **POLICIES[policy]})
    path = folder / f"{policy}-{seed}-untrained.safetensors"
    write(path, Weights(found.learner(params, seed, "cpu").weights(), weights.card))
    return path


def interval(values: Any) -> tuple[float, float]:
    """Mean, and half of its 95 % interval."""
    return float(values.mean()), float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))


def measured(policy: str, count: int, jobs: int, files: list[Path]) -> dict[str, Any]:
    """The document."""
    seeds = range(FIRST, FIRST + count)
    loads = [mlsched.workload("synthetic:uniform", "placement", jobs=jobs, seed=seed) for seed in seeds]
    trained = [read(path, policy) for path in files] or [of(policy, "placement")]
    calls = [f"{policy}:weights={path}" for path in files] or [policy]
    with tempfile.TemporaryDirectory() as folder:
        before = [runs(f"{policy}:weights={untrained(weights, Path(folder))}", loads) for weights in trained]
    each = {f"{policy}, seed {w.card['seed']}": runs(call, loads) for w, call in zip(trained, calls, strict=True)}
    selves = dict(zip(each, before, strict=True))
    found = {RANDOM: runs(RANDOM, loads), f"{policy}, before training": np.mean(before, axis=0), **each}
    found |= {rule: runs(rule, loads) for rule in (*RULES, *(other for other in POLICIES if other != policy), EXACT)}

    def above(label: str, other: str) -> Any:
        """By how many percent on each workload."""
        return 100 * (found[label][0] / (selves[label] if other == ITSELF else found[other])[0] - 1)

    changes, rows = {}, []
    for label, values in found.items():
        able = [other for other in OTHERS if other != label and (other != ITSELF or label in selves)]
        cells = {other: interval(above(label, other)) for other in able}
        changes[label] = cells
        rows.append(row(label, values[0].mean(), cells, values[1].mean()))
    if len(each) > 1:
        label = f"{policy}, {len(each)} training seeds"
        cells = {other: interval(np.array([above(one, other).mean() for one in each])) for other in OTHERS}
        changes[label] = cells
        means = np.mean([values.mean(axis=1) for values in each.values()], axis=0)
        rows.append(row(label, means[0], cells, means[1]))
    header = ["policy", "intervals", "against random, %", "against itself untrained, %"]
    header += ["against LIF by the increase, %", "against exact, %", "CPU ms per decision"]
    kept = {
        name: {o: {"mean": mean, "half": half} for o, (mean, half) in cells.items()} for name, cells in changes.items()
    }
    return {
        "workloads": count,
        "trainings": [{name: w.card[name] for name in ("seed", "trained", "iterations", "scores")} for w in trained],
        "changes": kept,
        "tables": {"policies": {"header": header, "rows": rows}, "curves": curves(trained)},
    }


def row(label: str, completion: float, cells: dict[str, tuple[float, float]], milliseconds: float) -> list[str]:
    """A row of the table."""
    shown = [f"{cells[other][0]:.1f} ± {cells[other][1]:.1f}" if other in cells else "" for other in OTHERS]
    return [label, f"{completion:.2f}", *shown, f"{milliseconds:.2g}"]


def curves(trained: list[Weights]) -> dict[str, Any]:
    """What every training came to at its validations: by iteration, a column per seed."""
    curve = {w.card["seed"]: {e["iteration"]: e["validation"] for e in w.card["curve"]} for w in trained}
    iterations = sorted({iteration for one in curve.values() for iteration in one})
    rows = [["0", *(f"{w.card['scores']['untrained_validation']:.3g}" for w in trained)]]
    rows += [[str(k), *(f"{one[k]:.3g}" if k in one else "" for one in curve.values())] for k in iterations]
    return {"header": ["iteration", *(f"seed {seed}" for seed in curve)], "rows": rows}


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", nargs="?", default="harmony", choices=list(POLICIES))
    parser.add_argument("--workloads", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--weights", type=Path)
    given = parser.parse_args()
    files = sorted(given.weights.glob(f"{given.policy}-[0-9].safetensors")) if given.weights else []
    print(json.dumps(measured(given.policy, given.workloads, given.jobs, files), indent=1))


if __name__ == "__main__":
    main()
