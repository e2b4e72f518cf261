"""Snapshots written by hand, for rules that look at more of them than the worlds of the other examples show."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import UNLIMITED
from mlsched.instances.taskgraph import Snapshot, gpus

_JOB = {
    "arrival": 0,
    "deadline": UNLIMITED,
    "urgency": 10,
    "required": 500_000,
    "min_iterations": 0,
    "max_iterations": 1,
    "finished": 0,
    "accuracy_seen": 0,
}
_TASK = {"duration": 1, "parameters": 1, "state": 0, "node": -1, "start": 0, "role": 0, "replica": 0, "gpu": -1}


def snapshot(now, jobs, *, nodes, resources=("gpu",), edges=(), losses=(), **changes) -> Snapshot:
    """jobs: (columns, [(demand, columns), ...]); edges: (from, to, lag, volume, delay); losses: (job, iteration, ppm).

    Running tasks are given by `node` and use what they demand unless `usage` says otherwise; times wait since now.
    """
    rows = [_JOB | columns for columns, _ in jobs]
    tasks = [_TASK | {"demand": demand} | given for _, mine in jobs for demand, given in mine]
    for task in tasks:
        task["state"] = task["state"] or int(task["node"] >= 0)
        task.setdefault("waiting_since", now)
        task.setdefault("usage", task["demand"] if task["state"] == 1 else [0] * len(resources))
    owner = [j for j, (_, mine) in enumerate(jobs) for _ in mine]
    in_use = np.zeros((len(nodes), len(resources)), dtype=np.int64)
    for task in tasks:
        if task["state"] == 1:
            in_use[task["node"]] += task["demand"]
    most = [row["max_iterations"] for row in rows]
    fields = {
        "resources": resources,
        "node_capacity": nodes,
        "in_use": in_use,
        "now": now,
        "job_id": list(range(len(rows))),
        **{name: [row[name] for row in rows] for name in _JOB},
        "stop_after": [row.get("stop_after", row["max_iterations"]) for row in rows],
        "accuracy": [[min(10**6, 100_000 * i) for i in range(max(most) + 1)]],
        "accuracy_table": [0] * len(rows),
        "on_time": [0] * len(rows),
        "service": np.zeros((len(rows), len(resources)), dtype=np.int64),
        "executed": [0] * len(rows),
        "idle_since": [row["arrival"] for row in rows],
        "first_start": [-1] * len(rows),
        "preemptions": [0] * len(rows),
        "gang": [row.get("gang", 0) for row in rows],
        **{name: [row.get(name, 0) for row in rows] for name in ("option", "permits", "payment")},
        "task_job": owner,
        **{name: [task[name] for task in tasks] for name in (*_TASK, "demand", "usage", "waiting_since")},
        "task_class": [0] * len(tasks),
        "eligible": [[1] * len(nodes)],
        "end": [0] * len(tasks),
        "progress": [task.get("progress", 0) for task in tasks],
        "home": [task.get("home", -1 if not rows[owner[k]]["finished"] else 0) for k, task in enumerate(tasks)],
        "last_end": [0] * len(tasks),
        **{name: [e[side] for e in edges] for side, name in enumerate(_EDGE)},
        "sample_job": [loss[0] for loss in losses],
        "sample_iteration": [loss[1] for loss in losses],
        "sample_loss": [loss[2] for loss in losses],
    }
    if unit := changes.get("gpu_unit"):
        fields |= _gpus(tasks, nodes, gpus.gpu_column(resources), unit)
    return Snapshot(**fields | changes)


_EDGE = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")


def _gpus(tasks, nodes, column, unit):
    """What is in use of each GPU, and who holds whole ones: those named by `gpu`, or `gpus` where they are several."""
    use = np.zeros((len(nodes), max(node[column] for node in nodes) // unit), dtype=np.int64)
    holder = np.full(use.shape, -1)
    for k, task in enumerate(tasks):
        if task["state"] != 1:
            continue
        held = task.get("gpus", [task["gpu"]] if task["gpu"] >= 0 else [])
        use[task["node"], held] += min(unit, task["demand"][column])
        if task["demand"][column] >= unit:
            holder[task["node"], held] = k
    return {"gpu_in_use": use, "gpu_holder": holder}
