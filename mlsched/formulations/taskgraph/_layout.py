"""What every model of a task-graph instance starts from: which runs there may be, where, when at the earliest.

A run is a pair (task, iteration). An *arc* is an edge of the instance, parallel ones merged. All bounds here are
combinatorial: no solver is started.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray
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


class Layout:
    """The instance in plain lists, with the runs of every job and valid earliest starts.

    job[k], duration[k], demand[k][r]; allowed[k]: nodes that may run task k (eligible, large enough, home if bound);
    first[j] .. most[j]: iterations that may run, of which those below least[j] must; fixed[k] = (node, start) of the
    current run; head[k][i]: no plan starts the run earlier; tail[k][i]: the job runs for at least so long after it ends
    (its mandatory iterations); reason: why no plan can exist, if that shows already.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.job: list[int] = instance.task_job.tolist()
        self.duration: list[int] = instance.duration.tolist()
        self.demand: list[list[int]] = instance.demand.tolist()
        self.capacity: list[list[int]] = instance.node_capacity.tolist()
        self.arrival: list[int] = instance.arrival.tolist()
        self.deadline: list[int] = instance.deadline.tolist()
        self.nodes, self.jobs, self.tasks = len(self.capacity), len(self.arrival), len(self.job)
        self.home: list[int] = instance.home.tolist()
        self.last_end: list[int] = instance.last_end.tolist()
        self.sticky = instance.movement == "none"
        self.reason: str | None = None
        self.tasks_of: list[list[int]] = [[] for _ in range(self.jobs)]
        for k, j in enumerate(self.job):
            self.tasks_of[j].append(k)
        fixed = zip(
            instance.fixed_task.tolist(), instance.fixed_node.tolist(), instance.fixed_start.tolist(), strict=True
        )
        self.fixed: dict[int, tuple[int, int]] = {k: (n, s) for k, n, s in fixed}
        self.first: list[int] = instance.finished.tolist()
        self.most: list[int] = instance.max_iterations.tolist()
        self._merge_arcs()
        self._count_iterations()
        self._place()
        self._order()
        self.ready = [max(a, instance.now) for a in self.arrival]
        #: No plan completes the job earlier; `_alone` raises it above the critical path.
        self.alone: list[int] = [0] * self.jobs
        #: The completions of all other jobs have no smaller sum in plans that are good enough; `_others` raises it for
        #: those as good as a plan at hand, and then no worse ones may be asked for.
        self.others: list[int] = [0] * self.jobs
        self._heads()
        self._tails()

    def _merge_arcs(self) -> None:
        i = self.instance
        columns = [c.tolist() for c in (i.edge_from, i.edge_to, i.edge_lag, i.edge_delay, i.edge_volume)]
        # What Arc(*row) does, without a call in Python a row.
        self.arcs: list[Arc] = list(map(functools.partial(tuple.__new__, Arc), zip(*columns, strict=True)))
        if len(np.unique((i.edge_from * self.tasks + i.edge_to) * 2 + i.edge_lag)) < len(self.arcs):
            merged: dict[tuple[int, int, int], tuple[int, int]] = {}
            for u, v, lag, delay, volume in self.arcs:
                before = merged.get((u, v, lag), (0, 0))
                merged[u, v, lag] = max(before[0], delay), before[1] + volume
            self.arcs = [Arc(*key, *most) for key, most in merged.items()]
        self.into: list[list[Arc]] = [[] for _ in range(self.tasks)]
        self.out: list[list[Arc]] = [[] for _ in range(self.tasks)]
        for arc in self.arcs:
            u, v, _, _, _ = arc
            self.into[v].append(arc)
            self.out[u].append(arc)

    def _count_iterations(self) -> None:
        started = {self.job[k] for k in self.fixed}
        least = self.instance.min_iterations.tolist()
        self.least = [max(m, f + (j in started)) for j, (m, f) in enumerate(zip(least, self.first, strict=True))]
        runs = sum((m - f) * len(t) for m, f, t in zip(self.most, self.first, self.tasks_of, strict=True))
        if runs > MOST_RUNS:
            raise TooLarge(
                f"max_iterations: the jobs have {runs} runs, models take at most {MOST_RUNS}: join tasks or iterations"
            )

    def _place(self) -> None:
        """allowed[k]; the iterations of a job that has a task without a node are cut to those that are finished."""
        eligible = self.instance.eligible.tolist()
        uniform = bool(self.instance.eligible.all())
        everywhere = tuple(range(self.nodes))
        smallest = self.instance.node_capacity.min(axis=0)
        small = ((self.instance.demand <= smallest).all(axis=1) | (self.instance.duration == 0)).tolist()
        self.allowed: list[tuple[int, ...]] = []
        self.allowed_fixed: dict[int, tuple[int, ...]] = {}
        for k in range(self.tasks):
            if uniform and small[k]:
                nodes = everywhere
            else:
                need = self.demand[k] if self.duration[k] else [0] * len(smallest)
                nodes = tuple(
                    n
                    for n in everywhere
                    if eligible[k][n] and all(d <= c for d, c in zip(need, self.capacity[n], strict=True))
                )
            if self.sticky and self.home[k] >= 0:
                nodes = tuple(n for n in nodes if n == self.home[k])
            if k in self.fixed:
                here = tuple(n for n in nodes if n == self.fixed[k][0])
                self.allowed_fixed[k] = here
                if self.sticky:
                    nodes = here
                if not here:
                    self.reason = f"task {k} runs on node {self.fixed[k][0]}, which cannot hold it"
            self.allowed.append(nodes)
        for j, tasks in enumerate(self.tasks_of):
            lacking = [k for k in tasks if not self.allowed[k]]
            if lacking:
                if self.least[j] > self.first[j]:
                    self.reason = self.reason or f"task {lacking[0]} of job {j} has no node that can run it"
                self.most[j] = self.first[j]
                self.least[j] = min(self.least[j], self.first[j])

    def nodes_of(self, k: int, i: int) -> tuple[int, ...]:
        """The nodes that run (k, i) may be on."""
        if k in self.fixed and i == self.first[self.job[k]]:
            return self.allowed_fixed[k]
        return self.allowed[k]

    def _order(self) -> None:
        """order[j]: the job's tasks, topologically by the arcs of lag 0."""
        waiting = [0] * self.tasks
        for _, v, lag, _, _ in self.arcs:
            waiting[v] += lag == 0
        self.order: list[list[int]] = []
        for tasks in self.tasks_of:
            order = [k for k in tasks if not waiting[k]]
            for u in order:  # grows while it is read
                for _, v, lag, _, _ in self.out[u]:
                    if lag == 0:
                        waiting[v] -= 1
                        if not waiting[v]:
                            order.append(v)
            self.order.append(order)

    def iterations(self, j: int) -> range:
        """The iterations that job j may still run."""
        return range(self.first[j], self.most[j])

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(job, iteration, task) of every run there may be; predecessors come first."""
        for j in range(self.jobs):
            for i in self.iterations(j):
                for k in self.order[j]:
                    yield j, i, k

    def is_fixed(self, k: int, i: int) -> bool:
        """Whether run (k, i) has started already."""
        return k in self.fixed and i == self.first[self.job[k]]

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
        found = [(u, i - lag, delay) for u, _, lag, delay, _ in self.into[k] if lag <= i]
        return [(k, i - 1, 0), *found] if i > self.first[self.job[k]] else found

    def _heads(self) -> None:
        self.head: list[dict[int, int]] = [{} for _ in range(self.tasks)]
        simple = all(len(a) == self.nodes for a in self.allowed) and not self.fixed
        if simple and not any(self.first):
            self._plain_heads()
            return
        for j, i, k in self.runs():
            if self.fixed and self.is_fixed(k, i):
                self.head[k][i] = self.fixed[k][1]
                continue
            head = self.ready[j]
            for u, iu, delay in self.sources(k, i):
                if iu < self.first[j]:
                    wait = delay if self.home[u] not in self.nodes_of(k, i) else 0
                    end = self.last_end[u]
                else:
                    wait = delay if delay and not simple and self.apart(u, iu, k, i) else 0
                    end = self.head[u][iu] + self.duration[u]
                if end + wait > head:
                    head = end + wait
            self.head[k][i] = head

    def _plain_heads(self) -> None:
        """The same where no node matters and nothing has run yet, as in most large instances."""
        for j, i, k in self.runs():
            head = self.ready[j] if not i else max(self.ready[j], self.head[k][i - 1] + self.duration[k])
            for u, _, lag, _, _ in self.into[k]:
                if lag <= i and (end := self.head[u][i - lag] + self.duration[u]) > head:
                    head = end
            self.head[k][i] = head

    def _tails(self) -> None:
        """tail[k][i] over the mandatory iterations; a run of a later iteration counts its own iteration only."""
        self.tail: list[dict[int, int]] = [{} for _ in range(self.tasks)]
        simple = all(len(a) == self.nodes for a in self.allowed) and not self.fixed
        for j in range(self.jobs):
            for i in reversed(self.iterations(j)):
                follows = i + 1 < self.least[j]
                for k in reversed(self.order[j]):
                    tail = self.duration[k] + self.tail[k][i + 1] if follows else 0
                    for _, v, lag, delay, _ in self.out[k]:
                        to = i + lag
                        if (lag and not follows) or (self.fixed and self.is_fixed(v, to)):
                            continue
                        wait = delay if delay and not simple and self.apart(k, i, v, to) else 0
                        after = wait + self.duration[v] + self.tail[v][to]
                        if after > tail:
                            tail = after
                    self.tail[k][i] = tail

    @functools.cached_property
    def mandatory(self) -> tuple[IntArray, IntArray, IntArray]:
        """Task, head and tail of every mandatory run."""
        task: list[int] = []
        head: list[int] = []
        tail: list[int] = []
        for j, order in enumerate(self.order):
            for i in range(self.first[j], min(self.least[j], self.most[j])):
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
        rounds = np.array(self.most, dtype=np.int64) - np.array(self.first, dtype=np.int64)
        return end + int(((self.instance.duration + wait) * rounds[self.instance.task_job]).sum())

    def least_completion(self, j: int) -> int:
        """No plan completes job j earlier."""
        if self.least[j] <= self.first[j]:
            return self.idle_completion(j)
        last = self.least[j] - 1
        return max(self.alone[j], *(self.head[k][last] + self.duration[k] for k in self.tasks_of[j]))

    def latest_completions(self, upper: int) -> list[int]:
        """No plan of total_jct at most `upper` completes a job later: C_j = total - the others' completions <= upper +
        sum of arrivals - the least of those. Below the least completions where there is no such plan."""
        least = [self.least_completion(j) for j in range(self.jobs)]
        total, every = upper + sum(self.arrival), sum(least)
        return [total - max(of_others, every - c) for c, of_others in zip(least, self.others, strict=True)]

    def idle_completion(self, j: int) -> int:
        """When job j completes if it runs nothing more."""
        return max(self.last_end[k] for k in self.tasks_of[j]) if self.first[j] else self.arrival[j]

    def sinks(self, j: int, i: int) -> list[int]:
        """Tasks of which one ends last in iteration i: those that no run of the iteration waits for."""
        found = []
        for k in self.tasks_of[j]:
            for _, v, lag, _, _ in self.out[k]:
                if not lag and not (self.fixed and self.is_fixed(v, i)):
                    break
            else:
                found.append(k)
        return found

    def timetable(self, node: dict[tuple[int, int], int], start: dict[tuple[int, int], int]) -> Timetable:
        """The plan of these runs, fixed ones included, by job, iteration and task."""
        keys = sorted(start, key=lambda run: (self.job[run[0]], run[1], run[0]))
        return self.instance.timetable(
            [i for _, i in keys], [k for k, _ in keys], [node[run] for run in keys], [start[run] for run in keys]
        )
