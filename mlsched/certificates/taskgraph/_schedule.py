"""Runs of tasks in 0-1 variables: the node of each task, and the runs that have started by each tick.

Only rules 2 to 5 of `instances/taskgraph/judge.py`; the caller provides the runs and their latest ends.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mlsched.certificates.formula import Formula, Term, spend

if TYPE_CHECKING:
    from mlsched.instances.taskgraph.instance import Instance

#: (task, iteration).
Run = tuple[int, int]


def edges_of(instance: Instance) -> list[tuple[int, int, int, int, int]]:
    """Return (from, to, lag, delay, volume) of every edge."""
    columns = (instance.edge_from, instance.edge_to, instance.edge_lag, instance.edge_delay, instance.edge_volume)
    return list(zip(*(column.tolist() for column in columns), strict=True))


class Places:
    """The eligible node of each task or, if tasks may move between iterations, of each run (rules 2 and 3)."""

    def __init__(self, formula: Formula, instance: Instance, runs: Iterable[Run]) -> None:
        self.formula, self.instance = formula, instance
        self._nodes: dict[Run, dict[int, int]] = {}
        self._away: dict[tuple[Run, Run], int] = {}
        for run in runs:
            if self._key_of_run(run) not in self._nodes:
                self._nodes[self._key_of_run(run)] = self._node_variables(*self._key_of_run(run))

    def _key_of_run(self, run: Run) -> Run:
        return run if self.instance.movement == "between_iterations" else (run[0], 0)

    def _node_variables(self, task: int, iteration: int) -> dict[int, int]:
        instance, formula, nodes = self.instance, self.formula, {}
        which = f", iteration {iteration}," if instance.movement == "between_iterations" else ""
        for n in range(len(instance.node_capacity)):
            if instance.eligible[task, n]:
                nodes[n] = formula.variable(f"task {task}{which} is on node {n}")
                if instance.duration[task] and (instance.demand[task] > instance.node_capacity[n]).any():
                    formula.at_most("rule 5: a run fits on its node", [(1, nodes[n])], 0)
        formula.at_most("rule 2: a task has one node", [(1, x) for x in nodes.values()], 1)
        return nodes

    def nodes_of(self, run: Run) -> dict[int, int]:
        """Return node -> variable of a run."""
        return self._nodes[self._key_of_run(run)]

    def on_different_nodes(self, one: Run, other: Run) -> int | None:
        """Return the variable that is 1 if two runs are on different nodes; None if they cannot be."""
        key = self._key_of_run(one), self._key_of_run(other)
        if key[0] == key[1]:
            return None
        if key not in self._away:
            away = self._away[key] = self.formula.variable(f"tasks {one[0]} and {other[0]} are on different nodes")
            for n, x in self.nodes_of(one).items():
                there = self.nodes_of(other).get(n)
                terms = [(1, away), (-1, x), *([(1, there)] if there is not None else [])]
                self.formula.at_least("what is on different nodes", terms, 0)
        return self._away[key]


class Schedule:
    """The starts of runs: a variable per run and tick, 1 if the run has started by this tick (rules 2, 4 and 5).

    counts: job -> its iterations. done_by: job -> the tick by which its runs end. Starts are optional: a run without a
    start is omitted, and then it does not support any iteration that counts as done.
    """

    def __init__(self, formula: Formula, instance: Instance, counts: list[int], done_by: list[int]) -> None:
        self.formula, self.instance, self.counts = formula, instance, counts
        self.jobs = instance.task_job.tolist()
        self.duration = instance.duration.tolist()
        self.runs = [(k, i) for k, j in enumerate(self.jobs) for i in range(counts[j])]
        self.places = Places(formula, instance, self.runs)
        earliest, tails = earliest_starts(instance, counts), remaining_paths(instance)
        self.first: dict[Run, int] = {}
        self.ticks: dict[Run, list[int]] = {}
        for k, i in self.runs:
            first = self.first[k, i] = earliest[k, i]
            last = done_by[self.jobs[k]] - self.duration[k] - tails[k]
            name = f"task {k}, iteration {i}, has started by"
            self.ticks[k, i] = [formula.variable(f"{name} {t}") for t in range(first, last + 1)]
        self._state_starts()
        self._state_order()
        self._state_capacity()

    def has_started(self, run: Run, tick: int) -> list[Term]:
        """Return a term that is 1 if the run has started by the tick; empty if that is impossible."""
        place, ticks = tick - self.first[run], self.ticks[run]
        return [(1, ticks[min(place, len(ticks) - 1)])] if ticks and place >= 0 else []

    def has_ended(self, run: Run, tick: int) -> list[Term]:
        """Return a term that is 1 if the run has ended by the tick; empty if that is impossible."""
        return self.has_started(run, tick - self.duration[run[0]])

    def _state_starts(self) -> None:
        for run, ticks in self.ticks.items():
            for one, following in zip(ticks, ticks[1:], strict=False):
                self.formula.implies("what has started stays started", one, following)
            on = [(1, x) for x in self.places.nodes_of(run).values()]
            self.formula.at_least("rule 2: a run has a node", [*on, *((-1, x) for x in ticks[-1:])], 0)

    def _state_order(self) -> None:
        """State rule 4."""
        for k, i in self.runs:
            if i:
                self._start_after("rule 4: runs of a task follow one another", (k, i), (k, i - 1), 0, None)
        for u, v, lag, delay, _ in edges_of(self.instance):
            for i in range(lag, self.counts[self.jobs[v]]):
                self._start_after("rule 4: edges", (v, i), (u, i - lag), 0, None)
                away = self.places.on_different_nodes((u, i - lag), (v, i)) if delay else None
                if away is not None:
                    self._start_after("rule 4: edges between nodes", (v, i), (u, i - lag), delay, away)

    def _start_after(self, family: str, run: Run, before: Run, delay: int, where: int | None) -> None:
        """Let a run start only after another has ended, plus the delay if the variable `where` is 1."""
        for place, x in enumerate(self.ticks[run]):
            end_terms = self.has_ended(before, self.first[run] + place - delay)
            only = [(-1, where)] if where is not None else []
            self.formula.at_least(family, [*end_terms, (-1, x), *only], -len(only))

    def _state_capacity(self) -> None:
        """State rule 5: a variable per run, node and tick, 1 if the run is current there."""
        instance, lasting = self.instance, [run for run in self.runs if self.duration[run[0]] and self.ticks[run]]
        begin = min((self.first[run] for run in lasting), default=0)
        end = max((self.first[run] + len(self.ticks[run]) + self.duration[run[0]] for run in lasting), default=0)
        for n, capacity in enumerate(instance.node_capacity.tolist()):
            for t in range(begin, end):
                spend()
                here = [run for run in lasting if n in self.places.nodes_of(run) and self._may_be_under_way(run, t)]
                demands = [instance.demand[k].tolist() for k, _ in here]
                short = [r for r, room in enumerate(capacity) if sum(demand[r] for demand in demands) > room]
                if short:
                    active = [self._active_variable(run, n, t) for run in here]
                    for r in short:
                        terms = [(demand[r], x) for demand, x in zip(demands, active, strict=True)]
                        self.formula.at_most(f"rule 5: {instance.resources[r]}", terms, capacity[r])

    def _may_be_under_way(self, run: Run, tick: int) -> bool:
        last = self.first[run] + len(self.ticks[run]) - 1
        return self.first[run] <= tick < last + int(self.duration[run[0]])

    def _active_variable(self, run: Run, node: int, tick: int) -> int:
        active = self.formula.variable(f"task {run[0]}, iteration {run[1]}, is under way on node {node} at {tick}")
        since, over = self.has_started(run, tick), self.has_ended(run, tick)
        terms = [(1, active), (-1, self.places.nodes_of(run)[node]), *((-c, x) for c, x in since), *over]
        self.formula.at_least("what is under way", terms, -1)
        return active


def _topological_order(instance: Instance) -> list[int]:
    """Sort the tasks topologically within an iteration."""
    before: dict[int, list[int]] = {k: [] for k in range(len(instance.task_job))}
    for u, v, lag, _, _ in edges_of(instance):
        if not lag:
            before[v].append(u)
    return list(graphlib.TopologicalSorter(before).static_order())


def earliest_starts(instance: Instance, counts: list[int]) -> dict[Run, int]:
    """Return the earliest start of each run, by arrivals and by its predecessors."""
    before: dict[int, list[tuple[int, int]]] = {k: [(k, 1)] for k in range(len(instance.task_job))}
    for u, v, lag, _, _ in edges_of(instance):
        before[v].append((u, lag))
    jobs, order, head = instance.task_job.tolist(), _topological_order(instance), dict[Run, int]()
    for i in range(max(counts, default=0)):
        for k in order:
            if i < counts[jobs[k]]:
                ends = [head[u, i - lag] + int(instance.duration[u]) for u, lag in before[k] if i >= lag]
                head[k, i] = max([int(instance.arrival[jobs[k]]), *ends])
    return head


def remaining_paths(instance: Instance) -> list[int]:
    """Return each task's longest path from its end to the end of its iteration."""
    rest = [0] * len(instance.task_job)
    after: dict[int, list[int]] = {k: [] for k in range(len(rest))}
    for u, v, lag, _, _ in edges_of(instance):
        if not lag:
            after[u].append(v)
    for k in reversed(_topological_order(instance)):
        rest[k] = max((int(instance.duration[v]) + rest[v] for v in after[k]), default=0)
    return rest
