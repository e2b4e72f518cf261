"""Rounds on GPU types: cost of the programs, loss by rounding, and gaps of Gavel's policies to the bound.

    python measurements/rounds.py speeds [--jobs N] [--repeat N]
    python measurements/rounds.py rounding [--seeds N]
    python measurements/rounds.py bounds                    Gavel's traces and prints (needs MLSCHED_DATA)

Prints one JSON document. Times are CPU seconds of one call, the smallest of --repeat.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mlsched
from mlsched_rounds.heuristics.shares import POLICIES
from mlsched_rounds.instances.goodput import kept, usual
from mlsched_rounds.instances.tables import without_rates
from mlsched_rounds.simulation.files import read_jobs
from mlsched_rounds.simulation.mechanism import play
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.solvers import fluid
from mlsched_rounds.solvers.allox import allox
from mlsched_rounds.solvers.finish_time import Progress, finish_time_fairness
from mlsched_rounds.solvers.max_min import max_min, water_filling
from mlsched_rounds.solvers.relaxation import fractional
from mlsched_rounds.solvers.shares import Rates
from mlsched_rounds.solvers.shockwave import Jobs, Window, shockwave
from mlsched_rounds.solvers.sia import sia
from mlsched_rounds.solvers.total_duration import bisected_total_duration, min_total_duration
from mlsched_rounds.solvers.total_throughput import max_sum

#: Intervals of the bound, to 1.3 times the makespan's bound.
INTERVALS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speeds", "rounding", "bounds"))
    parser.add_argument("--jobs", type=int, default=900)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5)
    a = parser.parse_args()
    found = {"speeds": lambda: speeds(a.jobs, a.repeat), "rounding": lambda: rounding(a.seeds), "bounds": bounds}
    print(json.dumps(found[a.what](), indent=1))


# --- what a call costs -----------------------------------------------------------------------------------------------


def speeds(jobs: int, repeat: int) -> dict[str, Any]:
    """CPU seconds of each program: a cluster of 3 x 36 GPUs, and 1,024 for Sia."""
    rng = np.random.default_rng(0)
    rate = rng.lognormal(2, 1.5, (jobs, 1)) * np.array([1.0, 3.0, 8.0]) * rng.lognormal(0, 0.3, (jobs, 3))
    rates = Rates(rate, rng.choice([1, 2, 4, 8], jobs, p=[0.7, 0.1, 0.15, 0.05]), np.array([36, 36, 36]))
    plenty = Rates(rate, rates.gpus, np.array([600, 600, 600]))
    steps = rng.lognormal(10, 1.5, jobs)
    progress = Progress(steps, rng.uniform(0, 3e4, jobs), rng.uniform(0, 2e4, jobs))
    options = usual(np.array([512, 256, 256]), np.array([8, 8, 8]))
    goodput = rng.lognormal(2, 1, (jobs, 1)) * np.array([1.0, 2.0, 4.0])[options.type]
    goodput = goodput * options.gpus ** rng.uniform(0.3, 0.95, (jobs, 1)) * (options.gpus <= 64)
    current = np.where(rng.random(jobs) < 0.5, rng.integers(0, 10, jobs), -1)
    keeps = kept(rng.uniform(0, 2e4, jobs), rng.integers(0, 5, jobs), rng.uniform(10, 100, jobs))
    epochs, epoch = rng.integers(5, 100, jobs).astype(float), rng.uniform(20, 600, jobs)
    done = np.floor(epochs * rng.random(jobs))
    planned = Jobs(
        rng.choice([1, 2, 4, 8], jobs, p=[0.6, 0.3, 0.09, 0.01]), epochs, done, epoch, (epochs - done) * epoch,
        rng.uniform(0, 2e4, jobs), epochs * epoch * rng.uniform(1, 6, jobs),
    )  # fmt: skip
    calls: dict[str, Callable[[], Any]] = {
        "max-min": lambda: max_min(rates),
        "water filling, one level": lambda: water_filling(rates),
        "water filling, as many levels as jobs": lambda: water_filling(plenty),
        "finish-time fairness": lambda: finish_time_fairness(rates, progress),
        "least total duration": lambda: min_total_duration(rates, steps),
        "least total duration, as Gavel bisects": lambda: bisected_total_duration(rates, steps),
        "largest total throughput": lambda: max_sum(rates),
        "fluid shares, 30 intervals": lambda: fluid.fluid_shares(rates, steps, fluid.grid(0, 1e6, 30, first=1920.0)),
        "AlloX": lambda: allox(1e4 / rates.rate, rates.capacity),
        "Sia, 1,024 GPUs": lambda: sia(goodput, options, current, keeps),
        "Shockwave, 32 GPUs": lambda: shockwave(Window(gpus=32), planned),
        "Shockwave, 256 GPUs": lambda: shockwave(Window(gpus=256), planned),
    }
    for name in ("large", "sia"):
        instance = mlsched.generate("rounds", name, seed=0, jobs=jobs)
        for objective in [o.name for o in instance.objectives]:
            calls[f"integral round, {name}, {objective}"] = lambda i=instance, o=objective: _proved(i, o)
    rows = [{"name": name, "cpu_s": min(_cpu(call) for _ in range(repeat))} for name, call in calls.items()]
    return {"jobs": jobs, "rows": rows, "largest_cpu_s": max(row["cpu_s"] for row in rows)}


def _cpu(call: Callable[[], Any]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def _proved(instance: Any, objective: str) -> int:
    found = mlsched.solve(instance, "highs", objective=objective)
    assert found.status == "optimal"
    return int(found.sort_key)


# --- what rounding loses ---------------------------------------------------------------------------------------------


def rounding(seeds: int) -> dict[str, Any]:
    """Per preset and objective, in % of the optimum: what the fractional optimum is better by, and rules worse."""
    rows = []
    for preset in ("gavel", "adaptive", "pausing"):
        drawn = [mlsched.generate("rounds", preset, seed=seed) for seed in range(seeds)]
        for objective in drawn[0].objectives:
            losses = [_losses(instance, objective) for instance in drawn]
            means = {key: statistics.fmean(loss[key] for loss in losses) for key in losses[0]}
            rows.append({"name": f"{preset}, {objective.name}", "preset": preset, "objective": objective.name} | means)
    return {"seeds": seeds, "rows": rows}


def _losses(instance: Any, objective: Any) -> dict[str, float]:
    name, sign = objective.name, 1 if objective.sense == "min" else -1
    best = _proved(instance, name)
    base = max(1, abs(best))
    found = {"fractional": 100 * sign * (best - fractional(instance, name).value) / base}
    for rule in (f"lp-rounding:by={name}", "worst-served", "cheapest", "fifo"):
        label = rule.partition(":")[0]
        found[label] = 100 * sign * (mlsched.solve(instance, rule, objective=name).sort_key - best) / base
    blind = mlsched.solve(without_rates(instance), "highs", objective=name).plan
    found["optimal without rates"] = 100 * sign * (instance.evaluate(blind)[name] - best) / base
    return found


# --- Gavel's policies and the bound ----------------------------------------------------------------------------------


def bounds() -> dict[str, Any]:
    """Of each trace the bounds, how far what Gavel prints is above them, and the bound's own program as a policy."""
    data = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data" / "gavel"
    printed = json.loads((data / "reference/gavel_reference.json").read_text())
    runs = [run for run in printed["runs"] if run["rc"] == 0]
    single = {f"{name}.trace": whole.split(",")[0] for name, whole in printed["traces"].items()}
    rows, below = [], True
    with tempfile.TemporaryDirectory() as folder:
        for trace, cluster in sorted({(run["trace"], run["cluster"]) for run in runs}):
            file = _extracted(data, single.get(trace, trace), Path(folder))
            table = data / "simulation_throughputs.json.gz"
            workload = read_jobs(file, throughputs=table, cluster=cluster, gpus=1 if trace in single else 0)
            row = {"name": f"{trace.removesuffix('.trace')} {cluster}"} | _bounded(workload)
            of_trace = [run for run in runs if (run["trace"], run["cluster"]) == (trace, cluster)]
            complete = [run for run in of_trace if None not in run["jct"]]
            means, ends = row["mean_jct_bound"], row["makespan_bound"]
            row["gaps"] = {run["policy"]: 100 * (run["avg_jct"] / means - 1) for run in complete}
            row["makespan_gaps"] = {run["policy"]: 100 * (run["makespan"] / ends - 1) for run in complete}
            below &= min([*row["gaps"].values(), *row["makespan_gaps"].values()], default=0) >= 0
            best = min(run["avg_jct"] for run in complete)
            row["fluid_better_than_best"] = 100 * (1 - row["fluid_mean_jct"] / best)
            below &= row["fluid_mean_jct"] >= means and row["fluid_makespan"] >= ends
            rows.append(row)
    return {"runs": len(runs), "bound_below_every_run": below, "rows": rows}


