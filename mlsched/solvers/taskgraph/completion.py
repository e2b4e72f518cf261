"""total_jct if the interval model does not prove it at once: bounds, plans, and refuted values.

1. Lower bounds without a solver, over all jobs and for each single job (`bounds.alone`).
2. An incumbent by serial schedule generation (`plans.schedule`), and better plans by compiled code
   (`plans.annealed_lists`).
3. The linear relaxation (`bounds.relaxation`): a bound, narrower windows and more implied capacities.
4. Cutting planes refute values from the lower bound on (`proofs.values`), while `plans.improvement` searches for
better
   plans: concurrently on two threads, or on one thread in growing turns.
"""

from __future__ import annotations

import threading

from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import Pool, packed, pools, total_completion_bound
from mlsched.formulations.taskgraph._relaxation import LinearBound
from mlsched.solvers.backends.limits import WORK
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.bounds.relaxation import relax
from mlsched.solvers.taskgraph.plans import annealed_lists
from mlsched.solvers.taskgraph.plans.improvement import Improvement
from mlsched.solvers.taskgraph.plans.schedule import generate
from mlsched.solvers.taskgraph.proofs.values import Values
from mlsched.solvers.taskgraph.state import State

#: Share of the seconds that the linear relaxation may take.
RELAXATION_SHARE = 0.3
#: With one thread: deterministic time of the first search for a value, its growth after each search without a proof,
#: and the work for better plans as a share of the work for proofs.
TURN, GROWTH, IMPROVEMENT_SHARE = 4.0, 2.0, 0.25


def simple_bound(layout: Layout, shared: list[Pool] | None = None) -> int:
    """Return a lower bound on total_jct, by critical paths and by the runs' use of pools."""
    if layout.reason is not None:
        return 0
    shared = pools(layout) + packed(layout) if shared is None else shared
    return total_completion_bound(layout, shared) - sum(layout.arrival)


def prove(state: State) -> None:
    """Raise the lower bound of a state and improve its incumbent until they meet or a limit is reached.

    Ends earlier without an initial plan, if the models of values are too large, or if CP-SAT aborts every search.
    """
    state.layout, work_spent = sharpened(state.layout, state.seconds)
    state.spend(work_spent)
    layout, shared_pools = state.layout, pools(state.layout) + packed(state.layout)
    state.raise_lower(simple_bound(layout, shared_pools))
    generate(state)
    annealed_lists.improve(state)
    if state.plan is None or state.done:
        return
    linear = _linear_relaxation(state, shared_pools)
    values = Values(state, shared_pools, linear)
    if state.done or not values.possible(state.incumbent - 1):
        return
    improvement = Improvement(state, shared_pools, linear)
    if state.limits.threads > 1:
        _concurrently(state, values, improvement)
    else:
        _alternate_searches(state, values, improvement)


def _linear_relaxation(state: State, shared_pools: list[Pool]) -> LinearBound | None:
    """Return the linear relaxation of plans with at most the incumbent's value."""
    seconds = state.remaining(RELAXATION_SHARE).seconds
    linear, work = relax(state.layout, shared_pools, state.incumbent, seconds, state.limits.threads)
    state.spend(work)
    if linear is not None:
        state.raise_lower(linear.bound)
    return linear


def _alternate_searches(state: State, values: Values, improvement: Improvement) -> None:
    """Try one value, then search better plans for a share of its work."""
    turn, work_spent = TURN, 0.0
    while not (state.done or values.broken):
        before = state.work[WORK]
        if not values.ask(values.next_value(), turn):
            turn *= GROWTH
        work_spent += IMPROVEMENT_SHARE * (state.work[WORK] - before)
        while work_spent > 0 and not state.done:
            before = state.work[WORK]
            improvement.step()
            work_spent -= state.work[WORK] - before


def _concurrently(state: State, values: Values, improvement: Improvement) -> None:
    """Run proofs on this thread and improvements on another one; the first to finish ends the other search."""
    failures: list[BaseException] = []
    ending = threading.Event()

    def improve() -> None:
        try:
            while not (state.done or ending.is_set()):
                improvement.step()
                values.stop_if_known()
        except BaseException as failure:
            failures.append(failure)
        finally:
            # After success or failure, the running search for a value is obsolete.
            values.stop()

    other = threading.Thread(target=improve)
    other.start()
    try:
        while not (state.done or values.broken or failures):
            values.ask(values.next_value())
    finally:
        ending.set()
        improvement.stop()
        other.join()
    if failures:
        raise failures[0]
