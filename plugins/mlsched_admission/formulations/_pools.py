"""Pools: groups of nodes that the program counts together, with one number for each size of pod.

The pods need one scarce resource in amounts that divide each other. Then n_s pods of each size s fit on nodes
with free amounts f if and only if, for each size s,

    sum over t >= s of (t / s) n_t <= sum over the nodes of floor(f / s),

since a pod of size t takes exactly t / s of the right side of each s <= t on any node. A leaving unit adds its
amount / s if the free and the released amounts of its nodes are multiples of the largest size.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_admission.formulations._nodes import Kind, Released
from mlsched_admission.instances import Instance


@dataclasses.dataclass(frozen=True)
class Pool:
    """Nodes of the same domains that are open to the same pods.

    resource: index of the scarce resource. sizes: demands of the pods for it, ascending. room: numbers of pods of each
    size that fit before any unit leaves. leaving: unit -> released amount. shapes, kinds: indices of the admissible
    shapes and kinds.
    """

    nodes: tuple[int, ...]
    resource: int
    sizes: tuple[int, ...]
    room: tuple[int, ...]
    leaving: dict[int, int]
    shapes: tuple[int, ...]
    kinds: tuple[int, ...]


def pools_of_nodes(instance: Instance, shapes: Sequence[int], kinds: Sequence[Kind], released: Released) -> list[Pool]:
    """Return the pools of at least two nodes; each other node is a separate place.

    shapes: indices of the counted shapes. released: node -> unit -> released amounts.
    """
    open_to = instance.shape_nodes[list(shapes)].reshape(len(shapes), len(instance.node_free)) == 1
    for row, k in zip(open_to, shapes, strict=True):
        if (level := int(instance.shape_level[k])) >= 0:
            row &= instance.node_domain[level] >= 0
    moves = np.ones((len(kinds), len(instance.node_free)), dtype=bool)
    for row, kind in zip(moves, kinds, strict=True):
        if (node_set := int(instance.pod_set[kind.pods[0]])) >= 0:
            row &= instance.node_sets[node_set] == 1
    classes: dict[bytes, list[int]] = defaultdict(list)
    for n, column in enumerate(np.vstack([instance.node_domain, open_to, moves]).T):
        classes[column.tobytes()].append(n)
    suitable, room = [], instance.node_free + instance.node_draining
    for nodes in classes.values():
        here = tuple(k for k, row in zip(shapes, open_to, strict=True) if row[nodes[0]])
        comers = tuple(i for i, row in enumerate(moves) if row[nodes[0]])
        if len(nodes) > 1 and (here or comers):
            demands = [instance.shape_demand[k] for k in here] + [np.array(kinds[i].demand) for i in comers]
            suitable += _pools_of_class(instance, room, nodes, here, comers, np.array(demands), released)
    return suitable


def _pools_of_class(
    instance: Instance,
    room: IntArray,
    nodes: Sequence[int],
    shapes: tuple[int, ...],
    kinds: tuple[int, ...],
    demands: IntArray,
    released: Released,
) -> list[Pool]:
    """Return a list with the pool of these nodes by the first suitable resource, or an empty list.

    room: (nodes, resources), free and draining amounts. demands: (shapes and kinds, resources), of one pod.
    """
    for r in range(len(instance.resources)):
        sizes = sorted(set(demands[:, r].tolist()))
        if sizes[0] <= 0 or any(large % small for small, large in zip(sizes, sizes[1:], strict=False)):
            continue
        able = [n for n in nodes if _only_scarce(room[n], released.get(n, {}), demands, r, sizes[-1])]
        most = max((int(room[n, r]) + sum(a[r] for a in released.get(n, {}).values()) for n in able), default=0)
        spreads = [(int(instance.shape_spread[k]), int(instance.shape_demand[k, r])) for k in shapes]
        if len(able) < 2 or any(0 < spread < most // size for spread, size in spreads):
            continue
        leaving: dict[int, int] = defaultdict(int)
        for n in able:
            for u, amounts in released.get(n, {}).items():
                leaving[u] += amounts[r]
        fits = tuple(int((room[able, r] // size).sum()) for size in sizes)
        return [Pool(tuple(able), r, tuple(sizes), fits, dict(leaving), shapes, kinds)]
    return []


def _only_scarce(
    room: IntArray, leaving: Mapping[int, tuple[int, ...]], demands: IntArray, r: int, largest: int
) -> bool:
    """Return whether only resource `r` limits a node, and each leaving unit adds its full amount of `r`.

    Each amount of the other resources suffices for all pods that fit by `r`.
    """
    amounts = [room, *(np.array(a) for a in leaving.values())]
    if int(room.min(initial=0)) < 0 or (leaving and any(int(a[r]) % largest for a in amounts)):
        return False
    return all(bool((demands * int(a[r]) <= a * demands[:, r : r + 1]).all()) for a in amounts)


def spread_over(
    instance: Instance, pool: Pool, leaving: Sequence[int], coming: Sequence[tuple[int, int]], released: Released
) -> list[list[int]]:
    """Assign nodes to the arriving pods, largest pods first, on the first nodes with room.

    leaving: indices of the leaving units. coming: (pods, size) for each kind of pod.
    """
    out = set(leaving)
    free = {
        n: int(instance.node_free[n, pool.resource] + instance.node_draining[n, pool.resource])
        + sum(amounts[pool.resource] for u, amounts in released.get(n, {}).items() if u in out)
        for n in pool.nodes
    }
    hosts: list[list[int]] = [[] for _ in coming]
    for i in sorted(range(len(coming)), key=lambda i: -coming[i][1]):
        pods, size = coming[i]
        for n in pool.nodes:
            here = min(pods, free[n] // size)
            hosts[i] += [n] * here
            free[n] -= here * size
            pods -= here
    return hosts
