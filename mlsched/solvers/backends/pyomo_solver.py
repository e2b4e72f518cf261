"""Any solver that Pyomo can start (gurobi, cplex, cbc, scip_direct ...), for the models that HiGHS also accepts.

Pyomo's interface passes no start, hides the limit that ended the search, and has no common option for gaps. The model
is solved to the solver's own tolerances. Options that prove the last integer are set for solvers whose option names are
known (`EXACT`). Another solver's "optimal" counts only if its bound proves the value. `staged.py` explains how an
objective of several terms is minimised.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mlsched.core.aliases import BackendResult, Data, Variable
from mlsched.core.contract import Plan, Sense
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.formulation import Formulation, Limits, Outcome, Term, safe_bound
from mlsched.solvers.backends.pyomo_matrix import compile_model
from mlsched.solvers.backends.staged import ABSOLUTE_GAP, WORK, Stage, minimise_terms

#: Prefix of a solver's name in Pyomo -> options that make its "optimal" exact to the last integer.
EXACT: dict[str, dict[str, float]] = {
    "gurobi": {"MIPGap": 0.0, "MIPGapAbs": ABSOLUTE_GAP, "IntFeasTol": 1e-9},
    "cplex": {"mip_tolerances_mipgap": 0.0, "mip_tolerances_absmipgap": ABSOLUTE_GAP},
    "cbc": {"ratioGap": 0.0, "allowableGap": ABSOLUTE_GAP},
    "glpk": {"mipgap": 0.0},
    "scip": {"limits/gap": 0.0, "limits/absgap": ABSOLUTE_GAP},
    "highs": {"mip_rel_gap": 0.0, "mip_abs_gap": ABSOLUTE_GAP},
    "appsi_highs": {"mip_rel_gap": 0.0, "mip_abs_gap": ABSOLUTE_GAP},
}
#: Prefix of a solver's name in Pyomo -> its option for threads.
THREADS = {"gurobi": "Threads", "cplex": "threads", "cbc": "threads", "highs": "threads", "appsi_highs": "threads"}

#: See `solvers.BACKENDS`: as for HiGHS, which shares the compiler.
COMPILING = 1.0


def minimise(
    formulation: Formulation,
    objective: str,
    sense: Sense,
    limits: Limits,
    hint: Plan | None,
    better_than: int | None = None,
    *,
    solver: str,
) -> Outcome:
    """Minimise or maximise one objective of `formulation`, term by term, without a start.

    With `better_than`, only plans with a better value count; "infeasible" then means that such a plan does not exist.
    """
    if limits.work is not None:
        raise InvalidInput(f"work_limit: not available for {solver} in Pyomo; use time_limit, or another solver")
    return minimise_terms(_Run(formulation, limits, solver), formulation, objective, sense, better_than)


class _Run:
    """One formulation in a Pyomo solver, solved for one term after another."""

    def __init__(self, formulation: Formulation, limits: Limits, name: str) -> None:
        import pyomo.environ as pyo

        self.formulation, self.limits, self.name, self.pyo = formulation, limits, name, pyo
        self.deadline = Deadline(limits.seconds)
        self.work: Counter[str] = Counter()
        self.solver = _available_solver(name)
        self.matrix = compile_model(formulation.model)
        self.model = formulation.model
        self.model.rows_of_objectives = pyo.ConstraintList()
        for option, value in _longest_prefix_entry(EXACT, name, {}).items():
            self.solver.options[option] = value
        if (threads := _longest_prefix_entry(THREADS, name, "")) != "":
            self.solver.options[threads] = limits.threads

    def costs(self, expression: Any) -> tuple[FloatArray, float]:
        """Return the dense cost vector and the constant of a linear expression."""
        return self.matrix.costs(expression)

    def solve(self, term: Term, sign: int) -> Stage:
        """Minimise sign * term without its weight, which would only scale it."""
        self.costs(term.expression)  # refuses nonlinear expressions
        self.model.del_component("objective_of_stage")
        self.model.objective_of_stage = self.pyo.Objective(expr=sign * term.expression + 0 * self._any_variable())
        more: Data = {}
        if (remaining := self.deadline.remaining()) is not None:
            more["timelimit"] = max(0.01, remaining)
        try:
            result = self.solver.solve(self.model, load_solutions=False, **more)
        except Exception as error:  # Pyomo's interfaces raise many types of exceptions
            raise BackendError(f"{self.name}: {type(error).__name__}: {error}") from None
        self.work["solves"] += 1
        return self._read_stage(result)

    def _any_variable(self) -> Variable:
        """Return a variable of the model: Pyomo refuses an objective without one."""
        return self.matrix.columns[0] if self.matrix.columns else 0

    def _read_stage(self, result: BackendResult) -> Stage:
        how, kinds = result.solver.termination_condition, self.pyo.TerminationCondition
        bound = result.problem.lower_bound
        bound = safe_bound(float(bound)) if isinstance(bound, (int, float)) else None
        if how == kinds.infeasible:
            return Stage("infeasible", None, None, None)
        if how == kinds.maxTimeLimit:
            return Stage("time limit", None, None, bound)
        if how != kinds.optimal:
            raise BackendError(f"{self.name} ended with {how}: neither a proof nor a limit")
        self.model.solutions.load_from(result)
        solution = np.array([v.value or 0.0 for v in self.matrix.columns])
        value = round(self.pyo.value(self.model.objective_of_stage))
        if _longest_prefix_entry(EXACT, self.name, None) is None and bound != value:
            raise BackendError(
                f"{self.name} reports optimal with {value} and the bound {bound}: its gap is not known to be 0"
            )
        return Stage("optimal", solution, value, value)

    def fix(self, term: Term, sign: int, value: int) -> None:
        """Restrict sign * term to at most `value` from now on; half a unit absorbs rounding."""
        self.model.rows_of_objectives.add(sign * term.expression <= value + 0.5)

    def decode(self, solution: FloatArray) -> Plan:
        """Return the plan of a vector of column values."""
        return self.formulation.decode(lambda variable: round(solution[self.matrix.position[id(variable)]]))


def _longest_prefix_entry(table: Data, name: str, default: Any) -> Any:
    """Return the entry of the longest prefix of `name` in the table."""
    known_options = [beginning for beginning in table if name.startswith(beginning)]
    return table[max(known_options, key=len)] if known_options else default


def _available_solver(name: str) -> Any:
    """Return Pyomo's solver of that name; raise InvalidInput if it is missing."""
    import logging

    import pyomo.environ as pyo

    known_options = f"solver: {name!r}, expected highs, scip, ortools-highs, or a solver that Pyomo knows and finds"
    log = logging.getLogger("pyomo")
    level = log.level
    log.setLevel(logging.CRITICAL)  # the error below reports a missing program
    try:
        solver = pyo.SolverFactory(name)
        there = solver.available(exception_flag=False)
    except Exception as error:  # Pyomo's interfaces raise many types of exceptions
        raise InvalidInput(f"{known_options} ({error})") from None
    finally:
        log.setLevel(level)
    if not there:
        raise InvalidInput(f"{known_options}; Pyomo does not find {name} here: install it")
    return solver


__all__ = ["EXACT", "WORK", "minimise"]
