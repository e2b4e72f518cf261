"""Task-graph rules in simulations on a synthetic load and public traces, and against proven optima.

    python measurements/taskgraph_rules.py [--jobs N] [--seeds N]

Prints one JSON document with a table each: `synthetic` (every rule on synthetic:mlfs, seed 0), `traces` (fifo and
tiresias on the first N jobs of Philly, Helios and Alibaba 2023; Tiresias with and without pauses) and `optimum` (gaps
of total_jct to the optimum, rolled out on horizons of six jobs). The traces lie in the folder that MLSCHED_DATA names
(default: ../shared), under data/. Every run passes its replay check, or the script ends.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import mlsched
from mlsched.core.gap import format_amount, format_percentage, sum_up
from mlsched.simulation.taskgraph import Workload

RULES = ("fifo", "best-effort-fifo", "srpt", "fair", "drf", "graphene", "tiresias")
#: Its plans pause runs, which those of the horizons' optima do not.
PREEMPTIVE = "srpt:preempt=true"
TRACES = {
    "Philly": "philly/philly.csv.gz",
    "Helios Venus": "helios/helios_venus_gpu_jobs.csv.gz",
    "Alibaba 2023": "alibaba_gpu_v2023/openb_pod_list_default.csv.gz",
}
PRESETS = ("six-loose", "six-tight", "six-replicas")
FIGURES = {
    "total_jct": "total JCT, ticks",
    "mean_waiting": "mean waiting, ticks",
    "deadlines_met": "deadlines met",
    "traffic": "traffic, MB",
    "makespan": "makespan, ticks",
    "decisions": "rounds",
}


def checked(load: Any, rule: str, **arguments: Any) -> Any:
    run = mlsched.simulate(load, rule, **arguments)
    if wrong := run.violations():
        raise SystemExit(f"{rule} on {load.source}: the replay check fails: {wrong[0]}")
    return run


def synthetic() -> dict[str, Any]:
    load = mlsched.workload("synthetic:mlfs")
    columns = []
    for rule in (*RULES, PREEMPTIVE):
        started = time.process_time()
        summary = checked(load, rule).summary()
        columns.append(
            [format_amount(round(summary[key], 1)) for key in FIGURES] + [f"{time.process_time() - started:.2f}"]
        )
    titles = [*FIGURES.values(), "CPU seconds"]
    return {
        "header": ["", *RULES, PREEMPTIVE],
        "rows": [[t, *cells] for t, cells in zip(titles, zip(*columns, strict=True), strict=True)],
    }


def traces(folder: Path, jobs: int) -> dict[str, Any]:
    rows = []
    for title, file in TRACES.items():
        load = mlsched.workload(folder / file, "taskgraph", simulator="tasks", limit=jobs)
        first = checked(load, "fifo")
        runs = {
            "fifo": first,
            **{rule: checked(load, rule) for rule in ("best-effort-fifo", "srpt", PREEMPTIVE)},
            "tiresias": checked(load, "tiresias", options={"pausing": "none"}),
            "tiresias, runs may pause": checked(load, "tiresias"),
        }
        gpus = int(load.horizon.node_capacity[:, load.horizon.resources.index("gpu_milli")].sum()) // 1000
        for label, run in runs.items():
            summary, moved = run.summary(), int((run.jobs["completion"] != first.jobs["completion"]).sum())
            figures = [
                summary["mean_jct"],
                *(summary["jct_percentiles"][p] for p in ("p50", "p95")),
                summary["mean_waiting"],
            ]
            place = [f"{title}, {gpus} GPUs" if label == "fifo" else "", label]
            rows.append([*place, *(f"{f:.0f}" for f in figures), summary["pauses"], moved if label != "fifo" else ""])
    header = ["trace", "rule", "mean JCT, min", "p50", "p95", "mean waiting", "pauses", "jobs that end at another time"]
    return {"header": header, "rows": rows}


def optimum(seeds: int) -> dict[str, Any]:
    questions = [mlsched.generate("taskgraph", preset, seed=seed) for preset in PRESETS for seed in range(seeds)]
    best = [mlsched.solve(question, "cp-sat") for question in questions]
    proven = [(q, b) for q, b in zip(questions, best, strict=True) if b.status == "optimal"]
    rows = []
    for rule in RULES:
        cells: list[str] = []
        for stop in ("least", "most"):
            gaps = sum_up([mlsched.solve(question, f"{rule}:stop={stop}").gap_to(b) for question, b in proven])
            assert gaps.mean is not None
            assert gaps.largest is not None
            cells += [
                format_percentage(gaps.mean),
                format_percentage(gaps.largest),
                f"{round((gaps.optimal or 0) * gaps.count)}/{gaps.count}",
            ]
        rows.append([rule, *cells])
    header = [
        "rule",
        *(f"{what}, stop={stop}" for stop in ("least", "most") for what in ("mean gap", "largest", "optimal")),
    ]
    return {"header": header, "rows": rows}


def replanning() -> dict[str, Any]:
    """cp-sat, which solves every round again, on a horizon with true estimates."""
    question = mlsched.generate("taskgraph", "six-loose", seed=0)
    run = checked(Workload.of(question), "cp-sat")
    return {
        "value": run.summary()["total_jct"],
        "rounds": run.summary()["decisions"],
        "optimum": mlsched.solve(question, "cp-sat").sort_key,
        "srpt": mlsched.solve(question, "srpt:stop=least").sort_key,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200, help="first jobs of each trace")
    parser.add_argument("--seeds", type=int, default=4, help="of each preset of six jobs")
    arguments = parser.parse_args()
    folder = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
    if not folder.is_dir():
        raise SystemExit(f"{folder}: no such folder; set MLSCHED_DATA to where data/ with the traces lies")
    warnings.filterwarnings("ignore", message="the offered load")
    tables = {"synthetic": synthetic(), "traces": traces(folder, arguments.jobs), "optimum": optimum(arguments.seeds)}
    print(json.dumps({"tables": tables, "replanning": replanning(), "versions": mlsched.__version__}))


if __name__ == "__main__":
    main()
