"""Small task-graph instances that simple rules get wrong: few nodes, tight capacities, transfers that cost time."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import UNLIMITED, ints
from mlsched.instances.taskgraph import Instance


def contended(number: int, runs: int = 8) -> Instance:
    """The `number`-th instance: three jobs on two nodes, at most `runs` runs, a third of them residual."""
    rng = np.random.default_rng([411, number])
    jobs, nodes = 3, 2
    capacity = np.repeat(rng.integers(2, 4, size=(1, 2)), nodes, axis=0)
    sizes = rng.permutation([3, 2, 2] if rng.random() < 0.5 else [3, 3, 2])
    task_job = np.repeat(np.arange(jobs), sizes)
    tasks = len(task_job)
    most = np.ones(jobs, dtype=np.int64)
    if tasks + sizes[0] <= runs and rng.random() < 0.4:
        most[0] = 2
    edges: list[tuple[int, int, int, int, int]] = []
    first = 0
    for size in sizes.tolist():
        for u in range(size):
            for v in range(size):
                volume, delay = (int(x) for x in rng.integers(0, 4, size=2))
                if u < v and rng.random() < 0.6:
                    edges.append((first + u, first + v, 0, volume, delay))
                elif u >= v and rng.random() < 0.3:
                    edges.append((first + u, first + v, 1, volume, delay))
        first += size
    columns = np.array(edges, dtype=np.int64).reshape(-1, 5).T
    eligible = (rng.random((tasks, nodes)) < 0.85).astype(np.int64)
    eligible[np.arange(tasks), rng.integers(0, nodes, size=tasks)] = 1
    arrival = rng.integers(0, 4, size=jobs)
    return Instance(
        resources=("gpu", "memory"),
        node_capacity=capacity,
        arrival=arrival,
        deadline=np.where(rng.random(jobs) < 0.2, UNLIMITED, arrival + rng.integers(3, 12, size=jobs)),
        urgency=np.ones(jobs, dtype=np.int64),
        required=rng.integers(0, 900_000, size=jobs),
        min_iterations=np.where(rng.random(jobs) < 0.7, most, most - 1),
        max_iterations=most,
        accuracy=np.sort(rng.integers(0, 1_000_000, size=(jobs, 3)), axis=1),
        task_job=task_job,
        duration=rng.integers(1, 6, size=tasks),
        demand=rng.integers(1, 3, size=(tasks, 2)),
        eligible=eligible,
        parameters=np.zeros(tasks, dtype=np.int64),
        edge_from=columns[0],
        edge_to=columns[1],
        edge_lag=columns[2],
        edge_volume=columns[3],
        edge_delay=columns[4],
        movement="between_iterations" if rng.random() < 0.2 else "none",
        accuracy_at="final" if rng.random() < 0.2 else "deadline",
        **_state(rng, arrival, most, task_job, eligible),
    )


def sharing(number: int) -> Instance:
    """`contended(number)` on nodes with two GPUs of 4 units each, mostly on one of them, whose tasks mostly need parts
    of a GPU: what fits in its pool often does not fit on its GPUs."""
    base, rng = contended(number), np.random.default_rng([412, number])
    tasks = len(base.task_job)
    capacity = np.tile([8, 99], (len(base.node_capacity), 1))
    demand = np.stack([rng.choice([2, 3, 3, 4, 2], tasks), base.demand[:, 1]], axis=1)
    nodes = np.eye(2, dtype=np.int64)[(rng.random(tasks) < 0.1).astype(int)]
    bound = np.isin(np.arange(tasks), base.fixed_task) | (base.home >= 0) | (rng.random(tasks) < 0.1)
    needs = demand[base.fixed_task, 0]
    edges = rng.random(len(base.edge_from)) < 0.4
    return base.replace(
        node_capacity=capacity,
        demand=demand,
        eligible=np.where(bound[:, None], base.eligible, nodes),
        arrival=np.minimum(base.arrival, 1),
        min_iterations=base.max_iterations,
        **{f"edge_{name}": getattr(base, f"edge_{name}")[edges] for name in ("from", "to", "lag", "volume", "delay")},
        gpu_unit=4,
        fixed_gpu=np.where(needs < 4, rng.integers(0, 2, len(needs)), -1),
    )


def _state(rng, arrival, most, task_job, eligible) -> dict:
    """A third: the first job has finished its first iteration, or one of its tasks is under way."""
    if rng.random() > 0.35:
        return {}
    now = int(arrival[0] + rng.integers(0, 3))
    state = {"now": now}
    if most[0] == 2:
        done = np.flatnonzero(task_job == 0)
        home = np.full(len(task_job), -1)
        home[done] = [int(rng.choice(np.flatnonzero(eligible[k]))) for k in done]
        last = np.zeros(len(task_job), dtype=np.int64)
        last[done] = now
        return {**state, "finished": ints([1, 0, 0]), "on_time": ints([1, 0, 0]), "home": home, "last_end": last}
    return {
        **state,
        "fixed_task": ints([0]),
        "fixed_node": ints([int(np.flatnonzero(eligible[0])[0])]),
        "fixed_start": ints([int(arrival[0])]),
    }
