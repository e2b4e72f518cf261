"""Moved units and groups of shapes that share a domain: all exact solvers against enumeration, on drawn racks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from certificate_examples import minimum
from draws import draws
from ortools.sat.python import cp_model

from mlsched import api
from mlsched.benchmark.plain import build
from mlsched.certificates.translation import translation_of
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances import Instance

OBJECTIVES = [o.name for o in Instance.objectives]


def drawn(seed: int) -> Instance:
    """Return two or three racks of two nodes, movable gangs of one or two pods, and a job of one or two shapes."""
    rng = np.random.default_rng([3, seed])
    racks = int(rng.integers(2, 4))
    nodes, free = 2 * racks, np.full(2 * racks, 2)
    pod_node, pod_unit, sizes = [], [], []
    for _ in range(int(rng.integers(2, 5))):
        rack, size = int(rng.integers(racks)), int(rng.integers(1, 3))
        hosts = [2 * rack + int(rng.integers(2)) for _ in range(size)]
        if all(free[n] >= hosts.count(n) for n in hosts):
            np.subtract.at(free, hosts, 1)
            pod_node += hosts
            pod_unit += [len(sizes)] * size
            sizes.append(size)
    units, shapes = len(sizes), int(rng.integers(1, 3))
    return Instance(
        resources=("gpu",),
        node_free=free[:, None],
        node_domain=np.array([np.arange(nodes) // 2, np.where(rng.uniform(size=nodes) < 0.9, 0, -1)]),
        pod_node=np.array(pod_node, dtype=np.int64),
        pod_unit=np.array(pod_unit, dtype=np.int64),
        pod_demand=np.ones((len(pod_node), 1), dtype=np.int64),
        unit_group=np.arange(units),
        unit_priority=rng.integers(0, 2, units),
        unit_lost=rng.integers(0, 5, units),
        unit_movable=(rng.uniform(size=units) < 0.8).astype(np.int64),
        unit_level=np.where(rng.uniform(size=units) < 0.8, 0, -1),
        group_min=np.ones(units, dtype=np.int64),
        job_priority=np.array([1]),
        shape_job=np.zeros(shapes, dtype=np.int64),
        shape_count=rng.integers(1, 3, shapes),
        shape_demand=rng.integers(1, 3, (shapes, 1)),
        shape_nodes=np.ones((shapes, nodes), dtype=np.int64),
        shape_group=np.zeros(shapes, dtype=np.int64) if rng.uniform() < 0.7 else np.full(shapes, -1),
        shape_group_level=np.array([0]),
        may=(rng.uniform(size=(1, units)) < 0.3).astype(np.int64),
    )


def test_every_exact_solver_finds_the_enumerated_optimum():
    seen: Counter[str] = Counter()
    for seed in range(draws(60, 1500)):
        instance, objective = drawn(seed), OBJECTIVES[seed % len(OBJECTIVES)]
        best = api.solve(instance, "brute-force", objective=objective)
        for solver in ("cp-sat", "highs"):
            found = api.solve(instance, solver, objective=objective, hint="none")
            assert (found.status, found.sort_key) == ("optimal", best.sort_key), (seed, solver)
        made = translation_of(instance).formulas(instance, objective, best.plan)
        assert sum(f.value(minimum(f)) for f in made) == best.sort_key, seed
        assert plain_optimum(instance, objective) == best.sort_key, seed
        loose = instance.replace(unit_level=0 * instance.unit_level - 1, shape_group=0 * instance.shape_group - 1)
        better = api.solve(loose, "cp-sat", objective=objective).sort_key < best.sort_key
        seen.update(cases=1, starts=int(best.plan.start[0]), moves=int((best.plan.move >= 0).any()), binds=int(better))
    assert seen["binds"] >= 0.1 * seen["cases"], seen
    assert seen["moves"] >= 0.2 * seen["cases"], seen


def plain_optimum(instance: Instance, objective: str) -> int:
    """Return the optimum of the plain model, by the judge."""
    model, plan = build(instance, objective)
    solver = cp_model.CpSolver()
    assert solver.solve(model) == cp_model.OPTIMAL
    assert instance.violations(plan(solver)) == []
    return instance.evaluate(plan(solver))[objective]


def test_a_moved_unit_keeps_its_domain():
    """A gang on one rack must move to one rack: two free nodes of two racks do not suffice."""
    instance = Instance(
        resources=("gpu",),
        node_free=np.array([[0], [0], [0], [1], [0], [1]]),
        node_domain=np.arange(6)[None, :] // 2,
        pod_node=np.array([0, 1]),
        pod_unit=np.array([0, 0]),
        pod_demand=np.ones((2, 1), dtype=np.int64),
        unit_group=np.array([0]),
        unit_priority=np.array([0]),
        unit_movable=np.array([1]),
        unit_level=np.array([0]),
        group_min=np.array([1]),
        job_priority=np.array([1]),
        shape_job=np.array([0]),
        shape_count=np.array([2]),
        shape_demand=np.array([[1]]),
        shape_nodes=np.array([[1, 1, 0, 0, 0, 0]]),
        may=np.array([[0]]),
    )
    loose = instance.replace(unit_level=np.array([-1]))
    for solver in ("brute-force", "cp-sat", "highs"):
        assert api.solve(instance, solver, objective="moves").plan.start.tolist() == [0]
        moved = api.solve(loose, solver, objective="moves").plan
        assert moved.start.tolist() == [1]
        assert instance.violations(moved) == ["the moved unit 0 has pods in 2 domains of level 0, expected one"]


def test_a_group_of_shapes_shares_a_domain():
    """Two shapes of one pod each fit on two racks, but not on one."""
    instance = Instance(
        resources=("gpu",),
        node_free=np.array([[1], [0], [1], [0], [1]]),
        node_domain=np.array([[0, 0, 1, 1, -1]]),
        pod_node=np.zeros(0, dtype=np.int64),
        pod_unit=np.zeros(0, dtype=np.int64),
        pod_demand=np.zeros((0, 1), dtype=np.int64),
        unit_group=np.zeros(0, dtype=np.int64),
        unit_priority=np.zeros(0, dtype=np.int64),
        group_min=np.zeros(0, dtype=np.int64),
        job_priority=np.array([1]),
        shape_job=np.array([0, 0]),
        shape_count=np.array([1, 1]),
        shape_demand=np.array([[1], [1]]),
        shape_nodes=np.ones((2, 5), dtype=np.int64),
        shape_group=np.array([0, 0]),
        shape_group_level=np.array([0]),
        may=np.zeros((1, 0), dtype=np.int64),
    )
    loose = instance.replace(shape_group=np.array([-1, -1]))
    for solver in ("brute-force", "cp-sat", "highs", "kueue"):
        assert api.solve(instance, solver, objective="victims").plan.start.tolist() == [0]
    apart = api.solve(loose, "cp-sat", objective="victims").plan
    assert apart.start.tolist() == [1]
    for nodes, sentence in (
        ((0, 2), "group 0 of shapes has pods in 2 domains of level 0, expected one"),
        ((0, 4), "group 0 of shapes has pods on a node that is in no domain of level 0"),
    ):
        place = np.zeros((2, 5), dtype=np.int64)
        place[[0, 1], list(nodes)] = 1
        assert instance.violations(apart.replace(place=place)) == [sentence]
    roomy = instance.replace(node_free=np.array([[1], [0], [1], [1], [1]]))
    for solver in ("brute-force", "cp-sat", "highs", "kueue"):
        place = api.solve(roomy, solver, objective="victims").plan.place
        assert np.flatnonzero(place.sum(axis=0)).tolist() == [2, 3]


def test_a_group_of_shapes_belongs_to_one_job():
    instance = drawn(0)
    fields = {name: np.concatenate([getattr(instance, name)] * 2) for name in ("job_priority", "may")}
    rows = ("count", "demand", "nodes")
    shapes = {f"shape_{n}": np.repeat(getattr(instance, f"shape_{n}")[:1], 2, axis=0) for n in rows}
    with pytest.raises(InvalidInput, match=r"shape_group.*several jobs"):
        instance.replace(**fields, **shapes, shape_job=np.array([0, 1]), shape_group=np.array([0, 0]))
