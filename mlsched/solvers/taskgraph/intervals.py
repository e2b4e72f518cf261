"""One interval model by CP-SAT: what proves most instances, and what is left where nothing else is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._intervals import IntervalModel
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.formulations.taskgraph._rows import valued
from mlsched.solvers.backends.limits import CORE_FIRST, WORK, within
from mlsched.solvers.backends.search import Search
from mlsched.solvers.taskgraph.state import BUILDING, State


def solve_intervals(state: State, limits: Limits, relaxed: Relaxed | None = None, extra: Sequence[Pool] = ()) -> None:
    """Search the interval model of the state's objective within limits; what it finds and proves counts."""
    if state.done:
        return
    upper = state.upper if state.objective in ("total_jct", "makespan") else None
    made = IntervalModel(state.layout, (state.objective,), upper, relaxed, extra)
    if state.plan is not None:
        for variable, value in made.encode(state.plan):
            made.cp.add_hint(variable, value)
    IntervalSearch(made, limits, state).run()


class IntervalSearch:
    """The search of an interval model, which raises the state's lower bound as soon as better bounds are proved.

    Sums of completion times are where core-guided search shines: the bound rises step by step from below, by conflicts
    that name few jobs, where branching has to close the whole range of one job after the other. On one thread CP-SAT
    does that without linear relaxations, as in its strategy "core"; with several it has other strategies beside it.
    """

    def __init__(self, made: IntervalModel, limits: Limits, state: State) -> None:
        self._made, self._state = made, state
        self._constant = state.sign * made.constant.get(state.objective, 0)
        made.cp.minimize(state.sign * made.terms[state.objective])
        self._search = Search(made.cp, parameters(limits, state.objective), self._rise)

    def stop(self) -> None:
        """End the search, from any thread."""
        self._search.stop()

    def run(self) -> None:
        """Search until proof, limit or `stop`."""
        state, search = self._state, self._search
        status = search.run()
        state.spend(search.work[WORK] + BUILDING * len(self._made.cp.proto.constraints))
        if status == "INFEASIBLE":
            state.refuse_all()
        elif search.solution:
            value = valued(search.solution)
            state.offer(self._made.decode(value))
            assert search.bound is not None
            self._rise(search.bound)

    def _rise(self, bound: float) -> None:
        # A double that holds an integer exactly up to 2^53, which instances guarantee.
        self._state.raise_lower(round(bound) + self._constant)
        if self._state.closed:
            self.stop()


def parameters(limits: Limits, objective: str) -> Any:
    """CP-SAT's parameters for an interval model."""
    chosen = within(limits).parameters
    if objective == "total_jct":
        if limits.threads == 1:
            chosen.optimize_with_core, chosen.linearization_level = True, 0
        else:
            chosen.subsolvers.extend(CORE_FIRST)
    return chosen
