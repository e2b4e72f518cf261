"""Task graphs by enumeration: every number of iterations, every placement, every active schedule.

Why active schedules suffice. Fix the iterations and the node of every run. Traffic and the accuracy at the end are then
constants, and no other objective gets better when some run ends later (accuracy tables do not fall). Take any feasible
schedule S and list its runs by start; where starts are equal, a run comes after those that it must wait for. Place the
runs in this order, each at its earliest feasible start that is not before the start of the one placed last. Claim: none
starts later than in S. By induction, let those before v be placed no later than in S. What v waits for ends no later.
A run placed before v that is under way at some t >= S(v) is so in S too, since there it starts no later than S(v) <= t
and ends no earlier. So v fits at S(v), and its place is no later. Runs that have started already are placed first: no
other run may start before now, and they wait for nothing.

Three kinds of repetition are left out, none of them losing the best values:
 - when u can start at a and end by b, with a < t and b <= t, nothing is placed next at t: whatever does without u
   first, starting u at a instead disturbs nothing and delays nobody;
 - of two runs that start at once on lists that differ only in their order, one order is enough;
 - what is reached with equal values is kept once.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import answerer
from mlsched.instances.taskgraph import Instance, Timetable

#: Steps a run may take: placements examined and runs placed. About 5 s.
MOST_STEPS = 400_000

OBJECTIVES = tuple(o.name for o in Instance.objectives)
#: The values of all objectives, in the order of `Instance.objectives`.
Values = tuple[int, ...]


@answerer("brute-force", problem="taskgraph", backend="direct", objectives=OBJECTIVES)
def answer(instance: Instance, *, objective: str, limits: Limits) -> Outcome:
    """Examine every number of iterations, placement and active schedule; up to 400,000 steps (about 5 s)."""
    plans, steps = examined(instance)
    if not plans:
        return Outcome("infeasible", None, None, work={"steps": steps})
    index = OBJECTIVES.index(objective)
    best = (min if instance.objective(objective).sense == "min" else max)(plans, key=lambda values: values[index])
    return Outcome("optimal", plans[best], best[index], work={"steps": steps})


def front(instance: Instance, objectives: Sequence[str]) -> list[Values]:
    """All non-dominated values of these objectives, in their natural senses, sorted as the values of a `Front` are."""
    columns = [OBJECTIVES.index(name) for name in objectives]
    signs = [1 if instance.objective(name).sense == "min" else -1 for name in objectives]
    found = sorted({tuple(s * v[c] for s, c in zip(signs, columns, strict=True)) for v in examined(instance)[0]})
    kept: list[Values] = []
    for values in found:  # only what comes before a point in this order can dominate it
        if not any(all(a <= b for a, b in zip(other, values, strict=True)) for other in kept):
            kept.append(values)
    return [tuple(s * v for s, v in zip(signs, values, strict=True)) for values in kept]


@functools.lru_cache(maxsize=8)
def examined(instance: Instance) -> tuple[dict[Values, Timetable], int]:
    """Values -> a plan that has them, for all that an optimum or a front may need; and the steps taken.

    Remembered, because the six objectives of one instance are asked one after another.
    """
    budget = _Steps()
    found: dict[Values, Timetable] = {}
    if _started_too_much(instance):
        return found, 0
    counts = [
        range(max(low, done), high + 1)
        for low, done, high in zip(
            _least(instance), instance.finished.tolist(), instance.max_iterations.tolist(), strict=True
        )
    ]
    budget.least(math.prod(len(c) for c in counts))
    for iterations in itertools.product(*counts):
        work = _Work(instance, iterations)
        for nodes in work.placements(budget):
            budget.take()
            traffic = work.traffic(nodes)
            for starts in work.schedules(nodes, budget):
                values = work.values(starts, traffic)
                if values not in found:
                    found[values] = work.timetable(nodes, starts)
    return found, budget.taken


class _Steps:
    """Counts steps and refuses to take too many."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self) -> None:
        self.taken += 1
        self.least(0)

    def least(self, more: int) -> None:
        """Refuse when at least so many steps will follow."""
        if self.taken + more > MOST_STEPS:
            raise TooLarge(f"brute-force: the instance needs more than {MOST_STEPS} steps: use cp-sat")


