"""One interval model by CP-SAT: it proves most instances, and remains as the only method for some of the others."""

from __future__ import annotations

from mlsched.core.aliases import BackendParameters
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._intervals import IntervalModel
from mlsched.formulations.taskgraph._places import is_job_shop
from mlsched.formulations.taskgraph._rows import valued
from mlsched.solvers.backends.limits import CORE_FIRST, WORK, within
from mlsched.solvers.backends.search import Search
from mlsched.solvers.taskgraph.state import BUILDING, State


def solve_intervals(state: State, limits: Limits) -> None:
    """Search the interval model of the state's objective within limits; its plans and bounds update the state.

    Core-guided search is strong on sums of completion times: the bound rises step by step from below, by conflicts
    that name few jobs, while branching must close the complete range of one job after the other. On one thread CP-SAT
    does that without linear relaxations, as in its strategy "core"; with several it also has other strategies.

    CP-SAT does not receive the incumbent of a job shop: without it, it proves the makespan of twenty drawn shops in
    three quarters of the time (research/notes/taskgraph-exact.md).
    """
    if state.done:
        return
    upper = state.upper if state.objective in ("total_jct", "makespan") else None
    model = IntervalModel(state.layout, (state.objective,), upper)
    if state.plan is not None and not is_job_shop(state.layout):
        for variable, value in model.encode(state.plan):
            model.cp.add_hint(variable, value)
    model.cp.minimize(state.sign * model.terms[state.objective])

    def rise(bound: float) -> None:
        # The bound is a double, which represents integers exactly up to 2^53; instances guarantee smaller values.
        state.raise_lower(round(bound) + state.sign * model.constant.get(state.objective, 0))
        if state.closed:
            search.stop()

    search = Search(model.cp, parameters(limits, state.objective), rise)
    status = search.run()
    state.spend(search.work[WORK] + BUILDING * len(model.cp.proto.constraints))
    if status == "INFEASIBLE":
        state.refuse_all()
    elif search.bound is not None:  # a model without variables has an empty solution
        state.offer(model.decode(valued(search.solution)))
        rise(search.bound)


def parameters(limits: Limits, objective: str) -> BackendParameters:
    """Return CP-SAT's parameters for an interval model."""
    settings = within(limits).parameters
    if objective == "total_jct":
        if limits.threads == 1:
            settings.optimize_with_core, settings.linearization_level = True, 0
        else:
            settings.subsolvers.extend(CORE_FIRST)
    return settings
