"""Task graphs by enumeration: every number of iterations, every placement, every active schedule.

Why active schedules suffice. Fix the iterations and the node of every run. Traffic and the accuracy at the end are
then constants, and no other objective improves when some run ends later (accuracy tables do not fall). Take any
feasible schedule S and list its runs by start; at equal starts, a run comes after its predecessors. Place the runs in
this order, each at its earliest feasible start that is not before the start of the run placed last. Claim: all start
no later than in S. By induction, let the runs before v be placed no later than in S. The predecessors of v end no
later. A run placed before v that is active at some t >= S(v) is also active in S, since there it starts no later than
S(v) <= t and ends no earlier. So v fits at S(v), and starts at the latest at S(v). Started runs are placed first:
other runs may not start before now, and started runs do not wait for predecessors.

If the GPUs of a node are individual (`gpu_unit`), the label of every part of a GPU is fixed like the node. The
argument
is the same: a set of runs that fits on a node, with its labels, still fits after removing some. Labels are numbered in
the order of the runs, since the judge only compares them for equality.

Three types of repetition are omitted, all without losing the best values:
 - when u can start at a and end by b, with a < t and b <= t, no run is placed next at t: in a schedule without u
   first, starting u at a instead leaves all other runs unchanged; - two runs that start at once on lists that differ
   only in
   their order are tried in one order; - results with equal values are kept once.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.taskgraph._labels import Labels

#: Limit on steps per run: placements examined and runs placed. About 5 s.
MOST_STEPS = 400_000

#: The objectives that `_Work.values` computes.
OBJECTIVES = ("total_jct", "deadlines_met", "traffic", "accuracy_met", "total_accuracy", "makespan")
#: The values of all objectives, in this order.
Values = tuple[int, ...]


@exact_algorithm("brute-force", problem="taskgraph", objectives=OBJECTIVES)
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Timetable | None = None) -> Outcome:
    """Examine every number of iterations, placement and active schedule; up to 400,000 steps (about 5 s)."""
    plans, steps = examined(instance, Deadline(limits.seconds))
    if not plans:
        return Outcome("infeasible", None, None, work={"steps": steps})
    index = OBJECTIVES.index(objective)
    best = (min if instance.objective(objective).sense == "min" else max)(plans, key=lambda values: values[index])
    return Outcome("optimal", plans[best], best[index], work={"steps": steps})


def front(instance: Instance, objectives: Sequence[str]) -> list[Values]:
    """Return all non-dominated values of these objectives, in their natural senses, sorted as in a `Front`."""
    columns = [OBJECTIVES.index(name) for name in objectives]
    signs = [1 if instance.objective(name).sense == "min" else -1 for name in objectives]
    points = sorted({tuple(s * v[c] for s, c in zip(signs, columns, strict=True)) for v in examined(instance)[0]})
    front_points: list[Values] = []
    for values in points:  # only an earlier point in this order can dominate it
        if not any(all(a <= b for a, b in zip(other, values, strict=True)) for other in front_points):
            front_points.append(values)
    return [tuple(s * v for s, v in zip(signs, values, strict=True)) for values in front_points]


Examined = tuple[dict[Values, Timetable], int]


def examined(instance: Instance, deadline: Deadline | None = None) -> Examined:
    """Return values -> a plan with them, for all candidates of an optimum or a front; and the number of steps.

    The result is cached, because the six objectives of one instance are solved one after another. Raises OutOfTime.
    """
    known_plans = _remembered(instance)
    if not known_plans:
        known_plans.append(_examine_all_plans(instance, deadline or Deadline()))
    return known_plans[0]


@functools.lru_cache(maxsize=8)
def _remembered(instance: Instance) -> list[Examined]:
    """Return the cache: empty until the instance has been examined completely."""
    return []


def _examine_all_plans(instance: Instance, deadline: Deadline) -> Examined:
    budget = _Steps(deadline)
    plans: dict[Values, Timetable] = {}
    if _started_too_much(instance):
        return plans, 0
    counts = [
        range(max(low, finished), high + 1)
        for low, finished, high in zip(
            _least_iterations(instance), instance.finished.tolist(), instance.max_iterations.tolist(), strict=True
        )
    ]
    budget.least(math.prod(len(c) for c in counts))
    for iterations in itertools.product(*counts):
        work = _Work(instance, iterations)
        for nodes in work.placements(budget):
            traffic = work.traffic(nodes)
            for labels in work.gpus.labels(nodes):
                budget.take()
                for starts in work.schedules(nodes, labels, budget):
                    values = work.values(starts, traffic)
                    if values not in plans:
                        plans[values] = work.timetable(nodes, labels, starts)
    return plans, budget.taken


class _Steps:
    """A step counter that raises beyond the limit or the deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self.taken, self.deadline = 0, deadline

    def take(self) -> None:
        self.deadline.check()
        self.taken += 1
        if self.taken > MOST_STEPS:
            self.least(0)

    def least(self, more: int) -> None:
        """Raise TooLarge if at least `more` further steps are needed, and these exceed the limit."""
        if self.taken + more > MOST_STEPS:
            raise TooLarge(f"brute-force: the instance needs more than {MOST_STEPS} steps: use cp-sat")


