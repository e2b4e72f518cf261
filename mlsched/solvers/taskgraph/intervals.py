"""One interval model by CP-SAT: what proves most instances, and all that can be done where nothing else is possible."""

from __future__ import annotations

from typing import Any

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._intervals import IntervalModel
from mlsched.formulations.taskgraph._places import is_job_shop
from mlsched.formulations.taskgraph._rows import valued
from mlsched.solvers.backends.limits import CORE_FIRST, WORK, within
from mlsched.solvers.backends.search import Search
from mlsched.solvers.taskgraph.state import BUILDING, State


def solve_intervals(state: State, limits: Limits) -> None:
    """Search the interval model of the state's objective within limits; what it finds and proves counts.

    Sums of completion times are where core-guided search shines: the bound rises step by step from below, by conflicts
    that name few jobs, where branching has to close the whole range of one job after the other. On one thread CP-SAT
    does that without linear relaxations, as in its strategy "core"; with several it has other strategies as well.

    CP-SAT is not told the incumbent of a job shop: it proves the makespan of twenty drawn shops in three quarters of
    the time without (research/notes/taskgraph-exact.md).
    """
    if state.done:
        return
    upper = state.upper if state.objective in ("total_jct", "makespan") else None
    made = IntervalModel(state.layout, (state.objective,), upper)
    if state.plan is not None and not is_job_shop(state.layout):
        for variable, value in made.encode(state.plan):
            made.cp.add_hint(variable, value)
    made.cp.minimize(state.sign * made.terms[state.objective])

    def rise(bound: float) -> None:
        # A double that holds an integer exactly up to 2^53, which instances guarantee.
        state.raise_lower(round(bound) + state.sign * made.constant.get(state.objective, 0))
        if state.closed:
            search.stop()

    search = Search(made.cp, parameters(limits, state.objective), rise)
    status = search.run()
    state.spend(search.work[WORK] + BUILDING * len(made.cp.proto.constraints))
    if status == "INFEASIBLE":
        state.refuse_all()
    elif search.bound is not None:  # a model without variables has an empty solution
        state.offer(made.decode(valued(search.solution)))
        rise(search.bound)


def parameters(limits: Limits, objective: str) -> Any:
    """CP-SAT's parameters for an interval model."""
    chosen = within(limits).parameters
    if objective == "total_jct":
        if limits.threads == 1:
            chosen.optimize_with_core, chosen.linearization_level = True, 0
        else:
            chosen.subsolvers.extend(CORE_FIRST)
    return chosen
