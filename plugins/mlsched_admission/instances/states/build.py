"""An instance from a state: names become numbers, amounts become multiples of their common divisor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import IntArray, ints
from mlsched_admission.instances.instance import Instance
from mlsched_admission.instances.states.state import Amounts, Job, Pod, Shape, State, Unit

Placed = Sequence[tuple[int, Pod]]


def instance_of(state: State) -> Instance:
    """Return the admission problem of a state's jobs.

    Everything is in the order of names (units: of `rank`), so that another form or order of the same state gives the
    same instance. Resources, flavors and queues that the jobs do not request are left out: they never bind.
    """
    nodes = sorted(state.nodes)
    units = sorted(state.units.values(), key=lambda unit: (unit.rank, unit.name))
    jobs = sorted(state.jobs.values(), key=lambda job: job.name)
    shapes = [(number, shape) for number, job in enumerate(jobs) for shape in job.shapes]
    pods = [(number, pod) for number, unit in enumerate(units) for pod in unit.pods if pod.node in state.nodes]
    return Instance(
        **_node_fields(state, nodes, pods, [shape for _, shape in shapes], units),
        **_unit_fields(units),
        **_quota_fields(state, jobs, units),
        pod_unit=ints(number for number, _ in pods),
        job_priority=ints(job.priority for job in jobs),
        shape_job=ints(number for number, _ in shapes),
        shape_count=ints(shape.count for _, shape in shapes),
        shape_slice=ints(shape.slice for _, shape in shapes),
        shape_spread=ints(shape.spread for _, shape in shapes),
        may=_eviction_matrix(jobs, units),
        above_nominal=int(state.above_nominal),
        budget_left=ints(budget.remaining for budget in state.budgets),
        pod_budget=_matrix_of(
            [[int(pod.name in budget.pods) for _, pod in pods] for budget in state.budgets], len(pods)
        ),
        limit_left=ints(limit.remaining for limit in state.limits),
        limit_job=_matrix_of([[limit.jobs.get(job.name, 0) for job in jobs] for limit in state.limits], len(jobs)),
        limit_unit=_matrix_of(
            [[limit.units.get(unit.name, 0) for unit in units] for limit in state.limits], len(units)
        ),
        job_names=tuple(job.name for job in jobs),
        budget_names=tuple(budget.name for budget in state.budgets),
        limit_names=tuple(limit.name for limit in state.limits),
    )


def _matrix_of(rows: Sequence[Sequence[int]], width: int) -> IntArray:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _common_divisor(*tables: Sequence[Amounts], name: str) -> int:
    """Return the common divisor of these amounts of one resource; 1 without amounts."""
    return math.gcd(*(abs(one.get(name, 0)) for table in tables for one in table)) or 1


def _divisor_and_unit(state: State, name: str, common: int) -> tuple[int, str]:
    """Return the divisor of a resource's amounts, all multiples of `common`, and the unit that is then 1.

    It is a common unit of people if one divides all amounts; else the greatest divisor.
    """
    for factor, unit in state.scales.get(name, ()):
        if common % factor == 0 and factor > 1:
            return factor, unit
    smallest = state.scales.get(name, ((1, ""),))[-1][1]
    return (common, f"{common} {smallest}") if smallest and common > 1 else (1, smallest)


def _label_with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _node_fields(state: State, nodes: list[str], pods: Placed, shapes: list[Shape], units: list[Unit]) -> Data:
    """Return the fields of nodes, of their pods, and of the shapes' requests."""
    movable = [pod for number, pod in pods if units[number].movable]
    requests = [shape.demand for shape in shapes] + [pod.demand for pod in movable]
    names = sorted({name for demand in requests for name, count in demand.items() if count}) if nodes else []
    usage = [pod.demand for _, pod in pods]
    scale = {
        name: _divisor_and_unit(state, name, _common_divisor(usage, [s.demand for s in shapes], name=name))
        for name in names
    }
    unit_of = {name: factor for name, (factor, _) in scale.items()}
    free = np.zeros((len(nodes), len(names)), dtype=np.int64)
    draining = np.zeros_like(free)
    for n, node in enumerate(nodes):
        there = state.nodes[node]
        for r, name in enumerate(names):
            now, soon = there.free.get(name, 0), there.draining.get(name, 0)
            free[n, r] = now // unit_of[name]
            draining[n, r] = (now + soon) // unit_of[name] - free[n, r]
    sets = sorted({tuple(sorted(pod.nodes)) for pod in movable if pod.nodes is not None})
    index = {node: n for n, node in enumerate(nodes)}
    domains = [
        {name: d for d, name in enumerate(sorted({n.domain[level] for n in state.nodes.values() if level in n.domain}))}
        for level in state.levels
    ]
    return {
        "resources": tuple(_label_with_unit(name, scale[name][1]) for name in names),
        "node_free": free,
        "node_draining": draining,
        "node_domain": _matrix_of(
            [
                [values.get(state.nodes[node].domain.get(level, ""), -1) for node in nodes]
                for level, values in zip(state.levels, domains, strict=True)
            ],
            len(nodes),
        ),
        "node_names": tuple(nodes),
        "pod_node": ints(index[pod.node] for _, pod in pods),
        "pod_demand": _demand_matrix([pod.demand for _, pod in pods], names, unit_of),
        "node_sets": _matrix_of([[int(node in node_set) for node in nodes] for node_set in map(set, sets)], len(nodes)),
        "pod_set": ints(
            sets.index(tuple(sorted(pod.nodes))) if units[number].movable and pod.nodes is not None else -1
            for number, pod in pods
        ),
        "shape_demand": _demand_matrix([shape.demand for shape in shapes], names, unit_of),
        "shape_level": ints(state.levels.index(shape.level) if shape.level else -1 for shape in shapes),
        "shape_nodes": _matrix_of(
            [[int(node in able) for node in nodes] for able in (shape.nodes for shape in shapes)], len(nodes)
        ),
    }


