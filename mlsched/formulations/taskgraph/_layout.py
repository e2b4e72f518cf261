"""The common basis of all models of a task-graph instance: possible runs, their nodes and earliest starts.

A run is a pair (task, iteration). An *arc* is an edge of the instance, parallel edges merged. All bounds here are
combinatorial, without a solver.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._gpus import Gpus
from mlsched.instances.taskgraph import Instance, Timetable

#: Models list every run; larger instances are refused because they would exhaust the memory.
MOST_RUNS = 200_000


class Arc(NamedTuple):
    """u -> v inside an iteration (lag 0) or to the next (1); delay and volume count when the nodes differ."""

    u: int
    v: int
    lag: int
    delay: int
    volume: int


@dataclasses.dataclass(frozen=True)
class Layout:
    """The instance in plain lists, with the runs of every job and valid earliest starts.

    `Layout.of(instance)` builds it; a tighter layout is a copy with other fields (`dataclasses.replace`).

    job[k], duration[k], demand[k][r]; allowed[k]: nodes that may run task k (eligible, large enough, home if bound);
    finished[j] .. maximum[j]: iterations that may still run, mandatory below mandatory[j]; fixed[k] = (node, start)
    of the current run; head[k][i]: earliest start of the run in all plans; tail[k][i]: least time of the job after
    the run ends (its mandatory iterations); alone[j]: lower bound on the completion of job j beyond the critical
    path; reason: the cause of infeasibility, if it is evident.
    """

    instance: Instance
    job: list[int]
    duration: list[int]
    demand: list[list[int]]
    capacity: list[list[int]]
    arrival: list[int]
    deadline: list[int]
    ready: list[int]
    home: list[int]
    last_end: list[int]
    sticky: bool
    fixed: dict[int, tuple[int, int]]
    tasks_of: list[list[int]]
    order: list[list[int]]
    into: list[list[Arc]]
    out: list[list[Arc]]
    finished: list[int]
    mandatory: list[int]
    maximum: list[int]
    allowed: list[tuple[int, ...]]
    allowed_fixed: dict[int, tuple[int, ...]]
    head: list[dict[int, int]]
    tail: list[dict[int, int]]
    alone: list[int]
    reason: str | None

    @classmethod
    def of(cls, instance: Instance) -> Layout:
        """Return the layout of an instance.

        Raises TooLarge if the jobs have more than `MOST_RUNS` runs.
        """
        job: list[int] = instance.task_job.tolist()
        arrival: list[int] = instance.arrival.tolist()
        jobs, tasks = len(arrival), len(job)
        columns = (instance.fixed_task, instance.fixed_node, instance.fixed_start)
        place = {k: (n, s) for k, n, s in zip(*(column.tolist() for column in columns), strict=True)}
        tasks_of: list[list[int]] = [[] for _ in range(jobs)]
        for k, j in enumerate(job):
            tasks_of[j].append(k)
        arcs = _merged_arcs(instance)
        into: list[list[Arc]] = [[] for _ in range(tasks)]
        out: list[list[Arc]] = [[] for _ in range(tasks)]
        for arc in arcs:
            into[arc[1]].append(arc)
            out[arc[0]].append(arc)
        finished, mandatory, maximum = _iteration_counts(instance, {job[k] for k in place}, tasks_of)
        allowed, allowed_fixed, reason = _nodes_of_tasks(instance, place)
        for j, of_job in enumerate(tasks_of):
            lacking = [k for k in of_job if not allowed[k]]
            if lacking:
                # A job that has a task without a node keeps to its finished iterations.
                if mandatory[j] > finished[j]:
                    reason = reason or f"task {lacking[0]} of job {j} has no node that can run it"
                maximum[j] = finished[j]
                mandatory[j] = min(mandatory[j], finished[j])
        layout = cls(
            instance=instance,
            job=job,
            duration=instance.duration.tolist(),
            demand=instance.demand.tolist(),
            capacity=instance.node_capacity.tolist(),
            arrival=arrival,
            deadline=instance.deadline.tolist(),
            ready=[max(a, instance.now) for a in arrival],
            home=instance.home.tolist(),
            last_end=instance.last_end.tolist(),
            sticky=instance.movement == "none",
            fixed=place,
            tasks_of=tasks_of,
            order=_topological_order(tasks_of, arcs, out),
            into=into,
            out=out,
            finished=finished,
            mandatory=mandatory,
            maximum=maximum,
            allowed=allowed,
            allowed_fixed=allowed_fixed,
            head=[{} for _ in range(tasks)],
            tail=[{} for _ in range(tasks)],
            alone=[0] * jobs,
            reason=reason,
        )
        return dataclasses.replace(layout, head=_earliest_starts(layout), tail=_least_rest(layout))

    @property
    def nodes(self) -> int:
        """Count the nodes."""
        return len(self.capacity)

    @property
    def jobs(self) -> int:
        """Count the jobs."""
        return len(self.arrival)

    @property
    def tasks(self) -> int:
        """Count the tasks."""
        return len(self.job)

    def nodes_of(self, k: int, i: int) -> tuple[int, ...]:
        """Return the nodes that run (k, i) may be on."""
        if k in self.fixed and i == self.finished[self.job[k]]:
            return self.allowed_fixed[k]
        return self.allowed[k]

    def iterations(self, j: int) -> range:
        """Return the iterations that job j may still run."""
        return range(self.finished[j], self.maximum[j])

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (job, iteration, task) of every possible run; predecessors come first."""
        for j in range(self.jobs):
            for i in self.iterations(j):
                for k in self.order[j]:
                    yield j, i, k

    def is_fixed(self, k: int, i: int) -> bool:
        """Return if run (k, i) has started already."""
        return k in self.fixed and i == self.finished[self.job[k]]

    def apart(self, u: int, iu: int, v: int, iv: int) -> bool:
        """Return if the two runs cannot be on one node."""
        a, b = self.nodes_of(u, iu), self.nodes_of(v, iv)
        return len(a) < self.nodes and len(b) < self.nodes and not set(a) & set(b)

    def sources(self, k: int, i: int) -> list[tuple[int, int, int]]:
        """Return (task, iteration, delay if between nodes) of the predecessors of (k, i), its own last run included.

        A source in iteration first - 1 is finished: it ended at last_end on its home. Fixed runs do not wait.
        """
        if self.fixed and self.is_fixed(k, i):
            return []
        sources = [(u, i - lag, delay) for u, _, lag, delay, _ in self.into[k] if lag <= i]
        return [(k, i - 1, 0), *sources] if i > self.finished[self.job[k]] else sources

    @functools.cached_property
    def mandatory_runs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return task, head and tail of every mandatory run."""
        task: list[int] = []
        head: list[int] = []
        tail: list[int] = []
        for j, order in enumerate(self.order):
            for i in range(self.finished[j], min(self.mandatory[j], self.maximum[j])):
                task += order
                head += [self.head[k][i] for k in order]
                tail += [self.tail[k][i] for k in order]
        return np.array(task, dtype=np.int64), np.array(head, dtype=np.int64), np.array(tail, dtype=np.int64)

    def horizon(self) -> int:
        """Return a time by which some best plan ends, for any choice of nodes and numbers of iterations.

        Starting a run earlier worsens no objective, so consider plans in which this is impossible for all runs. At
        any time from the last arrival on, either a run is under way, or all wait for transfers. A gap without runs
        ends with the start of a waiting run, so it is at most as long as its longest incoming transfer. Hence the sum
        below. A horizon cut at a heuristic's makespan would change optima of the other objectives.
        """
        end = max([self.instance.now, *self.arrival])
        wait = np.zeros(self.tasks, dtype=np.int64)
        np.maximum.at(wait, self.instance.edge_to, self.instance.edge_delay)
        rounds = np.array(self.maximum, dtype=np.int64) - np.array(self.finished, dtype=np.int64)
        return end + int(((self.instance.duration + wait) * rounds[self.instance.task_job]).sum())

    def earliest_completion(self, j: int) -> int:
        """Return a lower bound on the completion of job j."""
        if self.mandatory[j] <= self.finished[j]:
            return self.idle_completion(j)
        last = self.mandatory[j] - 1
        return max(self.alone[j], *(self.head[k][last] + self.duration[k] for k in self.tasks_of[j]))

    def latest_completions(self, upper: int) -> list[int]:
        """Return the latest completion of each job in plans of total_jct at most `upper`.

        C_j = total - the others' completions <= upper + sum of arrivals - the others' earliest completions. Without
        such a plan, it is below the job's own earliest completion.
        """
        earliest = [self.earliest_completion(j) for j in range(self.jobs)]
        spare = upper + sum(self.arrival) - sum(earliest)
        return [c + spare for c in earliest]

    def idle_completion(self, j: int) -> int:
        """Return the completion of job j without further runs."""
        return max(self.last_end[k] for k in self.tasks_of[j]) if self.finished[j] else self.arrival[j]

    def sinks(self, j: int, i: int) -> list[int]:
        """Return tasks that may end last in iteration i: tasks without a successor in the iteration."""
        sinks = []
        for k in self.tasks_of[j]:
            for _, v, lag, _, _ in self.out[k]:
                if not lag and not (self.fixed and self.is_fixed(v, i)):
                    break
            else:
                sinks.append(k)
        return sinks

    @functools.cached_property
    def gpus(self) -> Gpus:
        """Return the GPUs inside nodes."""
        return Gpus(self.instance)

    @functools.cached_property
    def gpus_apart(self) -> bool:
        """Return if individual GPUs matter: a fraction of a GPU may be on a node with several.

        Otherwise a node's GPUs are equivalent to one pool. Models with pools are relaxations if this is true.
        """
        return any(self.gpus.count[n] > 1 for k in self.gpus.parts for n in self.allowed[k])

    def timetable(
        self,
        node: Mapping[tuple[int, int], int],
        start: Mapping[tuple[int, int], int],
        gpu: Mapping[tuple[int, int], int] | None = None,
    ) -> Timetable:
        """Return the plan of these runs, fixed runs included, by job, iteration and task.

        gpu: labels of runs with a fraction; others have GPU 0, or their current GPU.
        """
        keys = sorted(start, key=lambda run: (self.job[run[0]], run[1], run[0]))
        labels = [(gpu or {}).get(run, self.gpus.label(run[0], self.is_fixed(*run))) for run in keys]
        return self.instance.timetable(
            [i for _, i in keys],
            [k for k, _ in keys],
            [node[run] for run in keys],
            [start[run] for run in keys],
            labels,
        )


def _merged_arcs(instance: Instance) -> list[Arc]:
    """Return the edges, parallel edges merged."""
    i = instance
    columns = [c.tolist() for c in (i.edge_from, i.edge_to, i.edge_lag, i.edge_delay, i.edge_volume)]
    # Equivalent to Arc(*row), without a Python call per row.
    arcs: list[Arc] = list(map(functools.partial(tuple.__new__, Arc), zip(*columns, strict=True)))
    if len(np.unique((i.edge_from * len(i.task_job) + i.edge_to) * 2 + i.edge_lag)) == len(arcs):
        return arcs
    merged: dict[tuple[int, int, int], tuple[int, int]] = {}
    for u, v, lag, delay, volume in arcs:
        before = merged.get((u, v, lag), (0, 0))
        merged[u, v, lag] = max(before[0], delay), before[1] + volume
    return [Arc(*key, *both) for key, both in merged.items()]


def _iteration_counts(
    instance: Instance, begun: set[int], tasks_of: list[list[int]]
) -> tuple[list[int], list[int], list[int]]:
    """Return finished, mandatory and most iterations of each job; a job must end its current iteration."""
    finished, maximum = instance.finished.tolist(), instance.max_iterations.tolist()
    minimum = instance.min_iterations.tolist()
    mandatory = [max(m, f + (j in begun)) for j, (m, f) in enumerate(zip(minimum, finished, strict=True))]
    runs = sum((m - f) * len(t) for m, f, t in zip(maximum, finished, tasks_of, strict=True))
    if runs > MOST_RUNS:
        raise TooLarge(
            f"max_iterations: the jobs have {runs} runs, models take at most {MOST_RUNS}: join tasks or iterations"
        )
    return finished, mandatory, maximum


def _nodes_of_tasks(
    instance: Instance, fixed: dict[int, tuple[int, int]]
) -> tuple[list[tuple[int, ...]], dict[int, tuple[int, ...]], str | None]:
    """Return the nodes of each task, the nodes of the runs under way, and an error if one of these has no node."""
    eligible, uniform = instance.eligible.tolist(), bool(instance.eligible.all())
    capacity, demand, home = instance.node_capacity.tolist(), instance.demand.tolist(), instance.home.tolist()
    everywhere = tuple(range(len(capacity)))
    smallest = instance.node_capacity.min(axis=0)
    small = ((instance.demand <= smallest).all(axis=1) | (instance.duration == 0)).tolist()
    sticky, reason = instance.movement == "none", None
    allowed: list[tuple[int, ...]] = []
    allowed_fixed: dict[int, tuple[int, ...]] = {}
    for k, lasts in enumerate((instance.duration > 0).tolist()):
        nodes = everywhere
        if not (uniform and small[k]):
            need = demand[k] if lasts else [0] * len(smallest)
            fits = [all(d <= c for d, c in zip(need, room, strict=True)) for room in capacity]
            nodes = tuple(n for n in everywhere if eligible[k][n] and fits[n])
        if sticky and home[k] >= 0:
            nodes = tuple(n for n in nodes if n == home[k])
        if k in fixed:
            here = tuple(n for n in nodes if n == fixed[k][0])
            allowed_fixed[k] = here
            if sticky:
                nodes = here
            if not here:
                reason = f"task {k} runs on node {fixed[k][0]}, which cannot hold it"
        allowed.append(nodes)
    return allowed, allowed_fixed, reason


def _topological_order(tasks_of: list[list[int]], arcs: list[Arc], out: list[list[Arc]]) -> list[list[int]]:
    """Return each job's tasks, topologically by the arcs of lag 0."""
    waiting = [0] * len(out)
    for _, v, lag, _, _ in arcs:
        waiting[v] += lag == 0
    orders: list[list[int]] = []
    for tasks in tasks_of:
        order = [k for k in tasks if not waiting[k]]
        for u in order:  # grows during the loop
            for _, v, lag, _, _ in out[u]:
                if lag == 0:
                    waiting[v] -= 1
                    if not waiting[v]:
                        order.append(v)
        orders.append(order)
    return orders


