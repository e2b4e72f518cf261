"""Counts of similar runs, against brute force on jobs of equal workers."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
from draws import draws

from mlsched import api
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph import _counts, _pools
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._rows import valued
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances.taskgraph import from_networkx
from mlsched.solvers.backends.limits import within
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.one_objective import _mandatory
from mlsched.solvers.taskgraph.proofs.values import worth_placing


def gangs(number: int):
    """Two or three jobs of two or three equal workers, some with a server or two iterations, on two nodes."""
    rng = np.random.default_rng([77, number])
    jobs, left = [], 7
    for _ in range(int(rng.integers(2, 4))):
        workers = int(rng.integers(2, 4))
        iterations = 2 if 2 * workers <= left - 2 and rng.random() < 0.4 else 1
        server = iterations == 1 and workers < left - 2 and rng.random() < 0.5
        if left < workers * iterations + server:
            break
        left -= workers * iterations + server
        job = nx.MultiDiGraph(
            arrival=int(rng.integers(3)),
            deadline=99,
            min_iterations=iterations,
            max_iterations=iterations,
            accuracy=list(range(iterations + 1)),
        )
        duration = int(rng.integers(1, 5))
        for k in range(workers):
            job.add_node(k, duration=duration, demand={"gpu": 1, "memory": int(rng.integers(1, 4))})
        if server:
            job.add_node("ps", duration=1, demand={"gpu": 0, "memory": 1})
            for k in range(workers):
                job.add_edge(k, "ps", lag=0, volume=3, delay=int(rng.integers(3)))
        for u, v in itertools.product(range(workers), repeat=2) if iterations > 1 else ():
            job.add_edge(u, v, lag=1, volume=2, delay=1 if (u + 1) % workers == v else 0)
        jobs.append(job)
    return from_networkx(jobs, nodes=[{"gpu": 2, "memory": 5}] * 2)


def solved(instance):
    """(layout, optimal value, optimal plan), where the model has a place for the instance, else None."""
    layout, _ = sharpened(Layout.of(_mandatory(instance)))
    best = api.solve(layout.instance, "brute-force", objective="total_jct")
    if layout.reason is not None or best.plan is None or not worth_placing(layout):
        return None
    return layout, best.sort_key, best.plan


def test_literals_count_the_runs_that_have_started(report):
    counted = optima = 0
    for number in range(draws(9, 16)):
        if (found := solved(gangs(number))) is None:
            continue
        layout, optimum, _ = found
        shared = _pools.pools(layout) + _pools.packed(layout)
        for upper in (optimum, optimum + 4):
            model = TimeIndexed(layout, upper, None, shared)
            model.cp.minimize(model.terms["total_jct"])
            solver = within(Limits())
            assert solver.status_name(solver.solve(model.cp)) == "OPTIMAL"
            assert round(solver.objective_value) + model.constant["total_jct"] == optimum
            optima += 1
            solution = list(solver.response_proto.solution)
            plan, value = model.plan(solution), valued(solution)
            start = dict(zip(zip(plan.task.tolist(), plan.iteration.tolist(), strict=True), plan.start, strict=True))
            for group in model.counts._tallies:
                for t in range(layout.horizon()):
                    begun = sum(start[run] <= t for run in group.runs)
                    said = [value(bit) for bit in model.counts._started_of(group, t)]
                    assert said == [1] * begun + [0] * (len(group.runs) - begun), (number, group, t)
                counted += 1
    report("taskgraph: counts of similar runs", [f"{counted} groups in {optima} optima of brute force"])
    assert counted >= optima >= draws(10, 20)


def test_groups_are_equal_workers_of_one_iteration():
    layout = Layout.of(api.generate("taskgraph", preset="eight-replicas", seed=20))
    groups = _counts._groups(layout)
    # Job 1: four replicas of a model in two parts of 2 and 4 ticks; job 2: eight workers, and a server left out.
    assert [len(g.runs) for g in groups if layout.job[g.runs[0][0]] == 1] == [4, 4]
    assert [len(g.runs) for g in groups if layout.job[g.runs[0][0]] == 2] == [8]
    # Job 3: two iterations of six workers.
    assert [{i for _, i in g.runs} for g in groups if layout.job[g.runs[0][0]] == 3] == [{0}, {1}]
    for group in groups:
        assert {layout.duration[k] for k, _ in group.runs} == {group.duration}
        assert len({layout.demand[k][0] for k, _ in group.runs}) == 1
