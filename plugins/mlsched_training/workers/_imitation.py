"""Examples for imitation: random questions, what a teacher answers, and the steps that lead there."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.instances.workers import Instance, Plan
from mlsched.instances.workers.models import CLUSTER, ITERATIONS, MODELS, RESOURCES
from mlsched.instances.workers.tables import from_models
from mlsched.learned.workers.chic_plus import Allocation
from mlsched.learned.workers.plus_net import DYNAMIC, STATIC

#: Size of the questions' tables: the paper's cluster gives no job more (see `simulation/workers/synthetic.py`).
MOST_WORKERS, MOST_PS = 10, 20


def question(rng: np.random.Generator, window: int) -> Instance:
    """The paper's cluster with 1 to `window` jobs of its models, any number of iterations left."""
    jobs = int(rng.integers(1, window + 1))
    return from_models(
        MODELS,
        RESOURCES,
        CLUSTER,
        model=rng.integers(0, len(MODELS), jobs),
        remaining=rng.integers(1, ITERATIONS[1] + 1, jobs),
        most_workers=MOST_WORKERS,
        most_ps=MOST_PS,
    )


def examples(teacher: str, count: int, window: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """(static, dynamic, there, possible, target) of the decisions on the way to a teacher's answers.

    count: questions. D x I x features, D x I, and D x (2 I + 1) twice; I = window. target: every action that a step
    towards the answer takes; steps without one, or without a choice, are left out.
    """
    solver, values = registry().solver("workers", teacher)
    values = resolve(solver.name, solver.parameters, values)
    rows: list[tuple[Any, ...]] = []
    for _ in range(count):
        asked = question(rng, window)
        plan = solver.function(asked, rng=rng, **values)
        rows += _steps(asked, plan, rng)
    return _padded(rows, window)


def _steps(asked: Instance, plan: Plan, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """One way from nothing to a plan: (static, dynamic, possible, target) by job.

    The order of the tasks is drawn somewhere between quite random and one job after the other: a policy's own order is
    of all kinds, and it must know its way from all the states that it meets.
    """
    state, goal = Allocation(asked), np.stack([plan.workers, plan.ps], axis=1)
    begin, every = state.start(), np.arange(len(goal))
    rows: list[tuple[Any, ...]] = []
    liking = rng.exponential(1.0, (len(goal), 1)) ** rng.choice([0.0, 1.0, 4.0, 20.0])
    while True:
        possible = state.valid()
        target = possible & (state.tasks < goal)
        if not target.any():
            return rows
        if possible.sum() > 1:
            rows.append((begin, state.features(every), possible, target))
        chance = (target * liking).ravel() + 1e-300 * target.ravel()
        job, kind = divmod(int(rng.choice(chance.size, p=chance / chance.sum())), 2)
        state.give(job, kind)


def _padded(rows: list[tuple[Any, ...]], window: int) -> tuple[Any, ...]:
    """Rows of differing numbers of jobs as arrays of `window` slots."""
    count = len(rows)
    begin = np.zeros((count, window, STATIC), dtype=np.float32)
    changing = np.zeros((count, window, DYNAMIC), dtype=np.float32)
    there = np.zeros((count, window), dtype=bool)
    possible, target = (np.zeros((count, 2 * window + 1), dtype=bool) for _ in range(2))
    for k, (first, then, may, should) in enumerate(rows):
        jobs = len(first)
        begin[k, :jobs], changing[k, :jobs], there[k, :jobs] = first, then, True
        possible[k, : 2 * jobs], target[k, : 2 * jobs] = may.ravel(), should.ravel()
    return begin, changing, there, possible, target
