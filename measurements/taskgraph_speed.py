"""CPU time of the iteration engine: a complete trace as gangs, and the cost of a decision by number of jobs.

    python measurements/taskgraph_speed.py whole [--trace FILE] [--cluster 309x(8gpu)] [--runs fifo ...]
        [--days 42 49] [--limit 10000] [--pool] [--scheduling-events interval:1]
    python measurements/taskgraph_speed.py growth [--trace FILE] [--cluster 309x(8gpu)] [--jobs 1000 10000 82247]
    python measurements/taskgraph_speed.py overload [--jobs 100000] [--runs fifo ...]

Prints one JSON document. The GPUs of a node are told apart: a job is placed GPU by GPU; with `--pool` they are not, as
`mlsched simulate` has it where no job shares a GPU. `whole`: each rule over the
trace, or over the jobs of some of its days, asked at every event or as `--scheduling-events` says (in ticks of a
minute), with jobs per CPU-second, CPU seconds of the replay check and the peak of memory so far. A rule is `name` or
`name,option=value,...` (options of the world). `growth`: FIFO over the first so many jobs; the exponent is the slope of
log(CPU seconds per decision) against log(jobs), by least squares. `overload`: so many synthetic jobs on 550 nodes of 4
or 5 GPUs, 2,474 in all, with usage drawn every hour (see `synthetic`). Runs are made in this process, one after
another; the CPU time is the run's alone, without reading, replay and summary. How fast the machine is just then, in CPU
seconds of a fixed load (`calibration_seconds`), is measured before and after each run, the smaller counts; jobs per
load are what other machines can be compared with.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
from pathlib import Path
from typing import Any

import numpy as np

import mlsched
from mlsched.benchmark.calibration import calibration_load, cpu_seconds
from mlsched.core.clock import cpu_time

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data" / "philly" / "philly.csv.gz"
BOTH = ["fifo", "tiresias,pausing=keep"]


def workload(trace: str, cluster: str, limit: int | None, pool: bool = False) -> Any:
    load = mlsched.workload(trace, "taskgraph", simulator="iterations", cluster=cluster, limit=limit)
    return load if pool else load.replace(gpu_unit=1000)


def synthetic(jobs: int) -> Any:
    """Gangs as of `synthetic:gangs` at a load of 0.8, of which half of those of one GPU take a part of it.

    A GPU comes with 4 cores. A task uses, on average, 60 to 110 % of what it demands, each kind of gang its own share.
    """
    load = mlsched.workload("synthetic:gangs", jobs=jobs, nodes=2474, gpus=1)  # the load is over so many
    rng = np.random.default_rng(0)
    size = np.bincount(load.task_template)
    parts = np.array([300, 500])
    owner = np.concatenate([load.task_template, len(size) + np.arange(len(parts))])
    milli = np.concatenate([np.full(size.sum(), 1000), parts])
    template = load.template.copy()
    shared = np.flatnonzero((size[template] == 1) & (rng.random(jobs) < 0.5))
    template[shared] = len(size) + rng.integers(len(parts), size=len(shared))
    gpus = np.repeat([4, 5], [276, 274])
    count = len(size) + len(parts)
    one = np.ones(len(owner), dtype=np.int64)
    return load.replace(
        resources=("gpu_milli", "cpu_milli"),
        gpu_unit=1000,
        node_capacity=gpus[:, None] * [1000, 4000],
        eligible=np.ones((1, len(gpus)), dtype=np.int64),
        gang=np.ones(count, dtype=np.int64),
        accuracy_table=np.zeros(count, dtype=np.int64),
        accuracy_told=(),
        loss_table=(),
        role=(),
        replica=(),
        task_template=owner,
        duration=one,
        estimate=one,
        parameters=0 * one,
        task_class=0 * one,
        demand=milli[:, None] * [1, 4],
        usage=rng.integers(600_000, 1_100_001, size=(count, 2))[owner],
        template=template,
    )


def within_days(load: Any, days: list[int]) -> Any:
    """The jobs that arrive from a day on and before another."""
    first, end = np.searchsorted(load.arrival, np.array(days) * 24 * 3600 * 1000 // load.tick_ms)
    some = load.replace(**load.only(np.arange(first, end)))
    return some.replace(arrival=some.arrival - some.arrival[:1])


def measure(load: Any, label: str, scheduling_events: str | None = None) -> dict[str, Any]:
    """One run: what it cost, and that it passes the replay check."""
    rule, *given = label.split(",")
    fast = cpu_seconds(calibration_load)
    run = mlsched.simulate(
        load, rule, options=dict(option.split("=") for option in given), scheduling_events=scheduling_events
    )
    fast = min(fast, cpu_seconds(calibration_load))
    begun = cpu_time()
    wrong = run.violations()
    if wrong:
        raise SystemExit(f"{label}: {wrong[0]}")
    summary = run.summary()
    return {
        "label": label,
        "jobs": len(load.arrival),
        "decisions": run.decisions,
        "cpu_seconds": run.cpu_seconds,
        "calibration_seconds": fast,
        "jobs_a_second": len(load.arrival) / run.cpu_seconds,
        "jobs_a_load": len(load.arrival) / run.cpu_seconds * fast,
        "replay_seconds": cpu_time() - begun,
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "mean_jct": summary["mean_jct"],
        "mean_waiting": summary["mean_waiting"],
        "pauses": summary["pauses"],
        "segments": summary["segments"],
        **({"overload": summary["overload"]} if "overload" in summary else {}),
    }


def table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The runs as a table of a page."""
    header = ["rule", "jobs", "decisions", "CPU s", "jobs per CPU s", "jobs per load", "ms per decision"]
    header += ["replay, CPU s", "memory, MiB"]
    cells = [
        [
            row["label"],
            row["jobs"],
            row["decisions"],
            f"{row['cpu_seconds']:.1f}",
            f"{row['jobs_a_second']:.0f}",
            f"{row['jobs_a_load']:.0f}",
            f"{1000 * row['cpu_seconds'] / row['decisions']:.2f}",
            f"{row['replay_seconds']:.1f}",
            f"{row['memory_mib']:.0f}",
        ]
        for row in rows
    ]
    return {"header": header, "rows": cells}