def _least(instance: Instance) -> list[int]:
    """The least iterations of each job; one that has begun an iteration finishes it."""
    least: list[int] = instance.min_iterations.tolist()
    for task in instance.fixed_task.tolist():
        job = int(instance.task_job[task])
        least[job] = max(least[job], int(instance.finished[job]) + 1)
    return least


def _started_too_much(instance: Instance) -> bool:
    """Whether the runs that have started exceed a node's capacity; no plan can mend that."""
    runs = [
        (node, start, start + int(instance.duration[task]), instance.demand[task])
        for task, node, start in zip(instance.fixed_task.tolist(), instance.fixed_node.tolist(),
                                     instance.fixed_start.tolist(), strict=True)
    ]  # fmt: skip
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
        begun = zip(instance.fixed_task.tolist(), instance.fixed_node.tolist(), instance.fixed_start.tolist(),
                    strict=True)  # fmt: skip
        #: run -> (node, start) of the runs that have started.
        self.fixed = {self.number[k, first[job_of[k]]]: (node, start) for k, node, start in begun}
        self._read_edges(instance, job_of, first)

    def _read_edges(self, instance: Instance, job_of: list[int], first: list[int]) -> None:
        """What each run waits for: runs as (run, delay), finished runs as (node, end, delay); and what moves data."""
        self.waits: list[list[tuple[int, int]]] = [[] for _ in self.runs]
        self.waited: list[list[tuple[int, int, int]]] = [[] for _ in self.runs]
        #: (from run or -1, its node if finished, to run, volume)
        self.flows: list[tuple[int, int, int, int]] = []
        same_task = [(k, k, 1, 0, 0) for k in range(len(job_of))]
        edges = zip(instance.edge_from.tolist(), instance.edge_to.tolist(), instance.edge_lag.tolist(),
                    instance.edge_delay.tolist(), instance.edge_volume.tolist(), strict=True)  # fmt: skip
        for u, v, lag, delay, volume in [*same_task, *edges]:
            for i in range(first[job_of[v]], self.iterations[job_of[v]]):
                to, source = self.number[v, i], self.number.get((u, i - lag))
                if source is not None:
                    self.waits[to].append((source, delay))
                    self.flows.append((source, -1, to, volume))
                elif i >= lag:  # the source is finished
                    self.waited[to].append((int(instance.home[u]), int(instance.last_end[u]), delay))
                    self.flows.append((-1, int(instance.home[u]), to, volume))

    def placements(self, budget: _Steps) -> Iterator[list[int]]:
        """A node for every run, in every way that eligibility, stickiness and the size of nodes allow."""
        free = self.instance.movement != "none"
        # Sticky tasks decide once, by their first run.
        groups = [[r] for r in range(len(self.runs))] if free else _by_task(self.runs)
        choices = [self._allowed(group, free) for group in groups]
        budget.least(math.prod(len(c) for c in choices))
        for chosen in itertools.product(*choices):
            nodes = [0] * len(self.runs)
            for group, node in zip(groups, chosen, strict=True):
                for r in group:
                    nodes[r] = node
            yield nodes

    def _allowed(self, group: list[int], free: bool) -> list[int]:
        task = self.runs[group[0]][0]
        nodes = range(len(self.capacity))
        if group[0] in self.fixed:
            nodes = range(self.fixed[group[0]][0], self.fixed[group[0]][0] + 1)
        elif not free and self.instance.home[task] >= 0:
            nodes = range(int(self.instance.home[task]), int(self.instance.home[task]) + 1)
        return [n for n in nodes if self.instance.eligible[task, n] and self._fits(group[0], n)]

    def _fits(self, run: int, node: int) -> bool:
        return not self.duration[run] or _within(self.demand[run], self.capacity[node])

    def traffic(self, nodes: list[int]) -> int:
        return sum(volume for source, home, to, volume in self.flows
                   if (nodes[source] if source >= 0 else home) != nodes[to])  # fmt: skip

    def schedules(self, nodes: list[int], budget: _Steps) -> Iterator[list[int]]:
        """The starts of all runs, in every schedule of the module's docstring."""
        starts = [-1] * len(self.runs)
        for r, (_, start) in self.fixed.items():
            starts[r] = start
        ready = list(self.release)
        for r, found in enumerate(self.waited):
            for home, end, delay in found:
                ready[r] = max(ready[r], end + delay * (home != nodes[r]))
        waiting = [r for r in range(len(self.runs)) if r not in self.fixed]
        return self._place(nodes, starts, ready, waiting, 0, -1, budget)

    def _place(
        self, nodes: list[int], starts: list[int], ready: list[int], waiting: list[int], clock: int, last: int,
        budget: _Steps,
    ) -> Iterator[list[int]]:  # fmt: skip
        """Place one more of the `waiting` runs in every way; `last` was placed before, at `clock`."""
        budget.take()
        if not waiting:
            yield starts
            return
        able = {r: self._earliest(r, nodes, starts, ready, clock) for r in waiting
                if all(starts[u] >= 0 for u, _ in self.waits[r])}  # fmt: skip
        for r, start in able.items():
            if any(a < start and a + self.duration[u] <= start for u, a in able.items()):
                continue
            if start == clock and r < last and all(u != last for u, _ in self.waits[r]):
                continue
            starts[r] = start
            yield from self._place(nodes, starts, ready, [w for w in waiting if w != r], start, r, budget)
            starts[r] = -1

    def _earliest(self, run: int, nodes: list[int], starts: list[int], ready: list[int], clock: int) -> int:
        """When the run can start, not before `clock`, at which or before which everything placed starts."""
        node = nodes[run]
        time = max(clock, ready[run])
        for u, delay in self.waits[run]:
            time = max(time, starts[u] + self.duration[u] + delay * (nodes[u] != node))
        if not self.duration[run]:
            return time
        busy = sorted((starts[u] + self.duration[u], self.demand[u]) for u in range(len(self.runs))
                      if starts[u] >= 0 and nodes[u] == node and starts[u] + self.duration[u] > time)  # fmt: skip
        for first in range(len(busy)):  # those from `first` on are still under way
            use = [sum(column) for column in zip(self.demand[run], *(d for _, d in busy[first:]), strict=True)]
            if _within(use, self.capacity[node]):
                break
            time = busy[first][0]
        return time

    def values(self, starts: list[int], traffic: int) -> Values:
        """All objectives of a schedule."""
        instance = self.instance
        completions, met, reached, accuracies = [], 0, 0, 0
        for job, iterations in enumerate(self.iterations):
            ends = self._ends(job, starts)
            deadline = int(instance.deadline[job])
            completion = ends[-1] if ends else self._last(job)
            done = iterations
            if instance.accuracy_at == "deadline":
                done = int(instance.on_time[job])
                if done == instance.finished[job]:
                    done += sum(end <= deadline for end in ends)
            accuracy = int(instance.accuracy[job, done])
            completions.append(completion)
            met += completion <= deadline
            reached += accuracy >= instance.required[job]
            accuracies += accuracy
        arrivals = instance.arrival.tolist()
        makespan = max(completions) - min(arrivals) if completions else 0
        named = {"total_jct": sum(completions) - sum(arrivals), "deadlines_met": met, "traffic": traffic,
                 "accuracy_met": int(reached), "total_accuracy": accuracies, "makespan": makespan}  # fmt: skip
        return tuple(int(named[name]) for name in OBJECTIVES)

    def _ends(self, job: int, starts: list[int]) -> list[int]:
        """When each iteration of the plan ends: with the last of its runs and of those before."""
        ends: dict[int, int] = {}
        for r, (task, i) in enumerate(self.runs):
            if self.instance.task_job[task] == job:
                ends[i] = max(ends.get(i, 0), starts[r] + self.duration[r])
        return list(itertools.accumulate((ends[i] for i in sorted(ends)), max))

    def _last(self, job: int) -> int:
        """When a job without runs completed."""
        if not self.instance.finished[job]:
            return int(self.instance.arrival[job])
        return int(self.instance.last_end[self.instance.task_job == job].max())

    def timetable(self, nodes: list[int], starts: list[int]) -> Timetable:
        return self.instance.timetable([i for _, i in self.runs], [k for k, _ in self.runs], nodes, starts)


def _by_task(runs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The runs' numbers, task by task, in the order of their iterations."""
    found: dict[int, list[int]] = {}
    for r, (task, _) in enumerate(runs):
        found.setdefault(task, []).append(r)
    return list(found.values())


def _within(use: list[int], capacity: list[int]) -> bool:
    return all(u <= c for u, c in zip(use, capacity, strict=True))