def _earliest_starts(layout: Layout) -> list[dict[int, int]]:
    """Return the earliest start of each run, by its predecessors."""
    head: list[dict[int, int]] = [{} for _ in range(layout.tasks)]
    simple = all(len(a) == layout.nodes for a in layout.allowed) and not layout.fixed
    if simple and not any(layout.finished):
        # Fast path for most large instances: nodes do not matter and all runs are still open.
        for j, i, k in layout.runs():
            earliest = layout.ready[j] if not i else max(layout.ready[j], head[k][i - 1] + layout.duration[k])
            for u, _, lag, _, _ in layout.into[k]:
                if lag <= i and (end := head[u][i - lag] + layout.duration[u]) > earliest:
                    earliest = end
            head[k][i] = earliest
        return head
    for j, i, k in layout.runs():
        if layout.fixed and layout.is_fixed(k, i):
            head[k][i] = layout.fixed[k][1]
            continue
        earliest = layout.ready[j]
        for u, iu, delay in layout.sources(k, i):
            if iu < layout.finished[j]:
                wait = delay if layout.home[u] not in layout.nodes_of(k, i) else 0
                end = layout.last_end[u]
            else:
                wait = delay if delay and not simple and layout.apart(u, iu, k, i) else 0
                end = head[u][iu] + layout.duration[u]
            earliest = max(earliest, end + wait)
        head[k][i] = earliest
    return head


def _least_rest(layout: Layout) -> list[dict[int, int]]:
    """Return the least time of a job after each run: mandatory iterations; in later iterations only that iteration."""
    tail: list[dict[int, int]] = [{} for _ in range(layout.tasks)]
    simple = all(len(a) == layout.nodes for a in layout.allowed) and not layout.fixed
    for j in range(layout.jobs):
        for i in reversed(layout.iterations(j)):
            follows = i + 1 < layout.mandatory[j]
            for k in reversed(layout.order[j]):
                longest = layout.duration[k] + tail[k][i + 1] if follows else 0
                for _, v, lag, delay, _ in layout.out[k]:
                    to = i + lag
                    if (lag and not follows) or (layout.fixed and layout.is_fixed(v, to)):
                        continue
                    wait = delay if delay and not simple and layout.apart(k, i, v, to) else 0
                    longest = max(longest, wait + layout.duration[v] + tail[v][to])
                tail[k][i] = longest
    return tail
