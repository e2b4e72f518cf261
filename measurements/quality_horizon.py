"""Max-min and SLAQ's sum objective on the sum's own measures: rules and proven optima of complete runs.

    python measurements/quality_horizon.py [--cases N] [--brute N] [--workloads N]

Prints one JSON document. `agreement`: cases on which dynamic programming over epochs and enumeration were asked, and
disagreements. `proofs`: optima proven of the runs of two presets, and CPU seconds of one. A table per preset: by how
many percent the sum over all runs is above the sum of the optima (of the bounds, where a search was given up). Rows:
what is decided in each epoch (Algorithm 1; the same sum, exactly; max-min; equal shares), and what the decision sees:
the true curves or those fitted to the losses reported so far, with gains in the unit of Section 4.1 (change) or in that
of the losses that are summed (range). `cluster`: the same on the simulated cluster (80 jobs, 320 cores, load 1), where
no optimum is known: percent above what the paper's Algorithm 1 comes to, means over workloads.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
from _ratios import above, mean, row

import mlsched
from mlsched.core.errors import TooLarge
from mlsched.instances.quality import Horizon, Instance

PRESETS = ("epochs", "epochs-noisy")
#: States after which a search is given up; its bound is then what rules are held against.
MOST_STATES = 100_000
NAMES = ("total_loss", "total_worst_loss", "total_time_to_goal")
SHOWN = ("summed loss", "worst loss", "time to 90 %")


def exact_sum(instance: Instance, *, rng: np.random.Generator) -> Any:
    """The largest reduction of the summed loss in the coming epoch."""
    return mlsched.solve(instance, "dp", objective="total_loss_reduction").plan


exact_sum.called = "online"  # type: ignore[attr-defined]
#: Label -> rule, information, unit of the gains.
ROWS: dict[str, tuple[Any, str, str]] = {
    "sum, exactly; true curves, range": (exact_sum, "oracle", "range"),
    "sum, exactly; true curves": (exact_sum, "oracle", "change"),
    "Algorithm 1; true curves, range": ("slaq", "oracle", "range"),
    "Algorithm 1; true curves": ("slaq", "oracle", "change"),
    "Algorithm 1; fitted curves, range": ("slaq", "observed", "range"),
    "Algorithm 1; fitted curves (the paper's)": ("slaq", "observed", "change"),
    "max-min; true curves": ("slaq-max-min", "oracle", "change"),
    "max-min; fitted curves": ("slaq-max-min", "observed", "change"),
    "fair": ("fair", "observed", "change"),
}


#: Rows of `cluster`. `envelope-greedy` is within 0.6 % of the exact sum of an epoch (docs/results/quality.md).
CLUSTER: dict[str, tuple[str, str, str]] = {
    "Algorithm 1; fitted curves (the paper's)": ("slaq", "observed", "change"),
    "Algorithm 1; true curves, range": ("slaq", "oracle", "range"),
    "sum, envelope greedy; fitted curves": ("envelope-greedy", "observed", "change"),
    "sum, envelope greedy; true curves, range": ("envelope-greedy", "oracle", "range"),
    "max-min; fitted curves": ("slaq-max-min", "observed", "change"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100, help="runs of each preset")
    parser.add_argument("--brute", type=int, default=150, help="small runs on which enumeration is asked as well")
    parser.add_argument("--workloads", type=int, default=30, help="workloads of the simulated cluster")
    a = parser.parse_args()
    document: dict[str, Any] = {"agreement": agreement(a.brute), "proofs": [], "tables": []}
    for preset in PRESETS:
        horizons = [mlsched.generate("quality", preset, seed=seed) for seed in range(a.cases)]
        started = time.process_time()
        found = [[optimum(h, name) for name in NAMES] for h in horizons]
        seconds = time.process_time() - started
        best = np.array([[value for value, _ in each] for each in found], dtype=float)
        proven = sum(proof for each in found for _, proof in each)
        document["proofs"].append(
            {
                "name": preset,
                "runs": len(horizons),
                "optima": best.size,
                "proven": proven,
                "seconds": seconds / best.size,
            }
        )
        document["tables"].append(gaps(preset, horizons, best))
    document["tables"].append(cluster(a.workloads))
    print(json.dumps(document, indent=1))


def optimum(horizon: Horizon, objective: str) -> tuple[int, bool]:
    """The proven optimum and True; or, after so many states, the proven bound and False."""
    found = mlsched.solve(horizon, "epoch-dp", objective=objective, work_limit=MOST_STATES)
    return int(found.sort_bound), found.status == "optimal"


def agreement(cases: int) -> dict[str, int]:
    """Dynamic programming against enumeration by the judge, all objectives; and how often SLAQ is not optimal there."""
    found = {"cases": 0, "optima": 0, "too_large": 0, "slaq_not_optimal": 0, "disagreements": 0}
    for seed in range(cases):
        horizon = mlsched.generate(
            "quality", "epochs-small", seed=seed, jobs=3, length=4.0, gap=0.3, noise=0.3, iterations=5
        )
        rule = mlsched.solve(horizon, "slaq").sort_keys
        found["cases"] += 1
        for name in NAMES:
            try:
                brute = mlsched.solve(horizon, "every-epoch", objective=name)
            except TooLarge:
                found["too_large"] += 1
                continue
            program = mlsched.solve(horizon, "epoch-dp", objective=name)
            found["optima"] += 1
            found["slaq_not_optimal"] += rule[name] > brute.sort_key
            found["disagreements"] += not program.sort_key == program.sort_bound == brute.sort_key
    return found


def gaps(preset: str, horizons: list[Horizon], best: Any) -> dict[str, Any]:
    """Every row above the optima, percent."""
    rows = []
    for label, (rule, information, normalise) in ROWS.items():
        seen = [h.replace(information=information, normalise=normalise) for h in horizons]
        values = [mlsched.solve(h, rule).sort_keys for h in seen]
        rows.append(row(label, [above([v[n] for v in values], best[:, c]) for c, n in enumerate(NAMES)]))
    return {"name": f"gaps, {preset}", "header": [f"above the optimum, {preset} [%]", *SHOWN], "rows": rows}


def cluster(workloads: int) -> dict[str, Any]:
    """The rows of `CLUSTER` above the first, percent, on workloads of the simulated cluster."""
    figures: dict[str, list[list[float]]] = {label: [] for label in CLUSTER}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # at load 1 half of the workloads are above it, by chance
        for seed in range(workloads):
            work = mlsched.workload("synthetic:table1", "quality", jobs=80, cores=320, load=1.0, seed=seed)
            for label, (rule, information, normalise) in CLUSTER.items():
                given = {"information": information, "normalise": normalise}
                run = mlsched.simulate(work, rule, options=given)
                summary, jobs = run.summary(), run.jobs
                found = [summary["summed_loss"], summary["average_loss"], float(np.mean(jobs["time_to_90_s"]))]
                figures[label].append(found)
    first = np.array(next(iter(figures.values())))
    rows = []
    for label, found in list(figures.items())[1:]:
        ratios = 100 * (np.array(found) / first - 1)
        rows.append(row(label, [mean(ratios[:, c]) for c in range(ratios.shape[1])]))
    header = ["above Algorithm 1 with fitted curves [%]", "summed loss", "average loss", "time to 90 %"]
    return {"name": "cluster", "header": header, "rows": rows}


if __name__ == "__main__":
    main()
