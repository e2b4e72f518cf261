"""What every model of a task-graph instance starts from: which runs there may be, where, when at the earliest.

A run is a pair (task, iteration). An *arc* is an edge of the instance, parallel ones merged. All bounds here are
combinatorial: no solver is started.
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

#: Models list every run; beyond this many an instance is refused rather than left to exhaust the memory.
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

    `Layout.of(instance)` makes it; a tighter one is a copy with other fields (`dataclasses.replace`).

    job[k], duration[k], demand[k][r]; allowed[k]: nodes that may run task k (eligible, large enough, home if bound);
    finished[j] .. maximum[j]: iterations that may still run, of which those below mandatory[j] must; fixed[k] = (node,
    start) of the current run; head[k][i]: no plan starts the run earlier; tail[k][i]: the job runs for at least so long
    after it ends (its mandatory iterations); alone[j]: no plan completes job j earlier, whatever the critical path
    says; reason: why no plan can exist, if that shows already.
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
        """The layout of an instance.

        Raises TooLarge where the jobs have more than `MOST_RUNS` runs.
        """
        job: list[int] = instance.task_job.tolist()
        arrival: list[int] = instance.arrival.tolist()
        jobs, tasks = len(arrival), len(job)
        columns = (instance.fixed_task, instance.fixed_node, instance.fixed_start)
        fixed = {k: (n, s) for k, n, s in zip(*(column.tolist() for column in columns), strict=True)}
        tasks_of: list[list[int]] = [[] for _ in range(jobs)]
        for k, j in enumerate(job):
            tasks_of[j].append(k)
        arcs = _merged_arcs(instance)
        into: list[list[Arc]] = [[] for _ in range(tasks)]
        out: list[list[Arc]] = [[] for _ in range(tasks)]
        for arc in arcs:
            into[arc[1]].append(arc)
            out[arc[0]].append(arc)
        finished, mandatory, maximum = _iteration_counts(instance, {job[k] for k in fixed}, tasks_of)
        allowed, allowed_fixed, reason = _nodes(instance, fixed)
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
            fixed=fixed,
            tasks_of=tasks_of,
            order=_topological(tasks_of, arcs, out),
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
        return dataclasses.replace(layout, head=_heads(layout), tail=_tails(layout))

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.capacity)

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return len(self.arrival)

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(self.job)

    def nodes_of(self, k: int, i: int) -> tuple[int, ...]:
        """The nodes that run (k, i) may be on."""
        if k in self.fixed and i == self.finished[self.job[k]]:
            return self.allowed_fixed[k]
        return self.allowed[k]

    def iterations(self, j: int) -> range:
        """The iterations that job j may still run."""
        return range(self.finished[j], self.maximum[j])

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(job, iteration, task) of every run there may be; predecessors come first."""
        for j in range(self.jobs):
            for i in self.iterations(j):
                for k in self.order[j]:
                    yield j, i, k

    def is_fixed(self, k: int, i: int) -> bool:
        """Whether run (k, i) has started already."""
        return k in self.fixed and i == self.finished[self.job[k]]

    def apart(self, u: int, iu: int, v: int, iv: int) -> bool:
        """Whether the two runs cannot be on one node."""
        a, b = self.nodes_of(u, iu), self.nodes_of(v, iv)
        return len(a) < self.nodes and len(b) < self.nodes and not set(a) & set(b)

    def sources(self, k: int, i: int) -> list[tuple[int, int, int]]:
        """(task, iteration, delay if between nodes) of the runs that (k, i) waits for, its own last run included.

        A source in iteration first - 1 is finished: it ended at last_end on its home. Fixed runs wait for nothing.
        """
        if self.fixed and self.is_fixed(k, i):
            return []
        sources = [(u, i - lag, delay) for u, _, lag, delay, _ in self.into[k] if lag <= i]
        return [(k, i - 1, 0), *sources] if i > self.finished[self.job[k]] else sources

    @functools.cached_property
    def mandatory_runs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Task, head and tail of every mandatory run."""
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
        """Some plan that is best in every objective at once, for its nodes and counts, ends by this time.

        Starting a run earlier worsens no objective, so consider plans in which no run can. At any time from the last
        arrival on, either a run is under way, or else all wait for transfers; a gap without runs ends with the start of
        a run that waited, no longer than its longest incoming transfer. Hence the sum below. A horizon cut at a
        heuristic's makespan would change optima of the other objectives.
        """
        end = max([self.instance.now, *self.arrival])
        wait = np.zeros(self.tasks, dtype=np.int64)
        np.maximum.at(wait, self.instance.edge_to, self.instance.edge_delay)
        rounds = np.array(self.maximum, dtype=np.int64) - np.array(self.finished, dtype=np.int64)
        return end + int(((self.instance.duration + wait) * rounds[self.instance.task_job]).sum())

    def earliest_completion(self, j: int) -> int:
        """No plan completes job j earlier."""
        if self.mandatory[j] <= self.finished[j]:
            return self.idle_completion(j)
        last = self.mandatory[j] - 1
        return max(self.alone[j], *(self.head[k][last] + self.duration[k] for k in self.tasks_of[j]))

    def latest_completions(self, upper: int) -> list[int]:
        """No plan of total_jct at most `upper` completes a job later: C_j = total - the others' completions <= upper +
        sum of arrivals - the others' earliest completions. Below its own earliest completion where there is no such
        plan."""
        earliest = [self.earliest_completion(j) for j in range(self.jobs)]
        spare = upper + sum(self.arrival) - sum(earliest)
        return [c + spare for c in earliest]

    def idle_completion(self, j: int) -> int:
        """When job j completes if it runs nothing more."""
        return max(self.last_end[k] for k in self.tasks_of[j]) if self.finished[j] else self.arrival[j]

    def sinks(self, j: int, i: int) -> list[int]:
        """Tasks of which one ends last in iteration i: those that no run of the iteration waits for."""
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
        """What the instance says of GPUs inside nodes."""
        return Gpus(self.instance)

    @functools.cached_property
    def gpus_apart(self) -> bool:
        """Whether it matters on which GPU of its node a run is: a part of a GPU may be on a node with several.

        Elsewhere a node's GPUs are as good as one pool. What knows only pools is a relaxation where this is true.
        """
        return any(self.gpus.count[n] > 1 for k in self.gpus.parts for n in self.allowed[k])

    def timetable(
        self,
        node: Mapping[tuple[int, int], int],
        start: Mapping[tuple[int, int], int],
        gpu: Mapping[tuple[int, int], int] | None = None,
    ) -> Timetable:
        """The plan of these runs, fixed ones included, by job, iteration and task.

        gpu: labels of runs that need a part of one; those that it leaves out have GPU 0, or the one where they are.
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
    """The edges, parallel ones merged."""
    i = instance
    columns = [c.tolist() for c in (i.edge_from, i.edge_to, i.edge_lag, i.edge_delay, i.edge_volume)]
    # What Arc(*row) does, without a call in Python a row.
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
    """Finished, mandatory and most iterations of each job; a job with a run under way must end that iteration."""
    finished, maximum = instance.finished.tolist(), instance.max_iterations.tolist()
    minimum = instance.min_iterations.tolist()
    mandatory = [max(m, f + (j in begun)) for j, (m, f) in enumerate(zip(minimum, finished, strict=True))]
    runs = sum((m - f) * len(t) for m, f, t in zip(maximum, finished, tasks_of, strict=True))
    if runs > MOST_RUNS:
        raise TooLarge(
            f"max_iterations: the jobs have {runs} runs, models take at most {MOST_RUNS}: join tasks or iterations"
        )
    return finished, mandatory, maximum


