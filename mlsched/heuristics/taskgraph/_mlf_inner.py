"""Another rule's round for a snapshot with given last iterations of the jobs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import ArraySpec, BoolArray, IntArray
from mlsched.core.formulation import NO_LIMITS
from mlsched.core.record import specs
from mlsched.core.registry import registry
from mlsched.heuristics.taskgraph.types import refuse_types
from mlsched.instances.taskgraph import Round, Snapshot


class Inner:
    """A rule by name, with default or given parameters, and its memory."""

    def __init__(self, name: str, rng: np.random.Generator, memory: Any, parameters: Data | None = None) -> None:
        self.found, defaults = registry().solver("taskgraph", name)
        if self.found.called != "online" or self.found.rule is None or "rule" in self.found.parameters:
            raise InvalidInput(f"rule: {name!r}, expected a rule for snapshots without an inner rule")
        self._rng, self._memory, self._parameters = rng, memory, defaults | (parameters or {})

    def ask(self, snapshot: Snapshot, last: IntArray) -> tuple[Round, Any]:
        """Return the rule's round and memory, with the numbers of iterations limited to `last`.

        Jobs that have finished that many iterations are hidden from the rule.
        """
        going = last > snapshot.finished
        if not going.any():
            return snapshot.round(), self._memory
        tasks = np.flatnonzero(going[snapshot.task_job])
        view = snapshot if going.all() else only(snapshot, going)
        plan, memory = self._call_solver(
            Snapshot.trusted(**_snapshot_columns(view) | {"max_iterations": last[going], "stop_after": last[going]})
        )
        plan_columns = {name: tasks[getattr(plan, name)] for name in ("start_task", "pause_task", "migrate_task")}
        return plan.replace(**plan_columns), memory

    def _call_solver(self, snapshot: Snapshot) -> tuple[Round, Any]:
        assert self.found.rule is not None
        return self.found.rule(snapshot, memory=self._memory, rng=self._rng, limits=NO_LIMITS, **self._parameters)


def only(snapshot: Snapshot, jobs: BoolArray) -> Snapshot:
    """Return the snapshot with only these jobs. The others must not occupy nodes."""
    masks = {"jobs": jobs, "tasks": jobs[snapshot.task_job]}
    masks["edges"] = masks["tasks"][snapshot.edge_from]
    masks["samples"] = jobs[snapshot.sample_job]
    names = {dim: np.cumsum(mask) - 1 for dim, mask in masks.items()}
    columns = _snapshot_columns(snapshot)
    for name, spec in specs(Snapshot).items():
        if isinstance(spec, ArraySpec) and spec.shape[0] in masks:
            columns[name] = columns[name][masks[spec.shape[0]]]
    for name, dim in (("task_job", "jobs"), ("sample_job", "jobs"), ("edge_from", "tasks"), ("edge_to", "tasks")):
        columns[name] = names[dim][columns[name]]
    holder = snapshot.gpu_holder
    columns["gpu_holder"] = np.where(holder >= 0, names["tasks"][holder], -1)
    return Snapshot.trusted(**columns)


def _snapshot_columns(snapshot: Snapshot) -> Data:
    refuse_types(snapshot)
    return {field.name: getattr(snapshot, field.name) for field in dataclasses.fields(snapshot)}
