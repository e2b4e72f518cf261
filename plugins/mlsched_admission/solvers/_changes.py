"""The problem of changes as a problem of evictions: all running units stay, and each possible change is a unit.

Five kinds of change become units that may be "evicted", each kind counted by an objective of its own:

- another node: a copy of an existing node, occupied by a unit that loses 1 (`lost` counts the nodes);
- a pod less: a slot for one pod of a shape, occupied by a unit in a budget of 0 (`budget_violations` counts the pods);
- waiting: a running unit that ends by itself, with the time until then as its grace period (`grace` is the wait);
- a raised quota or limit: a unit that uses exactly the missing amount, of a higher priority than all others
  (`top_priority` is 2 if one is raised);
- a move is a move (`moves`).

The use of such a unit is added to its quota, so that the state is unchanged while it stays.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import IntArray
from mlsched_admission.instances import Instance
from mlsched_admission.instances.quotas import Quotas

#: Most nodes and slots of a problem, each kind.
MOST_ADDED = 2000


@dataclasses.dataclass(frozen=True)
class Changes:
    """The problem of changes, and the meaning of its units.

    Attributes:
        nodes: Unit -> node that the added node copies.
        pods: Units that represent a pod less.
        raised: Unit -> ("quota", queue, flavor) or ("limit", limit, 0).
        complete: True if all kinds of change are included in full.
    """

    question: Instance
    nodes: dict[int, int]
    pods: tuple[int, ...]
    raised: dict[int, tuple[str, int, int]]
    complete: bool


class _Added:
    """Nodes, pods, units and gangs that are added to an instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.like: list[int] = []
        self.capacity: list[IntArray] = []
        self.shape_of: list[int] = []
        self.domain: list[IntArray] = []
        self.units: list[Data] = []

    def add_node(self, like: int, capacity: IntArray, domain: IntArray, shape: int = -1) -> int:
        """Add a node that a new unit occupies; with a `shape`, only for that. Return the number of the unit."""
        self.like.append(like)
        self.capacity.append(capacity)
        self.domain.append(domain)
        self.shape_of.append(shape)
        return self.add_unit(node=len(self.instance.node_free) + len(self.like) - 1)

    def add_unit(self, **says: Any) -> int:
        self.units.append(says)
        return len(self.instance.unit_group) + len(self.units) - 1


def problem_of_changes(instance: Instance) -> Changes:
    """Return the problem of changes that would let all jobs of an instance start."""
    instance = _without_worse_domains(instance)
    additions = _Added(instance)
    nodes, complete = _more_nodes(instance, additions)
    pods, all_pods = _fewer_pods(instance, additions)
    raises = _raise_limits(instance, additions)
    return Changes(_build_question(instance, additions, pods), nodes, tuple(pods), raises, complete and all_pods)


def _without_worse_domains(instance: Instance) -> Instance:
    """Return the instance with the only shape restricted to the undominated domains.

    A domain is dominated if fewer pods fit now, and fewer on the best node that could be added. If units may move or
    end by themselves, the room of a domain is not one number, and all are kept.
    """
    if (
        len(instance.shape_job) != 1
        or (instance.shape_group >= 0).any()
        or instance.unit_movable.any()
        or (instance.unit_ends >= 0).any()
    ):
        return instance
    count, level, size = int(instance.shape_count[0]), int(instance.shape_level[0]), int(instance.shape_slice[0])
    if level < 0 or size not in (0, count):
        return instance
    demand, open_to = instance.shape_demand[0], instance.shape_nodes[0] == 1
    capacity = instance.node_free + instance.node_draining
    now = _fitting_pods(capacity, demand, count, int(instance.shape_spread[0]))
    np.add.at(capacity, instance.pod_node, instance.pod_demand)
    empty = _fitting_pods(capacity, demand, count, int(instance.shape_spread[0]))
    domain = instance.node_domain[level]
    able = np.flatnonzero(open_to & (domain >= 0))
    if not len(able):
        return instance
    room, best = (np.zeros(int(domain.max()) + 1, dtype=np.int64) for _ in range(2))
    np.add.at(room, domain[able], now[able])
    np.maximum.at(best, domain[able], empty[able])
    undominated, most = set(), -1
    for d in sorted(set(domain[able].tolist()), key=lambda d: (-int(room[d]), -int(best[d]), d)):
        if best[d] > most:  # earlier domains have at least as much room
            undominated.add(d)
            most = int(best[d])
    return instance.replace(shape_nodes=instance.shape_nodes * np.isin(domain, sorted(undominated)))