def growth(rows: list[dict[str, Any]]) -> float:
    """The slope of log(CPU seconds per decision) against log(jobs)."""
    x = np.log([row["jobs"] for row in rows])
    y = np.log([row["cpu_seconds"] / row["decisions"] for row in rows])
    return float(np.polyfit(x, y, 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("whole", "growth", "overload"))
    parser.add_argument("--trace", default=str(DATA))
    parser.add_argument("--cluster", default="309x(8gpu)")
    parser.add_argument("--runs", nargs="*", default=BOTH)
    parser.add_argument("--jobs", nargs="*", type=int)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--days", type=int, nargs=2)
    parser.add_argument("--scheduling-events")
    parser.add_argument("--pool", action="store_true")
    given = parser.parse_args()
    machine = {"cluster": given.cluster}
    if given.what == "whole":
        load = workload(given.trace, given.cluster, given.limit, given.pool)
        load = load if given.days is None else within_days(load, given.days)
        rows = [measure(load, label, given.scheduling_events) for label in given.runs]
        extra = {}
    elif given.what == "overload":
        load = synthetic(given.jobs[-1] if given.jobs else 100_000)
        rows = [measure(load, f"{label},usage=drawn") for label in given.runs]
        extra = {}
    else:
        counts = given.jobs or [1000, 10_000, 82_247]
        rows = [measure(workload(given.trace, given.cluster, jobs, given.pool), "fifo") for jobs in counts]
        extra = {"exponent": growth(rows)}
    print(json.dumps({**machine, "runs": rows, **extra, "tables": {given.what: table(rows)}}, indent=1))


if __name__ == "__main__":
    main()
