"""The figures of merit of a run on the task-graph clock, by either engine, from its table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.simulation.metrics import percentiles

if TYPE_CHECKING:
    from mlsched.instances.taskgraph import Instance
    from mlsched.simulation.taskgraph.iterations.workload import Jobs


def summed_up(table: dict[str, Any], asked: Instance | Jobs, held: Any, pieces: dict[str, int]) -> dict[str, Any]:
    """The objectives by their names, and what they leave out. Times in ticks.

    table: a column a property of the jobs. asked: what was asked for, with the cluster. held: demand x ticks of each
    resource. pieces: how many parts the log has, under the name that the engine has for them.
    """
    count = len(asked.arrival)
    makespan = int(table["completion"].max() - asked.arrival.min()) if count else 0
    there = asked.node_capacity.sum(axis=0) * makespan
    return {
        "jobs": count,
        "total_jct": int(table["jct"].sum()),
        "deadlines_met": int(table["met"].sum()),
        "traffic": int(table["traffic"].sum()),
        "accuracy_met": int((table["accuracy"] >= asked.required).sum()),
        "total_accuracy": int(table["accuracy"].sum()),
        "makespan": makespan,
        "mean_jct": float(table["jct"].mean()) if count else 0.0,
        "jct_percentiles": percentiles(table["jct"]),
        "mean_waiting": float(table["waiting"].mean()) if count else 0.0,
        "iterations": int(table["iterations"].sum()),
        **pieces,
        "pauses": int(table["pauses"].sum()),
        "migrations": int(table["migrations"].sum()),
        "utilisation": {
            name: float(h / t) if t else 0.0 for name, h, t in zip(asked.resources, held, there, strict=True)
        },
    }


def samples(table: dict[str, Any]) -> dict[str, Any]:
    """Samples for plots of distributions, ticks."""
    return {"job completion time": table["jct"], "waiting time": table["waiting"]}
