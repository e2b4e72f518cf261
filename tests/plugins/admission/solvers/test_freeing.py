"""Freeing whole nodes and racks: the fewest moves against every choice of racks and every way to move."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from draws import draws

import mlsched_admission
from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances import Instance
from mlsched_admission.solvers.freeing import free_whole_nodes, whole_nodes_job

GPUS = 2


def drawn(seed: int) -> Instance:
    """Return three or four racks of two nodes with two GPUs each, and units of one or two pods."""
    rng = np.random.default_rng([5, seed])
    racks = int(rng.integers(3, 5))
    free = np.full(2 * racks, GPUS)
    hosts: list[int] = []
    units: list[int] = []
    demand: list[int] = []
    count = 0
    for _ in range(int(rng.integers(2, 6))):
        rack, size, pods = int(rng.integers(racks)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
        nodes = [2 * rack + int(rng.integers(2)) for _ in range(pods)]
        if all(free[n] >= size * nodes.count(n) for n in nodes):
            np.subtract.at(free, nodes, size)
            hosts += nodes
            demand += [size] * pods
            units += [count] * pods
            count += 1
    none = np.zeros(0, dtype=np.int64)
    return Instance(
        resources=("gpu",),
        node_free=free[:, None],
        node_domain=np.arange(2 * racks)[None, :] // 2,
        pod_node=np.array(hosts),
        pod_unit=np.array(units),
        pod_demand=np.array(demand)[:, None],
        unit_group=np.arange(count),
        unit_priority=np.zeros(count, dtype=np.int64),
        group_min=np.ones(count, dtype=np.int64),
        job_priority=none,
        shape_job=none,
        shape_count=none,
        shape_demand=none.reshape(0, 1),
        shape_nodes=none.reshape(0, 2 * racks),
        may=none.reshape(0, count),
    )


def fewest_moves(instance: Instance, racks: int, level: int) -> int | None:
    """Return the fewest moved units over every choice of racks (or nodes); None if moves do not suffice."""
    domains = instance.node_domain[0].tolist() if level == 0 else list(range(len(instance.node_free)))
    best = None
    units = range(len(instance.unit_group))
    pods = {u: np.flatnonzero(instance.pod_unit == u).tolist() for u in units}
    for chosen in itertools.combinations(sorted(set(domains)), racks):
        forced = {u for u in units if any(domains[instance.pod_node[p]] in chosen for p in pods[u])}
        for extra in range(len(units) - len(forced) + 1):
            if best is not None and len(forced) + extra >= best:
                break
            others = itertools.combinations([u for u in units if u not in forced], extra)
            if any(fits(instance, {*forced, *more}, chosen, domains, pods, level) for more in others):
                best = len(forced) + extra
                break
    return best


def fits(
    instance: Instance,
    moved: set[int],
    closed: tuple[int, ...],
    domains: list[int],
    pods: dict[int, list[int]],
    level: int,
) -> bool:
    """Return whether the moved units fit on the open nodes, a unit of several pods in one rack if `level` is 0."""
    free = instance.node_free[:, 0].copy()
    for u in moved:
        np.add.at(free, instance.pod_node[pods[u]], instance.pod_demand[pods[u], 0])
    open_nodes = [n for n in range(len(free)) if domains[n] not in closed]
    reached = {tuple(free.tolist())}
    for u in moved:
        size = int(instance.pod_demand[pods[u][0], 0])
        after = set()
        for nodes in itertools.product(open_nodes, repeat=len(pods[u])):
            if level == 0 and len({domains[n] for n in nodes}) > 1:
                continue
            for room in reached:
                left = list(room)
                for n in nodes:
                    left[n] -= size
                if min(left) >= 0:
                    after.add(tuple(left))
        reached = after
    return bool(reached)


@pytest.mark.parametrize("level", [0, -1])
def test_the_fewest_moves_are_found(level):
    seen: Counter[str] = Counter()
    for seed in range(draws(25, 1000)):
        instance = drawn(seed)
        before = -1
        for way in free_whole_nodes(instance, level, 2):
            fewest = fewest_moves(instance, way.count, level)
            assert way.proved
            assert way.plan is not None
            assert (len(way.moves) if not way.evicts else None) == fewest, seed
            question = whole_nodes_job(instance, level, way.count, evict=bool(way.evicts))
            assert question.violations(way.plan) == []
            cost = 100 * len(way.evicts) + len(way.moves)
            assert cost >= before, seed  # a further rack never makes it cheaper
            before = cost
            seen["moves"] += bool(way.moves)
            seen["evicts"] += bool(way.evicts)
    assert min(seen["moves"], seen["evicts"] if level == 0 else seen["moves"]) > 0, seen


def test_the_cheapest_evictions_follow_if_moves_do_not_suffice():
    instance = drawn(0).replace(node_free=0 * drawn(0).node_free)  # no free GPU anywhere
    (way,) = free_whole_nodes(instance, -1, 1)
    best = api.solve(whole_nodes_job(instance, -1, 1, evict=True), "brute-force", objective="victims")
    assert len(way.evicts) == best.plan.evict.sum()


def test_names_and_wrong_calls():
    instance = drawn(3)
    found = mlsched_admission.free_nodes(instance, level="0", most=2)
    assert [row["count"] for row in found.to_json()["ways"]] == [1, 2]
    assert repr(found).startswith("<Freeing: 0, 1: ")
    with pytest.raises(InvalidInput, match="expected one of node, 0"):
        mlsched_admission.free_nodes(instance, level="rack")
    with pytest.raises(InvalidInput, match="expected at most"):
        mlsched_admission.free_nodes(instance, level="0", most=9)
    with pytest.raises(InvalidInput, match="most: 0"):
        mlsched_admission.free_nodes(instance, most=0)
