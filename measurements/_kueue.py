"""Kueue's own test questions with its answers, as instances of admission."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from mlsched_admission.instances import Instance


def questions(data: Path) -> list[tuple[Instance, list[str]]]:
    """(instance, names of the victims that Kueue chose), of the folder `data` of shared data."""
    document = json.loads(gzip.decompress((data / "kueue" / "questions.json.gz").read_bytes()))
    return [(_instance(q), v) for q, v in zip(document["questions"], document["victims"], strict=True)]


def _instance(question: dict[str, Any]) -> Instance:
    """A ClusterQueue with two resources."""
    running, comes = question["Admitted"], question["Incoming"]
    use = np.array([[int(w["CPU"]), _gib(w["Mem"])] for w in running])
    units = len(running)
    return Instance(
        resources=("cpu",),
        node_free=[],
        pod_node=[],
        pod_unit=[],
        pod_demand=[],
        unit_group=np.arange(units),
        unit_priority=[w["Prio"] for w in running],
        group_min=np.ones(units, dtype=np.int64),
        job_priority=[comes["Prio"]],
        shape_job=[],
        shape_count=[],
        shape_demand=[],
        shape_nodes=[],
        may=[[int(w["Prio"] < comes["Prio"]) for w in running]],
        unit_age=[w["Age"] for w in running],
        unit_lost=[int(w["CPU"]) * w["Age"] for w in running],
        quota_parent=[-1],
        quota_nominal=[[int(question["QuotaCPU"]), _gib(question["QuotaMem"])]],
        quota_used=[use.sum(axis=0).tolist()],
        job_queue=[0],
        job_use=[[int(comes["CPU"]), _gib(comes["Mem"])]],
        unit_queue=np.zeros(units, dtype=np.int64),
        unit_use=use,
        above_nominal=1,
        unit_names=[w["Name"] for w in running],
    )


def _gib(text: str) -> int:
    assert text.endswith("Gi")
    return int(text[:-2])
