"""Figures of merit of a run on the task-graph clock, by either engine, from its table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.aliases import Columns, Data
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.simulation.metrics import finish_time_fairness, percentiles

if TYPE_CHECKING:
    from mlsched.instances.taskgraph import Instance
    from mlsched.simulation.taskgraph.iterations.workload import Jobs


def summed_up(table: Columns, asked: Instance | Jobs, held: Any, pieces: dict[str, int]) -> Data:
    """Return the objectives by name, and additional figures; times in ticks, of `tick_seconds` if known.

    Args:
        table: One column per property of the jobs.
        asked: Instance or jobs, with the cluster.
        held: Demand x ticks of each resource. Resources without demand are left out, as are properties that all jobs
            lack (a deadline, a required accuracy).
        pieces: Number of parts of the log, under the engine's name for them.
    """
    count = len(asked.arrival)
    makespan = int(table["completion"].max() - asked.arrival.min()) if count else 0
    there = asked.node_capacity.sum(axis=0) * makespan
    shares = zip(asked.resources, (asked.demand.max(axis=0, initial=0) > 0).tolist(), held, there, strict=True)
    return {
        "jobs": count,
        "tick_seconds": asked.tick_ms / 1000 or None,
        "total_jct": int(table["jct"].sum()),
        **_optional_figures(table, asked),
        "makespan": makespan,
        "mean_jct": float(table["jct"].mean()) if count else 0.0,
        "jct_percentiles": percentiles(table["jct"]),
        "mean_waiting": float(table["waiting"].mean()) if count else 0.0,
        **fairness(table, asked),
        "iterations": int(table["iterations"].sum()),
        **pieces,
        "pauses": int(table["pauses"].sum()),
        "migrations": int(table["migrations"].sum()),
        "utilisation": {name: float(h / t) if t else 0.0 for name, is_demanded, h, t in shares if is_demanded},
    }


def fairness(table: dict[str, IntArray], asked: Instance | Jobs) -> dict[str, dict[str, float]]:
    """Return the finish-time fairness of a run; empty without GPUs. A job's exclusive time is that with nodes."""
    gpu = gpu_column(asked.resources)
    if gpu < 0:
        return {}
    gpus = float(asked.node_capacity[:, gpu].sum()) / GPU_UNITS[asked.resources[gpu]]
    submit = table["completion"] - table["jct"]
    figures = finish_time_fairness(submit, table["completion"], table["jct"] - table["waiting"], gpus)
    return {"finish_time_fairness": figures} if figures else {}


def _optional_figures(table: dict[str, IntArray], source: Instance | Jobs) -> dict[str, int]:
    """Return the figures that need a job with a deadline, traffic, a required accuracy, or learning."""
    demanded = {}
    if (source.deadline < UNLIMITED).any():
        demanded["deadlines_met"] = int(table["met"].sum())
    if source.edge_volume.any():
        demanded["traffic"] = int(table["traffic"].sum())
    if source.required.any():
        demanded["accuracy_met"] = int((table["accuracy"] >= source.required).sum())
    if source.accuracy.any():
        demanded["total_accuracy"] = int(table["accuracy"].sum())
    return demanded


def samples(table: dict[str, IntArray]) -> dict[str, IntArray]:
    """Return samples for plots of distributions, ticks."""
    return {"job completion time": table["jct"], "waiting time": table["waiting"]}
