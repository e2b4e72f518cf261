"""total_jct in steps that share the limits, each of which starts from what the ones before it proved and found.

1. Combinatorial bounds, with jobs alone on the cluster (`_alone`).
2. An incumbent by serial schedule generation (`_schedule`).
3. The linear relaxation (`_relaxation`): a bound, narrower windows and more implied capacities.
4. Where the windows of starts are narrow: the time-indexed model by cutting planes (`_cutting_planes`).
5. Where they are wide: what all other jobs need narrows them (`_others`). Then values from the bound on are refuted by
   cutting planes, in windows made for them (`_attempts`); with one thread, or where that model is too large, the
   relaxation in which every job has nodes of its own (`_separate`), by core-guided search. With what is left of the
   time the full model, by cutting planes or core-guided as its size is.

Neighbourhood search (`_neighbourhoods`) and attempts by cutting planes (`_attempts`) improve the incumbent on a thread
of their own beside 4 and 5 (`_rival`); with one thread, neighbourhood search has a turn between them.

Sums of completion times are where core-guided search shines: the bound rises step by step from below, by conflicts
that name few jobs, where branching has to close the whole range of one job after the other.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence

import numpy as np

from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations.taskgraph._bounds import Pool, packed, pools, total_completion_bound
from mlsched.formulations.taskgraph._cp_model import TaskModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.backends.limits import stopped_by
from mlsched.solvers.taskgraph.best import Best
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.bounds.others import narrow
from mlsched.solvers.taskgraph.bounds.relaxation import relax
from mlsched.solvers.taskgraph.plans.attempts import possible
from mlsched.solvers.taskgraph.plans.schedule import search
from mlsched.solvers.taskgraph.proofs.cutting_planes import CuttingPlanes
from mlsched.solvers.taskgraph.proofs.proof import Proof
from mlsched.solvers.taskgraph.proofs.rival import WIDE, Rival, worth_separating
from mlsched.solvers.taskgraph.proofs.separate import SeparateModel

#: Schedules that are generated for an incumbent, a run of the instance each, and the share of the time they may take.
DECODINGS, DECODING_SHARE = 60, 0.1
#: Shares of the limits that the linear relaxation and the one with separate nodes may take, half of the latter with one
#: thread, which is needed for more; its deterministic time where no limit is given.
RELAXATION_SHARE, SEPARATE_SHARE, SEPARATE_WORK = 0.3, 0.8, 2.0
#: The share of the seconds that what other jobs take may have.
OTHERS_SHARE = 0.15
#: Variables up to which windows are narrow.
NARROW = 5_500
#: With one thread: the share of the limits for neighbourhood search, and its steps a job where no limit is given.
NEIGHBOURHOOD_SHARE, NEIGHBOURHOODS = 0.2, 4


def total_jct(
    given: Instance, limits: Limits, hint: Timetable | None, started: float, stopped: threading.Event | None = None
) -> Outcome:
    """The plan of least total_jct, within limits of which the clock started at `started`.

    `stopped`, once it is set, ends the search as a limit does, where there are two threads or more.
    """
    instance = _mandatory(given)
    layout, spent = sharpened(Layout(instance))
    best = Best(layout, limits, started, stopped=stopped)
    best.spend(spent)
    if hint is not None:
        best.offer(_cut(hint, layout))
    shared = pools(layout) + packed(layout)
    known = len(shared)
    best.raise_to(total_completion_bound(layout, shared) - sum(layout.arrival))
    if not best.closed:
        _generate(best)
    relaxed = _relax(best, shared) if layout.reason is None and best.upper is not None and not best.closed else None
    infeasible = not best.closed and _searched(best, relaxed, shared, known)
    return _outcome(best, infeasible)


def _relax(best: Best, shared: list[Pool]) -> Relaxed | None:
    """The linear relaxation of plans as good as the incumbent; pools that it violates are added to `shared`."""
    relaxed = relax(best.layout, shared, best.plan_value, best.left(RELAXATION_SHARE).seconds, best.limits.threads)
    if relaxed is not None:
        best.raise_to(relaxed.bound)
    return relaxed


def _outcome(best: Best, infeasible: bool) -> Outcome:
    if infeasible:
        return Outcome("infeasible", None, None, "proof", best.work)
    if best.closed:
        return Outcome("optimal", best.plan, best.upper, "proof", best.work)
    stopped = stopped_by(False, best.limits, best.work)
    if best.plan is None:
        return Outcome("unknown", None, None, stopped, best.work)
    return Outcome("feasible", best.plan, best.lower, stopped, best.work)


def _generate(best: Best) -> None:
    """An incumbent by schedule generation."""
    layout, limits = best.layout, best.limits
    runs = sum(1 for _ in layout.runs())
    until = None if limits.seconds is None else best.started + DECODING_SHARE * limits.seconds
    plan, decodings = search(layout, DECODINGS * runs, limits.seed, until, best.lower + sum(layout.arrival))
    best.work["decodings"] = float(decodings)
    # Runs under way that do not fit together are placed as they are: then there is no plan at all.
    if plan is not None and not (layout.fixed and layout.instance.violations(plan)):
        best.offer(plan)


def _searched(best: Best, relaxed: Relaxed | None, shared: list[Pool], known: int) -> bool:
    """Steps 4 and 5; whether there is no plan at all. `shared` has `known` pools that models find by themselves."""
    layout, threads = best.layout, best.limits.threads
    if best.plan is None or layout.reason is not None:
        return _full(best, None, (), threads).run()
    with Rival(best, shared) as rival:
        separable = worth_separating(layout)
        if separable and not possible(best, NARROW):
            narrow(best, shared, OTHERS_SHARE)
            if threads > 1 and possible(best, WIDE):
                rival.from_below()
            else:
                rival.race(_separate(best, relaxed, shared[known:]))
        if threads == 1:
            rival.search.run(best.left(NEIGHBOURHOOD_SHARE), NEIGHBOURHOODS * layout.jobs)
        if separable and not best.closed and possible(best, WIDE):
            if threads > 2:
                rival.beside(_full(best, relaxed, shared[known:], threads - 2))
            _cut_planes(best, rival, relaxed, shared)
        if not best.closed and not best.over and not rival.finish():
            rival.race(_full(best, relaxed, shared[known:], max(1, threads - 1)))
    return False


def _cut_planes(best: Best, rival: Rival, relaxed: Relaxed | None, shared: list[Pool]) -> None:
    """The time-indexed model, from the start again while the incumbent improves early enough."""
    while possible(best, WIDE):
        # The windows are those of plans as good as the incumbent was then.
        made = TimeIndexed(best.layout, best.plan_value, relaxed, shared)
        proof = CuttingPlanes(made, best.left(), best)
        rival.race(proof)
        if not proof.again or best.closed or best.over:
            break
        relaxed = _relax(best, shared)


def _separate(best: Best, relaxed: Relaxed | None, extra: Sequence[Pool]) -> Proof:
    """The relaxation with separate nodes, on one thread."""
    made = SeparateModel(best.layout, ("total_jct",), best.upper, best.lower, relaxed, extra)
    share = SEPARATE_SHARE if best.limits.threads > 1 else SEPARATE_SHARE / 2
    limits = best.left(share)
    if limits.seconds is None and limits.work is None:
        limits = dataclasses.replace(limits, work=SEPARATE_WORK)
    return Proof(made, dataclasses.replace(limits, threads=1), best)


def _full(best: Best, relaxed: Relaxed | None, extra: Sequence[Pool], threads: int) -> Proof:
    """The full model, from what is known."""
    made = TaskModel(best.layout, ("total_jct",), best.upper, best.lower, relaxed, extra)
    if best.plan is not None:
        made.start_from(best.plan)
    return Proof(made, dataclasses.replace(best.left(), threads=threads), best)


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