def _nodes(
    instance: Instance, fixed: dict[int, tuple[int, int]]
) -> tuple[list[tuple[int, ...]], dict[int, tuple[int, ...]], str | None]:
    """The nodes that each task may use, those of the runs under way, and why one of these has none."""
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


def _topological(tasks_of: list[list[int]], arcs: list[Arc], out: list[list[Arc]]) -> list[list[int]]:
    """Each job's tasks, topologically by the arcs of lag 0."""
    waiting = [0] * len(out)
    for _, v, lag, _, _ in arcs:
        waiting[v] += lag == 0
    orders: list[list[int]] = []
    for tasks in tasks_of:
        order = [k for k in tasks if not waiting[k]]
        for u in order:  # grows while it is read
            for _, v, lag, _, _ in out[u]:
                if lag == 0:
                    waiting[v] -= 1
                    if not waiting[v]:
                        order.append(v)
        orders.append(order)
    return orders


def _heads(layout: Layout) -> list[dict[int, int]]:
    """No plan starts a run earlier: by what it waits for."""
    head: list[dict[int, int]] = [{} for _ in range(layout.tasks)]
    simple = all(len(a) == layout.nodes for a in layout.allowed) and not layout.fixed
    if simple and not any(layout.finished):
        # No node matters and nothing has run yet, as in most large instances.
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


def _tails(layout: Layout) -> list[dict[int, int]]:
    """How long a job runs at least after a run: its mandatory iterations; in later ones that iteration only."""
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
