"""Better plans of total_jct by large neighbourhood search: some tasks anew, the others on their nodes and in order.

Freed are whole jobs that complete at about the same time, that overlap most, or that are drawn at random, or else the
tasks of a slice of time. The others keep their nodes, on each node their order, and start at most a little later. What
is left is a small task-level model that core-guided search closes more often than not; the number of jobs follows that.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Collection
from typing import Any

import numpy as np

from mlsched.core.formulation import Limits
from mlsched.formulations._cp_solver import WORK, within
from mlsched.formulations.taskgraph._best import Best
from mlsched.formulations.taskgraph._cp_model import Run, TaskModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.instances.taskgraph import Timetable

#: Deterministic time of a step, jobs freed at first, and how the number grows when a step is closed (else it shrinks).
WORK_EACH, JOBS_FREED, GROWTH = 0.1, 2.0, 1.05
#: How much later than before the other runs may start, at most.
LATER = (0, 2, 5, 10)
KINDS = ("random", "completion", "overlap", "slice")
#: Random numbers up to this are added to distances in time.
NOISE = 3.0

Runs = dict[Run, tuple[int, int]]


class Neighbourhoods:
    """Steps that offer better plans to `best`, which must know one."""

    def __init__(self, best: Best) -> None:
        self.best, self.layout = best, best.layout
        self._rng, self._size = np.random.default_rng(best.limits.seed), JOBS_FREED
        self._solver: Any = None

    def run(self, limits: Limits, steps: int) -> None:
        """So many steps, or as many as the limits allow."""
        begun, spent = time.perf_counter(), self.best.work[WORK]
        limited = limits.seconds is not None or limits.work is not None
        while not self.best.closed and (limited or steps > 0):
            if limits.seconds is not None and time.perf_counter() - begun >= limits.seconds:
                break
            if limits.work is not None and self.best.work[WORK] - spent >= limits.work:
                break
            self.step()
            steps -= 1

    def stop(self) -> None:
        """End the step under way, from any thread."""
        if self._solver is not None:
            self._solver.stop_search()

    def step(self) -> None:
        """Search one neighbourhood."""
        from ortools.sat.python import cp_model

        plan, value = self.best.plan, self.best.upper
        assert plan is not None
        assert value is not None
        runs = _runs(plan)
        made = _Kept(self.layout, runs, self._freed(runs), int(self._rng.choice(LATER)), value - 1)
        if made.reason is not None:
            return self._resize(closed=True)
        made.cp.minimize(made.formulation().objectives["total_jct"][0].expression)
        self._solver = solver = self._set_up()
        status = solver.solve(made.cp)
        self.best.spend(float(solver.response_proto.deterministic_time))
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self.best.offer(made.decode(lambda variable: int(solver.value(variable))))
        return self._resize(closed=status in (cp_model.OPTIMAL, cp_model.INFEASIBLE))

    def _set_up(self) -> Any:
        left = self.best.left()
        solver = within(Limits(left.seconds, WORK_EACH, seed=int(self._rng.integers(2**31))))
        chosen = solver.parameters
        chosen.optimize_with_core = True
        # Small models: what prepares long searches costs more than it saves.
        chosen.linearization_level = chosen.symmetry_level = chosen.cp_model_probing_level = 0
        return solver

    def _resize(self, closed: bool) -> None:
        self._size = min(max(1.0, self._size * (GROWTH if closed else 1 / GROWTH)), float(self.layout.jobs))

    def _freed(self, runs: Runs) -> set[int]:
        """The tasks that are placed anew."""
        layout, rng = self.layout, self._rng
        kind, one = str(rng.choice(KINDS)), int(rng.integers(layout.jobs))
        number = min(layout.jobs, int(self._size + rng.random()))
        begin, end = _spans(layout, runs)
        if kind == "slice":
            at = begin[one] + rng.random() * (end[one] - begin[one])
            return self._slice(runs, at, max(1, round(number * layout.tasks / layout.jobs)))
        far = NOISE * rng.random(layout.jobs)
        if kind == "completion":
            far += np.abs(end - end[one])
        elif kind == "overlap":
            far -= np.minimum(end, end[one]) - np.maximum(begin, begin[one])
        far[one] = -np.inf
        return {k for j in np.argsort(far)[:number].tolist() for k in layout.tasks_of[j]}

    def _slice(self, runs: Runs, at: float, number: int) -> set[int]:
        """The tasks with the runs nearest to a time."""
        far: dict[int, float] = {}
        for (k, _), (_, start) in runs.items():
            away = abs(start + self.layout.duration[k] / 2 - at) + float(self._rng.random())
            far[k] = min(far.get(k, np.inf), away)
        return set(sorted(far, key=lambda k: far[k])[:number])


def _runs(plan: Timetable) -> Runs:
    columns = (getattr(plan, name).tolist() for name in ("task", "iteration", "node", "start"))
    return {(k, i): (n, s) for k, i, n, s in zip(*columns, strict=True)}


def _spans(layout: Layout, runs: Runs) -> tuple[Any, Any]:
    """When each job begins and ends (jobs, jobs); jobs without runs at 0."""
    begin, end = np.zeros((2, layout.jobs))
    seen: set[int] = set()
    for (k, _), (_, start) in runs.items():
        j, until = layout.job[k], start + layout.duration[k]
        begin[j] = min(begin[j], start) if j in seen else start
        end[j] = max(end[j], until)
        seen.add(j)
    return begin, end


class _Kept(TaskModel):
    """The model in which all tasks but the freed ones stay where they are, in their order."""

    def __init__(self, layout: Layout, runs: Runs, freed: Collection[int], later: int, upper: int) -> None:
        kept = {run: at for run, at in runs.items() if run[0] not in freed}
        narrowed = copy.copy(layout)
        narrowed.allowed = list(layout.allowed)
        nodes: dict[int, set[int]] = {}
        for (k, _), (n, _) in kept.items():
            nodes.setdefault(k, set()).add(n)
        for k, used in nodes.items():
            narrowed.allowed[k] = tuple(sorted(used))
        latest = {run: start + later for run, (_, start) in kept.items()}
        super().__init__(narrowed, ("total_jct",), upper, relaxed=Relaxed(0, {}, latest, {}))
        if self.reason is None:
            self._in_turn(kept)
            self.cp.add(self.terms["total_jct"] <= upper + sum(layout.arrival))
            before = {r: n for r, (n, _) in runs.items()}, {r: s for r, (_, s) in runs.items()}
            for variable, value in self.encode(layout.timetable(*before)):
                self.cp.add_hint(variable, value)

    def _break_symmetry(self) -> None:
        """Tasks that stay name the nodes."""

    def _in_turn(self, kept: Runs) -> None:
        """Of two runs that followed one another on a node, the later one still waits for the other."""
        layout = self.layout
        here: dict[int, list[tuple[int, int, Run]]] = {}
        for run, (n, start) in kept.items():
            if layout.duration[run[0]]:
                here.setdefault(n, []).append((start, start + layout.duration[run[0]], run))
        for runs in here.values():
            for _, end, run in runs:
                after = [other for other in runs if other[0] >= end]
                soonest = min((other[1] for other in after), default=0)
                for start, _, other in after:
                    if start < soonest:  # the others wait for one of these
                        self._if(self.start[other] >= self.end[run])
