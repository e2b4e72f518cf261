"""Data of the admission problem and its plans.

A cluster runs units of work (evicted as one: a pod, a job, a group of pods); jobs wait. Decide which jobs start now and
on which nodes, and which units are evicted or moved for them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.aliases import Data
from mlsched.core.contract import Objective, Primary
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, IntArray, array, integer, labels, refuse_first
from mlsched_admission.instances import judge


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(contract.Plan):
    """Starting jobs with their nodes, and evicted or moved units."""

    kind: ClassVar[str] = "admission.plan"

    start: IntArray = array("jobs", high=1, doc="1: the job starts now, 0: it keeps waiting")
    place: IntArray = array("shapes", "nodes", doc="how many pods of each shape start on each node")
    evict: IntArray = array("units", high=1, doc="1: the unit is evicted")
    move: IntArray = array("pods", low=-1, doc="node that a pod of a moved unit goes to; -1: its unit is not moved")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(contract.Instance):
    """One admission decision: running units, waiting jobs, possible evictions, quotas and limits.

    The rules are numbered in `judge.py`. Amounts of resources are integers in units of the reader's choice. Without
    nodes (and then without pods and shapes) it is a problem of quotas only; without queues, of nodes only.

    A queue is a node of a quota tree: a ClusterQueue or a cohort in Kueue's words, a queue in KAI's. A flavor is
    anything that quotas count (in Kueue a flavor and a resource). Names are for people and do not affect the problem.
    """

    kind: ClassVar[str] = "admission.instance"
    problem: ClassVar[str] = "admission"
    plan_type: ClassVar[type[contract.Plan]] = Plan
    judge: ClassVar[Any] = judge
    objectives: ClassVar[tuple[Objective, ...]] = tuple(judge.BASES)

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    node_free: IntArray = array(
        "nodes", "resources", low=-EXACT, doc="free now on each node that takes new pods; negative: over-committed"
    )
    pod_node: IntArray = array("pods", doc="node of each running pod")
    pod_unit: IntArray = array("pods", doc="unit of each running pod")
    pod_demand: IntArray = array("pods", "resources", doc="what each pod holds and releases when it leaves")
    unit_group: IntArray = array("units", doc="gang of each unit; a unit that is in none is a gang of its own")
    unit_priority: IntArray = array("units", low=-EXACT, doc="priority, larger is more important")
    group_min: IntArray = array(
        "groups", low=1, doc="pods below which the gang is lost (a unit without pods counts as 1)"
    )
    job_priority: IntArray = array("jobs", low=-EXACT, doc="priority of each waiting job")
    shape_job: IntArray = array("shapes", doc="job of each shape; a job starts with all its shapes")
    shape_count: IntArray = array("shapes", low=1, doc="pods")
    shape_demand: IntArray = array("shapes", "resources", doc="demand of each of them")
    shape_nodes: IntArray = array("shapes", "nodes", high=1, doc="1: a pod of the shape may run on the node")
    may: IntArray = array("jobs", "units", high=2, doc="1: the job may evict the unit; 2: if it ends without borrowing")

    node_draining: IntArray = array("nodes", "resources", fill=0, doc="released soon by what already leaves")
    node_domain: IntArray = array("levels", "nodes", low=-1, fill=-1, doc="domain of each node per level, -1: none")
    unit_lost: IntArray = array("units", fill=0, doc="work lost by eviction, GPU-s")
    unit_grace: IntArray = array("units", fill=0, doc="grace period, s")
    unit_preempted: IntArray = array("units", fill=0, doc="how often it was preempted before")
    unit_movable: IntArray = array("units", high=1, fill=0, doc="1: it may be moved to other nodes")
    unit_level: IntArray = array(
        "units", low=-1, fill=-1, doc="level of which one domain holds all pods of a moved unit; -1: any nodes"
    )
    unit_age: IntArray = array("units", fill=0, doc="s since it started, or got its quota")
    unit_ends: IntArray = array("units", low=-1, fill=-1, doc="s until it ends by itself at the latest; -1: unknown")
    shape_level: IntArray = array(
        "shapes", low=-1, fill=-1, doc="level of which one domain holds a slice; -1: any nodes"
    )
    shape_slice: IntArray = array("shapes", fill=0, doc="pods of a slice (divides the count); 0: all are one slice")
    shape_spread: IntArray = array("shapes", fill=0, doc="at most so many of its pods on one node; 0: any number")
    shape_group: IntArray = array(
        "shapes", low=-1, fill=-1, doc="group of shapes of one job that share a domain; -1: none"
    )
    shape_group_level: IntArray = array("shape_groups", fill=0, doc="level of which one domain holds the group")
    node_sets: IntArray = array("sets", "nodes", high=1, fill=0, doc="sets of nodes that pods refer to; 1: is in it")
    pod_set: IntArray = array("pods", low=-1, fill=-1, doc="set of nodes that a moved pod may go to; -1: any node")

    quota_parent: IntArray = array("queues", low=-1, fill=-1, doc="queue above each queue, -1: none")
    quota_nominal: IntArray = array("queues", "flavors", fill=0, doc="nominal quota")
    quota_borrow: IntArray = array("queues", "flavors", low=-1, fill=-1, doc="borrowing limit, -1: none")
    quota_lend: IntArray = array("queues", "flavors", low=-1, fill=-1, doc="lending limit, -1: none")
    quota_used: IntArray = array("queues", "flavors", fill=0, doc="use by all that runs in the queue itself")
    job_queue: IntArray = array("jobs", low=-1, fill=-1, doc="queue of each waiting job, -1: none")
    job_use: IntArray = array("jobs", "flavors", fill=0, doc="what the job counts against quotas")
    unit_queue: IntArray = array("units", low=-1, fill=-1, doc="queue of each unit, -1: none")
    unit_use: IntArray = array("units", "flavors", fill=0, doc="what the unit counts against quotas")
    contested: IntArray = array(
        "flavors", high=1, fill=0, doc="1: the job needs preemption for it; all 0: as rule 9 finds them"
    )
    above_nominal: int = integer(high=1, default=0, doc="1: units of other queues only while these exceed their quota")

    budget_left: IntArray = array("budgets", fill=0, doc="pods that a disruption budget still lets go")
    pod_budget: IntArray = array("budgets", "pods", high=1, fill=0, doc="1: the budget covers the pod")
    limit_left: IntArray = array(
        "limits", low=-EXACT, fill=0, doc="what is left of a further limit; negative: exceeded"
    )
    limit_job: IntArray = array("limits", "jobs", fill=0, doc="what the job takes of the limit")
    limit_unit: IntArray = array("limits", "units", fill=0, doc="what the unit gives back when it is evicted")

    node_names: tuple[str, ...] = labels(
        "nodes", default=(), distinct=False, display_only=True, doc="name of each node"
    )
    unit_names: tuple[str, ...] = labels(
        "units", default=(), distinct=False, display_only=True, doc="name of each unit"
    )
    group_names: tuple[str, ...] = labels(
        "groups", default=(), distinct=False, display_only=True, doc="name of each gang"
    )
    job_names: tuple[str, ...] = labels("jobs", default=(), distinct=False, display_only=True, doc="name of each job")
    shape_names: tuple[str, ...] = labels(
        "shapes", default=(), distinct=False, display_only=True, doc="name of each shape"
    )
    queue_names: tuple[str, ...] = labels(
        "queues", default=(), distinct=False, display_only=True, doc="name of each queue"
    )
    flavor_names: tuple[str, ...] = labels(
        "flavors", default=(), distinct=False, display_only=True, doc="name of each flavor"
    )
    budget_names: tuple[str, ...] = labels(
        "budgets", default=(), distinct=False, display_only=True, doc="name of each budget"
    )
    limit_names: tuple[str, ...] = labels(
        "limits", default=(), distinct=False, display_only=True, doc="name of each limit"
    )

    def check(self) -> None:
        for name, size, what in (
            ("pod_node", len(self.node_free), "nodes"),
            ("pod_unit", len(self.unit_group), "units"),
            ("pod_set", len(self.node_sets), "sets"),
            ("unit_group", len(self.group_min), "groups"),
            ("unit_queue", len(self.quota_parent), "queues"),
            ("shape_job", len(self.job_priority), "jobs"),
            ("shape_level", len(self.node_domain), "levels"),
            ("shape_group", len(self.shape_group_level), "groups of shapes"),
            ("shape_group_level", len(self.node_domain), "levels"),
            ("unit_level", len(self.node_domain), "levels"),
            ("job_queue", len(self.quota_parent), "queues"),
            ("quota_parent", len(self.quota_parent), "queues"),
        ):
            values = getattr(self, name)
            refuse_first(values >= size, name, values, f"expected below {size} (the number of {what})")
        uneven = (self.shape_slice > 0) & (self.shape_count % np.maximum(self.shape_slice, 1) != 0)
        refuse_first(uneven, "shape_slice", self.shape_slice, "must divide the shape's count")
        in_group = self.shape_group >= 0
        first = np.full(len(self.shape_group_level), -1, dtype=np.int64)
        first[self.shape_group[in_group]] = self.shape_job[in_group]
        mixed = np.zeros_like(in_group)
        mixed[in_group] = first[self.shape_group[in_group]] != self.shape_job[in_group]
        refuse_first(mixed, "shape_group", self.shape_group, "must not join shapes of several jobs")
        self._check_quotas()
        for objective in judge.BASES:
            rank = self.primary(objective.name)
            if (most := rank.weight * (1 + sum(self.waiting_weight.tolist()))) > EXACT:
                remedy = "ask for fewer jobs at once, or in larger units"
                raise InvalidInput(f"{objective.name} can reach {most}, expected below 2^53; {remedy}")

    def _check_quotas(self) -> None:
        """Check that parents form a forest, that users of quota have a queue, and that others' quota involves one job
        at a time.
        """
        ancestors = np.arange(len(self.quota_parent))
        for _ in range(len(self.quota_parent)):
            ancestors = np.where(ancestors >= 0, self.quota_parent[ancestors], -1)
        refuse_first(ancestors >= 0, "quota_parent", self.quota_parent, "must not lead back to the queue itself")
        lacking = (self.job_queue < 0) & ((self.job_use > 0).any(axis=1) | (self.may == 2).any(axis=1))
        refuse_first(lacking, "job_queue", self.job_queue, "a job that uses quota, or may evict by 2, needs a queue")
        lacking = (self.unit_queue < 0) & (self.unit_use > 0).any(axis=1)
        refuse_first(lacking, "unit_queue", self.unit_queue, "a unit that uses quota needs a queue")
        if len(self.quota_parent):
            own_use = np.zeros_like(self.quota_used)
            there = self.unit_queue >= 0
            np.add.at(own_use, self.unit_queue[there], self.unit_use[there])
            refuse_first(
                own_use > self.quota_used, "quota_used", self.quota_used, "expected at least what its units use"
            )
        if self.above_nominal and (jobs := len(self.job_priority)) != 1:
            raise InvalidInput(f"above_nominal: 1 with {jobs} waiting jobs, expected one; choose one job at a time")

    @functools.cached_property
    def waiting_weight(self) -> IntArray:
        """Return each waiting job's part of the waiting rank: any job outweighs all jobs of lower priority together."""
        weights = np.ones(len(self.job_priority), dtype=np.int64)
        total = 0
        for priority in sorted(set(self.job_priority.tolist())):
            same = self.job_priority == priority
            weights[same] = min(total + 1, EXACT)
            total = min(total + (total + 1) * int(same.sum()), EXACT)
        return weights

    def primary(self, objective: str) -> Primary:
        """Return the waiting jobs, which are compared before the base value (judge, rule 10)."""
        alike = len(set(self.job_priority.tolist())) <= 1
        name = "waiting jobs" if alike else "waiting jobs, weighted by priority"
        return Primary(name, 1 + self._largest[objective])

    @functools.cached_property
    def _largest(self) -> dict[str, int]:
        """Return objective -> an upper limit of its base values."""
        return judge.largest_values(self)

    def values(self, sort_keys: Mapping[str, Any]) -> Data:
        """Return the values as in the base class; "waiting" is the number of waiting jobs of any priority."""
        values = super().values(sort_keys)
        if "waiting" in values:
            rank, values["waiting"] = values["waiting"], 0
            # Each weight exceeds the sum of all lower ones, so that a rank determines its jobs.
            for weight in sorted(self.waiting_weight.tolist(), reverse=True):
                if weight <= rank:
                    rank, values["waiting"] = rank - weight, values["waiting"] + 1
        return values

    def deferrals(self, plan: Plan) -> list[str]:
        """Return the jobs that keep waiting, by their names if they have some."""
        names = self.job_names or [str(j) for j in range(len(self.job_priority))]
        return [f"job {names[j]} waits" for j in np.flatnonzero(plan.start == 0).tolist()]

    def moved(self, move: IntArray) -> list[int]:
        """Return the units that a plan's `move` moves, ascending."""
        return [int(u) for u in np.unique(self.pod_unit[move >= 0])]

    def table(self, plan: Plan) -> Data:
        """Return every unit and every waiting job: its number and name, and its fate."""
        is_moved = np.isin(np.arange(len(self.unit_group)), self.moved(plan.move))
        fate = np.where(plan.evict == 1, "evicted", np.where(is_moved, "moved", "runs on"))
        units, jobs = len(self.unit_group), len(self.job_priority)
        names = [
            *(self.unit_names or [str(u) for u in range(units)]),
            *(self.job_names or [str(j) for j in range(jobs)]),
        ]
        return {
            "class": np.array(["unit"] * units + ["job"] * jobs, dtype=object),
            "number": np.concatenate([np.arange(units), np.arange(jobs)]),
            "name": np.array(names, dtype=object),
            "priority": np.concatenate([self.unit_priority, self.job_priority]),
            "fate": np.array([*fate, *np.where(plan.start == 1, "starts", "waits")], dtype=object),
        }
