"""Changes of the model of workers: each has the optimum of the changed instance, or of the plans that remain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from changed_models import Change, Changes

import mlsched
from mlsched.instances.workers import NEVER

OBJECTIVES = ("total_jct",)


def without(inst: Any, m: Any, wrong: Callable[[int, int, int], bool]) -> Any:
    """Neither the model nor the instance has the allotments (job, workers, PSs) that are wrong."""
    keys = [key for key in m.allot if key[1] and wrong(*key)]
    m.without = pyo.Constraint(keys, rule=lambda m, j, w, p: m.allot[j, w, p] == 0)
    cost = inst.cost.copy()
    for j, w, p in keys:
        cost[j, w - 1, p - 1] = NEVER
    return inst.replace(cost=cost)


def cap_a_resource(inst: Any, m: Any) -> Any:
    m.reserve = pyo.Constraint(expr=m.capacity[0].body <= m.capacity[0].upper - 2)
    return inst.replace(capacity=inst.capacity - 2 * (np.arange(len(inst.capacity)) == 0))


def cap_the_workers_of_a_job(inst: Any, m: Any) -> Any:
    return without(inst, m, lambda j, w, p: j == 1 and w > 1)


def limit_the_time_of_each_job(inst: Any, m: Any) -> Any:
    return without(inst, m, lambda j, w, p: inst.cost[j, w - 1, p - 1] > 3_500_000)


def pair_workers_with_ps(inst: Any, m: Any) -> Any:
    return without(inst, m, lambda j, w, p: w != p)


def keep_a_job_as_it_is(inst: Any, m: Any) -> Any:
    now = int(inst.current_workers[1]), int(inst.current_ps[1])
    assert min(now) > 0
    m.kept = pyo.Constraint(expr=m.allot[(1, *now)] == 1)
    return lambda plan, _: (plan.workers[1], plan.ps[1]) == now


def limit_all_workers(inst: Any, m: Any) -> Any:
    m.limit = pyo.Constraint(expr=sum(w * m.allot[j, w, p] for j, w, p in m.allot) <= 4)
    jobs = len(inst.waiting)
    return inst.replace(
        resources=(*inst.resources, "slot"),
        capacity=[*inst.capacity, 4],
        worker_demand=np.column_stack([inst.worker_demand, [1] * jobs]),
        ps_demand=np.column_stack([inst.ps_demand, [0] * jobs]),
    )


def let_a_job_wait(inst: Any, m: Any) -> Any:
    m.waits = pyo.Constraint(expr=m.allot[0, 0, 0] == 1)
    return lambda plan, _: plan.workers[0] == 0


def forbid_two_jobs_together(inst: Any, m: Any) -> Any:
    m.apart = pyo.Constraint(expr=m.allot[0, 0, 0] + m.allot[1, 0, 0] >= 1)
    return lambda plan, _: min(plan.workers[0], plan.workers[1]) == 0


def treat_two_jobs_alike(inst: Any, m: Any) -> Any:
    def same(m: Any, count: int) -> Any:
        return sum(m.allot[j, w, p] * (1 if j == 0 else -1) for j, w, p in m.allot if w == count and j < 2) == 0

    m.alike = pyo.Constraint(range(4), rule=same)
    return lambda plan, _: plan.workers[0] == plan.workers[1]


def favour_an_earlier_job(inst: Any, m: Any) -> Any:
    more = sum(w * m.allot[j, w, p] * (1 if j == 0 else -1) for j, w, p in m.allot if j != 1)
    m.favour = pyo.Constraint(expr=more >= 1)
    return lambda plan, _: plan.workers[0] > plan.workers[2]


CHANGES: list[Change] = [
    cap_a_resource,
    cap_the_workers_of_a_job,
    limit_the_time_of_each_job,
    pair_workers_with_ps,
    keep_a_job_as_it_is,
    limit_all_workers,
    let_a_job_wait,
    forbid_two_jobs_together,
    treat_two_jobs_alike,
    favour_an_earlier_job,
]


@pytest.fixture(scope="module")
def changes() -> Changes:
    made = mlsched.generate("workers", "small", 2, jobs=3)
    return Changes(made.replace(cost=made.cost[:, :3, :3]))


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_the_model_of_the_changed_instance(changes, change):
    changes.check("total_jct", change)


def test_most_changes_matter(changes):
    assert changes.matter("total_jct", CHANGES) >= 6
