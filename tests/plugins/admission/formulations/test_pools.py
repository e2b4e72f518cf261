"""Pools of nodes and alike jobs: the program that counts them together against enumeration and each one apart."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from draws import draws

from mlsched import api
from mlsched.core.errors import TooLarge
from mlsched_admission.formulations._model import Model
from mlsched_admission.formulations._nodes import released_by_node
from mlsched_admission.formulations._pools import Pool, pools_of_nodes, spread_over
from mlsched_admission.instances import Instance

OBJECTIVES = [o.name for o in Instance.objectives]


def drawn(seed: int) -> Instance:
    """Return up to three racks of nodes with 4 GPUs, running units, and one to four jobs, some of them alike."""
    rng = np.random.default_rng([11, seed])
    racks, per_rack = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    nodes = racks * per_rack
    free = np.full((nodes, 2), [4, 4 * int(rng.integers(1, 3))])
    pod_node: list[int] = []
    pod_unit: list[int] = []
    pod_demand: list[int] = []
    units = 0
    for _ in range(int(rng.integers(1, 6))):
        hosts, size = rng.integers(0, nodes, int(rng.integers(1, 3))).tolist(), int(rng.choice([1, 2, 4, 4]))
        if all(free[n, 0] >= size * hosts.count(n) for n in hosts):
            np.subtract.at(free, hosts, size)
            pod_node += hosts
            pod_demand += [size] * len(hosts)
            pod_unit += [units] * len(hosts)
            units += 1
    jobs = int(rng.integers(1, 5))
    count, size = rng.integers(1, 4, jobs), rng.choice([1, 2, 4], jobs)
    like = rng.integers(0, jobs, jobs) if rng.uniform() < 0.7 else np.arange(jobs)
    return Instance(
        resources=("gpu", "cpu"),
        node_free=free,
        node_domain=np.arange(nodes)[None, :] // per_rack,
        pod_node=np.array(pod_node, dtype=np.int64),
        pod_unit=np.array(pod_unit, dtype=np.int64),
        pod_demand=np.array([[size, size] for size in pod_demand], dtype=np.int64).reshape(-1, 2),
        unit_group=np.arange(units),
        unit_priority=rng.integers(0, 2, units),
        unit_lost=rng.integers(0, 5, units),
        unit_grace=rng.choice([0, 30], units),
        unit_movable=(rng.uniform(size=units) < 0.3).astype(np.int64),
        unit_level=np.where(rng.uniform(size=units) < 0.5, 0, -1),
        group_min=np.ones(units, dtype=np.int64),
        job_priority=rng.integers(0, 2, jobs)[like],
        shape_job=np.arange(jobs),
        shape_count=count[like],
        shape_demand=np.stack([size, size], axis=1)[like],
        shape_nodes=np.ones((jobs, nodes), dtype=np.int64),
        shape_level=rng.choice([-1, 0, 0], jobs)[like],
        shape_slice=np.where(count % 2 == 0, rng.choice([0, 1, 2], jobs), 0)[like],
        shape_spread=2 * (rng.uniform(size=jobs) < 0.1),
        may=(rng.uniform(size=(jobs, units)) < 0.5).astype(np.int64)[like],
    )


def test_counting_together_changes_no_optimum():
    seen: Counter[str] = Counter()
    for seed in range(draws(60, 1600)):
        instance, objective = drawn(seed), OBJECTIVES[seed % len(OBJECTIVES)]
        best = api.solve(instance, "cp-sat", objective=objective, hint="none", merge=False)
        for solver in ("cp-sat", "highs") if seed % 3 == 0 else ("cp-sat",):
            found = api.solve(instance, solver, objective=objective, hint="none")
            assert (found.status, found.sort_key) == ("optimal", best.sort_key), (seed, solver)
        try:
            assert api.solve(instance, "brute-force", objective=objective).sort_key == best.sort_key, seed
        except TooLarge:
            seen["beyond enumeration"] += 1
        model = Model(instance)
        pooled = [place for place in model.places if isinstance(place, Pool)]
        seen["pools"] += bool(pooled)
        seen["units leave a pool"] += any(place.leaving for place in pooled)
        seen["nodes beside pools"] += 0 < len(pooled) < len(model.places)
        seen["alike jobs"] += any(len(jobs) > 1 for jobs in model.alike.values())
        seen["a job waits"] += not best.plan.start.all()
        seen["somebody is evicted"] += bool(best.plan.evict.any())
    most = draws(60, 1600)
    assert all(seen[case] >= 0.2 * most for case in seen if case != "beyond enumeration"), seen
    assert seen["beyond enumeration"] <= 0.2 * most, seen


def test_the_rows_of_a_pool_are_exact():
    """A number of pods of each size satisfies the rows if and only if some packing exists."""
    fitting = 0
    for seed in range(draws(150, 2000)):
        rng = np.random.default_rng([12, seed])
        free = rng.integers(0, 9, int(rng.integers(2, 4)))
        counts = rng.integers(0, 4, 3)
        instance = waiting(free, counts)
        (pool,) = pools_of_nodes(instance, range(3), [], released_by_node(instance))
        rows = all(
            sum(int(n) * t // s for n, t in zip(counts, (1, 2, 4), strict=True) if t >= s) <= room
            for s, room in zip(pool.sizes, pool.room, strict=True)
        )
        assert rows == packs(free.tolist(), [t for n, t in zip(counts, (1, 2, 4), strict=True) for _ in range(n)])
        fitting += rows
        if rows:
            hosts = spread_over(instance, pool, [], list(zip(counts.tolist(), (1, 2, 4), strict=True)), {})
            used = np.bincount(
                [n for at in hosts for n in at],
                weights=[t for at, t in zip(hosts, (1, 2, 4), strict=True) for _ in at],
                minlength=len(free),
            )
            assert [len(at) for at in hosts] == counts.tolist()
            assert (used <= free).all()
    assert 0.3 <= fitting / draws(150, 2000) <= 0.7


def waiting(free: np.ndarray, counts: np.ndarray) -> Instance:
    """Return a job with pods of 1, 2 and 4 GPUs (at least one of each), and nodes with these free GPUs."""
    none = np.zeros(0, dtype=np.int64)
    return Instance(
        resources=("gpu",),
        node_free=free[:, None],
        pod_node=none,
        pod_unit=none,
        pod_demand=none.reshape(0, 1),
        unit_group=none,
        unit_priority=none,
        group_min=none,
        job_priority=np.array([0]),
        shape_job=np.array([0, 0, 0]),
        shape_count=np.maximum(counts, 1),
        shape_demand=np.array([[1], [2], [4]]),
        shape_nodes=np.ones((3, len(free)), dtype=np.int64),
        may=none.reshape(1, 0),
    )


def packs(free: list[int], sizes: list[int]) -> bool:
    """Return whether the pods fit, by trying every assignment to nodes."""
    reached = {tuple(free)}
    for size in sizes:
        reached = {
            (*room[:n], room[n] - size, *room[n + 1 :])
            for room, n in itertools.product(reached, range(len(free)))
            if room[n] >= size
        }
    return bool(reached)
