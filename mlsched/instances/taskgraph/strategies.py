"""A Hypothesis strategy of small task-graph instances: adversarial, unlike the realistic generator.

Few distinct numbers, so that ties, exact fits, runs of duration 0, free transfers and equal values are common. One
third are residual: some iterations are finished, some runs are current. Some have no feasible plan.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.fields import UNLIMITED, IntArray, ints
from mlsched.instances.taskgraph.instance import Instance
from mlsched.instances.values import one_of

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


#: With distinguished GPUs: the amounts of a GPU, of nodes, and of tasks' needs.
GPU_UNIT, NODE_GPUS, GPU_NEEDS = 4, (8, 8, 4, 12), (3, 2, 3, 2, 1, 4, 0, 8)


@functools.cache
def instances(
    *, jobs: int = 2, nodes: int = 2, tasks: int = 3, runs: int = 6, apart: bool = False
) -> SearchStrategy[Instance]:
    """Generate instances up to these numbers of jobs, nodes, tasks and runs in total (brute force: milliseconds).

    apart: With GPUs inside the nodes (`gpu_unit`), of which most tasks need a part.
    """
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        def column(entries: SearchStrategy[int], length: int) -> IntArray:
            return ints(draw(st.lists(entries, min_size=length, max_size=length)))

        def table(entries: SearchStrategy[int], rows: int, columns: int) -> IntArray:
            return column(entries, rows * columns).reshape(rows, columns)

        n = draw(st.integers(1, nodes), label="nodes")
        resources = ("gpu", "cpu")[: draw(st.integers(1, 2))]
        k = len(resources)
        count = draw(st.sampled_from([*range(1, tasks + 1)] * 3 + [0]), label="tasks")
        task_job = _job_of_each_task(draw(st.lists(st.booleans(), min_size=count, max_size=count)), jobs)
        m = int(task_job.max(initial=-1)) + 1
        # Every task may run once; the rest of `runs` allows a second or third iteration.
        most = np.ones(m, dtype=np.int64)
        remaining = runs - count
        for j in range(m):
            more = draw(st.integers(0, min(2, remaining // max(1, int((task_job == j).sum())))))
            most[j] += more
            remaining -= more * int((task_job == j).sum())
        columns = int(most.max()) + 1 if m else 0
        edges = [
            (u, v, lag, volume, delay)
            for u, v, lag, volume, delay in draw(st.lists(_edge_lists(max(1, count)), max_size=4), label="edges")
            if u < count and v < count and task_job[u] == task_job[v] and (u < v or lag)
        ]
        fields: dict[str, Any] = {
            "resources": resources,
            "node_capacity": table(one_of(1, 2, 2, 3), n, k),
            "arrival": column(one_of(0, 0, 1, 3), m),
            "deadline": column(one_of(0, 2, 3, 4, 5, 6, 8, UNLIMITED), m),
            "urgency": column(st.integers(0, 2), m),
            "required": column(one_of(0, 300_000, 500_000, 900_000), m),
            "min_iterations": np.minimum(most, column(st.integers(0, 3), m)),
            "max_iterations": most,
            "accuracy": np.cumsum(table(one_of(0, 100_000, 250_000), m, columns), axis=1),
            "task_job": task_job,
            "duration": column(one_of(0, 1, 1, 2, 3), count),
            "demand": table(one_of(0, 1, 1, 2), count, k),
            "eligible": table(one_of(0, 1, 1, 1), count, n),
            "parameters": column(st.integers(0, 2), count),
            "role": column(one_of(0, 0, 1), count),
            "edge_from": ints(e[0] for e in edges),
            "edge_to": ints(e[1] for e in edges),
            "edge_lag": ints(e[2] for e in edges),
            "edge_volume": ints(e[3] for e in edges),
            "edge_delay": ints(e[4] for e in edges),
            "movement": draw(one_of("none", "none", "between_iterations")),
            "tick_ms": 60_000,
            "accuracy_at": draw(one_of("deadline", "deadline", "final")),
        }
        if apart:
            fields["gpu_unit"] = GPU_UNIT
            fields["node_capacity"][:, 0] = column(one_of(*NODE_GPUS), n)
            fields["demand"][:, 0] = column(one_of(*GPU_NEEDS), count)
        if draw(one_of(False, False, True), label="residual"):
            fields.update(_running_state(draw, fields))
            gpus = fields["node_capacity"][fields["fixed_node"], 0] // GPU_UNIT
            fields["fixed_gpu"] = ints(draw(st.integers(0, g - 1)) if apart else -1 for g in gpus.tolist())
        return Instance(**fields)

    def _edge_lists(count: int) -> SearchStrategy[tuple[int, ...]]:
        ends = st.integers(0, count - 1)
        return st.tuples(ends, ends, st.integers(0, 1), one_of(0, 1, 5), one_of(0, 0, 1, 2))

    return draw_instance()


def _job_of_each_task(new: list[bool], jobs: int) -> IntArray:
    """Return the job of each task: True starts the next job, up to `jobs`."""
    job_of: list[int] = []
    for starts in new:
        last = job_of[-1] if job_of else -1
        job_of.append(last + 1 if last < 0 or (starts and last + 1 < jobs) else last)
    return ints(job_of)


def _running_state(draw: DrawFn, fields: dict[str, Any]) -> dict[str, Any]:
    """Draw the state of a running cluster: finished iterations, and started runs."""
    from hypothesis import strategies as st

    now = draw(st.integers(0, 5), label="now")
    jobs, nodes = len(fields["arrival"]), len(fields["node_capacity"])
    finished, on_time = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    for j in range(jobs):
        if fields["arrival"][j] <= now:
            finished[j] = draw(st.integers(0, int(fields["max_iterations"][j])))
            on_time[j] = draw(st.integers(0, int(finished[j])))
    home, last_end = [], []
    fixed_runs: list[tuple[int, int, int]] = []
    for k, job in enumerate(fields["task_job"].tolist()):
        arrival, done = int(fields["arrival"][job]), int(finished[job])
        able = np.flatnonzero(fields["eligible"][k]).tolist()
        home.append(draw(st.sampled_from(able or list(range(nodes)))) if done else -1)
        last_end.append(draw(st.integers(arrival, now)) if done else 0)
        if arrival <= now and done < fields["max_iterations"][job] and able and draw(st.integers(0, 2)) == 2:
            stuck = done and fields["movement"] == "none"
            where = home[k] if stuck else draw(st.sampled_from(able))
            if where in able:
                fixed_runs.append((k, where, draw(st.integers(arrival, now))))
    return {
        "now": now,
        "finished": finished,
        "on_time": on_time,
        "home": ints(home),
        "last_end": ints(last_end),
        "fixed_task": ints(s[0] for s in fixed_runs),
        "fixed_node": ints(s[1] for s in fixed_runs),
        "fixed_start": ints(s[2] for s in fixed_runs),
    }


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Generate instances in which two or three jobs, each short by itself, compete for the same nodes and times."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        task_job = draw(one_of((0, 1), (0, 0, 1), (0, 1, 1), (0, 1, 2)))
        n, jobs, count = draw(st.integers(1, 2), label="nodes"), max(task_job) + 1, len(task_job)

        def column(length: int, *entries: int) -> IntArray:
            return ints(draw(st.lists(st.sampled_from(entries), min_size=length, max_size=length)))

        nodes = one_of((1, 1)) if n == 1 else one_of((1, 1), (1, 1), (1, 0), (0, 1))
        joined = [(u, u + 1) for u in range(count - 1) if task_job[u] == task_job[u + 1] and draw(st.booleans())]
        size = len(joined)
        return Instance(
            resources=("gpu",),
            node_capacity=np.full((n, 1), draw(one_of(1, 1, 2))),
            arrival=np.sort(column(jobs, 0, 0, 1)),
            deadline=column(jobs, 2, 3, 4, 6),
            urgency=column(jobs, 0, 1),
            required=column(jobs, 250_000, 500_000),
            min_iterations=np.ones(jobs, dtype=np.int64),
            max_iterations=column(jobs, 1, 1, 2) if count < 3 else np.ones(jobs, dtype=np.int64),
            accuracy=np.tile(ints([0, 250_000, 500_000]), (jobs, 1)),
            task_job=ints(task_job),
            duration=column(count, 1, 2, 3),
            demand=np.ones((count, 1), dtype=np.int64),
            eligible=np.array([draw(nodes) for _ in range(count)])[:, :n],
            parameters=np.zeros(count, dtype=np.int64),
            edge_from=ints(u for u, _ in joined),
            edge_to=ints(v for _, v in joined),
            edge_lag=np.zeros(size, dtype=np.int64),
            edge_volume=column(size, 0, 5),
            edge_delay=column(size, 0, 1, 2),
            tick_ms=60_000,
        )

    return draw_instance()
