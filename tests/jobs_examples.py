"""Small workloads of the iteration engine, and runs of scripts over them."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import UNLIMITED
from mlsched.core.registry import registry
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph.iterations import IterationWorld, Jobs, Options
from mlsched.simulation.taskgraph.iterations.log import Segments
from mlsched.simulation.wake import Wake


def jobs_of(templates, jobs, *, nodes=((2,), (2,)), resources=("gpu",), edges=(), gang=1, **changes) -> Jobs:
    """templates: [(duration, demand...), ...] each; jobs: (arrival, template, iterations[, scale ppm]).

    edges: (from, to, lag, volume, delay) between tasks of all templates.
    """
    tasks = [(t, task) for t, rows in enumerate(templates) for task in rows]
    count = len(jobs)
    scale = [job[3] if len(job) > 3 else 10**6 for job in jobs]
    most = [job[2] for job in jobs]
    fields = {
        "resources": resources,
        "node_capacity": nodes,
        "eligible": [[1] * len(nodes)],
        "accuracy": [[min(10**6, 200_000 * i) for i in range(6)]],
        "gang": [gang] * len(templates) if isinstance(gang, int) else gang,
        "accuracy_table": [0] * len(templates),
        "task_template": [t for t, _ in tasks],
        "duration": [task[0] for _, task in tasks],
        "estimate": [task[0] for _, task in tasks],
        "demand": [task[1:] for _, task in tasks],
        "task_class": [0] * len(tasks),
        "parameters": [1] * len(tasks),
        "edge_from": [e[0] for e in edges],
        "edge_to": [e[1] for e in edges],
        "edge_lag": [e[2] for e in edges],
        "edge_volume": [e[3] for e in edges],
        "edge_delay": [e[4] for e in edges],
        "template": [job[1] for job in jobs],
        "arrival": [job[0] for job in jobs],
        "scale": scale,
        "told": scale,
        "deadline": [UNLIMITED] * count,
        "urgency": [0] * count,
        "required": [500_000] * count,
        "min_iterations": most,
        "max_iterations": most,
    }
    return Jobs(**{**fields, **changes})


def play(jobs: Jobs, rule, *, scheduling_events="events", **readings):
    """The world after a run, and the snapshots that were asked, by their time."""
    world = IterationWorld(jobs, Options(**readings))
    trip = run(world, rule, scheduling_events=Wake.parse(scheduling_events), seed=0, record=1.0)
    return world, {d.time: d.instance for d in trip.recorded}


def seen_at(jobs: Jobs, time: int, rounds, **readings):
    """The snapshot that is asked at a time of a run that follows the script, and after it best-effort FIFO."""
    fifo = registry().solvers["taskgraph", "best-effort-fifo"].function

    def call(seen, memory, rng):
        script = seen.round(**rounds.get(seen.now, {}))
        return (script if seen.now <= time else fifo(seen, rng=rng)), memory

    return play(jobs, Rule("scripted", call), **readings)[1][time]


def rows(log) -> list[dict[str, int]]:
    """The segments in order of time, a dict each, with their nodes."""
    found = [
        dict(zip(Segments.names, row, strict=True)) | {"nodes": nodes}
        for row, nodes in zip(log.rows, log.places, strict=True)
    ]
    return sorted(found, key=lambda row: (row["start"], row["job"]))


def ends(log, count: int) -> list[int]:
    """When each job ended."""
    found = np.zeros(count, dtype=np.int64)
    for row in log.rows:
        found[row[0]] = max(found[row[0]], row[2])
    return found.tolist()
