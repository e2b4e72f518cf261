"""Changes of the model of admission: each has the optimum of the changed instance, or of the plans that remain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from changed_models import Change, Changes, key, model_plans

from mlsched_admission.instances import Instance

OBJECTIVES = ("victims", "lost", "top_priority", "budget_violations", "moves", "grace")


def protected(inst: Any, m: Any, units: list[int]) -> Any:
    """Neither the model nor the instance evicts these units."""
    m.protected = pyo.Constraint(units, rule=lambda m, u: m.evict[u] == 0)
    may = inst.may.copy()
    may[:, units] = 0
    return inst.replace(may=may)


def close_a_node(inst: Any, m: Any) -> Any:
    arrivals = [m.put[k, n] for k, n in m.put if n == 1] + [m.shift[i, n] for i, n in m.shift if n == 1]
    m.closed = pyo.Constraint(expr=sum(arrivals) == 0)
    return inst.replace(shape_nodes=inst.shape_nodes * [1, 0], node_sets=[[1, 0]], pod_set=[0] * len(inst.pod_node))


def cap_a_resource(inst: Any, m: Any) -> Any:
    m.cap = pyo.Constraint(expr=m.capacity[0, 0].body <= m.capacity[0, 0].upper - 1)
    return inst.replace(node_free=inst.node_free - [[1], [0]])


def protect_a_unit(inst: Any, m: Any) -> Any:
    return protected(inst, m, [1])


def limit_the_grace_period(inst: Any, m: Any) -> Any:
    return protected(inst, m, np.flatnonzero(inst.unit_grace > 60).tolist())


def move_no_unit(inst: Any, m: Any) -> Any:
    m.still = pyo.Constraint(list(m.move), rule=lambda m, u: m.move[u] == 0)
    return inst.replace(unit_movable=[0] * len(inst.unit_movable))


def lower_a_quota(inst: Any, m: Any) -> Any:
    m.lower = pyo.Constraint(expr=m.quota[0, 0].body <= m.quota[0, 0].upper - 1)
    return inst.replace(quota_nominal=inst.quota_nominal - 1)


def spread_the_pods(inst: Any, m: Any) -> Any:
    m.spread = pyo.Constraint(range(2), rule=lambda m, n: m.put[0, n] <= 1)
    return inst.replace(shape_spread=[1, 0])


def forbid_two_jobs_together(inst: Any, m: Any) -> Any:
    m.apart = pyo.Constraint(expr=m.start[0] + m.start[1] <= 1)
    return inst.replace(limit_left=[1], limit_job=[[1, 1]], limit_unit=[[0] * len(inst.unit_group)])


def let_a_job_wait(inst: Any, m: Any) -> Any:
    m.waits = pyo.Constraint(expr=m.start[0] == 0)
    return inst.replace(limit_left=[0], limit_job=[[1, 0]], limit_unit=[[0] * len(inst.unit_group)])


def fix_a_node(inst: Any, m: Any) -> Any:
    m.fixed = pyo.Constraint(expr=m.put[1, 1] == 1)
    return lambda plan, _: plan.place[1, 1] == 1


def evict_a_unit(inst: Any, m: Any) -> Any:
    m.evicted = pyo.Constraint(expr=m.evict[4] == 1)
    return lambda plan, _: plan.evict[4] == 1


def bound_the_victims(inst: Any, m: Any) -> Any:
    """A second objective as a constraint."""
    m.bound = pyo.Constraint(expr=m.base["victims"] <= 1)
    return lambda plan, _: plan.evict.sum() <= 1


CHANGES: list[Change] = [
    close_a_node,
    cap_a_resource,
    protect_a_unit,
    limit_the_grace_period,
    move_no_unit,
    lower_a_quota,
    spread_the_pods,
    forbid_two_jobs_together,
    let_a_job_wait,
    fix_a_node,
    evict_a_unit,
    bound_the_victims,
]


@pytest.fixture(scope="module")
def changes() -> Changes:
    """Two nodes of 4 GPUs, of which one each is free; units 0 and 2 are a gang, unit 3 may move."""
    used = [[1], [2], [1], [1], [1]]
    return Changes(
        Instance(
            resources=("gpu",),
            node_free=[[1], [1]],
            pod_node=[0, 0, 1, 1, 1],
            pod_unit=list(range(5)),
            pod_demand=used,
            unit_group=[0, 1, 0, 2, 3],
            unit_priority=[1, 2, 1, 2, 3],
            group_min=[2, 1, 1, 1],
            unit_lost=[10, 70, 20, 30, 35],
            unit_grace=[30, 300, 30, 60, 120],
            unit_movable=[0, 0, 0, 1, 0],
            job_priority=[5, 5],
            shape_job=[0, 1],
            shape_count=[2, 1],
            shape_demand=[[2], [2]],
            shape_nodes=[[1, 1], [1, 1]],
            may=[[1] * 5, [1] * 5],
            quota_nominal=[[8]],
            quota_used=[[6]],
            quota_parent=[-1],
            job_queue=[0, 0],
            job_use=[[4], [2]],
            unit_queue=[0] * 5,
            unit_use=used,
            budget_left=[0],
            pod_budget=[[0, 1, 0, 0, 1]],
        )
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_the_model_of_the_changed_instance(changes, change, objective):
    changes.check(objective, change)


def test_most_changes_matter(changes):
    assert changes.matter("lost", CHANGES) >= 6


def test_the_model_has_every_plan(changes):
    plans = {key(plan) for plan, _ in changes.plans}
    assert len(plans) > 20
    assert model_plans(changes.instance) == plans
