"""The preemption decision and its plan.

A cluster runs best-effort (BE) jobs; trial-and-error (TE) jobs wait. Decide the node of each TE job (or that it keeps
waiting), and the BE jobs to suspend. A suspended job keeps its resources for its grace period.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core import contract
from mlsched.core.contract import Objective, Primary, objective_entry
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, labels, refuse_first
from mlsched.instances.preemption import judge

#: Unit of `score` and `total_score`: millionths of Eq. 3.
SCORE_UNIT = 10**6
#: Unit of `max_size`: 1e-9 of Eq. 1's dimensionless size.
SIZE_UNIT = 10**9


def sizes(demand: IntArray, capacity: IntArray) -> npt.NDArray[np.float64]:
    """Compute Eq. 1: the Euclidean norm of demand / capacity over the resources, one row per job.

    Rows of `capacity` belong to the jobs' nodes. A resource that a node does not have (capacity 0) contributes 0.
    """
    share = demand / np.maximum(capacity, 1)
    return np.asarray(np.sqrt((share * share).sum(axis=1)))


def largest_size(demand: IntArray, capacity: IntArray) -> int:
    """Return the largest Eq. 1 size of the rows in units of 1e-9, rounded up; 0 without rows (`max_size`)."""
    return int(np.ceil(sizes(demand, capacity).max(initial=0.0) * SIZE_UNIT))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(contract.Plan):
    """The node of each TE job (-1: it keeps waiting) and the suspended BE jobs (indices, ascending)."""

    kind: ClassVar[str] = "preemption.plan"

    te_node: IntArray = array("tes", low=-1, doc="node that will host each TE job, -1 when it keeps waiting")
    victims: IntArray = array("victims", doc="BE jobs to suspend, anywhere in the cluster")


#: Objective -> its largest base value in any plan of an instance, and the remedy if it is too large.
LARGEST: dict[str, tuple[Callable[[Instance], Any], str]] = {
    "total_score": (lambda one: one.score[one.preemptible].sum(), "lower grace_weight or the jobs"),
    "victim_count": (lambda one: one.preemptible.sum(), "list fewer jobs"),
    "max_grace_period": (lambda one: one.job_grace[one.preemptible].max(initial=0), "lower job_grace"),
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(contract.Instance):
    """One preemption decision.

    A TE job fits on a node if the TE jobs placed there need at most the free resources, the draining resources and the
    resources of the victims there. A BE job may be a victim if it has been preempted fewer than `preemption_limit`
    times. Jobs that already drain cannot be victims and are not listed; `node_draining` is their future release, net of
    the reservations of TE jobs placed earlier.

    `max_size` and `max_grace` are Eq. 3's two maxima over ALL running BE jobs, which may be more than the listed jobs;
    0 (the default) means: over the listed jobs.
    """

    kind: ClassVar[str] = "preemption.instance"
    problem: ClassVar[str] = "preemption"
    plan_type: ClassVar[type[contract.Plan]] = Plan
    judge: ClassVar[ModuleType] = judge
    objectives: ClassVar[tuple[Objective, ...]] = tuple(judge.BASES)

    secrets: ClassVar[tuple[str, ...]] = ("job_remaining",)

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    node_capacity: IntArray = array("nodes", "resources", doc="capacity of each node")
    node_free: IntArray = array("nodes", "resources", doc="free now, net of reservations")
    node_draining: IntArray = array("nodes", "resources", doc="released soon by earlier victims, net of reservations")
    job_node: IntArray = array("jobs", doc="node that runs each BE job")
    job_demand: IntArray = array("jobs", "resources", doc="demand of each BE job")
    job_grace: IntArray = array("jobs", doc="grace period, s")
    job_preemptions: IntArray = array("jobs", doc="how often each BE job has been preempted")
    job_remaining: IntArray = array("jobs", doc="true remaining execution time, s: for solvers that declare oracle")
    te_demand: IntArray = array("tes", "resources", doc="demand of each waiting TE job, in queue order")
    preemption_limit: int = integer(high=UNLIMITED, default=1, doc="P: a job is preempted at most this often")
    grace_weight: int = integer(high=10**9, default=4000, doc="s of Eq. 3 in thousandths")
    max_size: int = integer(default=0, doc="largest Eq. 1 size among all running BE jobs, 1e-9 (0: of the listed)")
    max_grace: int = integer(default=0, doc="longest grace period among all running BE jobs, s (0: of the listed)")

    def check(self) -> None:
        nodes = len(self.node_capacity)
        refuse_first(self.job_node >= nodes, "job_node", self.job_node, f"expected below {nodes} (the number of nodes)")
        host = self.node_capacity[self.job_node]
        refuse_first(self.job_demand > host, "job_demand", self.job_demand, "expected at most the capacity of its node")
        released = self.node_free + self.node_draining
        np.add.at(released, self.job_node, self.job_demand)
        refuse_first(
            released > self.node_capacity,
            "node_free",
            self.node_free,
            "free + draining + running demand must not exceed node_capacity",
        )
        self._check_maxima()
        for name, (_, remedy) in LARGEST.items():
            if (most := self.primary(name).weight * (len(self.te_demand) + 1)) > EXACT:
                raise InvalidInput(f"{name} can reach {most}, expected below 2^53; {remedy}")

    def _check_maxima(self) -> None:
        """Fill in maxima that were not given; refuse maxima below a listed job's."""
        size = largest_size(self.job_demand, self.node_capacity[self.job_node])
        grace = int(self.job_grace.max(initial=0))
        for name, value, minimum in (("max_size", self.max_size, size), ("max_grace", self.max_grace, grace)):
            if value == 0:
                object.__setattr__(self, name, minimum)
            elif value < minimum:
                raise InvalidInput(f"{name}: {value}, expected at least {minimum}, the largest among the listed jobs")

    @functools.cached_property
    def _relative_size(self) -> npt.NDArray[np.float64]:
        return sizes(self.job_demand, self.node_capacity[self.job_node])

    @functools.cached_property
    def score(self) -> IntArray:
        """Return Eq. 3 of each BE job in millionths, rounded half to even; judge and models share it.

        score = 10^6 (Size / max_size + s GP / max_grace); the second term is 0 if all grace periods are 0.
        """
        return self.scores(self.grace_weight / 1000)

    def scores(self, s: float) -> IntArray:
        """Compute Eq. 3 in millionths for another weight `s` of the grace period."""
        relative = self._relative_size * SIZE_UNIT / max(self.max_size, 1) + s * self.job_grace / max(self.max_grace, 1)
        return np.rint(SCORE_UNIT * relative).astype(np.int64)

    @functools.cached_property
    def preemptible(self) -> npt.NDArray[np.bool_]:
        """Return which BE jobs may still be preempted."""
        return self.job_preemptions < self.preemption_limit

    def primary(self, objective: str) -> Primary:
        """Return the deferred TE jobs, compared before the base value (judge, rule 4; the weight is its D)."""
        largest, _ = objective_entry(LARGEST, objective, "LARGEST of instances/preemption/instance.py")
        return Primary("deferred TE jobs", 1 + int(largest(self)))

    def deferrals(self, plan: Plan) -> list[str]:
        """Return the names of the TE jobs without a node."""
        return [f"TE job {t} waits" for t in np.flatnonzero(plan.te_node < 0).tolist()]

    def table(self, plan: Plan) -> dict[str, object]:
        """Return one row per job: class, number in the class, node (-1: the job waits), and fate."""
        jobs, tes = len(self.job_node), len(self.te_demand)
        suspended = np.isin(np.arange(jobs), plan.victims)
        fate = [*np.where(suspended, "suspended", "runs on"), *np.where(plan.te_node >= 0, "starts", "waits")]
        return {
            "class": np.array(["BE"] * jobs + ["TE"] * tes, dtype=object),
            "job": np.concatenate([np.arange(jobs), np.arange(tes)]),
            "node": np.concatenate([self.job_node, plan.te_node]),
            "fate": np.array(fate, dtype=object),
        }
