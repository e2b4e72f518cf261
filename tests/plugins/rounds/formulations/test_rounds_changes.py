"""Changes of the model of a round: each has the optimum of the changed instance, or of the plans that remain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from changed_models import Change, Changes

import mlsched

OBJECTIVES = ("goodput_cost", "total_steps", "least_served", "worst_ratio", "last_end")


def close_a_type(inst: Any, m: Any) -> Any:
    closed = [(j, c) for j, c in m.run if inst.config_type[c] == 1]
    m.closed = pyo.Constraint(closed, rule=lambda m, j, c: m.run[j, c] == 0)
    return inst.replace(capacity=inst.capacity * (np.arange(2) != 1))


def cap_a_type(inst: Any, m: Any) -> Any:
    m.cap = pyo.Constraint(expr=m.capacity[1].body <= m.capacity[1].upper - 1)
    return inst.replace(capacity=inst.capacity - (np.arange(2) == 1))


def fix_a_configuration(inst: Any, m: Any) -> Any:
    m.fixed = pyo.Constraint(expr=m.run[3, 5] == 1)
    return lambda plan, _: plan.config[3] == 5


def let_a_job_wait(inst: Any, m: Any) -> Any:
    m.waits = pyo.Constraint(expr=sum(m.run[j, c] for j, c in m.run if j == 0) == 0)
    return lambda plan, _: plan.config[0] == -1


def run_a_job(inst: Any, m: Any) -> Any:
    m.runs = pyo.Constraint(expr=sum(m.run[j, c] for j, c in m.run if j == 2) == 1)
    return lambda plan, _: plan.config[2] >= 0


def forbid_two_jobs_together(inst: Any, m: Any) -> Any:
    m.apart = pyo.Constraint(expr=sum(m.run[j, c] for j, c in m.run if j in (0, 3)) <= 1)
    return lambda plan, _: min(plan.config[0], plan.config[3]) == -1


def start_no_job_again(inst: Any, m: Any) -> Any:
    restarts = [(j, c) for j, c in m.run if inst.current[j] not in (-1, c)]
    m.kept = pyo.Constraint(restarts, rule=lambda m, j, c: m.run[j, c] == 0)
    new = inst.current == -1
    return lambda plan, _: (new | (plan.config == -1) | (plan.config == inst.current)).all()


def limit_all_gpus(inst: Any, m: Any) -> Any:
    gpus = inst.config_gpus
    m.limit = pyo.Constraint(expr=sum(int(gpus[c]) * m.run[j, c] for j, c in m.run) <= 5)
    return lambda plan, _: gpus[plan.config[plan.config >= 0]].sum() <= 5


def share_no_type(inst: Any, m: Any) -> Any:
    def alone(m: Any, kind: int) -> Any:
        return sum(m.run[j, c] for j, c in m.run if inst.config_type[c] == kind) <= 1

    m.alone = pyo.Constraint(range(2), rule=alone)
    return lambda plan, _: np.bincount(inst.config_type[plan.config[plan.config >= 0]], minlength=2).max() <= 1


def bound_the_cost(inst: Any, m: Any) -> Any:
    """A second objective as a constraint."""
    most = 2_500_000
    m.bound = pyo.Constraint(expr=m.value["goodput_cost"] <= most)
    return lambda _, values: values["goodput_cost"] <= most


CHANGES: list[Change] = [
    close_a_type,
    cap_a_type,
    fix_a_configuration,
    let_a_job_wait,
    run_a_job,
    forbid_two_jobs_together,
    start_no_job_again,
    limit_all_gpus,
    share_no_type,
    bound_the_cost,
]


@pytest.fixture(scope="module")
def changes() -> Changes:
    return Changes(mlsched.generate("rounds", "small", 10, jobs=4, types=2, gpus=4, adaptive=0.7, pause=60))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_the_model_of_the_changed_instance(changes, change, objective):
    changes.check(objective, change)


def test_most_changes_matter(changes):
    assert changes.matter("goodput_cost", CHANGES) >= 6
