"""HiGHS: run a Pyomo formulation to proven optimality, or to its limits.

HiGHS computes in floats. So an objective of several terms is minimised term after term, and the value of each is fixed
by a row with half a unit of slack; gaps are set such that "optimal" holds to the last integer; a bound is rounded to
the integer that it proves; and a status that is neither a proof nor a limit is an error, never "infeasible". Pyomo
compiles the model; HiGHS is called directly because Pyomo's own interface passes no start and hides which limit was
reached.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter
from typing import Any

import numpy as np

from mlsched.core.contract import Plan, Sense
from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation, Limits, Outcome, StoppedBy, Term, safe_bound
from mlsched.solvers.backends.one_of import check_hint
from mlsched.solvers.backends.pyomo_matrix import Matrix, compile_model

#: Objectives are integers: an absolute gap below 1 proves the last one.
ABSOLUTE_GAP = 0.999
#: Name of the deterministic measure in `Outcome.work` that `Limits.work` limits.
WORK = "nodes"


@dataclasses.dataclass(frozen=True)
class _Stage:
    """One solve. ended: "optimal", "infeasible" or the limit that ended it. bound: a proved lower bound."""

    ended: str
    solution: Any
    value: int | None
    bound: int | None


def minimise(formulation: Formulation, objective: str, sense: Sense, limits: Limits, hint: Plan | None) -> Outcome:
    """Optimise one objective of `formulation`, term after term. `limits.work` limits branch-and-bound nodes."""
    run = _Run(formulation, limits, hint)
    sign = 1 if sense == "min" else -1
    terms = formulation.objectives[objective]
    # Pyomo folds an empty sum into a plain number: such a term is a constant.
    variable = [term for term in terms if not isinstance(term.expression, int)]
    constants = sum(term.weight * term.expression for term in terms if isinstance(term.expression, int))
    total = sign * (formulation.constant.get(objective, 0) + constants)
    plan = None
    for index, term in enumerate(variable or [Term(1, 0)]):
        stage = run.solve(term, sign)
        if stage.solution is not None:
            plan = run.decode(stage.solution)
        if stage.ended == "infeasible":
            return Outcome("infeasible", None, None, "proof", dict(run.work))
        if stage.ended != "optimal":
            # Later terms are >= 0: when minimising, the bound of this term bounds the sum, else only that of the last.
            valid = sign == 1 or index + 1 >= len(variable)
            bound = sign * (total + term.weight * stage.bound) if valid and stage.bound is not None else None
            stopped: StoppedBy = "time limit" if stage.ended == "time limit" else "work limit"
            return Outcome("unknown" if plan is None else "feasible", plan, bound, stopped, dict(run.work))
        assert stage.value is not None
        total += term.weight * stage.value
        if index + 1 < len(variable):
            run.fix(term, sign, stage.value)
    return Outcome("optimal", plan, sign * total, "proof", dict(run.work))


class _Run:
    """One formulation inside HiGHS, solved for one term after another."""

    def __init__(self, formulation: Formulation, limits: Limits, hint: Plan | None) -> None:
        self.formulation, self.limits = formulation, limits
        self.started = time.perf_counter()
        self.work: Counter[str] = Counter()
        self.matrix = compile_model(formulation.model)
        self.highs = new_highs(limits)
        if self.matrix.columns:
            check(self.highs.passModel(_lp(self.matrix)), "passModel")
        if hint is not None:
            self._start(hint)

    def _start(self, hint: Plan) -> None:
        """Pass a plan as the start. It may name some variables only; HiGHS completes it or drops it."""
        import highspy

        pairs = self.formulation.encode(hint)
        check_hint(pairs)
        if pairs:
            index = np.array([self.matrix.position[id(v)] for v, _ in pairs], dtype=np.int32)
            status = self.highs.setSolution(len(pairs), index, np.array([float(value) for _, value in pairs]))
            if status == highspy.HighsStatus.kError:
                raise SolverError("highs refused the warm start")

    def solve(self, term: Term, sign: int) -> _Stage:
        """Minimise sign * term without its weight, which would only scale it."""
        if not self.matrix.columns:
            return _Stage("optimal", np.zeros(0), 0, 0)
        cost, constant = self.matrix.costs(sign * term.expression)
        columns = np.arange(len(cost), dtype=np.int32)
        check(self.highs.changeColsCost(len(cost), columns, cost), "changeColsCost")
        check(self.highs.changeObjectiveOffset(constant), "changeObjectiveOffset")
        if self.limits.seconds is not None:
            remaining = self.limits.seconds - (time.perf_counter() - self.started)
            # HiGHS counts its run time from the first solve of an instance on.
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + max(0.001, remaining))
        run(self.highs)
        return self._read()

    def _read(self) -> _Stage:
        import highspy

        status, info = self.highs.getModelStatus(), self.highs.getInfo()
        self.work["nodes"] += max(0, info.mip_node_count)
        self.work["simplex_iterations"] += max(0, info.simplex_iteration_count)
        ended = {
            highspy.HighsModelStatus.kOptimal: "optimal",
            highspy.HighsModelStatus.kInfeasible: "infeasible",
            highspy.HighsModelStatus.kTimeLimit: "time limit",
            highspy.HighsModelStatus.kSolutionLimit: "work limit",
            highspy.HighsModelStatus.kIterationLimit: "work limit",
        }.get(status)
        if ended is None:
            raise SolverError(f"highs ended with {status.name}: neither a proof nor a limit")
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        if ended == "optimal" and not feasible:
            raise SolverError("highs reports a proof without a solution")
        solution = np.asarray(self.highs.getSolution().col_value) if feasible else None
        value = round(info.objective_function_value) if feasible else None
        return _Stage(ended, solution, value, value if ended == "optimal" else safe_bound(info.mip_dual_bound))

    def fix(self, term: Term, sign: int, value: int) -> None:
        """Keep sign * term at `value` or below from now on; half a unit absorbs rounding."""
        cost, constant = self.matrix.costs(sign * term.expression)
        index = np.flatnonzero(cost).astype(np.int32)
        upper = value + 0.5 - constant
        check(self.highs.addRow(-np.inf, upper, len(index), index, cost[index]), "addRow")

    def decode(self, solution: Any) -> Plan:
        """The plan of a vector of column values."""
        return self.formulation.decode(lambda variable: round(solution[self.matrix.position[id(variable)]]))


def _lp(matrix: Matrix) -> Any:
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(matrix.columns), len(matrix.row_lower)
    lp.col_cost_ = np.zeros(lp.num_col_)
    lp.col_lower_ = np.array([-np.inf if v.lb is None else v.lb for v in matrix.columns], dtype=np.float64)
    lp.col_upper_ = np.array([np.inf if v.ub is None else v.ub for v in matrix.columns], dtype=np.float64)
    lp.row_lower_, lp.row_upper_ = matrix.row_lower, matrix.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.starts, matrix.indices, matrix.values
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[v.is_integer()] for v in matrix.columns]
    return lp


def check(status: Any, call: str) -> None:
    """Raise SolverError where a call of HiGHS' interface failed."""
    import highspy

    if status == highspy.HighsStatus.kError:
        raise SolverError(f"highs: {call} failed")