def _extracted(data: Path, name: str, folder: Path) -> Path:
    if not (folder / name).exists():
        with tarfile.open(data / "physical_cluster_traces.tar.gz") as archive:
            archive.extract(next(m for m in archive if m.name.endswith(name)), folder, filter="data")
    return folder / name


def _bounded(workload: Any) -> dict[str, float]:
    """Both bounds, and what `fluid_mpc` reaches in Gavel's world, seconds."""
    rates = Rates(np.asarray(workload.rates, dtype=float), workload.gpus, workload.capacity)
    steps, release = workload.steps.astype(float), workload.submit / 1e6
    release = release - release.min()
    started = time.process_time()
    end = fluid.makespan_bound(rates, steps, release)
    total = fluid.total_jct_bound(rates, steps, release, fluid.grid(0, 1.3 * end, INTERVALS))
    bounded = time.process_time()
    rounds = play(workload, POLICIES["fluid_mpc"], Options()).rounds
    played = time.process_time()
    jct = [rounds.ended[job] - arrival for job, arrival in enumerate(rounds.arrival)]
    return {
        "jobs": len(steps),
        "mean_jct_bound": total / len(steps),
        "makespan_bound": end,
        "bound_cpu_s": bounded - started,
        "fluid_mean_jct": statistics.fmean(jct),
        "fluid_makespan": rounds.now - min(rounds.arrival),
        "fluid_gap": 100 * (statistics.fmean(jct) * len(steps) / total - 1),
        "fluid_cpu_s": played - bounded,
    }


if __name__ == "__main__":
    main()
