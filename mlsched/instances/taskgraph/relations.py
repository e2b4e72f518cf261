"""Metamorphic relations: the optimum of a changed task-graph instance relative to the original's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import MetamorphicRelation
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.record import specs
from mlsched.instances.taskgraph.instance import Instance

ALL = tuple(o.name for o in Instance.objectives)


def _columns_with_entries(of: str) -> tuple[str, ...]:
    """Return the columns of an instance whose first axis is `of`, for example "jobs"."""
    return tuple(name for name, spec in specs(Instance).items() if getattr(spec, "shape", ())[:1] == (of,))


JOBS, TASKS, EDGES, FIXED = (_columns_with_entries(of) for of in ("jobs", "tasks", "edges", "fixed"))
TIMES = ("arrival", "duration", "edge_delay", "last_end", "fixed_start")


def _restricted_to(instance: Instance, jobs: IntArray) -> Instance:
    """Restrict the instance to these jobs, renumbered in this order."""
    place = np.full(len(instance.arrival), -1)
    place[jobs] = np.arange(len(jobs))
    tasks = np.flatnonzero(place[instance.task_job] >= 0)
    tasks = tasks[np.argsort(place[instance.task_job[tasks]], kind="stable")]
    number = np.full(len(instance.task_job), -1)
    number[tasks] = np.arange(len(tasks))
    fields: dict[str, Any] = {name: getattr(instance, name)[jobs] for name in JOBS}
    fields |= {name: getattr(instance, name)[tasks] for name in TASKS}
    fields["task_job"] = place[fields["task_job"]]
    for names, ends in ((EDGES, ("edge_from", "edge_to")), (FIXED, ("fixed_task",))):
        in_jobs = number[getattr(instance, ends[0])] >= 0
        fields |= {name: getattr(instance, name)[in_jobs] for name in names}
        fields |= {name: number[fields[name]] for name in ends}
    return instance.replace(**fields)


def _relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    nodes = rng.permutation(len(instance.node_capacity))
    now = np.argsort(nodes)
    relabelled = instance.replace(
        node_capacity=instance.node_capacity[nodes],
        eligible=instance.eligible[:, nodes],
        home=np.where(instance.home >= 0, now[instance.home], -1),
        fixed_node=now[instance.fixed_node],
    )
    return _restricted_to(relabelled, rng.permutation(len(instance.arrival)))


def _another_node(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(
        node_capacity=np.vstack([instance.node_capacity, instance.node_capacity[:1]]),
        eligible=np.hstack([instance.eligible, instance.eligible[:, :1]]),
    )


def _without_last_job(instance: Instance, rng: np.random.Generator) -> Instance | None:
    # The makespan is counted from the earliest arrival: that stays.
    last = len(instance.arrival) - 1
    if last < 1 or instance.arrival[:last].min() > instance.arrival[last]:
        return None
    return _restricted_to(instance, np.arange(last))


def _slower_clock(instance: Instance, rng: np.random.Generator) -> Instance:
    deadline = np.where(instance.deadline == UNLIMITED, UNLIMITED, 3 * np.minimum(instance.deadline, UNLIMITED // 4))
    times = {name: 3 * getattr(instance, name) for name in TIMES}
    return instance.replace(**times, deadline=deadline, now=3 * instance.now)


def _later_deadlines(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(deadline=np.minimum(instance.deadline, UNLIMITED - 2) + 2)


RELATIONS = {
    "relabelled": MetamorphicRelation(
        "nodes, jobs and tasks only change their numbers", _relabelled, dict.fromkeys(ALL, "equal")
    ),
    "another node": MetamorphicRelation(
        "an empty node like the first is added", _another_node, dict.fromkeys(ALL, "no worse")
    ),
    "fewer jobs": MetamorphicRelation(
        "the last job is taken away", _without_last_job, dict.fromkeys(("total_jct", "traffic", "makespan"), "no worse")
    ),
    "slower clock": MetamorphicRelation(
        "all times are three times as long",
        _slower_clock,
        {**dict.fromkeys(ALL, "equal"), "total_jct": 3, "makespan": 3},
    ),
    "later deadlines": MetamorphicRelation(
        "all deadlines are two ticks later",
        _later_deadlines,
        dict.fromkeys(("deadlines_met", "accuracy_met", "total_accuracy"), "no worse"),
    ),
}