def _demand_matrix(demands: Sequence[Amounts], names: list[str], unit_of: Mapping[str, int]) -> IntArray:
    return _matrix_of([[demand.get(name, 0) // unit_of[name] for name in names] for demand in demands], len(names))


def _unit_fields(units: list[Unit]) -> Data:
    gangs = sorted({unit.gang or unit.name for unit in units})
    number = {gang: g for g, gang in enumerate(gangs)}
    minima = dict.fromkeys(gangs, 1)
    for unit in units:
        minima[unit.gang or unit.name] = max(minima[unit.gang or unit.name], unit.minimum)
    return {
        "unit_group": ints(number[unit.gang or unit.name] for unit in units),
        "group_min": ints(minima[gang] for gang in gangs),
        "unit_priority": ints(unit.priority for unit in units),
        "unit_lost": ints(unit.lost for unit in units),
        "unit_grace": ints(unit.grace for unit in units),
        "unit_preempted": ints(unit.preempted for unit in units),
        "unit_movable": ints(int(unit.movable) for unit in units),
        "unit_age": ints(unit.age for unit in units),
        "unit_ends": ints(-1 if unit.ends is None else unit.ends for unit in units),
        "unit_names": tuple(unit.name for unit in units),
        "group_names": tuple(gangs),
    }


def _eviction_matrix(jobs: list[Job], units: list[Unit]) -> IntArray:
    table = np.zeros((len(jobs), len(units)), dtype=np.int64)
    for j, job in enumerate(jobs):
        for u, unit in enumerate(units):
            table[j, u] = 1 if unit.name in job.may else 2 * (unit.name in job.may_if_nominal)
    return table


def _quota_fields(state: State, jobs: list[Job], units: list[Unit]) -> Data:
    """Return the trees of the jobs' queues, and the requested flavors."""
    flavors = sorted({flavor for job in jobs for flavor, count in job.use.items() if count})
    roots = {_root_of_queue(state, job.queue) for job in jobs if job.queue}
    names = sorted(name for name in state.quotas if _root_of_queue(state, name) in roots) if flavors else []
    number = {name: q for q, name in enumerate(names)}
    quotas = [state.quotas[name] for name in names]
    inside = [unit for unit in units if unit.queue in number]
    limits = [{f: n for f, n in limit.items() if n is not None} for q in quotas for limit in (q.borrow, q.lend)]
    tables = (
        [q.nominal for q in quotas],
        [q.used for q in quotas],
        limits,
        [u.use for u in inside],
        [j.use for j in jobs],
    )
    scale = {f: _divisor_and_unit(state, f.partition("/")[2], _common_divisor(*tables, name=f)) for f in flavors}
    factor = {flavor: divisor for flavor, (divisor, _) in scale.items()}

    def limit_or_none(limits: Mapping[str, int | None]) -> list[int]:
        return [-1 if (n := limits.get(f)) is None else n // factor[f] for f in flavors]

    uses = [unit.use if unit.queue in number else {} for unit in units]
    return {
        "quota_parent": ints(number.get(quota.parent, -1) for quota in quotas),
        "quota_nominal": _demand_matrix([quota.nominal for quota in quotas], flavors, factor),
        "quota_borrow": _matrix_of([limit_or_none(quota.borrow) for quota in quotas], len(flavors)),
        "quota_lend": _matrix_of([limit_or_none(quota.lend) for quota in quotas], len(flavors)),
        "quota_used": _demand_matrix([quota.used for quota in quotas], flavors, factor),
        "job_queue": ints(number.get(job.queue, -1) for job in jobs),
        "job_use": _demand_matrix([job.use for job in jobs], flavors, factor),
        "unit_queue": ints(number.get(unit.queue, -1) for unit in units),
        "unit_use": _demand_matrix(uses, flavors, factor),
        "contested": ints(int(any(f in job.contested for job in jobs)) for f in flavors),
        "queue_names": tuple(names),
        "flavor_names": tuple(_label_with_unit(flavor, scale[flavor][1]) for flavor in flavors),
    }


def _root_of_queue(state: State, name: str) -> str:
    while state.quotas[name].parent:
        name = state.quotas[name].parent
    return name