def _fitting_pods(free: IntArray, demand: IntArray, most: int, spread: int) -> IntArray:
    """Return how many pods of a demand fit on each node: at most `most`, and at most `spread` unless it is 0."""
    is_requested = demand > 0
    fits = (
        (free[:, is_requested] // demand[is_requested]).min(axis=1) if is_requested.any() else np.full(len(free), most)
    )
    return np.asarray(np.clip(fits, 0, min(most, spread or most)))


def _more_nodes(instance: Instance, additions: _Added) -> tuple[dict[int, int], bool]:
    """Add undominated copies of nodes, as many of each kind as the jobs could use; return unit -> copied node."""
    capacity = instance.node_free + instance.node_draining
    np.add.at(capacity, instance.pod_node, instance.pod_demand)
    kinds: dict[bytes, int] = {}
    columns = [capacity.T, instance.node_domain[_required_levels(instance)], instance.shape_nodes, instance.node_sets]
    table = np.vstack(columns).T
    for n in range(len(capacity)):
        kinds.setdefault(table[n].tobytes(), n)
    able = {n: needed for n in kinds.values() if (needed := _nodes_needed(instance, n, capacity[n]))}
    alike: dict[bytes, list[int]] = {}
    for n in able:
        alike.setdefault(instance.node_domain[_required_levels(instance), n].tobytes(), []).append(n)
    best = [
        n
        for among in alike.values()
        for n in among
        if not any(
            _is_no_worse_node(instance, capacity, m, n) and (m < n or not _is_no_worse_node(instance, capacity, n, m))
            for m in among
            if m != n
        )
    ]
    copies: dict[int, int] = {}
    for n in best:
        for _ in range(able[n]):
            if len(copies) == MOST_ADDED:
                return copies, False
            copies[additions.add_node(n, capacity[n], instance.node_domain[:, n])] = n
    return copies, True


def _required_levels(instance: Instance) -> list[int]:
    """Return the levels of which some job needs one domain; the others do not distinguish nodes."""
    groups = instance.shape_group_level.tolist()
    return sorted({*instance.shape_level.tolist(), *groups, *instance.unit_level.tolist()} - {-1})


def _nodes_needed(instance: Instance, n: int, capacity: IntArray) -> int:
    """Return the number of empty nodes like `n` for all pods that fit on such a node; 0 if no pod fits."""
    needed = 0
    for k, demand in enumerate(instance.shape_demand):
        if not instance.shape_nodes[k, n] or (demand > capacity).any():
            continue
        count, is_requested = int(instance.shape_count[k]), demand > 0
        each = int((capacity[is_requested] // demand[is_requested]).min()) if is_requested.any() else count
        each = min(each, int(instance.shape_spread[k]) or each)
        needed += -(-count // each)
    return needed


def _is_no_worse_node(instance: Instance, capacity: IntArray, m: int, n: int) -> bool:
    """Return whether an empty node like `m` can hold everything that one like `n`, in the same domains, can."""
    return bool(
        (capacity[m] >= capacity[n]).all()
        and (instance.shape_nodes[:, m] >= instance.shape_nodes[:, n]).all()
        and (instance.node_sets[:, m] >= instance.node_sets[:, n]).all()
    )


def _fewer_pods(instance: Instance, additions: _Added) -> tuple[list[int], bool]:
    """Add units that represent a pod less: all pods but one of every shape, in every domain if one is required.

    Shapes of several slices and groups of shapes are unchanged.
    """
    pod_units: list[int] = []
    for k, count in enumerate(instance.shape_count.tolist()):
        level, size = int(instance.shape_level[k]), int(instance.shape_slice[k])
        if count == 1 or (size and size != count) or int(instance.shape_group[k]) >= 0:
            continue
        open_to = np.flatnonzero(instance.shape_nodes[k])
        domains = sorted(set(instance.node_domain[level, open_to].tolist()) - {-1}) if level >= 0 else [-1]
        if len(pod_units) + len(domains) * (count - 1) > MOST_ADDED:
            return pod_units, False
        use, limit_shares = _shares_per_pod(instance, k)
        for domain in domains:
            column = np.full(len(instance.node_domain), -1, dtype=np.int64)
            if level >= 0:
                column[level] = domain
            for _ in range(count - 1):
                unit = additions.add_node(-1, instance.shape_demand[k], column, k)
                additions.units[-1] |= {
                    "use": use,
                    "queue": int(instance.job_queue[instance.shape_job[k]]),
                    "limit": limit_shares,
                }
                pod_units.append(unit)
    return pod_units, True


def _shares_per_pod(instance: Instance, k: int) -> tuple[IntArray, IntArray]:
    """Return the quotas and limits freed by a pod less: its share, if the job's use is that of its only shape."""
    j, count = int(instance.shape_job[k]), int(instance.shape_count[k])
    alone = int((instance.shape_job == j).sum()) == 1
    return alone * (instance.job_use[j] // count), alone * (instance.limit_job[:, j] // count)


def _raise_limits(instance: Instance, additions: _Added) -> dict[int, tuple[str, int, int]]:
    """Add units that use the jobs' missing amounts of each quota and limit."""
    raises = {}
    everyone = list(range(len(instance.job_priority)))
    quotas = Quotas(instance)
    usage = quotas.usage_of(quotas.changed_use(everyone, []))
    for q in sorted(set(instance.job_queue.tolist()) - {-1}):
        path = quotas.path_to_root(q)
        short = (usage[path] - quotas.allowed[path]).max(axis=0)
        for f in np.flatnonzero(short > 0).tolist():
            if (instance.job_use[instance.job_queue == q, f] > 0).any():
                use = np.zeros(instance.job_use.shape[1], dtype=np.int64)
                use[f] = short[f]
                raises[additions.add_unit(use=use, queue=q, priority=1)] = ("quota", q, f)
    for h, remaining in enumerate(instance.limit_left.tolist()):
        if (short_of := int(instance.limit_job[h].sum()) - remaining) > 0 and instance.limit_job[h].any():
            limit_use = np.zeros(len(instance.limit_left), dtype=np.int64)
            limit_use[h] = short_of
            raises[additions.add_unit(limit=limit_use, priority=1)] = ("limit", h, 0)
    return raises


def _build_question(instance: Instance, additions: _Added, pods: list[int]) -> Instance:
    units, jobs, extra = len(instance.unit_group), len(instance.job_priority), len(additions.units)
    nodes, flavors, limits = len(instance.node_free), instance.job_use.shape[1], len(instance.limit_left)
    here = [(u, says["node"]) for u, says in enumerate(additions.units, units) if "node" in says]
    new = len(additions.like)
    no_use, no_limit = np.zeros(flavors, dtype=np.int64), np.zeros(limits, dtype=np.int64)
    use = np.array([says.get("use", no_use) for says in additions.units], dtype=np.int64).reshape(extra, flavors)
    limit_uses = np.array([says.get("limit", no_limit) for says in additions.units], dtype=np.int64).reshape(
        extra, limits
    )
    queue = np.array([says.get("queue", -1) for says in additions.units], dtype=np.int64)
    priority = np.array([says.get("priority", 0) for says in additions.units], dtype=np.int64)
    quota_uses = np.zeros_like(instance.quota_used)
    np.add.at(quota_uses, queue[queue >= 0], use[queue >= 0])
    shape_nodes = np.hstack([instance.shape_nodes, np.zeros((len(instance.shape_job), new), dtype=np.int64)])
    node_sets = np.hstack([instance.node_sets, np.zeros((len(instance.node_sets), new), dtype=np.int64)])
    for i, (like, shape) in enumerate(zip(additions.like, additions.shape_of, strict=True), nodes):
        if shape >= 0:
            shape_nodes[shape, i] = 1
        else:
            shape_nodes[:, i], node_sets[:, i] = instance.shape_nodes[:, like], instance.node_sets[:, like]
    ends = instance.unit_ends >= 0
    pod_set, node_sets = _exclude_slots(instance, additions, node_sets)
    is_node = np.array(
        ["node" in says and u not in set(pods) for u, says in enumerate(additions.units, units)], dtype=np.int64
    )
    budget = np.zeros((1, len(instance.pod_unit) + len(here)), dtype=np.int64)
    budget[0, [len(instance.pod_unit) + i for i, (u, _) in enumerate(here) if u in set(pods)]] = 1
    capacity = np.array(additions.capacity, dtype=np.int64).reshape(new, len(instance.resources))
    domains = np.array(additions.domain, dtype=np.int64).reshape(new, len(instance.node_domain)).T
    zeros = np.zeros(extra, dtype=np.int64)
    return Instance(
        resources=instance.resources,
        node_free=np.vstack([instance.node_free, 0 * capacity]),
        node_draining=np.vstack([instance.node_draining, 0 * capacity]),
        node_domain=np.hstack([instance.node_domain, domains]),
        pod_node=np.concatenate([instance.pod_node, np.array([n for _, n in here], dtype=np.int64)]),
        pod_unit=np.concatenate([instance.pod_unit, np.array([u for u, _ in here], dtype=np.int64)]),
        pod_demand=np.vstack([instance.pod_demand, capacity]),
        pod_set=np.concatenate([pod_set, np.full(len(here), -1, dtype=np.int64)]),
        node_sets=node_sets,
        unit_group=np.arange(units + extra),
        group_min=np.ones(units + extra, dtype=np.int64),
        unit_priority=np.concatenate([np.zeros(units, dtype=np.int64), priority]),
        unit_lost=np.concatenate([np.zeros(units, dtype=np.int64), is_node]),
        unit_grace=np.concatenate([np.where(ends, np.maximum(instance.unit_ends, 1), 0), zeros]),
        unit_movable=np.concatenate([instance.unit_movable, zeros]),
        unit_level=np.concatenate([instance.unit_level, zeros - 1]),
        job_priority=np.zeros(jobs, dtype=np.int64),
        may=np.tile(np.concatenate([ends.astype(np.int64), np.ones(extra, dtype=np.int64)]), (jobs, 1)),
        shape_job=instance.shape_job,
        shape_count=instance.shape_count,
        shape_demand=instance.shape_demand,
        shape_nodes=shape_nodes,
        shape_level=instance.shape_level,
        shape_slice=instance.shape_slice,
        shape_spread=instance.shape_spread,
        shape_group=instance.shape_group,
        shape_group_level=instance.shape_group_level,
        quota_parent=instance.quota_parent,
        quota_nominal=instance.quota_nominal + quota_uses,
        quota_borrow=instance.quota_borrow,
        quota_lend=instance.quota_lend,
        quota_used=instance.quota_used + quota_uses,
        job_queue=instance.job_queue,
        job_use=instance.job_use,
        unit_queue=np.concatenate([instance.unit_queue, queue]),
        unit_use=np.vstack([instance.unit_use, use]),
        limit_left=instance.limit_left,
        limit_job=instance.limit_job,
        limit_unit=np.hstack([instance.limit_unit, limit_uses.T]),
        budget_left=np.zeros(1, dtype=np.int64),
        pod_budget=budget,
    )


def _exclude_slots(instance: Instance, additions: _Added, node_sets: IntArray) -> tuple[IntArray, IntArray]:
    """Restrict moving pods to nodes and added nodes, excluding slots: unrestricted pods get a set without slots."""
    everywhere = np.ones((1, node_sets.shape[1]), dtype=np.int64)
    for i, shape in enumerate(additions.shape_of, len(instance.node_free)):
        if shape >= 0:
            everywhere[0, i] = 0
    return np.where(instance.pod_set < 0, len(node_sets), instance.pod_set), np.vstack([node_sets, everywhere])
