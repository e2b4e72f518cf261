"""Equal nodes, and the pods that can come to them.

Two nodes are equal where they have the same free amounts, the same domains, the same pods of the same units that may
leave, and are open to the same shapes and the same moves. A class of equal nodes to which one shape may go, and no pod
may move, is one place: `t` pods on each of its `count` nodes. Of any other class as many nodes are kept as there are
pods that could come; which ones is of no matter.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_admission.instances import Instance

#: Node -> unit -> amounts that the unit releases on the node.
Released = Mapping[int, Mapping[int, tuple[int, ...]]]


@dataclasses.dataclass(frozen=True)
class Place:
    """Equal nodes on which the same happens (one node, unless a single shape may come).

    room: free and draining amounts of one node. leaving: unit -> what it releases on one node. shapes: those that may
    come. kinds: kinds of movable pods that may come.
    """

    nodes: tuple[int, ...]
    room: tuple[int, ...]
    leaving: Mapping[int, tuple[int, ...]]
    shapes: tuple[int, ...]
    kinds: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Kind:
    """Equal pods of alike movable units: same demand, same set of nodes.

    units: the alike units. demand: of one pod. pods: pods of all units, unit by unit.
    """

    units: tuple[int, ...]
    demand: tuple[int, ...]
    pods: tuple[int, ...]

    @property
    def pods_per_unit(self) -> int:
        return len(self.pods) // len(self.units)


def movable_kinds(instance: Instance, *, merge: bool = True) -> list[Kind]:
    """Return the pods of movable units, equal ones together. merge: whether alike units share their kinds."""
    units_by_pods: dict[int, dict[tuple[tuple[int, ...], int], list[int]]] = defaultdict(lambda: defaultdict(list))
    for p in np.flatnonzero(instance.unit_movable[instance.pod_unit] == 1).tolist():
        key = tuple(instance.pod_demand[p].tolist()), int(instance.pod_set[p])
        units_by_pods[int(instance.pod_unit[p])][key].append(p)
    alike: dict[object, list[int]] = defaultdict(list)
    for unit, kinds in units_by_pods.items():
        sizes = sorted((*key, len(pods)) for key, pods in kinds.items())
        alike[(int(instance.unit_level[unit]), *sizes) if merge else unit].append(unit)
    return [
        Kind(tuple(units), key[0], tuple(p for u in units for p in units_by_pods[u][key]))
        for units in alike.values()
        for key in units_by_pods[units[0]]
    ]


def rigid_bundles(instance: Instance) -> IntArray:
    """Return the first unit of each unit's bundle: units that can only be evicted together share a bundle.

    A gang is a bundle if it can spare no pod, all its units may be evicted, and none may move.
    """
    groups = instance.unit_group
    sizes = np.bincount(groups, weights=units_sizes(instance), minlength=len(instance.group_min))
    evictable = (instance.may > 0).any(axis=0) & (instance.unit_movable != 1)
    flexible = np.bincount(groups, weights=~evictable, minlength=len(sizes)) > 0
    rigid = (sizes <= instance.group_min) & ~flexible
    bundles = np.arange(len(groups))
    _, first, group_of = np.unique(groups, return_index=True, return_inverse=True)
    return np.where(rigid[groups], first[group_of], bundles)


def alike_jobs(instance: Instance) -> dict[int, list[int]]:
    """Group interchangeable jobs: return first job -> all jobs of its group, ascending.

    A job with a spread of pods over nodes or with groups of shapes forms a group by itself.
    """
    shapes: dict[int, list[int]] = defaultdict(list)
    for k, j in enumerate(instance.shape_job.tolist()):
        shapes[j].append(k)
    rows = np.column_stack(
        [instance.shape_count, instance.shape_level, instance.shape_slice, instance.shape_demand, instance.shape_nodes]
    )
    jobs = np.column_stack(
        [instance.job_priority, instance.job_queue, instance.job_use, instance.may, instance.limit_job.T]
    )
    own = (instance.shape_spread > 0) | (instance.shape_group >= 0)
    alike: dict[object, list[int]] = defaultdict(list)
    for j, row in enumerate(jobs):
        key = j if own[shapes[j]].any() else (row.tobytes(), rows[shapes[j]].tobytes())
        alike[key].append(j)
    return {members[0]: members for members in alike.values()}


def places_of_nodes(
    instance: Instance,
    kinds: list[Kind],
    released: Released,
    bundles: IntArray,
    *,
    shapes: Collection[int],
    pooled: Collection[int] = (),
    merge: bool = True,
) -> list[Place]:
    """Return the places of an instance by their first node, without nodes that no pod can use.

    released: amounts that units may release on each node (`released_by_node`). bundles: the first unit of each unit's
    bundle (`rigid_bundles`). shapes: indices of the counted shapes. pooled: nodes in pools. merge: whether equal nodes
    form one place.
    """
    leaving = (instance.may > 0).any(axis=0) | (instance.unit_movable == 1)
    room = instance.node_free + instance.node_draining
    most = room.copy()
    leaving_pods = leaving[instance.pod_unit]
    np.add.at(most, instance.pod_node[leaving_pods], instance.pod_demand[leaving_pods])
    open_to = _open_to_shapes(instance, most)
    open_to[np.setdiff1d(np.arange(len(open_to)), list(shapes))] = 0
    moves = _open_to_kinds(instance, kinds, most)
    open_to[:, list(pooled)] = moves[:, list(pooled)] = 0
    pods = int(instance.shape_count.sum()) + sum(len(kind.pods) for kind in kinds)
    classes: dict[object, list[int]] = defaultdict(list)
    came = np.flatnonzero(open_to.any(axis=0) | moves.any(axis=0)).tolist()
    keys = [column.tobytes() for column in np.vstack([room.T, instance.node_domain, open_to, moves]).T[came]]
    for n, key in zip(came, keys, strict=True):
        units = tuple(sorted((int(bundles[u]), amounts) for u, amounts in released.get(n, {}).items()))
        classes[(key, units) if merge else n].append(n)
    merged = []
    for nodes in classes.values():
        n = nodes[0]
        here, comers = np.flatnonzero(open_to[:, n]).tolist(), np.flatnonzero(moves[:, n]).tolist()
        parts = [nodes] if len(here) == 1 and not comers else [[m] for m in nodes[:pods]]
        amounts = tuple(room[n].tolist())
        merged += [Place(tuple(part), amounts, released.get(n, {}), tuple(here), tuple(comers)) for part in parts]
    return sorted(merged, key=lambda place: place.nodes)


def released_by_node(instance: Instance) -> Released:
    """Return the amounts that evictable and movable units release, by node and unit."""
    leaving = (instance.may > 0).any(axis=0) | (instance.unit_movable == 1)
    there: dict[int, dict[int, tuple[int, ...]]] = defaultdict(dict)
    hosts, units = instance.pod_node.tolist(), instance.pod_unit.tolist()
    demands = instance.pod_demand.tolist()
    for p in np.flatnonzero(leaving[instance.pod_unit]).tolist():
        n, u = hosts[p], units[p]
        before = there[n].get(u)
        now = tuple(demands[p])
        there[n][u] = now if before is None else tuple(a + b for a, b in zip(before, now, strict=True))
    return there


def _open_to_shapes(instance: Instance, most: IntArray) -> IntArray:
    """Shapes x nodes: 1 where one pod may run, and fits when all go that may; in a domain where one is required."""
    fits = instance.shape_nodes.copy()
    for k, demand in enumerate(instance.shape_demand):
        fits[k] &= ((demand <= most) | (demand == 0)).all(axis=1)
        if (level := int(instance.shape_level[k])) >= 0:
            fits[k] &= instance.node_domain[level] >= 0
    return fits


def _open_to_kinds(instance: Instance, kinds: list[Kind], most: IntArray) -> IntArray:
    """Kinds x nodes: 1 where a pod of the kind may go, and fits when all go that may."""
    fits = np.zeros((len(kinds), len(most)), dtype=np.int64)
    for i, kind in enumerate(kinds):
        demand = np.array(kind.demand, dtype=np.int64)
        fits[i] = ((demand <= most) | (demand == 0)).all(axis=1)
        if (node_set := int(instance.pod_set[kind.pods[0]])) >= 0:
            fits[i] &= instance.node_sets[node_set]
    return fits


def units_sizes(instance: Instance) -> list[int]:
    """Pods of each unit; a unit without pods counts as one."""
    pod_counts = np.bincount(instance.pod_unit, minlength=len(instance.unit_group))
    sizes: list[int] = np.maximum(pod_counts, 1).tolist()
    return sizes
