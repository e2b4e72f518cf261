"""Hard features of a task-graph instance: named special cases, and relaxations that show the binding constraint."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import ints
from mlsched.instances.taskgraph.instance import Instance, Timetable


def cases(instance: Instance, plan: Timetable) -> dict[str, bool]:
    """Return the named special cases of an instance and its optimal plan: True if the case occurs."""
    values = instance.evaluate(plan)
    jobs = len(instance.arrival)
    ran = instance.finished.copy()
    np.maximum.at(ran, plan.job, plan.iteration + 1)
    hosts = {(k, n) for k, n in zip(plan.task.tolist(), plan.node.tolist(), strict=True)}
    return {
        "a job is late": values["deadlines_met"] < jobs,
        "a job misses its accuracy": values["accuracy_met"] < jobs,
        "a job stops before its last iteration": bool((ran < instance.max_iterations).any()),
        "data crosses nodes": values["traffic"] > 0,
        "a task moves": len(hosts) > len(set(plan.task.tolist())),
        "a job runs on several nodes": any(len(np.unique(plan.node[plan.job == j])) > 1 for j in range(jobs)),
        "residual": instance.now > 0,
        "runs have started": len(instance.fixed_task) > 0,
        "a run takes no time": bool((instance.duration == 0).any()),
        "movement is allowed": instance.movement != "none",
    }


def relaxations(instance: Instance) -> dict[str, Instance]:
    """Return the instance without each constraint, by name. A constraint binds if the optimum improves without it."""
    nothing = ints([])
    relaxed = {
        "transfer delays": instance.replace(edge_delay=np.zeros_like(instance.edge_delay)),
        "precedence": instance.replace(
            edge_from=nothing, edge_to=nothing, edge_lag=nothing, edge_volume=nothing, edge_delay=nothing
        ),
        "eligible nodes": instance.replace(eligible=np.ones_like(instance.eligible)),
        "staying on one node": instance.replace(movement="between_iterations"),
        "least iterations": instance.replace(min_iterations=np.zeros_like(instance.min_iterations)),
        "capacity": instance.replace(demand=np.zeros_like(instance.demand)),
    }
    if instance.gpu_unit:
        relaxed["GPUs apart"] = instance.replace(gpu_unit=0, fixed_gpu=np.full_like(instance.fixed_gpu, -1))
    for r, name in enumerate(instance.resources):
        demand = instance.demand.copy()
        demand[:, r] = 0
        relaxed[f"capacity of {name}"] = instance.replace(demand=demand)
    return relaxed
