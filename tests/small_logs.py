"""Logs so small that the best schedule is found by trying all: drawn, and solved."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from hypothesis import strategies as st
from jobs_examples import jobs_of


def lengths(load):
    """Of each job, the ticks that it runs."""
    longest = [int(load.duration[first:end].max()) for first, end in load.tasks]
    return [longest[t] * int(n) for t, n in zip(load.template.tolist(), load.max_iterations.tolist(), strict=True)]


def best_without_pauses(load, weight) -> int:
    """The smallest weighted sum of completion - arrival: jobs in every order, tasks on all nodes, each job at its first
    start at which it fits what is placed already. These schedules have a best one among them, whatever later jobs do.
    """
    kinds = [(load.demand[first:end], load.eligible[load.task_class[first:end]]) for first, end in load.tasks]
    ticks = lengths(load)
    arrivals, horizon = load.arrival.tolist(), int(load.arrival.max()) + sum(ticks) + 1
    best = [10**9]

    def go(waiting, free, value):
        if value >= best[0]:
            return
        if not waiting:
            best[0] = value
        for job in waiting:
            demand, may = kinds[int(load.template[job])]
            for nodes in itertools.product(*(np.flatnonzero(row).tolist() for row in may)):
                need = np.zeros_like(load.node_capacity)
                np.add.at(need, list(nodes), demand)
                if (need > load.node_capacity).any():
                    continue
                start, p = arrivals[job], ticks[job]
                while not (free[start : start + p] >= need).all():
                    start += 1
                rest = free.copy()
                rest[start : start + p] -= need
                go(waiting - {job}, rest, value + int(weight[job]) * (start + p - arrivals[job]))

    free = np.tile(load.node_capacity, (horizon, 1, 1))
    go(frozenset(range(len(arrivals))), free, 0)
    return best[0]


def best_with_pauses(load, weight=None) -> int:
    """The smallest weighted sum of completion - arrival where jobs pause and move at any tick, for nothing: from the
    end back, every set of jobs whose tasks find nodes beside each other may run in a tick.
    """
    of_job = [1] * len(load.arrival) if weight is None else weight.tolist()
    rows = [(load.demand[k], tuple(np.flatnonzero(load.eligible[load.task_class[k]]))) for k in range(len(load.demand))]

    @functools.cache
    def packs(templates) -> bool:
        tasks = [rows[k] for t in templates for k in range(*load.tasks[t])]

        def place(at, free):
            if at == len(tasks):
                return True
            demand, nodes = tasks[at]
            for node in nodes:
                if (free[node] >= demand).all():
                    rest = free.copy()
                    rest[node] -= demand
                    if place(at + 1, rest):
                        return True
            return False

        return place(0, load.node_capacity)

    arrival, template = load.arrival.tolist(), load.template.tolist()

    @functools.cache
    def go(time, remaining) -> int:
        if not any(remaining):
            return 0
        ready = [j for j, left in enumerate(remaining) if left and arrival[j] <= time]
        costs = []
        for count in range(len(ready), 0 if ready else -1, -1):  # to idle while a job could run never helps
            for some in itertools.combinations(ready, count):
                if packs(tuple(sorted(template[j] for j in some))):
                    rest = tuple(left - (j in some) for j, left in enumerate(remaining))
                    costs.append(go(time + 1, rest))
            if costs and count == len(ready):
                break  # all of them may run
        return sum(of_job[j] for j in ready) + min(costs)

    return go(min(arrival), tuple(lengths(load)))


@st.composite
def logs(draw):
    """Up to four gangs on two or three nodes, some of which may run on some nodes alone; weights by urgency."""
    nodes = draw(st.sampled_from([((2,), (2,)), ((3,), (2,)), ((2,), (2,), (1,))]))
    kinds = draw(st.lists(st.sampled_from([[1], [2], [1, 1], [2, 1], [3]]), min_size=2, max_size=3))
    templates = [[(draw(st.integers(1, 3)), g) for g in kind] for kind in kinds]
    templates = [[(rows[0][0], g) for _, g in rows] for rows in templates]
    job = st.tuples(st.integers(0, 3), st.integers(0, len(kinds) - 1), st.integers(1, 2))
    jobs = sorted(draw(st.lists(job, min_size=2, max_size=4)))
    eligible = [[1] * len(nodes), draw(st.sampled_from([[1] * len(nodes), [1, *[0] * (len(nodes) - 1)]]))]
    classes = [c for rows in templates for c in [draw(st.integers(0, 1))] * len(rows)]
    urgency = draw(st.lists(st.integers(0, 3), min_size=len(jobs), max_size=len(jobs)))
    cost = draw(st.sampled_from([0, 500_000]))
    more = {"pause_cost": [cost] * len(jobs), "urgency": urgency, "movement": "anytime"}
    return jobs_of(templates, jobs, nodes=nodes, eligible=eligible, task_class=classes, **more)


@st.composite
def odd_logs(draw):
    """Logs whose jobs leave part of a node that no other fits: as one large node would not. Pausing is free."""
    size, kinds = draw(st.sampled_from([(3, [[2], [1]]), (3, [[2], [2, 2]]), (4, [[3], [1]]), (5, [[3], [2], [3, 3]])]))
    templates = [[(1, g) for g in kind] for kind in kinds]
    job = st.tuples(st.integers(0, 2), st.sampled_from([0, 0, *range(1, len(kinds))]), st.integers(1, 4))
    jobs = sorted(draw(st.lists(job, min_size=3, max_size=4)))
    return jobs_of(templates, jobs, nodes=((size,), (size,)), movement="anytime")
