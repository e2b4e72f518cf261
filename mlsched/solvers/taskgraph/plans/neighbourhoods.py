"""Better plans of total_jct by large neighbourhood search: some tasks anew, the others on their nodes and in order.

Freed are whole jobs that complete at about the same time, that overlap most, or that are drawn at random, or else the
tasks of a slice of time. The others keep their nodes, on each node their order, and start at most a little later. What
is left is a small task-level model that core-guided search closes more often than not; the number of jobs follows that.
When that has not helped for some steps, CP-SAT's own neighbourhoods, which free single runs, have a turn.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Collection
from typing import Any

import numpy as np

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._cp_model import Run, TaskModel
from mlsched.formulations.taskgraph._hint import Runs, runs_of
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.backends.limits import WORK, within
from mlsched.solvers.taskgraph.best import Best

#: Deterministic time of a step, jobs freed at first, and how the number grows when a step is closed (else it shrinks).
WORK_EACH, JOBS_FREED, GROWTH = 0.1, 2.0, 1.05
#: Steps without a better plan after which CP-SAT's own neighbourhoods have a turn, and its deterministic time.
PATIENCE, TURN = 20, 1.0
#: How much later than before the other runs may start, at most.
LATER = (0, 2, 5, 10)
KINDS = ("random", "completion", "overlap")
#: Random numbers up to this are added to distances in time.
NOISE = 3.0


class Neighbourhoods:
    """Steps that offer better plans to `best`, which must know one."""

    def __init__(self, best: Best) -> None:
        self.best, self.layout = best, best.layout
        self._rng, self._size = np.random.default_rng(best.limits.seed), JOBS_FREED
        self._solver: Any = None
        self.stale = 0

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
        """Search one neighbourhood, or give CP-SAT's own a turn."""
        before = self.best.upper
        if self.stale < PATIENCE:
            self._narrow()
        else:
            self._broad()
        helped = self.best.upper != before
        self.stale = 0 if helped or self.stale >= PATIENCE else self.stale + 1

    def _narrow(self) -> None:
        """Some tasks anew."""
        plan, value = self._known()
        runs = runs_of(plan)
        made = _Kept(self.layout, runs, self._freed(runs), int(self._rng.choice(LATER)), value - 1)
        closed = True
        if made.reason is None:
            made.start_from(plan)
            solver = self._set_up(WORK_EACH)
            chosen = solver.parameters
            chosen.optimize_with_core = True
            # Small models: what prepares long searches costs more than it saves.
            chosen.linearization_level = chosen.symmetry_level = chosen.cp_model_probing_level = 0
            closed = self._solve(made, solver)
        self._size = min(max(1.0, self._size * (GROWTH if closed else 1 / GROWTH)), float(self.layout.jobs))

    def _broad(self) -> None:
        """CP-SAT's neighbourhoods of the full model."""
        plan, value = self._known()
        made = TaskModel(self.layout, ("total_jct",), value)
        made.start_from(plan)
        solver = self._set_up(TURN)
        solver.parameters.interleave_search = solver.parameters.use_lns_only = True
        self._solve(made, solver)

    def _known(self) -> tuple[Timetable, int]:
        plan, value = self.best.plan, self.best.upper
        assert plan is not None
        assert value is not None
        return plan, value

    def _set_up(self, work: float) -> Any:
        return within(Limits(self.best.left().seconds, work, seed=int(self._rng.integers(2**31))))

    def _solve(self, made: TaskModel, solver: Any) -> bool:
        """Offer what is found; whether the search came to its end."""
        from ortools.sat.python import cp_model

        made.cp.minimize(made.terms["total_jct"])
        self._solver = solver
        status = solver.solve(made.cp)
        self.best.spend(float(solver.response_proto.deterministic_time))
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self.best.offer(made.decode(lambda variable: int(solver.value(variable))))
        return status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)

    def _freed(self, runs: Runs) -> set[int]:
        """The tasks that are placed anew."""
        layout, rng = self.layout, self._rng
        number = min(layout.jobs, int(self._size + rng.random()))
        if rng.random() * (len(KINDS) + 1) < 1:
            one = int(rng.integers(layout.jobs))
            begin, end = _spans(layout, runs)
            at = begin[one] + rng.random() * (end[one] - begin[one])
            return self._slice(runs, at, max(1, round(number * layout.tasks / layout.jobs)))
        return {k for j in drawn(layout, runs, rng, number) for k in layout.tasks_of[j]}

    def _slice(self, runs: Runs, at: float, number: int) -> set[int]:
        """The tasks with the runs nearest to a time."""
        far: dict[int, float] = {}
        for (k, _), (_, start) in runs.items():
            away = abs(start + self.layout.duration[k] / 2 - at) + float(self._rng.random())
            far[k] = min(far.get(k, np.inf), away)
        return set(sorted(far, key=lambda k: far[k])[:number])


def staying(layout: Layout, kept: Runs) -> Layout:
    """The layout in which the tasks of some runs may use only the nodes that these runs use."""
    nodes: dict[int, set[int]] = {}
    for (k, _), (n, _) in kept.items():
        nodes.setdefault(k, set()).add(n)
    narrowed = copy.copy(layout)
    narrowed.allowed = [tuple(sorted(nodes[k])) if k in nodes else layout.allowed[k] for k in range(layout.tasks)]
    return narrowed


def drawn(layout: Layout, runs: Runs, rng: np.random.Generator, number: int) -> list[int]:
    """So many jobs that complete at about the same time, that overlap most, or that are drawn at random."""
    kind, one = str(rng.choice(KINDS)), int(rng.integers(layout.jobs))
    begin, end = _spans(layout, runs)
    far = NOISE * rng.random(layout.jobs)
    if kind == "completion":
        far += np.abs(end - end[one])
    elif kind == "overlap":
        far -= np.minimum(end, end[one]) - np.maximum(begin, begin[one])
    far[one] = -np.inf
    found: list[int] = np.argsort(far)[:number].tolist()
    return found


def _spans(layout: Layout, runs: Runs) -> tuple[Any, Any]:
    """When each job begins and ends (an array over jobs each); jobs without runs at 0."""
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
        latest = {run: start + later for run, (_, start) in kept.items()}
        super().__init__(staying(layout, kept), ("total_jct",), upper, relaxed=Relaxed(0, {}, latest, {}))
        if self.reason is None:
            self._in_turn(kept)
            self.cp.add(self.terms["total_jct"] <= upper + sum(layout.arrival))

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