def _least_iterations(instance: Instance) -> list[int]:
    """Return the least iterations of each job; a started iteration is finished."""
    minimum: list[int] = instance.min_iterations.tolist()
    for task in instance.fixed_task.tolist():
        job = int(instance.task_job[task])
        minimum[job] = max(minimum[job], int(instance.finished[job]) + 1)
    return minimum


def _started_too_much(instance: Instance) -> bool:
    """Return whether the started runs exceed a node's capacity, which makes every plan infeasible."""
    runs = [
        (node, start, start + int(instance.duration[task]), instance.demand[task])
        for task, node, start in zip(
            instance.fixed_task.tolist(), instance.fixed_node.tolist(), instance.fixed_start.tolist(), strict=True
        )
    ]
    for node, start, end, _ in runs:
        together = [demand for n, a, b, demand in runs if n == node and a <= start < b]
        if end > start and (sum(together) > instance.node_capacity[node]).any():
            return True
    return False


class _Work:
    """All runs of given numbers of iterations, numbered; plain integers and lists, read once from the instance."""

    def __init__(self, instance: Instance, iterations: tuple[int, ...]) -> None:
        self.instance, self.iterations = instance, iterations
        job_of, first = instance.task_job.tolist(), instance.finished.tolist()
        self.runs = [(k, i) for k, j in enumerate(job_of) for i in range(first[j], iterations[j])]
        self.number = {run: r for r, run in enumerate(self.runs)}
        self.duration = [int(instance.duration[k]) for k, _ in self.runs]
        self.demand = [instance.demand[k].tolist() for k, _ in self.runs]
        self.capacity = instance.node_capacity.tolist()
        self.release = [max(instance.now, int(instance.arrival[job_of[k]])) for k, _ in self.runs]
        started_runs = zip(
            instance.fixed_task.tolist(), instance.fixed_node.tolist(), instance.fixed_start.tolist(), strict=True
        )
        #: run -> (node, start) of the started runs.
        self.fixed = {self.number[k, first[job_of[k]]]: (node, start) for k, node, start in started_runs}
        self._read_predecessors(instance, job_of, first)
        self._read_job_data(instance, job_of, first)
        self.gpus = Labels(instance, self.runs, self.fixed)

    def _read_predecessors(self, instance: Instance, job_of: list[int], first: list[int]) -> None:
        """Read the predecessors of each run, as (run, delay) or, if finished, (node, end, delay); also data flows."""
        self.waits: list[list[tuple[int, int]]] = [[] for _ in self.runs]
        self.waited: list[list[tuple[int, int, int]]] = [[] for _ in self.runs]
        #: (from run or -1, its node if finished, to run, volume)
        self.flows: list[tuple[int, int, int, int]] = []
        same_task = [(k, k, 1, 0, 0) for k in range(len(job_of))]
        edges = zip(
            instance.edge_from.tolist(),
            instance.edge_to.tolist(),
            instance.edge_lag.tolist(),
            instance.edge_delay.tolist(),
            instance.edge_volume.tolist(),
            strict=True,
        )
        for u, v, lag, delay, volume in [*same_task, *edges]:
            for i in range(first[job_of[v]], self.iterations[job_of[v]]):
                to, source = self.number[v, i], self.number.get((u, i - lag))
                if source is not None:
                    self.waits[to].append((source, delay))
                    self.flows.append((source, -1, to, volume))
                elif i >= lag:  # the source is finished
                    self.waited[to].append((int(instance.home[u]), int(instance.last_end[u]), delay))
                    self.flows.append((-1, int(instance.home[u]), to, volume))

    def _read_job_data(self, instance: Instance, job_of: list[int], first: list[int]) -> None:
        """Read the runs of each job, one list per iteration, and the data of its objectives."""
        self.runs_of = [
            [[self.number[k, i] for k, j in enumerate(job_of) if j == job] for i in range(first[job], last)]
            for job, last in enumerate(self.iterations)
        ]
        self.arrival, self.deadline = instance.arrival.tolist(), instance.deadline.tolist()
        self.required, self.accuracy = instance.required.tolist(), instance.accuracy.tolist()
        self.finished, self.on_time = first, instance.on_time.tolist()
        #: Completion time of a job without further runs.
        self.completed = [
            int(instance.last_end[instance.task_job == job].max()) if first[job] else arrival
            for job, arrival in enumerate(self.arrival)
        ]

    def placements(self, budget: _Steps) -> Iterator[list[int]]:
        """Yield a node for every run, in every way that eligibility, stickiness and the size of nodes allow."""
        free = self.instance.movement != "none"
        # The first run of a sticky task decides for all its runs.
        groups = [[r] for r in range(len(self.runs))] if free else _group_by_task(self.runs)
        choices = [self._allowed_nodes(group, free) for group in groups]
        budget.least(math.prod(len(c) for c in choices))
        for node_choice in itertools.product(*choices):
            nodes = [0] * len(self.runs)
            for group, node in zip(groups, node_choice, strict=True):
                for r in group:
                    nodes[r] = node
            yield nodes

    def _allowed_nodes(self, group: list[int], free: bool) -> list[int]:
        task = self.runs[group[0]][0]
        nodes = range(len(self.capacity))
        if group[0] in self.fixed:
            nodes = range(self.fixed[group[0]][0], self.fixed[group[0]][0] + 1)
        elif not free and self.instance.home[task] >= 0:
            nodes = range(int(self.instance.home[task]), int(self.instance.home[task]) + 1)
        return [n for n in nodes if self.instance.eligible[task, n] and self._fits_on_node(group[0], n)]

    def _fits_on_node(self, run: int, node: int) -> bool:
        return not self.duration[run] or _within_capacity(self.demand[run], self.capacity[node])

    def traffic(self, nodes: list[int]) -> int:
        return sum(
            volume for source, home, to, volume in self.flows if (nodes[source] if source >= 0 else home) != nodes[to]
        )

    def schedules(self, nodes: list[int], labels: list[int], budget: _Steps) -> Iterator[list[int]]:
        """Yield the starts of all runs, for every schedule of the module's docstring."""
        for node in range(len(self.capacity)):
            if not self.gpus.suffice(node, [r for r, (place, _) in self.fixed.items() if place == node], labels):
                return iter(())
        waiting = [r for r in range(len(self.runs)) if r not in self.fixed]
        return _Schedules(self, nodes, labels, budget).place(waiting, {}, 0, -1)

    def values(self, starts: list[int], traffic: int) -> Values:
        """Compute all objectives of a schedule."""
        completions, deadlines_met, accuracies_met, accuracies = [], 0, 0, 0
        for job, iterations in enumerate(self.iterations):
            ends = self._iteration_ends(job, starts)
            completion = ends[-1] if ends else self.completed[job]
            finished = iterations
            if self.instance.accuracy_at == "deadline":
                finished = self.on_time[job]
                if finished == self.finished[job]:
                    finished += sum([end <= self.deadline[job] for end in ends])
            accuracy = self.accuracy[job][finished]
            completions.append(completion)
            deadlines_met += completion <= self.deadline[job]
            accuracies_met += accuracy >= self.required[job]
            accuracies += accuracy
        makespan = max(completions) - min(self.arrival) if completions else 0
        # In the order of OBJECTIVES.
        return sum(completions) - sum(self.arrival), deadlines_met, traffic, accuracies_met, accuracies, makespan

    def _iteration_ends(self, job: int, starts: list[int]) -> list[int]:
        """Return the end of each iteration of the plan: the latest end of its runs and of earlier iterations."""
        ends, latest = [], 0
        for runs in self.runs_of[job]:
            for r in runs:
                end = starts[r] + self.duration[r]
                if end > latest:
                    latest = end
            ends.append(latest)
        return ends

    def timetable(self, nodes: list[int], labels: list[int], starts: list[int]) -> Timetable:
        return self.instance.timetable([i for _, i in self.runs], [k for k, _ in self.runs], nodes, starts, labels)


