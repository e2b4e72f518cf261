"""total_jct in steps that share the limits, each of which starts from what the ones before it proved and found.

1. Combinatorial bounds, with jobs alone on the cluster (`_alone`).
2. An incumbent by serial schedule generation.
3. The linear relaxation (`_relaxation`): a bound, narrower windows and more implied capacities.
4. The relaxation in which every job has nodes of its own (`_separate`), by core-guided search. With two threads or
   more, CP-SAT's large neighbourhood search improves the incumbent of the full model beside it.
5. The full model on plans at least as good as the incumbent and no better than the bound; core-guided search first.

Sums of completion times are where core-guided search shines: the bound rises step by step from below, by conflicts
that name few jobs, where branching has to close the whole range of one job after the other.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import numpy as np

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations._cp_solver import CORE_FIRST, WORK
from mlsched.formulations.taskgraph._alone import sharpened
from mlsched.formulations.taskgraph._bounds import Pool, packed, pools, total_completion_bound
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._relaxation import Relaxed, relax
from mlsched.formulations.taskgraph._schedule import search
from mlsched.formulations.taskgraph._search import Proof, improved, solve
from mlsched.formulations.taskgraph._separate import SeparateModel
from mlsched.instances.taskgraph import Instance, Timetable

#: Schedules that are generated for an incumbent, a run of the instance each, and the share of the time they may take.
DECODINGS, DECODING_SHARE = 60, 0.1
#: Shares of the time that the linear relaxation and the one with separate nodes may take; the latter's deterministic
#: time where no limit is given.
RELAXATION_SHARE, SEPARATE_SHARE, SEPARATE_WORK = 0.3, 0.5, 2.0


def total_jct(given: Instance, limits: Limits, hint: Timetable | None, started: float) -> Outcome:
    """The plan of least total_jct, within limits of which the clock started at `started`."""
    instance = _mandatory(given)
    layout, spent = sharpened(Layout(instance))
    found = _Progress(layout, limits, started, {WORK: spent})
    if hint is not None:
        found.offer(_cut(hint, layout))
    shared = pools(layout) + packed(layout)
    known = len(shared)
    found.raise_to(total_completion_bound(layout, shared) - sum(layout.arrival))
    if not found.closed:
        found.generate()
    if layout.reason is None and found.upper is not None and not found.closed:
        relaxed = relax(layout, shared, found.upper, found.seconds(RELAXATION_SHARE, 0.01), limits.threads)
        extra = shared[known:]
        if relaxed is not None:
            found.raise_to(relaxed.bound)
        if not found.closed and _worth_separating(layout):
            found.separate(relaxed, extra)
    else:
        relaxed, extra = None, []
    if found.closed:
        return Outcome("optimal", found.plan, found.upper, "proof", found.work)
    return found.finish(relaxed, extra)


class _Progress:
    """The best plan and bound so far."""

    def __init__(self, layout: Layout, limits: Limits, started: float, work: dict[str, float]) -> None:
        self.layout, self.limits, self.started, self.work = layout, limits, started, work
        self.plan: Timetable | None = None
        self.upper: int | None = None
        self.lower = 0

    @property
    def closed(self) -> bool:
        return self.upper is not None and self.lower >= self.upper

    def raise_to(self, bound: int) -> None:
        # A relaxation of plans of at most `upper` may prove more than that, when there is none better.
        self.lower = max(self.lower, bound if self.upper is None else min(bound, self.upper))

    def seconds(self, share: float, least: float) -> float | None:
        """A share of the time limit, no more than is left of it."""
        if self.limits.seconds is None:
            return None
        left = self.limits.seconds - (time.perf_counter() - self.started)
        return max(least, min(share * self.limits.seconds, left))

    def left(self, share: float = 1.0) -> Limits:
        """What is left of the limits; of deterministic work a share."""
        work = self.limits.work
        if work is not None:
            work = max(1e-3, min(share * work, work - self.work[WORK]))
        return dataclasses.replace(self.limits, seconds=self.seconds(share, 0.001), work=work)

    def generate(self) -> None:
        layout, limits = self.layout, self.limits
        runs = sum(1 for _ in layout.runs())
        until = None if limits.seconds is None else self.started + DECODING_SHARE * limits.seconds
        least = self.lower + sum(layout.arrival)
        plan, decodings = search(layout, DECODINGS * runs, limits.seed, until, least)
        self.work["decodings"] = float(decodings)
        # Runs under way that do not fit together are placed as they are: then there is no plan at all.
        if plan is not None and not (layout.fixed and layout.instance.violations(plan)):
            self.offer(plan)

    def offer(self, plan: Timetable) -> None:
        value = self.layout.instance.evaluate(plan)["total_jct"]
        if self.upper is None or value < self.upper:
            self.plan, self.upper = plan, value

    def separate(self, relaxed: Relaxed | None, extra: Sequence[Pool]) -> None:
        """The bound of separate nodes; with threads to spare, better plans meanwhile."""
        made = SeparateModel(self.layout, ("total_jct",), self.upper, self.lower, relaxed, extra)
        limits = self.left(SEPARATE_SHARE)
        if limits.seconds is None and limits.work is None:
            limits = dataclasses.replace(limits, work=SEPARATE_WORK)
        proof = Proof(made, dataclasses.replace(limits, threads=1))
        if limits.threads == 1:
            proof.run()
        else:
            # The bound as a row, or windows narrowed by it, keeps neighbourhood search from any improvement (measured).
            full = model(self.layout, ("total_jct",), self.upper)
            found = improved(full, self.plan, proof, dataclasses.replace(limits, threads=limits.threads - 1))
            self.work[WORK] += found.work
            if found.plan is not None:
                self.offer(found.plan)
            self.raise_to(found.bound - sum(self.layout.arrival))
        self.work[WORK] += proof.work
        self.raise_to(proof.bound - sum(self.layout.arrival))

    def finish(self, relaxed: Relaxed | None, extra: Sequence[Pool]) -> Outcome:
        """The full model, from what is known."""
        layout = self.layout
        made = model(layout, ("total_jct",), self.upper, self.lower, relaxed, extra)
        outcome = solve(made, layout.instance, "total_jct", self.left(), self.plan, CORE_FIRST)
        work = {**self.work, WORK: self.work[WORK] + outcome.work[WORK]}
        if outcome.status == "infeasible" and self.upper is not None:
            raise SolverError(f"cp-sat finds no plan of total_jct {self.upper}, which a plan attains")
        if outcome.status in ("infeasible", "optimal"):
            return dataclasses.replace(outcome, work=work)
        plan = self.plan if outcome.plan is None else outcome.plan
        bound = self.lower if outcome.bound is None else max(self.lower, round(outcome.bound))
        return Outcome("unknown" if plan is None else "feasible", plan, bound, outcome.stopped_by, work)


def _mandatory(instance: Instance) -> Instance:
    """The instance without optional iterations: cutting a plan to the mandatory ones makes no job later."""
    started = np.zeros(len(instance.arrival), dtype=np.int64)
    started[instance.task_job[instance.fixed_task]] = 1
    least = np.minimum(np.maximum(instance.min_iterations, instance.finished + started), instance.max_iterations)
    return dataclasses.replace(instance, max_iterations=np.maximum(least, 1))


def _cut(plan: Timetable, layout: Layout) -> Timetable:
    """The plan without optional iterations."""
    most = np.array(layout.most, dtype=np.int64)
    kept = plan.iteration < most[plan.job]
    return Timetable(*(getattr(plan, f.name)[kept] for f in dataclasses.fields(plan)))


def _worth_separating(layout: Layout) -> bool:
    """Whether it matters where a job's own tasks are: with one task a job, the linear relaxation says as much, and so
    it does where the nodes of a class need not be told apart."""
    several = layout.nodes > 1 and layout.jobs > 1 and any(len(tasks) > 1 for tasks in layout.tasks_of)
    return several and not any(place.whole for place in places(layout, traffic=False))
