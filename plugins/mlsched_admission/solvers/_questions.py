"""Derived problems of the same state: only some jobs, after some evictions, with fewer units that may leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import SolverError
from mlsched.core.fields import ints
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.solvers import run
from mlsched_admission.instances import Instance, Plan


def only_jobs(instance: Instance, jobs: Sequence[int]) -> Instance:
    """Return the problem of only these jobs, without the others."""
    rows = list(jobs)
    if rows == list(range(len(instance.job_priority))):
        return instance
    shapes = [k for k, j in enumerate(instance.shape_job.tolist()) if j in rows]
    columns = ("count", "demand", "nodes", "level", "slice", "spread", "group")
    changed = {f"shape_{name}": getattr(instance, f"shape_{name}")[shapes] for name in columns}
    changed |= {name: getattr(instance, name)[rows] for name in ("job_priority", "job_queue", "job_use", "may")}
    return instance.replace(
        **changed,
        shape_job=ints(rows.index(int(instance.shape_job[k])) for k in shapes),
        limit_job=instance.limit_job[:, rows],
        job_names=tuple(instance.job_names[j] for j in rows) if instance.job_names else (),
        shape_names=tuple(instance.shape_names[k] for k in shapes) if instance.shape_names else (),
        above_nominal=instance.above_nominal if len(rows) == 1 else 0,
    )


def lift_plan(instance: Instance, jobs: Sequence[int], plan: Plan) -> Plan:
    """Return a plan of `about(instance, jobs)` as a plan of the instance: the other jobs wait."""
    start = np.zeros(len(instance.job_priority), dtype=np.int64)
    start[list(jobs)] = plan.start
    place = np.zeros(instance.shape_nodes.shape, dtype=np.int64)
    place[[k for k, j in enumerate(instance.shape_job.tolist()) if j in set(jobs)]] = plan.place
    return plan.replace(start=start, place=place)


def lower_plan(instance: Instance, jobs: Sequence[int], plan: Plan) -> Plan:
    """Return a plan of the instance as a plan of `about(instance, jobs)`: without the other jobs."""
    rows = list(jobs)
    shapes = [k for k, j in enumerate(instance.shape_job.tolist()) if j in rows]
    return plan.replace(start=plan.start[rows], place=plan.place[shapes] if plan.place.size else plan.place)


def only_victims(instance: Instance, evict: Iterable[int], move: Iterable[int] = ()) -> Instance:
    """Return the problem in which only these units may be evicted (by the same jobs as now), and these moved."""
    units = np.arange(len(instance.unit_group))
    return instance.replace(
        may=np.where(np.isin(units, list(evict)), instance.may, 0),
        unit_movable=np.where(np.isin(units, list(move)), instance.unit_movable, 0),
    )


def after_evictions(instance: Instance, evict: Sequence[int]) -> Instance:
    """Return the state after these units have left, in which no other unit may leave."""
    leaving = np.isin(np.arange(len(instance.unit_group)), list(evict))
    pods = leaving[instance.pod_unit] if len(instance.pod_unit) else np.zeros(0, dtype=bool)
    free, usage = instance.node_free.copy(), instance.quota_used.copy()
    np.add.at(free, instance.pod_node[pods], instance.pod_demand[pods])
    in_queue = leaving & (instance.unit_queue >= 0)
    np.subtract.at(usage, instance.unit_queue[in_queue], instance.unit_use[in_queue])
    return instance.replace(
        node_free=free,
        pod_demand=np.where(pods[:, None], 0, instance.pod_demand),
        quota_used=usage,
        unit_use=np.where(leaving[:, None], 0, instance.unit_use),
        limit_left=instance.limit_left + instance.limit_unit[:, leaving].sum(axis=1),
        may=0 * instance.may,
        unit_movable=0 * instance.unit_movable,
        above_nominal=0,
    )


@dataclasses.dataclass(frozen=True)
class Best:
    """The best plan so far, and whether its optimality is proved."""

    plan: Plan | None
    proved: bool

    @property
    def starts_all(self) -> bool | None:
        """Return whether all jobs of the problem can start; None if that is unknown."""
        if self.plan is not None and self.plan.start.all():
            return True
        return False if self.proved else None


class Asked:
    """Solves problems by CP-SAT within one time limit; counts them, and confirms by HiGHS if requested."""

    def __init__(self, seconds: float | None, seed: int, *, confirm: bool = False) -> None:
        self.deadline, self.seed, self.confirm = Deadline(seconds), seed, confirm
        self.solves = 0

    def remaining(self) -> float | None:
        """Return the remaining seconds; None without a limit."""
        seconds = self.deadline.remaining()
        return None if seconds is None else max(seconds, 0.01)

    def best_plan(self, instance: Instance, objective: str) -> Best:
        """Return the best plan, and whether that is proved; every plan is judged."""
        outcome = self._solve_by("cp-sat", instance, objective)
        if self.confirm and outcome.status == "optimal":
            again = self._solve_by("highs", instance, objective)
            if again.status == "optimal" and again.bound != outcome.bound:
                raise SolverError(f"cp-sat proves {objective} = {outcome.bound}, highs {again.bound}")
        plan = outcome.plan
        assert plan is None or isinstance(plan, Plan)
        return Best(plan, outcome.status == "optimal")

    def _solve_by(self, name: str, instance: Instance, objective: str) -> Outcome:
        self.solves += 1
        solver, params = registry().solver("admission", name)
        limits = Limits(seconds=self.remaining(), seed=self.seed)
        outcome = run(Request(solver, objective, params, limits, instance=instance))
        if outcome.plan is not None and (wrong := instance.violations(outcome.plan)):
            raise SolverError(f"{name} returned an infeasible plan: {wrong[0]}")
        return outcome
