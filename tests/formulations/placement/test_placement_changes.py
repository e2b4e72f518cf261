"""Changes of the model of placement: each has the optimum of the changed instance, or of the plans that remain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from changed_models import Change, Changes, every_plan, key, model_plans

import mlsched
from mlsched.instances.placement.judge import speeds

OBJECTIVES = ("total_speed",)
SERVERS = range(3)


def close_a_server(inst: Any, m: Any) -> Any:
    m.closed = pyo.Constraint(expr=sum(m.workers[j, 1] + m.ps[j, 1] for j in range(2)) == 0)
    return inst.replace(server_free=inst.server_free * (np.arange(3) != 1)[:, None])


def cap_a_resource(inst: Any, m: Any) -> Any:
    gpu = inst.resources.index("gpu")
    demand = sum(
        m.workers[j, 0] * int(inst.worker_demand[j, gpu]) + m.ps[j, 0] * int(inst.ps_demand[j, gpu]) for j in range(2)
    )
    free = inst.server_free.copy()
    free[0, gpu] -= 1
    m.cap = pyo.Constraint(expr=demand <= int(free[0, gpu]))
    return inst.replace(server_free=free)


def place_one_job_at_most(inst: Any, m: Any) -> Any:
    m.one = pyo.Constraint(expr=sum(m.workers[0, s] + 2 * m.workers[1, s] for s in SERVERS) <= 2)
    return inst.replace(most_new=1)


def forbid_two_jobs_together(inst: Any, m: Any) -> Any:
    m.first = pyo.Var(SERVERS, domain=pyo.Binary)
    m.hosts_first = pyo.Constraint(SERVERS, rule=lambda m, s: m.workers[0, s] + m.ps[0, s] <= 4 * m.first[s])
    m.hosts_other = pyo.Constraint(SERVERS, rule=lambda m, s: m.workers[1, s] + m.ps[1, s] <= 4 * (1 - m.first[s]))
    apart = inst.apart.copy()
    a, b = inst.job_type.tolist()
    assert not set(inst.run_type) & {a, b}
    apart[a, b] = apart[b, a] = 1
    return inst.replace(apart=apart)


def let_a_job_wait(inst: Any, m: Any) -> Any:
    m.waits = pyo.Constraint(expr=sum(m.workers[0, s] for s in SERVERS) == 0)
    own = {name: getattr(inst, name)[1:] for name in vars(inst) if name.startswith("job_")}
    return inst.replace(worker_demand=inst.worker_demand[1:], ps_demand=inst.ps_demand[1:], **own)


def fix_a_server(inst: Any, m: Any) -> Any:
    m.fixed = pyo.Constraint(expr=m.workers[0, 1] == 1)
    return lambda plan, _: plan.workers[0, 1] == 1


def keep_a_job_on_one_server(inst: Any, m: Any) -> Any:
    m.here = pyo.Var(SERVERS, domain=pyo.Binary)
    m.all_workers = pyo.Constraint(SERVERS, rule=lambda m, s: m.workers[1, s] == m.here[s])
    m.all_ps = pyo.Constraint(SERVERS, rule=lambda m, s: m.ps[1, s] == 2 * m.here[s])
    return lambda plan, _: ((plan.workers[1] + plan.ps[1]) % 3 == 0).all()


def spread_the_workers(inst: Any, m: Any) -> Any:
    m.spread = pyo.Constraint(SERVERS, rule=lambda m, s: m.workers[0, s] <= 1)
    return lambda plan, _: plan.workers[0].max() <= 1


def keep_ps_beside_workers(inst: Any, m: Any) -> Any:
    m.beside = pyo.Constraint(range(2), SERVERS, rule=lambda m, j, s: m.ps[j, s] <= m.workers[j, s])
    return lambda plan, _: (plan.ps <= plan.workers).all()


def protect_a_running_job(inst: Any, m: Any) -> Any:
    """A second objective as a constraint: the speed of the running job."""
    least = int(speeds(inst, mlsched.solve(inst, objective="total_speed").plan)[0]) + 1
    speed = sum(speed * m.run[job, pattern, speed] for job, pattern, speed in m.run if job == 0)
    m.protected = pyo.Constraint(expr=speed >= least)
    return lambda plan, _: speeds(inst, plan)[0] >= least


CHANGES: list[Change] = [
    close_a_server,
    cap_a_resource,
    place_one_job_at_most,
    forbid_two_jobs_together,
    let_a_job_wait,
    fix_a_server,
    keep_a_job_on_one_server,
    spread_the_workers,
    keep_ps_beside_workers,
    protect_a_running_job,
]


@pytest.fixture(scope="module")
def changes() -> Changes:
    return Changes(mlsched.generate("placement", "small", 16, servers=3, jobs=2))


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_the_model_of_the_changed_instance(changes, change):
    changes.check("total_speed", change)


def test_most_changes_matter(changes):
    assert changes.matter("total_speed", CHANGES) >= 6


def test_the_model_has_every_plan():
    instance = mlsched.generate("placement", "small", 9, servers=2, jobs=2)
    plans = {key(plan) for plan in every_plan(instance)}
    assert len(plans) > 20
    assert model_plans(instance) == plans