class _Schedules:
    """The schedules of given runs on given nodes, run after run in the order of their starts."""

    def __init__(self, work: _Work, nodes: list[int], labels: list[int], budget: _Steps) -> None:
        self.work, self.nodes, self.labels, self.budget = work, nodes, labels, budget
        self.starts, self.ends = [-1] * len(nodes), [-1] * len(nodes)
        #: Predecessors of each run, and the delay after their ends.
        self.waits = [[(u, delay * (nodes[u] != nodes[r])) for u, delay in waits] for r, waits in enumerate(work.waits)]
        #: The same runs as bits.
        self.needs = [sum({1 << u for u, _ in waits}) for waits in work.waits]
        #: node -> the runs that are placed there.
        self.placed: list[list[int]] = [[] for _ in work.capacity]
        for r, (node, start) in work.fixed.items():
            self.starts[r], self.ends[r] = start, start + work.duration[r]
            self.placed[node].append(r)
        self.ready = list(work.release)
        for r, waited in enumerate(work.waited):
            for home, end, delay in waited:
                self.ready[r] = max(self.ready[r], end + delay * (home != nodes[r]))

    def place(self, waiting: list[int], before: dict[int, int], clock: int, last: int) -> Iterator[list[int]]:
        """Place one more of the `waiting` runs in every way, and yield the schedules.

        Args:
            waiting: The unplaced runs.
            before: Earliest starts of the placeable runs when `last` was selected.
            clock: Start of `last`.
            last: The run placed most recently.
        """
        self.budget.take()
        if not waiting:
            yield self.starts
            return
        duration, able = self.work.duration, self._ready_runs(waiting, before, clock, last)
        # From then on another run could have started earlier, and ended.
        ready_by = min([start + (duration[r] or 1) for r, start in able.items()], default=0)
        for r, start in able.items():
            if start >= ready_by:
                continue
            if start == clock and r < last and not self.needs[r] >> last & 1:
                continue
            self.starts[r], self.ends[r] = start, start + duration[r]
            self.placed[self.nodes[r]].append(r)
            yield from self.place([w for w in waiting if w != r], able, start, r)
            self.placed[self.nodes[r]].pop()
            self.starts[r] = -1

    def _ready_runs(self, waiting: list[int], before: dict[int, int], clock: int, last: int) -> dict[int, int]:
        """Return earliest starts of the waiting runs without unplaced predecessors."""
        able, missing = {}, sum([1 << r for r in waiting])
        for r in waiting:
            if r in before and self.nodes[r] != self.nodes[last]:
                # Its node is unchanged, and the runs there only end.
                able[r] = max(before[r], clock)
            elif not self.needs[r] & missing:
                able[r] = self._earliest_start(r, clock)
        return able

    def _earliest_start(self, run: int, clock: int) -> int:
        """Return the earliest start of the run that is not before `clock`; all placed runs start at or before it."""
        work, ends, node = self.work, self.ends, self.nodes[run]
        time = max(clock, self.ready[run], *[ends[u] + delay for u, delay in self.waits[run]])
        if not work.duration[run]:
            return time
        busy = [(ends[u], u) for u in self.placed[node] if ends[u] > time]
        if not busy:
            return time
        use = [sum(column) for column in zip(work.demand[run], *[work.demand[u] for _, u in busy], strict=True)]
        busy.sort()
        for place, (end, u) in enumerate(busy):  # this and the following runs are still active
            if _within_capacity(use, work.capacity[node]) and self._has_free_gpu(run, [v for _, v in busy[place:]]):
                break
            time = end
            use = [a - b for a, b in zip(use, work.demand[u], strict=True)]
        return time

    def _has_free_gpu(self, run: int, others: list[int]) -> bool:
        """Return whether the run's node has GPUs for it beside the others."""
        gpus = self.work.gpus
        return not gpus.need[run] or gpus.suffice(self.nodes[run], [run, *others], self.labels)


def _group_by_task(runs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Group the runs' numbers by task, in the order of their iterations."""
    rows_of: dict[int, list[int]] = {}
    for r, (task, _) in enumerate(runs):
        rows_of.setdefault(task, []).append(r)
    return list(rows_of.values())


def _within_capacity(use: list[int], capacity: list[int]) -> bool:
    return all(map(operator.le, use, capacity))
