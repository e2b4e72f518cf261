"""Free nodes or domains: the fewest units that move, or leave if moves do not suffice.

Freeing is admission of a job that takes complete nodes: one pod per node, in slices of a domain. It must not evict, and
every unit may move. So the judge, the exact solvers and certificates are reused.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, ints
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.solvers._questions import Asked, only_victims

#: Default limit in wall seconds.
SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Freed:
    """The cheapest way to free `count` nodes or domains.

    Attributes:
        nodes: The freed nodes.
        moves, evicts: Units that move and that are evicted. Evictions occur only if moves do not suffice: then the
            fewest, and the fewest moves with these.
        proved: The way is proved cheapest; without a plan, the number is proved impossible.
    """

    count: int
    nodes: tuple[int, ...]
    moves: tuple[int, ...]
    evicts: tuple[int, ...]
    plan: Plan | None
    proved: bool


def free_whole_nodes(
    instance: Instance, level: int, most: int, *, time_limit: float | None = None, seed: int = 0
) -> list[Freed]:
    """Return the cheapest ways to free 1, 2, ... `most` domains of a level, or nodes if the level is -1.

    Args:
        instance: the state; its waiting jobs, quotas and limits play no role.
        level: the index of the level, -1 for single nodes.
        most: the largest number to free.
        time_limit: wall seconds for all of it (default 60).
        seed: an integer >= 0.

    Raises:
        InvalidInput: there are fewer than `most` comparable nodes or domains.
    """
    searcher = Asked(SECONDS if time_limit is None else time_limit, seed)
    ways: list[Freed] = []
    suffice = True
    for count in range(1, most + 1):
        way = None
        if suffice:
            way = _cheapest_way(searcher, whole_nodes_job(instance, level, count, evict=False), "moves", count)
            suffice = way.plan is not None or not way.proved
        if way is None or (way.plan is None and way.proved):
            question = whole_nodes_job(instance, level, count, evict=True)
            way = _cheapest_way(searcher, question, "victims", count)
            if way.plan is not None:  # the fewest moves with these evictions
                units = np.flatnonzero(question.unit_movable).tolist()
                fewer = _cheapest_way(searcher, only_victims(question, way.evicts, units), "moves", count)
                way = way if fewer.plan is None else dataclasses.replace(fewer, proved=way.proved and fewer.proved)
        ways.append(way)
    return ways


def _cheapest_way(searcher: Asked, question: Instance, objective: str, count: int) -> Freed:
    """Return the cheapest way to free `count` nodes or domains; its plan is None if the search did not find a way."""
    best = searcher.best_plan(question, objective)
    plan = best.plan
    if plan is None or not plan.start[0]:
        return Freed(count, (), (), (), None, best.proved)
    nodes = tuple(np.flatnonzero(plan.place[0]).tolist())
    return Freed(
        count, nodes, tuple(question.moved(plan.move)), tuple(np.flatnonzero(plan.evict).tolist()), plan, best.proved
    )


def whole_nodes_job(instance: Instance, level: int, count: int, *, evict: bool) -> Instance:
    """Return the instance with one waiting job, which takes all nodes of `count` domains, or `count` nodes.

    A node is free if no pod uses its scarce resource: GPUs if there are some, otherwise the first resource. Only nodes
    of the most frequent capacity count, and domains with the most frequent number of them. A unit of several pods in
    one domain of the level moves to one domain. evict: whether every unit may be evicted.
    """
    scarce = next((r for r, name in enumerate(instance.resources) if "gpu" in name.lower()), 0)
    capacity = (instance.node_free + instance.node_draining)[:, scarce].copy()
    np.add.at(capacity, instance.pod_node, instance.pod_demand[:, scarce])
    domains = np.arange(len(capacity)) if level < 0 else instance.node_domain[level]
    members = [np.flatnonzero(domains == d) for d in sorted(set(domains.tolist()) - {-1})]
    alike = Counter((len(m), int(capacity[m[0]])) for m in members if len(set(capacity[m].tolist())) == 1)
    alike = Counter({key: number for key, number in alike.items() if key[1] > 0})
    if not alike or max(alike.values()) < count:
        what, most_alike = "nodes" if level < 0 else "domains", max(alike.values(), default=0)
        raise InvalidInput(f"free: {count} {what}, expected at most {most_alike}, the number of {what} of one size")
    size, amount = max(alike, key=lambda key: (alike[key], key))
    eligible = [m for m in members if len(m) == size and set(capacity[m].tolist()) == {amount}]
    open_to = np.zeros((1, len(capacity)), dtype=np.int64)
    open_to[0, np.concatenate(eligible)] = 1
    demand = np.zeros((1, len(instance.resources)), dtype=np.int64)
    demand[0, scarce] = amount
    units = len(instance.unit_group)
    return instance.replace(
        job_priority=ints([0]),
        job_queue=ints([-1]),
        job_use=np.zeros((1, instance.job_use.shape[1]), dtype=np.int64),
        job_names=(),
        shape_names=(),
        may=np.full((1, units), int(evict)),
        limit_job=np.zeros((len(instance.limit_left), 1), dtype=np.int64),
        shape_job=ints([0]),
        shape_count=ints([count * size]),
        shape_demand=demand,
        shape_nodes=open_to,
        shape_level=ints([level]),
        shape_slice=ints([0 if level < 0 else size]),
        shape_spread=ints([0]),
        shape_group=ints([-1]),
        unit_movable=np.isin(np.arange(units), instance.pod_unit).astype(np.int64),
        unit_level=_levels_of_units(instance, level),
        contested=0 * instance.contested,
        above_nominal=0,
    )


def _levels_of_units(instance: Instance, level: int) -> IntArray:
    """Return the level in whose domain each moved unit must stay.

    For gangs that are in one domain of `level` and lack their own level, it is `level`.
    """
    levels = instance.unit_level.copy()
    if level < 0 or not len(instance.pod_unit):
        return levels
    domains = instance.node_domain[level][instance.pod_node]
    lowest, highest = np.full(len(levels), np.iinfo(np.int64).max), np.full(len(levels), -2)
    np.minimum.at(lowest, instance.pod_unit, domains)
    np.maximum.at(highest, instance.pod_unit, domains)
    pods = np.bincount(instance.pod_unit, minlength=len(levels))
    together = (pods > 1) & (lowest == highest) & (lowest >= 0) & (levels < 0)
    levels[together] = level
    return levels