def run(highs: Any) -> None:
    """Run HiGHS; where its presolve breaks down, once more without it.

    HiGHS 1.13.1 ends with kSolveError on some infeasible models that presolve reduces to nothing, such as
    2x + y + 2z = 0, x = 0, y = -1, z integer in [-1, 1]; without presolve it says that they are infeasible.
    """
    highs.run()
    if highs.getModelStatus() == import_highspy().HighsModelStatus.kSolveError:
        highs.setOptionValue("presolve", "off")
        highs.clearSolver()
        highs.run()
        highs.setOptionValue("presolve", "choose")


def new_highs(limits: Limits) -> Any:
    """A HiGHS instance that keeps to the limits, set for models whose objectives are integers."""
    highs = import_highspy().Highs()
    # Without this reset, a solve with another number of threads than the first of the process ends in kNotset.
    import_highspy().Highs.resetGlobalScheduler(True)
    options = {
        "output_flag": False,
        "threads": limits.threads,
        "random_seed": limits.seed % 2**31,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": ABSOLUTE_GAP,
        "mip_feasibility_tolerance": 1e-9,
    }
    if limits.work is not None:
        options["mip_max_nodes"] = max(1, round(limits.work))
    for name, value in options.items():
        check(highs.setOptionValue(name, value), f"option {name} = {value}")
    return highs


@functools.cache
def import_highspy() -> Any:
    """highspy, or a SolverError in one line where it is missing or incompatible."""
    try:
        import highspy
    except ImportError as error:
        raise SolverError(f"highs: highspy cannot be imported ({error}); pip install 'highspy>=1.12,<1.15'") from None
    return highspy
