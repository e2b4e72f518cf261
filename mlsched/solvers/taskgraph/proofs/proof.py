"""A bound of total_jct by CP-SAT, which counts as soon as it is proved."""

from __future__ import annotations

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._cp_model import TaskModel
from mlsched.solvers.backends.limits import CORE_FIRST, within
from mlsched.solvers.taskgraph.best import Best


class Proof:
    """A model of total_jct, or a relaxation of it, searched to raise the bound of `best`.

    By core-guided search, beside other strategies where there are more threads. `stop` ends it from any thread, and so
    does a bound that meets the best plan.
    """

    def __init__(self, made: TaskModel, limits: Limits, best: Best) -> None:
        self._made, self._best, self._stopped = made, best, False
        self._solver = within(limits)
        chosen = self._solver.parameters
        if limits.threads == 1:
            # What "core" is among CP-SAT's strategies: without linear relaxations.
            chosen.optimize_with_core, chosen.linearization_level = True, 0
            # These propagators pay for relaxations, where capacities are few and shared by all.
            chosen.use_overload_checker_in_cumulative = made.relaxation
            chosen.use_timetable_edge_finding_in_cumulative = made.relaxation
        else:
            chosen.subsolvers.extend(CORE_FIRST)
        self._solver.best_bound_callback = self._rise

    def _rise(self, bound: float) -> None:
        # A double that holds an integer exactly up to 2^53, which instances guarantee.
        self._best.raise_to(round(bound) - sum(self._best.layout.arrival))
        if self._stopped or self._best.closed:
            self.stop()

    def stop(self) -> None:
        """End the search. One that has not begun begins none the less: call again until `run` is over."""
        self._stopped = True
        self._solver.stop_search()

    def run(self) -> bool:
        """Search until proof, limit or `stop`; whether there is no plan at all."""
        from ortools.sat.python import cp_model

        made, best = self._made, self._best
        made.cp.minimize(made.terms["total_jct"])
        if self._stopped or best.closed:
            return False
        status = self._solver.solve(made.cp)
        best.spend(float(self._solver.response_proto.deterministic_time))
        if status == cp_model.MODEL_INVALID:
            raise SolverError(f"cp-sat calls the model invalid: {made.cp.validate()}")
        if status == cp_model.INFEASIBLE:
            if best.upper is not None:
                raise SolverError(f"cp-sat finds no plan of total_jct {best.upper}, which a plan attains")
            return True
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            if not made.relaxation:
                best.offer(made.decode(lambda variable: int(self._solver.value(variable))))
            self._rise(self._solver.best_objective_bound)
        return False
