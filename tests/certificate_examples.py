"""Tiny instances for certificates, in which every rule of the judge matters, and the minimum of a formula.

Numbers are few and small, so that exact fits, ties and jobs that must wait are common.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator

import numpy as np
import pytest
from ortools.sat.python import cp_model

from mlsched import api
from mlsched.certificates.formula import Formula
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput
from mlsched.instances.placement import Instance as Placement
from mlsched.instances.preemption import Instance as Preemption
from mlsched.instances.quality import Instance as Quality
from mlsched.instances.taskgraph import Instance as Taskgraph
from mlsched.instances.workers import NEVER
from mlsched.instances.workers import Instance as Workers

needs_exact = pytest.mark.skipif(
    importlib.util.find_spec("exact") is None, reason="needs exact: pip install 'mlsched[certify]'"
)


def minimum(formula: Formula, without: str = "") -> int:
    """The least sum of a formula's objective by CP-SAT, which knows nothing of the formula's maker.

    without: the family of constraints that is left out.
    """
    model = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in formula.meanings]
    for constraint in formula.constraints:
        if constraint.family != without:
            model.add(sum(c * x[v - 1] for c, v in constraint.terms) >= constraint.degree)
    model.minimize(sum(c * x[v - 1] for c, v in formula.objective))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def preemption(rng: np.random.Generator) -> Preemption:
    """Two nodes, up to five BE jobs and two TE jobs."""
    jobs, tes, kinds = int(rng.integers(3, 6)), int(rng.integers(1, 3)), 2
    node = rng.integers(0, 2, jobs)
    demand = rng.integers(0, 4, (jobs, kinds))
    free, draining = rng.integers(0, 3, (2, kinds)), rng.choice([0, 0, 1], (2, kinds))
    capacity = free + draining
    np.add.at(capacity, node, demand)
    return Preemption(
        resources=["cpu", "gpu"],
        node_capacity=capacity,
        node_free=free,
        node_draining=draining,
        job_node=node,
        job_demand=demand,
        job_grace=rng.choice([0, 60, 120, 180], jobs),
        job_preemptions=rng.choice([0, 0, 1], jobs),
        job_remaining=np.full(jobs, 60),
        te_demand=rng.integers(1, 5, (tes, kinds)),
    )


def quality(rng: np.random.Generator) -> Quality:
    """Up to four jobs, tables of five columns."""
    jobs, widest = int(rng.integers(2, 5)), 4
    gain = np.cumsum(rng.integers(0, 4, (jobs, widest + 1)), axis=1)
    gain -= gain[:, :1]
    loss = np.cumsum(rng.integers(0, 4, (jobs, widest + 1)), axis=1)[:, ::-1]
    waiting, least = rng.choice([0, 0, 0, 1], jobs), int(rng.integers(0, 2))
    return Quality(
        cores=int(rng.integers(jobs, 3 * jobs)),
        reserved=int(rng.integers(0, 2)),
        gain=gain,
        loss=loss,
        weight=rng.integers(1, 4, jobs),
        most=rng.integers(max(1, least), widest + 1, jobs),
        waiting=waiting,
        least=least,
    )


def workers(rng: np.random.Generator) -> Workers:
    """Up to three jobs with up to three workers and two PSs."""
    jobs, kinds = int(rng.integers(1, 4)), 2
    cost = rng.integers(1, 40, (jobs, 3, 2))
    cost[rng.uniform(size=cost.shape) < 0.2] = NEVER
    return Workers(
        resources=["cpu", "gpu"],
        models=["a"],
        capacity=rng.integers(2, 9, kinds),
        worker_demand=rng.integers(0, 3, (jobs, kinds)),
        ps_demand=rng.integers(0, 3, (jobs, kinds)),
        cost=cost,
        waiting=rng.integers(20, 80, jobs),
        remaining=np.ones(jobs, dtype=np.int64),
        model=np.zeros(jobs, dtype=np.int64),
        current_workers=np.zeros(jobs, dtype=np.int64),
        current_ps=np.zeros(jobs, dtype=np.int64),
        waited=np.zeros(jobs, dtype=np.int64),
    )


def placement(rng: np.random.Generator) -> Placement:
    """Two servers, up to one running and three new jobs of at most two workers and a PS."""
    runs, jobs, kinds = int(rng.integers(0, 2)), int(rng.integers(2, 4)), 2
    apart = np.triu(rng.uniform(size=(kinds, kinds)) < 0.2).astype(np.int64)
    return Placement(
        resources=["cpu"],
        types=["a", "b"],
        pressures=["cpu"],
        server_capacity=np.full((2, 1), 9),
        server_free=rng.integers(1, 5, (2, 1)),
        sigma_worker=rng.integers(0, 4, (kinds, kinds)) * 300_000,
        sigma_ps=rng.integers(0, 3, (kinds, kinds)) * 100_000,
        apart=np.maximum(apart, apart.T),
        use_worker=rng.integers(0, 500, (kinds, 1)),
        use_ps=rng.integers(0, 300, (kinds, 1)),
        linear=rng.integers(0, 2, (kinds, 1)) * 700_000,
        quadratic=rng.integers(0, 2, (kinds, 1, 1)) * 900_000,
        rho_ps=rng.integers(0, 3, kinds) * 150_000,
        rho_worker=rng.integers(0, 3, kinds) * 150_000,
        run_type=rng.integers(0, kinds, runs),
        run_speed=rng.integers(100, 900, runs) * 1000,
        run_workers=np.array([[1, 0]] * runs).reshape(runs, 2),
        run_ps=np.array([[0, 1]] * runs).reshape(runs, 2),
        job_type=rng.integers(0, kinds, jobs),
        job_speed=rng.integers(100, 900, jobs) * 1000,
        job_workers=rng.integers(1, 3, jobs),
        job_ps=rng.integers(0, 2, jobs),
        worker_demand=rng.integers(0, 3, (jobs, 1)),
        ps_demand=rng.integers(0, 3, (jobs, 1)),
        most_jobs=runs + int(rng.integers(1, 3)),
        most_new=int(rng.integers(1, 4)),
        network_at=str(rng.choice(["workers", "tasks"])),
    )


def taskgraph(rng: np.random.Generator) -> Taskgraph:
    """Two nodes of one or two GPUs; a job of three tasks and one of one or two, which runs once or twice.

    Edges and the order of a task's runs bind only where something else makes what is before them late.
    """
    task_job = np.array([0, 0, 0, 1, 1][: int(rng.integers(4, 6))])
    tasks, most = len(task_job), np.array([1, int(rng.choice([1, 2, 2]))])
    eligible = (rng.uniform(size=(tasks, 2)) < 0.7).astype(np.int64)
    demand = rng.choice([1, 1, 1, 2, 2], (tasks, 1))
    eligible[demand[:, 0] > 1, 1] = 1
    eligible[eligible.sum(axis=1) == 0, int(rng.integers(0, 2))] = 1
    if rng.uniform() < 0.5:  # what the third task waits for is on different nodes: it would be best on both
        demand[:3], eligible[:3] = [[1], [1], [rng.choice([1, 1, 2])]], [[1, 0], [0, 1], [1, 1]]
    inside = [(k, k + 1, 0) for k in range(tasks - 1) if task_job[k] == task_job[k + 1] and rng.uniform() < 0.9]
    inside += [(0, 2, 0)] if rng.uniform() < 0.6 else []
    onwards = [(k, k, 1) for k in range(tasks) if rng.uniform() < 0.1]
    onwards += [(k + 1, k, 1) for k in range(tasks - 1) if task_job[k] == task_job[k + 1] and rng.uniform() < 0.2]
    edge = np.array(inside + onwards, dtype=np.int64).reshape(-1, 3)
    return Taskgraph(
        resources=["gpu"],
        node_capacity=np.array([[1], [2]]),
        arrival=rng.integers(0, 2, 2),
        deadline=rng.integers(3, 10, 2),
        urgency=np.ones(2, dtype=np.int64),
        required=rng.choice([200_000, 500_000], 2),
        min_iterations=np.minimum(most, rng.choice([0, 1, 2, 2, 2, 2], 2)),
        max_iterations=most,
        accuracy=np.array([[100_000, 300_000, 500_000], [0, 500_000, 600_000]]),
        task_job=task_job,
        duration=rng.choice([0, 1, 2, 2, 3], tasks),
        demand=demand,
        eligible=eligible,
        parameters=np.zeros(tasks, dtype=np.int64),
        edge_from=edge[:, 0],
        edge_to=edge[:, 1],
        edge_lag=edge[:, 2],
        edge_volume=rng.integers(1, 9, len(edge)),
        edge_delay=rng.choice([0, 0, 1, 2, 4], len(edge)),
        movement=str(rng.choice(["none", "between_iterations"])),
        accuracy_at=str(rng.choice(["deadline", "deadline", "final"])),
    )


DRAWN = {
    "preemption": preemption,
    "quality": quality,
    "workers": workers,
    "placement": placement,
    "taskgraph": taskgraph,
}


def drawn(problem: str, count: int) -> Iterator[Instance]:
    """The first `count` instances of a problem that are valid and have a plan."""
    number = 0
    while count:
        with contextlib.suppress(InvalidInput):
            instance = DRAWN[problem](np.random.default_rng([2026, number]))
            if problem != "taskgraph" or api.solve(instance, "brute-force").plan is not None:
                yield instance
                count -= 1
        number += 1


def with_cuts() -> Iterator[Preemption]:
    """Three nodes and four or five TE jobs whose best plan no prices prove without a cut, or all choices."""
    for jobs, tes, seed in ((9, 5, 5), (9, 5, 15), (9, 5, 29), (9, 5, 34), (8, 4, 4), (8, 4, 28)):
        yield api.generate("preemption", nodes=3, jobs=jobs, tes=tes, seed=seed)
