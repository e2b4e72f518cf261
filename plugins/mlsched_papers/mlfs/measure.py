"""Runs of the experiment: each is simulated by iterations, checked by the replay, and reduced to numbers."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from mlsched import api
from mlsched.core.fields import FloatArray
from mlsched.simulation.run import Run
from mlsched.simulation.taskgraph.iterations.bound import bound, iterations_in_time
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched_papers.mlfs.grid import BOUND, LOAD, Case, Grid
from mlsched_papers.runs import refuse_unsound

#: Common options of the simulator: task usage is drawn every ten minutes, tasks may move and pause.
OPTIONS = {"usage": "drawn", "usage_every": 600, "movement": "anytime", "pausing": "keep"}
#: Schedulers decide at every event and every ten minutes.
WAKE = "events+interval:600"
HOUR, SOON = 3600.0, 6000  # Figures 4(a) and 5(a): jobs done within 100 minutes
URGENT = 8  # Figure 6


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One run: metrics by name; None if undefined."""

    values: dict[str, float | None]


@functools.lru_cache(maxsize=4)
def workload(grid: Grid, x: float, seed: int) -> Any:
    """Return a workload with x times the jobs over the same time."""
    jobs = max(1, round(grid.jobs * x))
    load = api.workload(
        "synthetic:mlfs-cluster",
        "taskgraph",
        simulator="iterations",
        seed=seed,
        jobs=jobs,
        servers=grid.servers,
        hours=grid.hours,
        load=LOAD * x,
    )
    usage = np.rint(load.usage * grid.usage).astype(np.int64)
    return load.replace(pause_cost=np.full(jobs, round(grid.pause * WHOLE)), usage=usage)


def run_case(case: Case, grid: Grid) -> Metrics:
    """Simulate, check and reduce a run."""
    load = workload(grid, case.x, case.seed)
    if case.policy == BOUND:
        whole = load.replace(min_iterations=load.max_iterations)
        jct = bound(whole)["total_jct"] / len(load.arrival) / HOUR
        return Metrics({"jct": jct, **_reachable_shares(load)})
    options = OPTIONS | {"overload_power": grid.overload_power}
    run = api.simulate(load, case.policy.text, seed=case.seed, scheduling_events=WAKE, options=options)
    refuse_unsound(run)
    return Metrics(_values(run))


def _reachable_shares(load: Jobs) -> dict[str, float | None]:
    """Return the most that any scheduler could reach: each job alone on the cluster from its arrival on.

    `deadlines` is without stopping early; `deadlines_stopping` is with the least iterations of each job.
    """
    done = iterations_in_time(load)
    urgent, complete = load.urgency > URGENT, done >= load.max_iterations
    table = load.accuracy[load.accuracy_table[load.template]]
    accuracy = table[np.arange(len(done)), np.minimum(done, table.shape[1] - 1)]
    return {
        "deadlines": 100 * float(complete.mean()),
        "deadlines_stopping": 100 * float((done >= load.min_iterations).mean()),
        "urgent_deadlines": 100 * float(complete[urgent].mean()) if urgent.any() else None,
        "accuracy": float(accuracy.mean()) / 10_000,
        "guarantee": 100 * float((accuracy >= load.required).mean()),
    }


def _values(run: Run) -> dict[str, float | None]:
    load, jobs, summary = run.workload, run.jobs, run.summary()
    urgent = load.urgency > URGENT
    return {
        "jct": float(jobs["jct"].mean()) / HOUR,
        "soon": 100 * float((jobs["jct"] < SOON).mean()),
        "makespan": summary["makespan"] / HOUR,
        "deadlines": 100 * float(jobs["met"].mean()),
        "urgent_deadlines": 100 * float(jobs["met"][urgent].mean()) if urgent.any() else None,
        "waiting": float(jobs["waiting"].mean()) / HOUR,
        "accuracy": float(jobs["accuracy"].mean()) / 10_000,
        "guarantee": 100 * float((jobs["accuracy"] >= load.required).mean()),
        "bandwidth": float(jobs["traffic"].sum()) / 10**6,
        "overload": 100 * float(max(summary["overload"]["above"].values())),
        "slowdown": 100 * (float(summary["overload"]["slowdown"]) - 1),
        "moves": float(jobs["migrations"].sum()),
        "pauses": float(jobs["pauses"].sum()),
        "utilisation": 100 * float(summary["utilisation"]["gpu_percent"]),
        "overhead": 1000 * run.cpu_seconds / run.decisions if run.decisions else None,
    }


#: Metric -> its name in tables. Less is better, except for those in MORE.
NAMES = {
    "jct": "mean JCT [h]",
    "soon": "done in 100 min [%]",
    "makespan": "makespan [h]",
    "deadlines": "deadlines met [%]",
    "waiting": "mean waiting [h]",
    "accuracy": "accuracy by the deadline [%]",
    "guarantee": "accuracy requirements met [%]",
    "bandwidth": "sent between servers [TB]",
    "overload": "of the time overloaded [%]",
    "slowdown": "slowed down by [%]",
    "moves": "moves",
    "pauses": "pauses",
    "utilisation": "GPUs held [%]",
    "overhead": "CPU per decision [ms]",
}
MORE = frozenset({"soon", "deadlines", "urgent_deadlines", "accuracy", "guarantee"})
#: Metrics of which the lower bound's run has the most that any scheduler could reach.
REACHABLE = frozenset({"deadlines", "urgent_deadlines", "accuracy", "guarantee"})


def better(metric: str, new: FloatArray, old: FloatArray) -> FloatArray:
    """Return the percentage by which `new` improves on `old`, workload by workload; NaN if `old` is 0."""
    sign = 1 if metric in MORE else -1
    return 100 * sign * (np.divide(new, old, out=np.full_like(new, np.nan), where=old != 0) - 1)
