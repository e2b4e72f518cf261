"""CP-SAT on a task-level model: to the end, for a bound only, or for better plans while a bound is being proved."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation, Limits, Outcome
from mlsched.formulations._cp_solver import WORK, stopped_by, within
from mlsched.formulations.taskgraph._cp_model import TaskModel
from mlsched.instances.taskgraph import Instance, Timetable


def left(limits: Limits, started: float) -> Limits:
    """What is left of the limits' time."""
    if limits.seconds is None:
        return limits
    return dataclasses.replace(limits, seconds=max(0.001, limits.seconds - (time.perf_counter() - started)))


def solve(made: Formulation, instance: Instance, objective: str, limits: Limits, hint: Timetable | None,
          strategies: Sequence[str] = ()) -> Outcome:  # fmt: skip
    """One model by CP-SAT within limits, from a hint, by CP-SAT's own strategies or these."""
    from ortools.sat.python import cp_model

    cp, sense = made.model, instance.objective(objective).sense
    expression = sum(term.weight * term.expression for term in made.objectives[objective])
    if sense == "min":
        cp.minimize(expression)
    else:
        cp.maximize(expression)
    _start_from(made, hint)
    solver = within(limits)
    if strategies:
        solver.parameters.subsolvers.extend(strategies)
        # On one thread strategies (and neighbourhood search) take turns, in an order that does not depend on the clock.
        solver.parameters.interleave_search = limits.threads == 1
    status = solver.solve(cp)
    work = {WORK: float(solver.response_proto.deterministic_time)}
    if status == cp_model.MODEL_INVALID:
        raise SolverError(f"cp-sat calls the model invalid: {cp.validate()}")
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, None, "proof", work)
    stopped = stopped_by(status == cp_model.OPTIMAL, limits, work)
    constant = made.constant.get(objective, 0)
    if status == cp_model.UNKNOWN:
        # A bound without a solution is not reported: CP-SAT's response holds 0 where it has none.
        return Outcome("unknown" if hint is None else "feasible", hint, None, stopped, work)
    # best_objective_bound is a double that holds an integer exactly up to 2^53, which instances guarantee.
    bound = round(solver.best_objective_bound) + constant
    plan: Any = made.decode(lambda variable: int(solver.value(variable)))
    return Outcome("optimal" if status == cp_model.OPTIMAL else "feasible", plan, bound, stopped, work)


def _start_from(made: Formulation, plan: Timetable | None) -> None:
    if plan is not None:
        for variable, value in made.encode(plan):
            made.model.add_hint(variable, value)


class Proof:
    """The bound of a relaxation of total_jct, by core-guided search on one thread; it grows while it runs.

    `bound` is the sum of completion times. `enough` may be set to a value at which to stop.
    """

    def __init__(self, made: TaskModel, limits: Limits) -> None:
        self.bound, self.work, self.enough = 0, 0.0, 2**62
        self.done, self._stopped = threading.Event(), False
        self._made, self._solver = made, within(limits)
        chosen = self._solver.parameters
        chosen.optimize_with_core = True
        # Core-guided search closes the model from below, for which these propagators pay.
        chosen.use_overload_checker_in_cumulative = chosen.use_timetable_edge_finding_in_cumulative = True
        self._solver.best_bound_callback = self._rise

    def _rise(self, bound: float) -> None:
        self.bound = max(self.bound, round(bound))
        if self._stopped or self.bound >= self.enough:
            self.stop()

    def stop(self) -> None:
        """End the search, from any thread."""
        self._stopped = True
        self._solver.stop_search()

    def run(self) -> None:
        """Search until proof, limit or `stop`."""
        from ortools.sat.python import cp_model

        try:
            (term,) = self._made.formulation().objectives["total_jct"]
            self._made.cp.minimize(term.expression)
            if self._stopped:
                return
            status = self._solver.solve(self._made.cp)
            self.work = float(self._solver.response_proto.deterministic_time)
            if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                self._rise(self._solver.best_objective_bound)
            elif status == cp_model.INFEASIBLE:
                raise SolverError("a relaxation has no plan as good as one that is known")
        finally:
            self.done.set()


@dataclasses.dataclass(frozen=True)
class Improved:
    """A plan (None: none was found), a proved bound on the sum of completion times, the deterministic time spent."""

    plan: Timetable | None
    bound: int
    work: float


def improved(made: Formulation, plan: Timetable | None, proof: Proof, limits: Limits) -> Improved:
    """Better plans of total_jct, by neighbourhood search above all, until a proof ends or the plan is the best."""
    from ortools.sat.python import cp_model

    cp, (term,) = made.model, made.objectives["total_jct"]
    cp.minimize(term.expression)
    _start_from(made, plan)
    solver = within(limits)
    # One thread has no neighbourhood search of its own unless strategies take turns.
    solver.parameters.interleave_search = limits.threads == 1
    solver.parameters.subsolvers.append("core")
    ended = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        threads = [pool.submit(proof.run), pool.submit(_end, solver, proof, ended)]
        try:
            status = solver.solve(cp, _watch(proof))
        finally:
            ended.set()
            proof.stop()
        for thread in threads:
            thread.result()
    work = float(solver.response_proto.deterministic_time)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Improved(None, 0, work)
    better: Any = made.decode(lambda variable: int(solver.value(variable)))
    return Improved(better, round(solver.best_objective_bound), work)


def _end(solver: Any, proof: Proof, ended: threading.Event) -> None:
    """Stop a search once a proof is done. A search that has not begun cannot be stopped, hence the repetition."""
    proof.done.wait()
    while not ended.wait(0.02):
        solver.stop_search()


def _watch(proof: Proof) -> Any:
    """Stops search and proof when a plan meets the bound."""
    from ortools.sat.python import cp_model

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            proof.enough = min(proof.enough, round(self.objective_value))
            if proof.bound >= proof.enough:
                self.stop_search()

    return Watch()
