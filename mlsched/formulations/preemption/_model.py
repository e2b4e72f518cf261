"""The reduced problem of victim selection, shared by the CP-SAT and the MIP formulation.

Joint model. y[t,n]: TE job t goes to node n; x[j]: BE job j is a victim; w_t = 1 - sum_n y[t,n]: t waits.

    sum_t demand[t,r] y[t,n] <= room[n,r] + sum_{j on n} demand[j,r] x[j]      for every node n and resource r
    base = sum score[j] x[j]  |  sum x[j]  |  max grace[j] x[j];   minimise base + D sum_t w_t

A complete model has a solution for every feasible plan. Any other is reduced in three ways, which all preserve an
optimal plan. A y[t,n] is dropped if TE job t does not fit on node n even with every candidate suspended. An x[j] on a
node without any y is dropped. A capacity becomes a row only if demand could exceed the room.

If one TE job waits, victims on other nodes than its own only add cost. So there is a covering problem for each node,
and the best of them is the optimum. The lower bound of each is the continuous covering knapsack of a single resource:
an integer optimum cannot be smaller, and dropping the other resources relaxes the problem. It is rounded up, since
objectives are integers. The solver takes the nodes by increasing bound and stops when the next cannot beat the
incumbent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.core.formulation import Formulation, OneOf, Part
from mlsched.instances.preemption import Instance, Plan


@dataclasses.dataclass(frozen=True)
class Reduced:
    """The joint model after the reductions: candidates j, places (t, n) and rows (n, r, room).

    waiting_cost: objective -> D. complete: plans keep victims that TE jobs do not need.
    """

    instance: Instance
    candidates: list[int]
    places: list[tuple[int, int]]
    rows: list[tuple[int, int, int]]
    waiting_cost: dict[str, int]
    complete: bool = False

    def plan(self, placed: list[tuple[int, int]], victims: list[int]) -> Plan:
        """Return the plan of a solution; a reduced model drops unneeded victims, which only add cost."""
        te_node = [-1] * len(self.instance.te_demand)
        for t, n in placed:
            te_node[t] = n
        survivors = victims if self.complete else needed_victims(self.instance, te_node, victims)
        return Plan(te_node=ints(te_node), victims=ints(survivors))


def reduce(instance: Instance, nodes: list[int] | None = None, *, complete: bool = False) -> Reduced:
    """Return the joint model restricted to `nodes` (all of them by default)."""
    allowed = range(len(instance.node_capacity)) if nodes is None else nodes
    room = instance.node_free + instance.node_draining
    most = room.copy()
    able = np.flatnonzero(instance.preemptible)
    np.add.at(most, instance.job_node[able], instance.job_demand[able])
    places = [(t, n) for t, need in enumerate(instance.te_demand) for n in allowed if (need <= most[n]).all()]
    use = sorted({n for _, n in places})
    rows = []
    for n in use:
        need = instance.te_demand[[t for t, m in places if m == n]].sum(axis=0)
        rows += [(n, r, int(room[n, r])) for r in range(room.shape[1]) if complete or need[r] > room[n, r]]
    candidates = [int(j) for j in able if complete or instance.job_node[j] in use]
    cost = {goal.name: instance.primary(goal.name).weight for goal in instance.objectives}
    return Reduced(instance, candidates, places, rows, cost, complete)


def needed_victims(instance: Instance, te_node: list[int], victims: list[int]) -> list[int]:
    """Return the `victims` without unneeded victims; the largest score of Eq. 3 is spared first."""
    spare = instance.node_free + instance.node_draining
    for j in victims:
        spare[instance.job_node[j]] += instance.job_demand[j]
    for t, n in enumerate(te_node):
        if n >= 0:
            spare[n] -= instance.te_demand[t]
    hosts = {n for n in te_node if n >= 0}
    survivors = []
    for j in sorted(victims, key=lambda j: (-int(instance.score[j]), j)):
        n = int(instance.job_node[j])
        if n in hosts and not (instance.job_demand[j] <= spare[n]).all():
            survivors.append(j)
        else:
            spare[n] -= instance.job_demand[j]
    return sorted(survivors)


def by_node(instance: Instance, objective: str, build: Callable[[Reduced], Formulation]) -> OneOf:
    """Return the disjunction over nodes of an instance with a single TE job."""
    parts = []
    able = np.flatnonzero(instance.preemptible)
    for n in range(len(instance.node_capacity)):
        here = able[instance.job_node[able] == n]
        bound = _cover_bound(instance, objective, n, here)
        if bound is not None:
            parts.append(Part(bound, lambda n=n: build(reduce(instance, [n]))))  # type: ignore[misc]
    return OneOf(parts, fallback=Plan(te_node=ints([-1]), victims=ints([])))


def _cover_bound(instance: Instance, objective: str, node: int, here: IntArray) -> int | None:
    """Return a lower bound on the base value of hosting the TE job on `node`; None if `here` cannot make room."""
    deficit = instance.te_demand[0] - instance.node_free[node] - instance.node_draining[node]
    short = np.flatnonzero(deficit > 0)
    if short.size == 0:
        return 0
    bound = 0
    for r in short:
        release = instance.job_demand[here, r]
        if release.sum() < deficit[r]:
            return None
        bound = max(bound, COVER_BOUNDS[objective](instance, here, release, int(deficit[r])))
    return bound


def fractional_cover(cost: IntArray, release: IntArray, deficit: int) -> int:
    """Return the smallest cost of covering `deficit` if jobs may be split, rounded up. Exact in integers.

    Taking jobs by cost per unit is optimal for the continuous problem. The last, fractional job costs at least
    ceil(cost * missing / release).
    """
    useful = np.flatnonzero(release > 0)
    order = useful[np.argsort(cost[useful] / release[useful], kind="stable")]
    total = 0
    for j in order.tolist():
        if release[j] >= deficit:
            return total - (-int(cost[j]) * deficit // int(release[j]))
        deficit -= int(release[j])
        total += int(cost[j])
    raise ValueError("the jobs together do not cover the deficit")


def _shortest_grace(grace: IntArray, release: IntArray, deficit: int) -> int:
    """Return the smallest grace period such that all jobs up to it cover the deficit, which is a bound."""
    order = np.argsort(grace, kind="stable")
    # The first job, by grace period, at which the releases so far cover the deficit.
    return int(grace[order[np.searchsorted(np.cumsum(release[order]), deficit)]])


#: Objective -> a lower bound on the base value of covering a deficit of one resource, given the jobs' releases.
COVER_BOUNDS: dict[str, Callable[[Instance, IntArray, IntArray, int], int]] = {
    "total_score": lambda instance, jobs, release, deficit: fractional_cover(instance.score[jobs], release, deficit),
    "victim_count": lambda instance, jobs, release, deficit: fractional_cover(np.ones_like(jobs), release, deficit),
    "max_grace_period": lambda instance, jobs, release, deficit: _shortest_grace(
        instance.job_grace[jobs], release, deficit
    ),
}
OBJECTIVES = tuple(COVER_BOUNDS)
