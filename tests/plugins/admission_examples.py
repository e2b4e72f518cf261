"""States of reported incidents, Kueue's answers, and small instances of admission for tests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _kueue import questions

from mlsched.instances.preemption import Instance as Preemption
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.incident import incident_instance

SHARED = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
needs_incidents = pytest.mark.skipif(
    not (SHARED / "incidents").is_dir(), reason="needs the states of incidents: set MLSCHED_DATA"
)
needs_kueue = pytest.mark.skipif(not (SHARED / "kueue").is_dir(), reason="needs Kueue's answers: set MLSCHED_DATA")


def incidents() -> list[tuple[str, Instance, dict[str, int]]]:
    """(name, instance, its optimum, whose keys are compared in this order)."""
    found = []
    for path in sorted((SHARED / "incidents").glob("*.json")):
        document = json.loads(path.read_text())
        found.append((document["name"], incident_instance(Entry(document, path.name)), document["optimum"]))
    return found


def kueue_questions() -> list[tuple[Instance, list[str]]]:
    """(instance, names of the victims that Kueue's own code gave)."""
    return questions(SHARED)


def from_preemption(asked: Preemption) -> Instance:
    """A preemption instance as one of admission: BE jobs are units of one pod, TE jobs are equal in priority."""
    units, jobs = len(asked.job_node), len(asked.te_demand)
    return Instance(
        resources=asked.resources,
        node_free=asked.node_free,
        node_draining=asked.node_draining,
        pod_node=asked.job_node,
        pod_unit=np.arange(units),
        pod_demand=asked.job_demand,
        unit_group=np.arange(units),
        unit_priority=np.zeros(units, dtype=np.int64),
        group_min=np.ones(units, dtype=np.int64),
        job_priority=np.ones(jobs, dtype=np.int64),
        shape_job=np.arange(jobs),
        shape_count=np.ones(jobs, dtype=np.int64),
        shape_demand=asked.te_demand,
        shape_nodes=np.ones((jobs, len(asked.node_free)), dtype=np.int64),
        may=np.tile(asked.preemptible.astype(np.int64), (jobs, 1)),
        unit_grace=asked.job_grace,
    )


def one_node(**changes: Any) -> Instance:
    """A full node of 8 GPUs: units of 2, 2 and 4; a job of one pod of 4 GPUs waits."""
    fields: dict[str, Any] = {
        "resources": ("gpu",),
        "node_free": [[0]],
        "pod_node": [0, 0, 0],
        "pod_unit": [0, 1, 2],
        "pod_demand": [[2], [2], [4]],
        "unit_group": [0, 1, 2],
        "unit_priority": [0, 0, 0],
        "group_min": [1, 1, 1],
        "unit_lost": [10, 20, 90],
        "job_priority": [1],
        "shape_job": [0],
        "shape_count": [1],
        "shape_demand": [[4]],
        "shape_nodes": [[1]],
        "may": [[1, 1, 1]],
    }
    return Instance(**fields | changes)


def plan_of(instance: Instance, evict: list[int] = (), start: list[int] = (), place: Any = None) -> Plan:  # type: ignore[assignment]
    """A plan that evicts these units and starts these jobs."""
    shape = instance.shape_nodes.shape
    return Plan(
        start=[int(j in start) for j in range(len(instance.job_priority))],
        place=np.zeros(shape, dtype=np.int64) if place is None else place,
        evict=[int(u in evict) for u in range(len(instance.unit_group))],
        move=[-1] * len(instance.pod_node),
    )
