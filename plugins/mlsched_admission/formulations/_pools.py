"""Nodes that the program counts together: a pool of nodes is one number for each size of pod.

Pods that may come need one scarce resource in amounts that divide each other. Then n_s pods of each size s fit on nodes
with free amounts f if and only if, for each size s,

    sum over t >= s of (t / s) n_t <= sum over the nodes of floor(f / s),

as placing a pod of size t anywhere takes exactly t / s of the right side of each s <= t. A unit that leaves adds its
amount / s if the free amount and the released amounts of its nodes are multiples of the largest size.
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

    resource: the scarce one. sizes: amounts of it that the pods need, ascending. room: how many pods of each size fit
    if nobody leaves. leaving: unit -> the amount that it releases. shapes, kinds: those that may come.
    """

    nodes: tuple[int, ...]
    resource: int
    sizes: tuple[int, ...]
    room: tuple[int, ...]
    leaving: dict[int, int]
    shapes: tuple[int, ...]
    kinds: tuple[int, ...]


def pools(instance: Instance, shapes: Sequence[int], kinds: Sequence[Kind], released: Released) -> list[Pool]:
    """Return the pools of at least two nodes; the other nodes are places of their own.

    shapes: those that the program counts. released: node -> unit -> the amounts that it releases there.
    """
    open_to = instance.shape_nodes[list(shapes)].reshape(len(shapes), len(instance.node_free)) == 1
    for row, k in zip(open_to, shapes, strict=True):
        if (level := int(instance.shape_level[k])) >= 0:
            row &= instance.node_domain[level] >= 0
    moves = np.ones((len(kinds), len(instance.node_free)), dtype=bool)
    for row, kind in zip(moves, kinds, strict=True):
        if (chosen := int(instance.pod_set[kind.pods[0]])) >= 0:
            row &= instance.node_sets[chosen] == 1
    classes: dict[bytes, list[int]] = defaultdict(list)
    for n, column in enumerate(np.vstack([instance.node_domain, open_to, moves]).T):
        classes[column.tobytes()].append(n)
    found = []
    for nodes in classes.values():
        here = tuple(k for k, row in zip(shapes, open_to, strict=True) if row[nodes[0]])
        comers = tuple(i for i, row in enumerate(moves) if row[nodes[0]])
        if len(nodes) > 1 and (here or comers):
            demands = [instance.shape_demand[k] for k in here] + [np.array(kinds[i].demand) for i in comers]
            found += _pools_of(instance, nodes, here, comers, np.array(demands), released)
    return found


def _pools_of(
    instance: Instance,
    nodes: Sequence[int],
    shapes: tuple[int, ...],
    kinds: tuple[int, ...],
    demands: IntArray,
    released: Released,
) -> list[Pool]:
    """Return the pool of these nodes by the first resource that can be the scarce one; none if there is no such."""
    for r in range(len(instance.resources)):
        sizes = sorted(set(demands[:, r].tolist()))
        if sizes[0] <= 0 or any(large % small for small, large in zip(sizes, sizes[1:], strict=False)):
            continue
        room = instance.node_free + instance.node_draining
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
    """Return whether resource `r` alone limits a node, and each leaving unit adds its whole amount of it.

    Of any other resource, each amount suffices for all pods that fit by its amount of `r`.
    """
    amounts = [room, *(np.array(a) for a in leaving.values())]
    if int(room.min(initial=0)) < 0 or (leaving and any(int(a[r]) % largest for a in amounts)):
        return False
    return all(bool((demands * int(a[r]) <= a * demands[:, r : r + 1]).all()) for a in amounts)


def spread_over(
    instance: Instance, pool: Pool, gone: Sequence[int], coming: Sequence[tuple[int, int]], released: Released
) -> list[list[int]]:
    """Return the nodes of the pods that come, largest pods first on the first nodes with room.

    gone: the units that leave. coming: (pods, size) for each kind of pod.
    """
    out = set(gone)
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
